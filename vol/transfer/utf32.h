// utf32: fixed-length UTF-32 text, as Zarr has it, ↔ UTF-8 text of the same size, as HDF5 has it.
#ifndef H5ZARR_TRANSFER_UTF32_H_
#define H5ZARR_TRANSFER_UTF32_H_

#include <cstdint>

#include "base/buffer.h"
#include "base/dtype.h"
#include "base/status.h"

namespace h5zarr::transfer {

// Rewrites the texts of `text_bytes` (a multiple of 4) each in `texts` in place; both forms are
// padded with NUL. kCorrupt for what is no code point.
Status Utf32ToUtf8(MutableByteSpan texts, uint64_t text_bytes, Endian endian);
// A NUL ends the text. kInvalidArgument for invalid UTF-8, kOutOfRange for a text of more code
// points than text_bytes / 4.
Status Utf8ToUtf32(MutableByteSpan texts, uint64_t text_bytes, Endian endian);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_UTF32_H_
