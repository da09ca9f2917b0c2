// Fill values as JSON, read: every spelling of Zarr v3, v2 and what their writers really wrote.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "zarr/metadata.h"
#include "zarr/metadata_parts.h"
#include "zarr/small_float.h"

namespace h5zarr::zarr {
namespace {

using Kind = DType::Kind;
using Bytes = std::vector<std::byte>;

Status Mismatch(const Json& value, std::string_view expected) {
  return CorruptError("fill_value " + BriefJson(value) + "; expected " + std::string(expected));
}

// The low `item_bytes` bytes of `word`, in the byte order.
Bytes WordBytes(uint64_t word, uint64_t item_bytes, Endian endian) {
  Bytes bytes(item_bytes);
  for (uint64_t i = 0; i < item_bytes; ++i) {
    const uint64_t place = endian == Endian::kLittle ? i : item_bytes - 1 - i;
    bytes[place] = static_cast<std::byte>(word >> (8 * i));
  }
  return bytes;
}

Result<Bytes> ParseBool(const Json& value) {
  if (value.is_boolean()) return Bytes{static_cast<std::byte>(value.get<bool>())};
  if (value.is_number() && (value.get<double>() == 0 || value.get<double>() == 1)) {
    return Bytes{static_cast<std::byte>(value.get<double>() == 1)};
  }
  return Mismatch(value, "true or false");
}

// An integer in any of JSON's number forms ("0.0" is what some writers make of 0), or true/false.
struct Integer {
  bool negative = false;
  uint64_t word = 0;  // two's complement
};
std::optional<Integer> ToInteger(const Json& value) {
  if (value.is_boolean()) return Integer{false, value.get<bool>() ? 1u : 0u};
  if (value.is_number_unsigned()) return Integer{false, value.get<uint64_t>()};
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    return Integer{number < 0, static_cast<uint64_t>(number)};
  }
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (number != std::floor(number)) return std::nullopt;  // NaN too
    if (number >= 0 && number < 0x1p64) return Integer{false, static_cast<uint64_t>(number)};
    if (number < 0 && number >= -0x1p63) {
      return Integer{true, static_cast<uint64_t>(static_cast<int64_t>(number))};
    }
  }
  return std::nullopt;
}

Result<Bytes> ParseInteger(const Json& value, const DType& dtype) {
  const bool is_signed = dtype.kind != Kind::kUint;
  const std::string expected = (is_signed ? "a signed" : "an unsigned") + std::string(" integer of ") +
                               (dtype.format.empty() ? std::to_string(dtype.item_bytes) + " bytes"
                                                     : std::to_string(IntegerBits(dtype)) + " bits");
  const std::optional<Integer> integer = ToInteger(value);
  if (!integer) return Mismatch(value, expected);
  const int bits = IntegerBits(dtype);
  bool fits = false;
  if (is_signed) {
    const uint64_t limit = uint64_t{1} << (bits - 1);
    fits = integer->negative ? ~integer->word < limit : integer->word < limit;
  } else {
    fits = !integer->negative && (bits == 64 || integer->word >> bits == 0);
  }
  if (!fits) return Mismatch(value, expected);
  return WordBytes(integer->word, dtype.item_bytes, dtype.endian);
}

// v3's "0x…": the bit pattern of a float, most significant digit first.
Result<Bytes> ParseHexFloat(const Json& value, const DType& dtype) {
  const std::string text = value.get<std::string>();
  uint64_t word = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + 2, last, word, 16);
  if (error != std::errc() || end != last || text.size() != 2 + 2 * dtype.item_bytes) {
    return Mismatch(value, "0x and " + std::to_string(2 * dtype.item_bytes) + " hexadecimal digits");
  }
  return WordBytes(word, dtype.item_bytes, dtype.endian);
}

std::optional<double> FloatWord(std::string_view text) {
  if (text == "NaN" || text == "nan") return std::nan("");
  if (text == "Infinity" || text == "inf" || text == "+Infinity") return HUGE_VAL;
  if (text == "-Infinity" || text == "-inf") return -HUGE_VAL;
  return std::nullopt;
}

// Nothing for a finite number that rounds to none of the format's; far beyond its range is infinite where it has that,
// as in casts of numbers.
std::optional<uint32_t> EncodeSmall(const SmallFloat& format, double number) {
  const std::optional<uint32_t> code = format.Encode(number);
  const std::optional<uint32_t> infinity = format.Encode(std::copysign(HUGE_VAL, number));
  if (code || !infinity || format.specials != SmallFloat::Specials::kIeee) return code;
  const double top_power = format.Decode(*infinity - (1u << format.mantissa_bits));
  return std::fabs(number) >= 2 * std::fabs(top_power) ? infinity : std::nullopt;
}

