// number_conversion: between numbers that differ in byte order, or as float and double, without HDF5:
// so that several threads can do it, on the way between the packed temporary and the caller's memory.
//
// Gives what HDF5 gives. All other conversions are convert.h's.
#ifndef H5ZARR_TRANSFER_NUMBER_CONVERSION_H_
#define H5ZARR_TRANSFER_NUMBER_CONVERSION_H_

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "exec/executor.h"
#include "transfer/slab.h"

namespace h5zarr::transfer {

class NumberConversion {
 public:
  static NumberConversion Swap(uint64_t word_bytes);
  // Of native byte order. Doubles beyond the range of a float become infinite.
  static NumberConversion FloatToDouble() { return {Kind::kFloatToDouble, 4, 8}; }
  static NumberConversion DoubleToFloat() { return {Kind::kDoubleToFloat, 8, 4}; }

  uint64_t from_bytes() const { return from_bytes_; }
  uint64_t to_bytes() const { return to_bytes_; }

  // Converts `elems` elements; the two do not overlap. Thread-safe.
  void Convert(const std::byte* from, std::byte* to, uint64_t elems) const;

 private:
  enum class Kind : uint8_t { kSwap2, kSwap4, kSwap8, kFloatToDouble, kDoubleToFloat };
  NumberConversion(Kind kind, uint64_t from_bytes, uint64_t to_bytes)
      : kind_(kind), from_bytes_(from_bytes), to_bytes_(to_bytes) {}

  Kind kind_;
  uint64_t from_bytes_;
  uint64_t to_bytes_;
};

// The slab's elements from the packed temporary to the caller's buffer, and back, in parallel.
Status ScatterConverted(const Slab& slab, const NumberConversion& conversion, const std::byte* packed_elems,
                        std::byte* buffer, Executor& executor);
Status GatherConverted(const Slab& slab, const NumberConversion& conversion, const std::byte* buffer,
                       std::byte* packed_elems, Executor& executor);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_NUMBER_CONVERSION_H_
