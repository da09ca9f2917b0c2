// reframe: a DEFLATE stream in zlib's framing (HDF5's deflate) with gzip's (Zarr's), or the other way round. The
// stream itself stays as it is.
#ifndef H5ZARR_CODEC_REFRAME_H_
#define H5ZARR_CODEC_REFRAME_H_

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr::codec {

// `decoded` is room for what the stream holds, of exactly that size: either framing ends with a checksum of it.
// kCorrupt where `encoded` is no whole stream of so many bytes; kUnsupported for gzip of several members.
// Thread-safe.
Result<Buffer> ZlibToGzip(ByteSpan encoded, MutableByteSpan decoded);
Result<Buffer> GzipToZlib(ByteSpan encoded, MutableByteSpan decoded);

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_REFRAME_H_