Result<Bytes> ParseFloat(const Json& value, const DType& dtype, int zarr_format) {
  double number = 0;
  if (value.is_number()) {
    number = value.get<double>();
  } else if (value.is_boolean()) {
    number = value.get<bool>() ? 1 : 0;
  } else if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (zarr_format == 3 && text.starts_with("0x")) return ParseHexFloat(value, dtype);
    const std::optional<double> word = FloatWord(text);
    if (!word) return Mismatch(value, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
    number = *word;
  } else {
    return Mismatch(value, "a number");
  }
  if (dtype.format.empty() && dtype.item_bytes == 8) {
    return WordBytes(std::bit_cast<uint64_t>(number), 8, dtype.endian);
  }
  if (dtype.format.empty() && dtype.item_bytes == 4) {
    return WordBytes(std::bit_cast<uint32_t>(static_cast<float>(number)), 4, dtype.endian);
  }
  const SmallFloat* format = dtype.format.empty() ? &Binary16() : FindSmallFloat(dtype.format);
  if (format == nullptr || format->item_bytes() != dtype.item_bytes) {
    return UnsupportedError("fill value of float format '" + dtype.format + "'");
  }
  const std::optional<uint32_t> code = EncodeSmall(*format, number);
  if (!code) return Mismatch(value, "a value that " + std::string(format->name) + " has");
  return WordBytes(*code, dtype.item_bytes, dtype.endian);
}

Result<Bytes> ParseComplex(const Json& value, const DType& dtype, int zarr_format) {
  const DType part = DType::Float(dtype.item_bytes / 2, dtype.endian);
  const bool is_pair = value.is_array() && value.size() == 2;
  if (value.is_array() && !is_pair) return Mismatch(value, "[real, imaginary]");
  H5ZARR_ASSIGN_OR_RETURN(Bytes bytes, ParseFloat(is_pair ? value[0] : value, part, zarr_format));
  H5ZARR_ASSIGN_OR_RETURN(const Bytes imaginary, ParseFloat(is_pair ? value[1] : Json(0), part, zarr_format));
  bytes.insert(bytes.end(), imaginary.begin(), imaginary.end());
  return bytes;
}

Result<Bytes> ParseTime(const Json& value, const DType& dtype) {
  if (value.is_string() && value.get<std::string>() == "NaT") {
    return WordBytes(uint64_t{1} << 63, 8, dtype.endian);
  }
  if (value.is_number_float() && std::isnan(value.get<double>())) {
    return WordBytes(uint64_t{1} << 63, 8, dtype.endian);
  }
  return ParseInteger(value, dtype);
}

// Numeric zero, or an empty text: "all zero bytes" for types whose values are no numbers.
bool SaysZero(const Json& value) {
  if (value.is_number()) return value.get<double>() == 0;
  if (value.is_boolean()) return !value.get<bool>();
  return value.is_string() && value.get_ref<const std::string&>().empty();
}

// A list of byte values, as the v3 specification has it for raw bits.
std::optional<Bytes> ToByteList(const Json& value) {
  if (!value.is_array()) return std::nullopt;
  Bytes bytes;
  for (const Json& item : value) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > 255) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(item.get<uint64_t>()));
  }
  return bytes;
}

Bytes TextBytes(const std::string& text) {
  const ByteSpan bytes = AsBytes(text);
  return Bytes(bytes.begin(), bytes.end());
}

Result<Bytes> ParseRaw(const Json& value, const DType& dtype) {
  const std::string expected = "base64 of " + std::to_string(dtype.item_bytes) + " bytes";
  if (SaysZero(value)) return Bytes(dtype.item_bytes);
  if (auto list = ToByteList(value)) {
    if (list->size() != dtype.item_bytes) return Mismatch(value, expected);
    return std::move(*list);
  }
  if (!value.is_string()) return Mismatch(value, expected);
  auto bytes = DecodeBase64(value.get_ref<const std::string&>());
  if (!bytes.ok() || bytes->size() != dtype.item_bytes) return Mismatch(value, expected);
  return std::move(*bytes);
}

