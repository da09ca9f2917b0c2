// Fill values as JSON, written: the spelling that most readers of each format take.
#include <bit>
#include <charconv>
#include <cmath>

#include "base/checked.h"
#include "zarr/metadata.h"
#include "zarr/metadata_parts.h"
#include "zarr/small_float.h"

namespace h5zarr::zarr {
namespace {

using Kind = DType::Kind;

uint64_t ToWord(ByteSpan bytes, Endian endian) {
  uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t place = endian == Endian::kLittle ? bytes.size() - 1 - i : i;
    word = word << 8 | std::to_integer<uint64_t>(bytes[place]);
  }
  return word;
}

Json HexFloat(uint64_t word, uint64_t item_bytes) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof(digits), word, 16).ptr;
  const std::string text(digits, end);
  return "0x" + std::string(2 * item_bytes - text.size(), '0') + text;
}

// The double whose shortest decimal is that of `value`: 1.1f becomes 1.1, not 1.100000023841858.
double ShortestAsDouble(float value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  double number = 0;
  std::from_chars(digits, end, number);
  return static_cast<float>(number) == value ? number : value;
}

// A NaN of other bits than `canonical` can only be said by its bits, and only in v3.
Json FormatNumber(double number, uint64_t word, uint64_t canonical_nan, uint64_t item_bytes, int zarr_format) {
  if (std::isnan(number)) {
    if (word != canonical_nan && zarr_format == 3) return HexFloat(word, item_bytes);
    return "NaN";
  }
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

Result<Json> FormatFloat(ByteSpan bytes, const DType& dtype, int zarr_format) {
  const uint64_t word = ToWord(bytes, dtype.endian);
  if (dtype.format.empty() && dtype.item_bytes == 8) {
    return FormatNumber(std::bit_cast<double>(word), word, 0x7FF8000000000000, 8, zarr_format);
  }
  if (dtype.format.empty() && dtype.item_bytes == 4) {
    const float number = std::bit_cast<float>(static_cast<uint32_t>(word));
    const double shortest = std::isfinite(number) ? ShortestAsDouble(number) : number;
    return FormatNumber(shortest, word, 0x7FC00000, 4, zarr_format);
  }
  const SmallFloat* format = dtype.format.empty() ? &Binary16() : FindSmallFloat(dtype.format);
  if (format == nullptr || format->item_bytes() != dtype.item_bytes) {
    return UnsupportedError("fill value of float format '" + dtype.format + "'");
  }
  const auto code = static_cast<uint32_t>(word);
  return FormatNumber(format->Decode(code), word, format->Encode(std::nan("")).value_or(0), dtype.item_bytes,
                      zarr_format);
}

Result<Json> FormatComplex(ByteSpan bytes, const DType& dtype, int zarr_format) {
  const DType part = DType::Float(dtype.item_bytes / 2, dtype.endian);
  H5ZARR_ASSIGN_OR_RETURN(Json real, FormatFloat(bytes.first(part.item_bytes), part, zarr_format));
  H5ZARR_ASSIGN_OR_RETURN(Json imaginary, FormatFloat(bytes.subspan(part.item_bytes), part, zarr_format));
  return Json::array({std::move(real), std::move(imaginary)});
}

Json FormatSigned(uint64_t word, uint64_t item_bytes) {
  const int unused_bits = static_cast<int>(64 - 8 * item_bytes);
  return static_cast<int64_t>(word << unused_bits) >> unused_bits;
}

Result<Json> FormatUtf32(ByteSpan bytes, const DType& dtype) {
  std::u32string points;
  for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    points.push_back(static_cast<char32_t>(ToWord(bytes.subspan(i, 4), dtype.endian)));
  }
  while (!points.empty() && points.back() == 0) points.pop_back();
  std::string text;
  for (const char32_t point : points) {
    if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
      return InvalidArgumentError("fill value holds no valid code points");
    }
    if (point < 0x80) {
      text.push_back(static_cast<char>(point));
      continue;
    }
    constexpr unsigned kLead[] = {0, 0xC0, 0xE0, 0xF0};
    const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    text.push_back(static_cast<char>(kLead[more] | point >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) {
      text.push_back(static_cast<char>(0x80 | (point >> (6 * i) & 0x3F)));
    }
  }
  return Json(std::move(text));
}

