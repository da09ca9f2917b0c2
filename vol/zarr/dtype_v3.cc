// Zarr v3 data types. The byte order is not theirs: it comes from the bytes codec.
#include <array>
#include <charconv>

#include "zarr/metadata.h"
#include "zarr/metadata_parts.h"
#include "zarr/small_float.h"

namespace h5zarr::zarr {
namespace {

using Kind = DType::Kind;

struct NumberName {
  std::string_view name;
  Kind kind;
  uint64_t item_bytes;
};

constexpr std::array<NumberName, 14> kNumbers = {{
    {"bool", Kind::kBool, 1},
    {"int8", Kind::kInt, 1},
    {"int16", Kind::kInt, 2},
    {"int32", Kind::kInt, 4},
    {"int64", Kind::kInt, 8},
    {"uint8", Kind::kUint, 1},
    {"uint16", Kind::kUint, 2},
    {"uint32", Kind::kUint, 4},
    {"uint64", Kind::kUint, 8},
    {"float16", Kind::kFloat, 2},
    {"float32", Kind::kFloat, 4},
    {"float64", Kind::kFloat, 8},
    {"complex64", Kind::kComplex, 8},
    {"complex128", Kind::kComplex, 16},
}};

// The registered names complex_float16, … say the part's type.
constexpr std::array<NumberName, 4> kComplexByPart = {{
    {"complex_float16", Kind::kComplex, 4},
    {"complex32", Kind::kComplex, 4},  // GDAL's
    {"complex_float32", Kind::kComplex, 8},
    {"complex_float64", Kind::kComplex, 16},
}};

DType MakeDType(Kind kind, uint64_t item_bytes) {
  DType dtype;
  dtype.kind = kind;
  dtype.item_bytes = item_bytes;
  return dtype;
}

Result<uint64_t> LengthBytes(const CodecSpec& spec) {
  const Json* member = FindMember(spec.configuration, "length_bytes");
  if (member == nullptr) return CorruptError("data type " + spec.name + ": no length_bytes");
  H5ZARR_ASSIGN_OR_RETURN(const uint64_t length, ParseExtent(*member, "length_bytes of data type " + spec.name));
  if (length > kMaxItemBytes) {
    return UnsupportedError("data type " + spec.name + ": " + std::to_string(length) + " bytes; at most " +
                            kMaxItemText + " are supported");
  }
  return length;
}

Result<DType> ParseRawBits(const std::string& name) {
  uint64_t bits = 0;
  const char* last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + 1, last, bits);
  if (error != std::errc() || end != last || name[1] == '0') {
    return UnsupportedError("data type '" + name + "' is not known");
  }
  if (bits % 8 != 0 || bits / 8 > kMaxItemBytes) {
    return UnsupportedError("data type '" + name + "': expected a multiple of 8 bits, at most " + kMaxItemText);
  }
  return DType::Raw(bits / 8);
}

Result<DType> ParseTime(const CodecSpec& spec) {
  DType dtype = MakeDType(spec.name == "numpy.datetime64" ? Kind::kDatetime : Kind::kTimedelta, 8);
  const Json* unit = FindMember(spec.configuration, "unit");
  if (unit == nullptr || !unit->is_string()) {
    return CorruptError("data type " + spec.name + ": no unit");
  }
  dtype.unit = unit->get<std::string>();
  if (const Json* scale = FindMember(spec.configuration, "scale_factor")) {
    H5ZARR_ASSIGN_OR_RETURN(dtype.scale_factor, ParseExtent(*scale, "scale_factor of data type " + spec.name));
    if (dtype.scale_factor == 0) {
      return CorruptError("data type " + spec.name + ": scale_factor is 0");
    }
  }
  return dtype;
}

// A field as `struct` has it, {"name", "data_type"}, or as `structured`, [name, data_type].
Status ParseField(const Json& field, DType* dtype) {
  const Json* name = nullptr;
  const Json* data_type = nullptr;
  if (field.is_array() && field.size() == 2) {
    name = &field[0];
    data_type = &field[1];
  } else if (field.is_object()) {
    name = FindMember(field, "name");
    data_type = FindMember(field, "data_type");
  }
  if (name == nullptr || !name->is_string() || data_type == nullptr) {
    return CorruptError("field " + BriefJson(field) + "; expected a name and a data type");
  }
  H5ZARR_ASSIGN_OR_RETURN(DType member, ParseDTypeV3(*data_type));
  if (member.is_vlen()) {
    return UnsupportedError("field '" + name->get<std::string>() + "' has variable length");
  }
  return AppendField(dtype, name->get<std::string>(), {}, std::move(member));
}

Result<DType> ParseStruct(const CodecSpec& spec) {
  const Json* fields = FindMember(spec.configuration, "fields");
  if (fields == nullptr || !fields->is_array() || fields->empty()) {
    return CorruptError("data type " + spec.name + ": expected a list of fields");
  }
  DType dtype = MakeDType(Kind::kStruct, 0);
  for (const Json& field : *fields) {
    Status status = ParseField(field, &dtype);
    if (!status.ok()) return status.WithContext("data type " + spec.name);
  }
  return dtype;
}

Json Configured(std::string_view name, std::string_view member, uint64_t value) {
  Json configuration = Json::object();
  configuration[std::string(member)] = value;
  return FormatNamed(std::string(name), configuration);
}

Result<Json> FormatStruct(const DType& dtype) {
  Json fields = Json::array();
  for (const DTypeField& field : dtype.fields) {
    if (!field.shape.empty()) {
      return UnsupportedError("field '" + field.name + "' is an array; Zarr v3 has no such fields");
    }
    H5ZARR_ASSIGN_OR_RETURN(Json data_type, FormatDTypeV3(field.dtype));
    fields.push_back(Json::array({field.name, std::move(data_type)}));
  }
  Json configuration = Json::object();
  configuration["fields"] = std::move(fields);
  return FormatNamed("structured", configuration);
}

Result<Json> FormatNumber(const DType& dtype) {
  if (dtype.kind != Kind::kFloat && dtype.kind != Kind::kComplex && !dtype.format.empty()) return Json(dtype.format);
  if (dtype.kind == Kind::kFloat && !dtype.format.empty()) {
    if (FindSmallFloat(dtype.format) == nullptr) {
      return UnsupportedError("Zarr v3 has no float format '" + dtype.format + "'");
    }
    return Json(dtype.format);
  }
  for (const NumberName& number : kNumbers) {
    if (number.kind == dtype.kind && number.item_bytes == dtype.item_bytes) return Json(number.name);
  }
  if (dtype.kind == Kind::kComplex && dtype.item_bytes == 4) return Json("complex_float16");
  return UnsupportedError("Zarr v3 has no number type of " + std::to_string(dtype.item_bytes) + " bytes of this kind");
}

}  // namespace