// Fixed-length byte strings: base64 (of the padded or the bare value), or the text itself, which
// older writers stored. What is valid base64 of a fitting length is taken as base64.
Result<Bytes> ParseFixedBytes(const Json& value, const DType& dtype) {
  const std::string expected = "base64 of at most " + std::to_string(dtype.item_bytes) + " bytes, or such a text";
  if (SaysZero(value)) return Bytes(dtype.item_bytes);
  Bytes bytes;
  if (auto list = ToByteList(value)) {
    bytes = std::move(*list);
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    auto decoded = DecodeBase64(text);
    if (decoded.ok() && decoded->size() <= dtype.item_bytes) {
      bytes = std::move(*decoded);
    } else {
      bytes = TextBytes(text);
    }
  } else {
    return Mismatch(value, expected);
  }
  if (bytes.size() > dtype.item_bytes) return Mismatch(value, expected);
  bytes.resize(dtype.item_bytes);
  return bytes;
}

Result<Bytes> ParseUtf32(const Json& value, const DType& dtype) {
  if (SaysZero(value)) return Bytes(dtype.item_bytes);
  const std::string expected = "a text of at most " + std::to_string(dtype.item_bytes / 4) + " code points";
  if (!value.is_string()) return Mismatch(value, expected);
  Bytes bytes;
  const auto& text = value.get_ref<const std::string&>();  // valid UTF-8: ParseJson saw to it
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t sequence_bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (sequence_bytes > text.size() - i) return Mismatch(value, "valid UTF-8");
    uint32_t code_point = sequence_bytes == 1 ? lead : lead & (0x7Fu >> sequence_bytes);
    for (std::size_t j = 1; j < sequence_bytes; ++j) {
      code_point = code_point << 6 | (static_cast<unsigned char>(text[i + j]) & 0x3Fu);
    }
    const Bytes word = WordBytes(code_point, 4, dtype.endian);
    bytes.insert(bytes.end(), word.begin(), word.end());
    i += sequence_bytes;
  }
  if (bytes.size() > dtype.item_bytes) return Mismatch(value, expected);
  bytes.resize(dtype.item_bytes);
  return bytes;
}

Result<Bytes> ParseVlen(const Json& value, const DType& dtype, int zarr_format) {
  if (SaysZero(value) || value.is_null()) return Bytes{};
  if (dtype.kind == Kind::kString) {
    if (!value.is_string()) return Mismatch(value, "a text");
    return TextBytes(value.get_ref<const std::string&>());
  }
  if (auto list = ToByteList(value)) return std::move(*list);
  if (!value.is_string()) return Mismatch(value, "base64");
  const auto& text = value.get_ref<const std::string&>();
  auto bytes = DecodeBase64(text);
  if (bytes.ok()) return std::move(*bytes);
  if (zarr_format == 2) return TextBytes(text);
  return Mismatch(value, "base64");
}

// Turns the elements' bytes from little endian into the order of `dtype`.
void SwapFromLittle(const DType& dtype, std::byte* bytes) {
  if (dtype.kind == Kind::kStruct) {
    for (const DTypeField& field : dtype.fields) {
      const uint64_t elems = CheckedProduct(field.shape).value_or(0);
      for (uint64_t i = 0; i < elems; ++i) {
        SwapFromLittle(field.dtype, bytes + field.offset_bytes + i * field.dtype.item_bytes);
      }
    }
    return;
  }
  if (!dtype.has_endian() || dtype.endian == Endian::kLittle) return;
  uint64_t word_bytes = dtype.item_bytes;
  if (dtype.kind == Kind::kComplex) word_bytes /= 2;
  if (dtype.kind == Kind::kUtf32) word_bytes = 4;
  for (uint64_t i = 0; i < dtype.item_bytes; i += word_bytes) {
    std::reverse(bytes + i, bytes + i + word_bytes);
  }
}

Result<Bytes> ParseStructFields(const Json& value, const DType& dtype, int zarr_format) {
  Bytes bytes(dtype.item_bytes);
  if (value.is_array() && value.size() != dtype.fields.size()) {
    return Mismatch(value, "a value for each of " + std::to_string(dtype.fields.size()) + " fields");
  }
  std::size_t index = 0;
  for (const DTypeField& field : dtype.fields) {
    const Json* member = value.is_array() ? &value[index] : FindMember(value, field.name);
    ++index;
    if (member == nullptr) return Mismatch(value, "a value for field '" + field.name + "'");
    H5ZARR_ASSIGN_OR_RETURN(const FillValue part, ParseFillValue(*member, field.dtype, zarr_format));
    const uint64_t elems = CheckedProduct(field.shape).value_or(0);
    for (uint64_t i = 0; i < elems && !part.bytes.empty(); ++i) {
      std::memcpy(bytes.data() + field.offset_bytes + i * part.bytes.size(), part.bytes.data(), part.bytes.size());
    }
  }
  return bytes;
}