// Base64 of the value without its padding, as zarr-python writes S types in v3; v2 readers
// (tensorstore) want the padded length.
Json FormatFixedBytes(ByteSpan bytes, int zarr_format) {
  std::size_t used = bytes.size();
  if (zarr_format == 3) {
    while (used > 0 && bytes[used - 1] == std::byte{0}) --used;
  }
  return EncodeBase64(bytes.first(used));
}

// Structs in v3 documents are little endian, whatever their codec does: see fill_parse.cc.
void AppendLittle(ByteSpan bytes, const DType& dtype, std::vector<std::byte>* out) {
  if (dtype.kind == Kind::kStruct) {
    for (const DTypeField& field : dtype.fields) {
      const uint64_t elems = CheckedProduct(field.shape).value_or(0);
      for (uint64_t i = 0; i < elems; ++i) {
        const uint64_t place = field.offset_bytes + i * field.dtype.item_bytes;
        AppendLittle(bytes.subspan(place, field.dtype.item_bytes), field.dtype, out);
      }
    }
    return;
  }
  uint64_t word_bytes = dtype.item_bytes;
  if (dtype.kind == Kind::kComplex) word_bytes /= 2;
  if (dtype.kind == Kind::kUtf32) word_bytes = 4;
  if (!dtype.has_endian() || dtype.endian == Endian::kLittle) {
    out->insert(out->end(), bytes.begin(), bytes.end());
    return;
  }
  for (uint64_t i = 0; i < dtype.item_bytes; i += word_bytes) {
    const ByteSpan word = bytes.subspan(i, word_bytes);
    out->insert(out->end(), word.rbegin(), word.rend());
  }
}

Result<Json> FormatStruct(ByteSpan bytes, const DType& dtype, int zarr_format) {
  if (zarr_format == 2) return Json(EncodeBase64(bytes));
  std::vector<std::byte> little;
  AppendLittle(bytes, dtype, &little);
  return Json(EncodeBase64(little));
}

Result<Json> FormatBytes(ByteSpan bytes, const DType& dtype, int zarr_format) {
  switch (dtype.kind) {
    case Kind::kBool: return Json(bytes[0] != std::byte{0});
    case Kind::kInt:
    case Kind::kDatetime:
    case Kind::kTimedelta: return FormatSigned(ToWord(bytes, dtype.endian), dtype.item_bytes);
    case Kind::kUint: return Json(ToWord(bytes, dtype.endian));
    case Kind::kFloat: return FormatFloat(bytes, dtype, zarr_format);
    case Kind::kComplex: return FormatComplex(bytes, dtype, zarr_format);
    case Kind::kRaw: return Json(EncodeBase64(bytes));
    case Kind::kBytes: return FormatFixedBytes(bytes, zarr_format);
    case Kind::kUtf32: return FormatUtf32(bytes, dtype);
    case Kind::kStruct: return FormatStruct(bytes, dtype, zarr_format);
    case Kind::kString: return Json(std::string(AsText(bytes)));
    case Kind::kVlenBytes: return Json(EncodeBase64(bytes));
  }
  return InternalError("fill value of an unknown kind");
}

}  // namespace

Result<Json> FormatFillValue(const FillValue& fill, const DType& dtype, int zarr_format) {
  return NoThrow("fill_value", [&]() -> Result<Json> {
    if (!fill.defined && zarr_format == 2) return Json(nullptr);
    if (!dtype.is_vlen() && fill.bytes.size() != dtype.item_bytes) {
      return InvalidArgumentError("fill value of " + std::to_string(fill.bytes.size()) + " bytes for elements of " +
                                  std::to_string(dtype.item_bytes));
    }
    return FormatBytes(fill.bytes, dtype, zarr_format);
  });
}

Result<Json> FormatStructFill(ByteSpan bytes, const DType& dtype) {
  Json value = Json::object();
  for (const DTypeField& field : dtype.fields) {
    const ByteSpan part = bytes.subspan(field.offset_bytes, field.dtype.item_bytes);
    if (field.dtype.kind == Kind::kStruct) {
      H5ZARR_ASSIGN_OR_RETURN(value[field.name], FormatStructFill(part, field.dtype));
    } else {
      H5ZARR_ASSIGN_OR_RETURN(value[field.name], FormatBytes(part, field.dtype, 3));
    }
  }
  return value;
}

}  // namespace h5zarr::zarr
