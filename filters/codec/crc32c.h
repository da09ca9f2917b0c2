// CRC-32C (Castagnoli, RFC 3720), by the processor's instruction where it has one.
#ifndef H5ZARR_CODEC_CRC32C_H_
#define H5ZARR_CODEC_CRC32C_H_

#include <cstdint>

#include "base/buffer.h"

namespace h5zarr::codec {

// The CRC of `bytes`, or of what gave `previous` with `bytes` behind it. Thread-safe.
uint32_t Crc32c(ByteSpan bytes, uint32_t previous = 0);

// The same without the processor's help, for tests.
uint32_t Crc32cPortable(ByteSpan bytes, uint32_t previous = 0);

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_CRC32C_H_