Result<DType> ParseDTypeV3(const Json& data_type) {
  return NoThrow("data_type", [&]() -> Result<DType> {
    H5ZARR_ASSIGN_OR_RETURN(const CodecSpec spec, ParseNamed(data_type, "data_type"));
    const std::string& name = spec.name;
    for (const NumberName& number : kNumbers) {
      if (number.name == name) return MakeDType(number.kind, number.item_bytes);
    }
    for (const NumberName& number : kComplexByPart) {
      if (number.name == name) return MakeDType(number.kind, number.item_bytes);
    }
    if (auto small = SmallNumber(name)) return std::move(*small);
    if (name == "string") return DType::String();
    if (name == "bytes" || name == "variable_length_bytes" || name == "binary") return DType::VlenBytes();
    if (name == "structured" || name == "struct") return ParseStruct(spec);
    if (name == "numpy.datetime64" || name == "numpy.timedelta64") return ParseTime(spec);
    if (name == "raw_bytes" || name == "null_terminated_bytes" || name == "fixed_length_utf32") {
      H5ZARR_ASSIGN_OR_RETURN(const uint64_t length, LengthBytes(spec));
      if (name == "raw_bytes") return DType::Raw(length);
      if (name == "null_terminated_bytes") return DType::Bytes(length);
      if (length % 4 != 0) {
        return CorruptError("data type fixed_length_utf32: length_bytes " + std::to_string(length) +
                            " is no multiple of 4");
      }
      return DType::Utf32(length / 4);
    }
    if (name.size() > 1 && name[0] == 'r' && name[1] >= '0' && name[1] <= '9') {
      return ParseRawBits(name);
    }
    return UnsupportedError("data type '" + name + "' is not known");
  });
}

Result<Json> FormatDTypeV3(const DType& dtype) {
  return NoThrow("data type", [&]() -> Result<Json> {
    switch (dtype.kind) {
      case Kind::kBool:
      case Kind::kInt:
      case Kind::kUint:
      case Kind::kFloat:
      case Kind::kComplex: return FormatNumber(dtype);
      case Kind::kRaw: return Configured("raw_bytes", "length_bytes", dtype.item_bytes);
      case Kind::kBytes: return Configured("null_terminated_bytes", "length_bytes", dtype.item_bytes);
      case Kind::kUtf32: return Configured("fixed_length_utf32", "length_bytes", dtype.item_bytes);
      case Kind::kDatetime:
      case Kind::kTimedelta: {
        Json configuration = Json::object();
        configuration["unit"] = dtype.unit.empty() ? "generic" : dtype.unit;
        configuration["scale_factor"] = dtype.scale_factor;
        return FormatNamed(dtype.kind == Kind::kDatetime ? "numpy.datetime64" : "numpy.timedelta64", configuration);
      }
      case Kind::kStruct: return FormatStruct(dtype);
      case Kind::kString: return Json("string");
      case Kind::kVlenBytes: return Json("bytes");
    }
    return InternalError("data type of an unknown kind");
  });
}

}  // namespace h5zarr::zarr
