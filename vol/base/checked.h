// Arithmetic on sizes that come from files: every product and every offset + length goes through
// these, so that a hostile number becomes an error and never a small allocation.
#ifndef H5ZARR_BASE_CHECKED_H_
#define H5ZARR_BASE_CHECKED_H_

#include <cstdint>
#include <optional>
#include <span>

namespace h5zarr {

// a + b and a * b, or nothing when the result does not fit 64 bits.
inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The product of all factors (1 for none). A zero factor gives 0 whatever the others are.
inline std::optional<uint64_t> CheckedProduct(std::span<const uint64_t> factors) {
  uint64_t product = 1;
  bool overflow = false;
  for (uint64_t factor : factors) {
    if (factor == 0) return 0;
    if (__builtin_mul_overflow(product, factor, &product)) overflow = true;
  }
  if (overflow) return std::nullopt;
  return product;
}

// ceil(a / b) without overflow. REQUIRES: b > 0.
inline uint64_t CeilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace h5zarr

#endif  // H5ZARR_BASE_CHECKED_H_
