// Floating-point formats of 16 bits and less beside IEEE binary16: bfloat16 and the 8, 6 and 4 bit
// formats of machine learning. Elements below 8 bits take a byte each. Needed for fill values only;
// the data of such arrays are never converted here.
#ifndef H5ZARR_ZARR_SMALL_FLOAT_H_
#define H5ZARR_ZARR_SMALL_FLOAT_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace h5zarr::zarr {

struct SmallFloat {
  // What the largest exponent, or negative zero, is used for.
  enum class Specials : uint8_t {
    kIeee,    // infinities and NaN in the largest exponent
    kFn,      // finite only, but all ones is NaN
    kFnuz,    // finite only, no negative zero: its code is NaN
    kFinite,  // neither infinities nor NaN
    kScale,   // an unsigned power of two; all ones is NaN
  };
  std::string_view name;
  int bits;
  int mantissa_bits;
  int bias;
  Specials specials;

  uint64_t item_bytes() const { return bits > 8 ? 2 : 1; }
  // The value of `code` (its low `bits` bits).
  double Decode(uint32_t code) const;
  // The code nearest to `value` (ties to even), or nothing where the format has none: NaN or an
  // infinity it lacks, or a finite value beyond its range.
  std::optional<uint32_t> Encode(double value) const;
};

// The format that v3 names so, or null.
const SmallFloat* FindSmallFloat(std::string_view name);
// IEEE binary16.
const SmallFloat& Binary16();
// The number type below the usual sizes that tensorstore and zarrs name so: one of these formats, or an integer of 2 or
// 4 bits ("int4"), of which each element takes a byte, whose other bits mean nothing.
std::optional<DType> SmallNumber(std::string_view name);
// The bits of an element that mean something. REQUIRES: an integer.
int IntegerBits(const DType& dtype);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_SMALL_FLOAT_H_
