// Zarr v2 dtypes: NumPy's type strings, and lists of fields.
#include <array>
#include <charconv>

#include "zarr/metadata.h"
#include "zarr/metadata_parts.h"
#include "zarr/small_float.h"

namespace h5zarr::zarr {
namespace {

using Kind = DType::Kind;

Status NotADType(const std::string& text, std::string_view why) {
  return CorruptError("dtype '" + text + "': " + std::string(why));
}

// "[25s]" or "[ns]" behind M8 and m8; nothing at all means no unit.
Status ParseTimeUnit(const std::string& text, std::string_view unit, DType* dtype) {
  dtype->unit = "generic";
  if (unit.empty()) return OkStatus();
  if (unit.size() < 3 || unit.front() != '[' || unit.back() != ']') {
    return NotADType(text, "expected a unit as [ns]");
  }
  unit = unit.substr(1, unit.size() - 2);
  const auto [end, error] = std::from_chars(unit.data(), unit.data() + unit.size(), dtype->scale_factor);
  if (error == std::errc()) unit.remove_prefix(static_cast<std::size_t>(end - unit.data()));
  if (error == std::errc::result_out_of_range || dtype->scale_factor == 0 ||
      dtype->scale_factor > uint64_t{INT32_MAX} || unit.empty()) {
    return NotADType(text, "unit out of range");
  }
  dtype->unit = unit;
  return OkStatus();
}

bool IsNumberSize(Kind kind, uint64_t item_bytes) {
  switch (kind) {
    case Kind::kBool: return item_bytes == 1;
    case Kind::kInt:
    case Kind::kUint: return item_bytes == 1 || item_bytes == 2 || item_bytes == 4 || item_bytes == 8;
    case Kind::kFloat: return item_bytes == 2 || item_bytes == 4 || item_bytes == 8;
    case Kind::kComplex: return item_bytes == 8 || item_bytes == 16;
    case Kind::kDatetime:
    case Kind::kTimedelta: return item_bytes == 8;
    default: return true;
  }
}

std::optional<Kind> KindOf(char code) {
  switch (code) {
    case 'b': return Kind::kBool;
    case 'i': return Kind::kInt;
    case 'u': return Kind::kUint;
    case 'f': return Kind::kFloat;
    case 'c': return Kind::kComplex;
    case 'S':
    case 'a': return Kind::kBytes;
    case 'U': return Kind::kUtf32;
    case 'V': return Kind::kRaw;
    case 'M': return Kind::kDatetime;
    case 'm': return Kind::kTimedelta;
    default: return std::nullopt;
  }
}

Result<DType> ParseTypeString(const std::string& text) {
  if (auto small = SmallNumber(text)) return std::move(*small);  // tensorstore writes "bfloat16", "int4"
  if (text.size() >= 2 && text[1] == 'O') {
    return UnsupportedError("dtype '" + text + "' is known by its object codec only");
  }
  if (text.size() < 3 || std::string_view("<>|").find(text[0]) == std::string_view::npos) {
    return NotADType(text, "expected a byte order, a kind and a size, as in <i4");
  }
  const std::optional<Kind> kind = KindOf(text[1]);
  if (!kind) return UnsupportedError("dtype '" + text + "' is of an unknown kind");
  DType dtype;
  dtype.kind = *kind;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + 2, last, dtype.item_bytes);
  if (error != std::errc()) return NotADType(text, "no size");
  const std::string_view rest(end, static_cast<std::size_t>(last - end));
  if (*kind == Kind::kDatetime || *kind == Kind::kTimedelta) {
    H5ZARR_RETURN_IF_ERROR(ParseTimeUnit(text, rest, &dtype));
  } else if (!rest.empty()) {
    return NotADType(text, "text behind the size");
  }
  if (!IsNumberSize(*kind, dtype.item_bytes)) {
    return UnsupportedError("dtype '" + text + "': numbers of this size are not supported");
  }
  if (*kind == Kind::kUtf32) {
    if (dtype.item_bytes > kMaxItemBytes) return UnsupportedError("dtype '" + text + "' is too large");
    dtype.item_bytes *= 4;
  }
  if (dtype.item_bytes > kMaxItemBytes) {
    return UnsupportedError("dtype '" + text + "': elements of more than " + kMaxItemText + " are not supported");
  }
  if (dtype.has_endian() && text[0] == '|' && dtype.item_bytes > 0) {
    return NotADType(text, "the byte order is missing");
  }
  // Some writers put an order before single bytes, too.
  dtype.endian = dtype.has_endian() && text[0] == '>' ? Endian::kBig : Endian::kLittle;
  return dtype;
}

// [name, dtype] or [name, dtype, shape]; the name may be [title, name].
Status ParseField(const Json& field, DType* dtype) {
  if (!field.is_array() || field.size() < 2 || field.size() > 3) {
    return CorruptError("dtype field " + BriefJson(field) + "; expected [name, dtype]");
  }
  const Json& name_member = field[0];
  std::string name;
  if (name_member.is_string()) {
    name = name_member.get<std::string>();
  } else if (name_member.is_array() && name_member.size() == 2 && name_member[1].is_string()) {
    name = name_member[1].get<std::string>();
  } else {
    return CorruptError("dtype field " + BriefJson(field) + "; expected a name first");
  }
  // NumPy's name for a nameless field, which is what padding looks like.
  if (name.empty()) name = "f" + std::to_string(dtype->fields.size());
  std::vector<uint64_t> shape;
  if (field.size() == 3) {
    const Json list = field[2].is_array() ? field[2] : Json::array({field[2]});
    H5ZARR_ASSIGN_OR_RETURN(shape, ParseExtents(list, "shape of dtype field '" + name + "'"));
  }
  H5ZARR_ASSIGN_OR_RETURN(DType member, ParseDTypeV2(field[1]));
  return AppendField(dtype, std::move(name), std::move(shape), std::move(member));
}

std::string TypeString(const DType& dtype, char code, uint64_t count) {
  const char order = !dtype.has_endian() ? '|' : dtype.endian == Endian::kBig ? '>' : '<';
  return std::string{order, code} + std::to_string(count);
}

Json FormatTime(const DType& dtype, char code) {
  std::string text = TypeString(dtype, code, 8);
  if (!dtype.unit.empty() && dtype.unit != "generic") {
    text += '[';
    if (dtype.scale_factor != 1) text += std::to_string(dtype.scale_factor);
    text += dtype.unit + ']';
  }
  return text;
}

Result<Json> FormatStruct(const DType& dtype) {
  Json fields = Json::array();
  for (const DTypeField& field : dtype.fields) {
    H5ZARR_ASSIGN_OR_RETURN(Json member, FormatDTypeV2(field.dtype));
    Json item = Json::array({field.name, std::move(member)});
    if (!field.shape.empty()) item.push_back(field.shape);
    fields.push_back(std::move(item));
  }
  return fields;
}

}  // namespace

