// Compressor: the base of byte codecs whose decoded size only the data tell (gzip, zstd, blosc, …).
// Private to filters/codec.
#ifndef H5ZARR_CODEC_COMPRESSOR_H_
#define H5ZARR_CODEC_COMPRESSOR_H_

#include <string>

#include "codec/codec.h"

namespace h5zarr::codec {

class Compressor : public BytesCodec {
 public:
  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const final;
  Result<Buffer> DecodeUnsized(ByteSpan encoded, uint64_t max_bytes) const final;
  Result<uint64_t> Encode(ByteSpan decoded, MutableByteSpan encoded) const final;

 protected:
  // Decodes the whole of `encoded` to the front of `target`; returns the bytes written. kOutOfRange
  // when `target` is too small, kCorrupt when `encoded` is not exactly what this codec writes.
  // Pointers are never null.
  virtual Result<uint64_t> DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const = 0;
  // What DecodeUpTo is likely to need; any value is allowed. An exact one saves decoding twice.
  virtual uint64_t GuessDecodedBytes(ByteSpan encoded) const = 0;
  // As Encode; `encoded` is known to be large enough and pointers are never null.
  virtual Result<uint64_t> EncodeTo(ByteSpan decoded, MutableByteSpan encoded) const = 0;

  Status Corrupt(std::string_view what) const;
  // DecodePart for what can only be decoded as a whole.
  Status DecodeAllForPart(ByteSpan encoded, uint64_t decoded_bytes, uint64_t offset, MutableByteSpan part) const;
};

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_COMPRESSOR_H_
