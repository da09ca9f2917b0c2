// IEEE binary16 by hand (no compiler type is portable enough). Private to filters/codec.
#ifndef H5ZARR_CODEC_HALF_H_
#define H5ZARR_CODEC_HALF_H_

#include <bit>
#include <cstdint>

namespace h5zarr::codec {

struct Half {
  uint16_t bits = 0;
};

inline float HalfToFloat(Half half) {
  const uint32_t sign = static_cast<uint32_t>(half.bits & 0x8000) << 16;
  const uint32_t exponent = half.bits >> 10 & 0x1f;
  const uint32_t fraction = half.bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) {
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  }
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // exact
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

// To the nearest, ties to even; what is too large becomes infinity.
inline Half DoubleToHalf(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  const uint64_t magnitude = bits & 0x7fffffffffffffff;
  if (magnitude > 0x7ff0000000000000) return {static_cast<uint16_t>(sign | 0x7e00)};  // NaN
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent > 15) return {static_cast<uint16_t>(sign | 0x7c00)};
  if (exponent < -25) return {sign};
  // The significand with its hidden bit is cut to 11 bits, or fewer for a subnormal. A carry out of
  // the rounding moves into the exponent, which is right, up to infinity.
  const uint64_t significand = (magnitude & 0xfffffffffffff) | (uint64_t{1} << 52);
  const int shift = exponent < -14 ? 42 + (-14 - exponent) : 42;
  uint64_t kept = significand >> shift;
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t half_way = uint64_t{1} << (shift - 1);
  if (rest > half_way || (rest == half_way && (kept & 1) != 0)) ++kept;
  if (exponent >= -14) kept += static_cast<uint64_t>(exponent + 14) << 10;
  return {static_cast<uint16_t>(sign | kept)};
}

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_HALF_H_
