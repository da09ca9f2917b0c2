// The byte shuffle of HDF5, numcodecs and zarrs: byte k of all elements, for k = 0, 1, …
#ifndef H5ZARR_CODEC_BYTE_SHUFFLE_H_
#define H5ZARR_CODEC_BYTE_SHUFFLE_H_

#include <cstddef>
#include <cstdint>

namespace h5zarr::codec {

// Shuffles `elems` elements of `elem_bytes` from `source` to `target` (both elems * elem_bytes
// long, not overlapping); ByteUnshuffle is its inverse.
void ByteShuffle(const std::byte* source, std::byte* target, uint64_t elems, uint64_t elem_bytes);
void ByteUnshuffle(const std::byte* source, std::byte* target, uint64_t elems, uint64_t elem_bytes);

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_BYTE_SHUFFLE_H_
