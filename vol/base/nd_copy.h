// Copies between N-dimensional strided layouts of equal elements: the scatter of a decoded chunk
// into a caller's buffer, the gather of a caller's buffer into a chunk, and fills.
//
// Not a transform: elements are moved as bytes, never converted.
#ifndef H5ZARR_BASE_ND_COPY_H_
#define H5ZARR_BASE_ND_COPY_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/buffer.h"

namespace h5zarr {

// Copies prod(counts) elements of `elem_bytes` from `source` to `target`; element (i0, i1, …) lies
// at sum(i_d * strides_bytes[d]) from either base. Strides may be negative or zero. The three spans
// have equal size (0 copies a single element). Contiguous inner runs are found and copied whole.
// The caller has checked that every address is within its buffer. Thread-safe on disjoint targets.
void CopyStrided(const std::byte* source, std::span<const int64_t> source_strides_bytes, std::byte* target,
                 std::span<const int64_t> target_strides_bytes, std::span<const uint64_t> counts, uint64_t elem_bytes);

// Writes `value` (elem_bytes long) to every element of the strided `target`.
void FillStrided(std::byte* target, std::span<const int64_t> target_strides_bytes, std::span<const uint64_t> counts,
                 ByteSpan value);

// Writes `value` repeatedly over the whole of `target`. REQUIRES: target.size() % value.size() == 0.
void FillContiguous(MutableByteSpan target, ByteSpan value);

// True when `bytes` is nothing but repetitions of `value` (bitwise: -0.0 differs from 0.0).
bool IsAll(ByteSpan bytes, ByteSpan value);

// Strides in bytes of a C-contiguous array of `shape`, written to `strides_bytes` (equal sizes).
void ContiguousStrides(std::span<const uint64_t> shape, uint64_t elem_bytes, std::span<int64_t> strides_bytes);

}  // namespace h5zarr

#endif  // H5ZARR_BASE_ND_COPY_H_
