// DEFLATE in its two framings, through libdeflate; through zlib, which can stop, where only the head of
// a stream is wanted. Private to filters/codec (gzip.cc, zlib.cc, reframe.cc).
#ifndef H5ZARR_CODEC_INFLATE_H_
#define H5ZARR_CODEC_INFLATE_H_

#include <cstdint>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr::codec {

enum class DeflateFraming { kGzip, kZlib };

// Decodes the first stream of `encoded`, which others may follow: as Inflate.
struct InflatedStream {
  uint64_t encoded_bytes = 0, decoded_bytes = 0;
};
Result<InflatedStream> InflateOne(DeflateFraming framing, ByteSpan encoded, MutableByteSpan target);

// Decodes all of `encoded` to the front of `target`, returns the bytes written. kOutOfRange when
// `target` is too small, kCorrupt (without a codec's name) for anything that is not a whole stream.
// kGzip: any number of members, zero bytes after a member (both as the gzip program reads them).
Result<uint64_t> Inflate(DeflateFraming framing, ByteSpan encoded, MutableByteSpan target);

// Decodes the first target.size() bytes (of kGzip's first member) and looks at nothing behind them.
// kCorrupt when there are fewer.
inline constexpr uint64_t kInflateSlowdown = 4;  // zlib against libdeflate
Status InflatePrefix(DeflateFraming framing, ByteSpan encoded, MutableByteSpan target);

// Encodes; `target` must have DeflateBound bytes. `level` is zlib's: 0 to 9.
Result<uint64_t> Deflate(DeflateFraming framing, int level, ByteSpan decoded, MutableByteSpan target);
uint64_t DeflateBound(DeflateFraming framing, uint64_t decoded_bytes);

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_INFLATE_H_
