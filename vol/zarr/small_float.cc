#include "zarr/small_float.h"

#include <array>
#include <cmath>
#include <limits>

namespace h5zarr::zarr {
namespace {

using Specials = SmallFloat::Specials;

constexpr SmallFloat kBinary16 = {"float16", 16, 10, 15, Specials::kIeee};

constexpr std::array<SmallFloat, 12> kFormats = {{
    {"bfloat16", 16, 7, 127, Specials::kIeee},
    {"float8_e3m4", 8, 4, 3, Specials::kIeee},
    {"float8_e4m3", 8, 3, 7, Specials::kIeee},
    {"float8_e4m3fn", 8, 3, 7, Specials::kFn},
    {"float8_e4m3b11fnuz", 8, 3, 11, Specials::kFnuz},
    {"float8_e4m3fnuz", 8, 3, 8, Specials::kFnuz},
    {"float8_e5m2", 8, 2, 15, Specials::kIeee},
    {"float8_e5m2fnuz", 8, 2, 16, Specials::kFnuz},
    {"float8_e8m0fnu", 8, 0, 127, Specials::kScale},
    {"float6_e2m3fn", 6, 3, 1, Specials::kFinite},
    {"float6_e3m2fn", 6, 2, 3, Specials::kFinite},
    {"float4_e2m1fn", 4, 1, 1, Specials::kFinite},
}};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double SmallFloat::Decode(uint32_t code) const {
  code &= (1u << bits) - 1;
  if (specials == Specials::kScale) {
    return code == 0xFF ? kNaN : std::ldexp(1.0, static_cast<int>(code) - bias);
  }
  const uint32_t sign_bit = 1u << (bits - 1);
  const uint32_t magnitude = code & (sign_bit - 1);
  const double sign = (code & sign_bit) != 0 ? -1.0 : 1.0;
  const uint32_t mantissa = magnitude & ((1u << mantissa_bits) - 1);
  const uint32_t exponent = magnitude >> mantissa_bits;
  const uint32_t largest_exponent = (sign_bit - 1) >> mantissa_bits;
  if (specials == Specials::kIeee && exponent == largest_exponent) {
    return mantissa == 0 ? sign * HUGE_VAL : kNaN;
  }
  if (specials == Specials::kFn && magnitude == sign_bit - 1) return kNaN;
  if (specials == Specials::kFnuz && code == sign_bit) return kNaN;
  if (exponent == 0) {
    return sign * std::ldexp(static_cast<double>(mantissa), 1 - bias - mantissa_bits);
  }
  return sign * std::ldexp(static_cast<double>(mantissa + (1u << mantissa_bits)),
                           static_cast<int>(exponent) - bias - mantissa_bits);
}

std::optional<uint32_t> SmallFloat::Encode(double value) const {
  const uint32_t sign_bit = 1u << (bits - 1);
  if (std::isnan(value)) {
    switch (specials) {
      case Specials::kIeee:  // the quiet bit, as v3's "NaN" has it
        return ((sign_bit - 1) >> mantissa_bits << mantissa_bits) | (1u << (mantissa_bits - 1));
      case Specials::kFn: return sign_bit - 1;
      case Specials::kFnuz: return sign_bit;
      case Specials::kFinite: return std::nullopt;
      case Specials::kScale: return 0xFF;
    }
  }
  // At most 2^16 codes, and positive ones are ordered as their values: a binary search.
  const double magnitude = std::fabs(value);
  const bool negative = std::signbit(value);
  if (specials == Specials::kScale && (negative || magnitude == 0)) return std::nullopt;
  uint32_t last = specials == Specials::kScale ? 0xFE : sign_bit - 1;
  while (std::isnan(Decode(last))) --last;
  if (magnitude > Decode(last)) return std::nullopt;
  const uint32_t highest = last;
  uint32_t low = 0;
  while (low < last) {
    const uint32_t middle = low + (last - low + 1) / 2;
    if (Decode(middle) <= magnitude) {
      low = middle;
    } else {
      last = middle - 1;
    }
  }
  const double below = magnitude - Decode(low);
  if (low < highest) {
    const double above = Decode(low + 1) - magnitude;
    if (std::isinf(above) && below > 0) return std::nullopt;  // between the largest and infinity
    if (above < below || (above == below && low % 2 == 1)) ++low;
  }
  if (negative && !(specials == Specials::kFnuz && low == 0)) low |= sign_bit;
  return low;
}

const SmallFloat* FindSmallFloat(std::string_view name) {
  for (const SmallFloat& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

const SmallFloat& Binary16() { return kBinary16; }

std::optional<DType> SmallNumber(std::string_view name) {
  DType dtype;
  if (const SmallFloat* format = FindSmallFloat(name)) {
    dtype = DType::Float(format->item_bytes());
  } else if (name == "int2" || name == "int4") {
    dtype = DType::Int(1);
  } else if (name == "uint2" || name == "uint4") {
    dtype = DType::Uint(1);
  } else {
    return std::nullopt;
  }
  dtype.format = name;
  return dtype;
}

int IntegerBits(const DType& dtype) {
  if (dtype.format.empty()) return static_cast<int>(8 * dtype.item_bytes);
  return dtype.format.back() - '0';  // of "int4"
}

}  // namespace h5zarr::zarr