Result<DType> ParseDTypeV2(const Json& dtype) {
  return NoThrow("dtype", [&]() -> Result<DType> {
    if (dtype.is_string()) return ParseTypeString(dtype.get_ref<const std::string&>());
    if (!dtype.is_array() || dtype.empty()) {
      return CorruptError("dtype is " + BriefJson(dtype) + "; expected a string or a list of fields");
    }
    DType result;
    result.kind = Kind::kStruct;
    for (const Json& field : dtype) H5ZARR_RETURN_IF_ERROR(ParseField(field, &result));
    return result;
  });
}

Result<Json> FormatDTypeV2(const DType& dtype) {
  return NoThrow("dtype", [&]() -> Result<Json> {
    switch (dtype.kind) {
      case Kind::kBool: return Json("|b1");
      case Kind::kInt:
        if (!dtype.format.empty()) return Json(dtype.format);
        return Json(TypeString(dtype, 'i', dtype.item_bytes));
      case Kind::kUint:
        if (!dtype.format.empty()) return Json(dtype.format);
        return Json(TypeString(dtype, 'u', dtype.item_bytes));
      case Kind::kFloat:
        if (dtype.format == "bfloat16" && dtype.endian == Endian::kLittle) return Json(dtype.format);
        if (!dtype.format.empty()) {
          return UnsupportedError("Zarr v2 has no float format '" + dtype.format + "'");
        }
        return Json(TypeString(dtype, 'f', dtype.item_bytes));
      case Kind::kComplex:
        if (!IsNumberSize(Kind::kComplex, dtype.item_bytes)) {
          return UnsupportedError("Zarr v2 has no complex numbers of " + std::to_string(dtype.item_bytes) + " bytes");
        }
        return Json(TypeString(dtype, 'c', dtype.item_bytes));
      case Kind::kRaw: return Json(TypeString(dtype, 'V', dtype.item_bytes));
      case Kind::kBytes: return Json(TypeString(dtype, 'S', dtype.item_bytes));
      case Kind::kUtf32: return Json(TypeString(dtype, 'U', dtype.item_bytes / 4));
      case Kind::kDatetime: return FormatTime(dtype, 'M');
      case Kind::kTimedelta: return FormatTime(dtype, 'm');
      case Kind::kStruct: return FormatStruct(dtype);
      case Kind::kString:
      case Kind::kVlenBytes: return Json("|O");
    }
    return InternalError("data type of an unknown kind");
  });
}

}  // namespace h5zarr::zarr