Result<Bytes> ParseStruct(const Json& value, const DType& dtype, int zarr_format) {
  if (SaysZero(value)) return Bytes(dtype.item_bytes);
  if (value.is_object()) return ParseStructFields(value, dtype, zarr_format);
  if (value.is_array() && value.size() == dtype.fields.size()) {
    return ParseStructFields(value, dtype, zarr_format);
  }
  H5ZARR_ASSIGN_OR_RETURN(Bytes bytes, ParseRaw(value, dtype));
  // v2's dtype says each field's order, and base64 holds the element as stored. In v3 the order is
  // the codec's affair: the document holds the element in little endian, whatever the codec does.
  if (zarr_format == 3) SwapFromLittle(dtype, bytes.data());
  return bytes;
}

Result<Bytes> ParseByKind(const Json& value, const DType& dtype, int zarr_format) {
  switch (dtype.kind) {
    case Kind::kBool: return ParseBool(value);
    case Kind::kInt:
    case Kind::kUint: return ParseInteger(value, dtype);
    case Kind::kFloat: return ParseFloat(value, dtype, zarr_format);
    case Kind::kComplex: return ParseComplex(value, dtype, zarr_format);
    case Kind::kRaw: return ParseRaw(value, dtype);
    case Kind::kBytes: return ParseFixedBytes(value, dtype);
    case Kind::kUtf32: return ParseUtf32(value, dtype);
    case Kind::kDatetime:
    case Kind::kTimedelta: return ParseTime(value, dtype);
    case Kind::kStruct: return ParseStruct(value, dtype, zarr_format);
    case Kind::kString:
    case Kind::kVlenBytes: return ParseVlen(value, dtype, zarr_format);
  }
  return InternalError("fill value of an unknown kind");
}

// What v2 says nothing about: zero, and of times NaT, as zarr-python has it.
FillValue FillOfNull(const DType& dtype) {
  FillValue fill = ZeroFill(dtype, false);
  if (dtype.kind == Kind::kDatetime || dtype.kind == Kind::kTimedelta) {
    fill.bytes = WordBytes(uint64_t{1} << 63, dtype.item_bytes, dtype.endian);
  }
  return fill;
}

// NCZarr writes the fill of a number as a list of one.
bool IsListOfOne(const Json& value, const DType& dtype) {
  if (!value.is_array() || value.size() != 1) return false;
  switch (dtype.kind) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kFloat:
    case Kind::kDatetime:
    case Kind::kTimedelta: return true;
    case Kind::kBytes:
    case Kind::kUtf32:
    case Kind::kString: return value[0].is_string();
    default: return false;
  }
}

// Some writers put numbers into quotes ("0.0"): zarr-python reads them, in either format.
std::optional<Json> QuotedNumber(const Json& value, const DType& dtype) {
  const bool is_number = dtype.kind == Kind::kInt || dtype.kind == Kind::kUint || dtype.kind == Kind::kFloat;
  if (!is_number || !value.is_string()) return std::nullopt;
  const Result<Json> number = ParseJson(value.get_ref<const std::string&>(), "fill_value");
  if (!number.ok()) return std::nullopt;
  Json plain = PlainJson(*number);
  return plain.is_number() ? std::optional(std::move(plain)) : std::nullopt;
}

}  // namespace

Result<FillValue> ParseFillValue(const Json& value, const DType& dtype, int zarr_format) {
  return NoThrow("fill_value", [&]() -> Result<FillValue> {
    // v2 has no fill value so; GDAL writes it into v3 documents, too, for numbers other than floats.
    if (value.is_null()) return FillOfNull(dtype);
    FillValue fill;
    fill.defined = true;
    const Json plain = PlainJson(value);
    const Json& scalar = IsListOfOne(plain, dtype) ? plain[0] : plain;
    const std::optional<Json> quoted = QuotedNumber(scalar, dtype);
    H5ZARR_ASSIGN_OR_RETURN(fill.bytes, ParseByKind(quoted ? *quoted : scalar, dtype, zarr_format));
    return fill;
  });
}

}  // namespace h5zarr::zarr
