#include "shadow/number_json.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "shadow/h5_types.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {
namespace {

// Numbers whose bits lie in the low end of at most 8 bytes, in plain order.
bool HasSimpleBits(hid_t type) {
  const H5T_order_t order = H5Tget_order(type);
  return H5Tget_size(type) <= 8 && H5Tget_offset(type) == 0 && (order == H5T_ORDER_LE || order == H5T_ORDER_BE);
}

Json HexBits(uint64_t bits, std::size_t size_bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%0*llx", static_cast<int>(2 * size_bytes),
                static_cast<unsigned long long>(bits));
  return std::string(text);
}

std::optional<uint64_t> ParseHexBits(std::string_view text, std::size_t size_bytes) {
  if (!text.starts_with("0x") || text.size() != 2 + 2 * size_bytes) return std::nullopt;
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return bits;
}

// The NaN that "NaN" stands for: positive, quiet, no payload.
uint64_t PlainNan(hid_t type) {
  std::size_t sign_at = 0, exponent_at = 0, exponent_bits = 0, mantissa_at = 0, mantissa_bits = 0;
  if (H5Tget_fields(type, &sign_at, &exponent_at, &exponent_bits, &mantissa_at, &mantissa_bits) < 0 ||
      mantissa_bits == 0) {
    return 0;
  }
  return (((uint64_t{1} << exponent_bits) - 1) << exponent_at) | (uint64_t{1} << (mantissa_bits - 1));
}

// By HDF5, for widths C++ has no type for.
bool Convert(hid_t from, const void* source, hid_t to, void* target) {
  const std::size_t to_bytes = H5Tget_size(to);
  std::vector<unsigned char> bytes(std::max(H5Tget_size(from), to_bytes));
  std::memcpy(bytes.data(), source, H5Tget_size(from));
  if (H5Tconvert(from, to, 1, bytes.data(), nullptr, H5P_DEFAULT) < 0) return false;
  std::memcpy(target, bytes.data(), to_bytes);
  return true;
}

Handle HostDouble() {
  return MakeFloat(8, "", std::endian::native == std::endian::big ? Endian::kBig : Endian::kLittle);
}

}  // namespace

Status BadElement(const Json& json, hid_t type) {
  return CorruptError("value " + zarr::BriefJson(json) + " is no HDF5 " + DescribeType(type));
}

std::optional<double> NonFiniteWord(std::string_view word) {
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

double ShortestDouble(float value) {
  char text[64];
  const auto written = std::to_chars(text, text + sizeof(text), value);
  double number = value;
  const auto read = std::from_chars(text, written.ptr, number);
  const bool same = read.ec == std::errc() && static_cast<float>(number) == value;
  return same ? number : value;
}

Json BytesElementToJson(const void* element, std::size_t size_bytes) {
  return zarr::EncodeBase64(ByteSpan(static_cast<const std::byte*>(element), size_bytes));
}

Status BytesElementFromJson(const Json& json, void* element, std::size_t size_bytes) {
  if (json.is_string()) {
    const auto bytes = zarr::DecodeBase64(json.get_ref<const std::string&>());
    if (bytes.ok() && bytes.value().size() == size_bytes) {
      std::memcpy(element, bytes.value().data(), size_bytes);
      return OkStatus();
    }
  }
  return CorruptError("value " + zarr::BriefJson(json) + ": expected base64 of " + std::to_string(size_bytes) +
                      " bytes");
}

NumberForm::NumberForm(hid_t type) : type_(type), size_bytes_(H5Tget_size(type)) {
  big_endian_ = TypeOrder(type) == Endian::kBig;
  if (TypeClass(type) != H5T_FLOAT) {
    if (!HasSimpleBits(type)) return;
    kind_ = Kind::kInteger;
    signed_ = TypeClass(type) == H5T_INTEGER && H5Tget_sign(type) != H5T_SGN_NONE;
    unused_bits_ = static_cast<unsigned>(64 - H5Tget_precision(type));
    return;
  }
  const std::optional<std::string> format = FloatFormat(type);
  if (!format) return;
  plain_nan_ = PlainNan(type);
  kind_ = Kind::kOtherFloat;
  if (format->empty() && size_bytes_ == sizeof(double)) kind_ = Kind::kHostDouble;
  if (format->empty() && size_bytes_ == sizeof(float)) kind_ = Kind::kHostFloat;
  if (kind_ == Kind::kOtherFloat) host_double_ = HostDouble();
}

// The bytes of an element of at most 8 bytes as a number, whatever their order.
uint64_t NumberForm::ReadBits(const void* element) const {
  const auto* bytes = static_cast<const unsigned char*>(element);
  uint64_t bits = 0;
  for (std::size_t i = 0; i < size_bytes_; ++i) {
    bits |= uint64_t{bytes[big_endian_ ? size_bytes_ - 1 - i : i]} << (8 * i);
  }
  return bits;
}

void NumberForm::WriteBits(uint64_t bits, void* element) const {
  auto* bytes = static_cast<unsigned char*>(element);
  for (std::size_t i = 0; i < size_bytes_; ++i) {
    bytes[big_endian_ ? size_bytes_ - 1 - i : i] = static_cast<unsigned char>(bits >> (8 * i));
  }
}

Result<double> NumberForm::Value(const void* element) const {
  if (kind_ == Kind::kHostDouble) return std::bit_cast<double>(ReadBits(element));
  if (kind_ == Kind::kHostFloat) {
    return double{std::bit_cast<float>(static_cast<uint32_t>(ReadBits(element)))};
  }
  double value = 0;
  if (!Convert(type_, element, host_double_.get(), &value)) return Hdf5Failure("to convert a float");
  return value;
}

Result<Json> NumberForm::ToJson(const void* element) const {
  if (kind_ == Kind::kBytes) return BytesElementToJson(element, size_bytes_);
  if (kind_ == Kind::kInteger) {
    const uint64_t bits = ReadBits(element) << unused_bits_;
    if (signed_) return Json(static_cast<int64_t>(bits) >> unused_bits_);
    return Json(bits >> unused_bits_);
  }
  H5ZARR_ASSIGN_OR_RETURN(const double value, Value(element));
  if (std::isnan(value)) {
    const uint64_t bits = ReadBits(element);
    return bits == plain_nan_ ? Json("NaN") : HexBits(bits, size_bytes_);
  }
  if (std::isinf(value)) return Json(value > 0 ? "Infinity" : "-Infinity");
  return Json(size_bytes_ == 4 ? ShortestDouble(static_cast<float>(value)) : value);
}

Status NumberForm::FromJson(const Json& json, void* element) const {
  if (kind_ == Kind::kBytes) return BytesElementFromJson(json, element, size_bytes_);
  return kind_ == Kind::kInteger ? IntegerFromJson(json, element) : FloatFromJson(json, element);
}

Status NumberForm::IntegerFromJson(const Json& json, void* element) const {
  if (!json.is_number_integer()) return BadElement(json, type_);
  const bool negative = !json.is_number_unsigned() && json.get<int64_t>() < 0;
  const uint64_t bits = json.get<uint64_t>();
  bool fits;
  if (signed_) {
    const int64_t value = static_cast<int64_t>(bits);
    fits = (negative || value >= 0) && (value << unused_bits_ >> unused_bits_) == value;
  } else {
    fits = !negative && (bits << unused_bits_ >> unused_bits_) == bits;
  }
  if (!fits) return BadElement(json, type_);
  WriteBits(bits << unused_bits_ >> unused_bits_, element);
  return OkStatus();
}

Status NumberForm::FloatFromJson(const Json& json, void* element) const {
  std::optional<double> value;
  if (json.is_number()) value = json.get<double>();
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (const std::optional<uint64_t> bits = ParseHexBits(text, size_bytes_)) {
      WriteBits(*bits, element);
      return OkStatus();
    }
    value = NonFiniteWord(text);
  }
  if (!value) return BadElement(json, type_);
  if (std::isnan(*value) && plain_nan_ != 0) {
    WriteBits(plain_nan_, element);
    return OkStatus();
  }
  // Not by HDF5, which makes infinity of FLT_MAX's shortest decimals.
  if (size_bytes_ == 4) {
    WriteBits(std::bit_cast<uint32_t>(static_cast<float>(*value)), element);
    return OkStatus();
  }
  if (kind_ == Kind::kHostDouble) {
    WriteBits(std::bit_cast<uint64_t>(*value), element);
    return OkStatus();
  }
  if (!Convert(host_double_.get(), &*value, type_, element)) {
    return Hdf5Failure("to convert a float");
  }
  return OkStatus();
}

}  // namespace h5zarr::shadow
