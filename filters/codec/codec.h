// Codecs: how bytes of a chunk become other bytes. Three roles, because Zarr has three:
//   ArrayCodec  array → array  elements change value or order, sizes are known in advance
//   VlenCodec   array → bytes  elements of variable length become one byte string
//   BytesCodec  bytes → bytes  compressors, byte shufflers, checksums
// The fixed-size array → bytes codec (`bytes`) is no code: byte order is part of a DType.
// `sharding_indexed` is no codec either: it says where bytes lie (shard_index.h, and zarr/ above).
//
// A codec is immutable after it was made and may be used by any number of threads at once; state a
// library needs (contexts) is kept per thread inside the codec's file. Codecs trust no byte: a
// truncated, oversized or contradictory input is kCorrupt and never touches memory out of bounds.
// This layer knows no store and no HDF5.
#ifndef H5ZARR_CODEC_CODEC_H_
#define H5ZARR_CODEC_CODEC_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/dtype.h"
#include "base/status.h"

namespace h5zarr::codec {

// What enters or leaves an ArrayCodec: elements of a type in a C-ordered array.
struct ChunkSpec {
  DType dtype;
  std::vector<uint64_t> shape;
  // Elements and bytes (REQUIRES: their products were checked when the array was opened).
  uint64_t elems() const;
  uint64_t size_bytes() const { return elems() * dtype.item_bytes; }
};

// Rough cost, measured on one core, in nanoseconds a decoded byte; for the choice of threads.
struct CodecCost {
  double decode_ns_per_byte = 0.05;
  double encode_ns_per_byte = 0.05;
};

// What a part of a chunk costs a decoder.
struct PartialDecoding {
  // A byte of a part takes up to so many times what a byte of the whole does; 0: parts cost what the whole does.
  uint64_t slowdown = 0;
  uint64_t unit_bytes = 1;  // about so many are decoded together
  bool from_front = true;   // all that stands before the part is decoded with it
};

class ArrayCodec {
 public:
  virtual ~ArrayCodec() = default;
  virtual std::string_view name() const = 0;
  virtual const ChunkSpec& decoded_spec() const = 0;
  virtual const ChunkSpec& encoded_spec() const = 0;
  // Both spans have exactly the size of their spec (kCorrupt / kInvalidArgument otherwise).
  virtual Status Decode(ByteSpan encoded, MutableByteSpan decoded) const = 0;
  virtual Status Encode(ByteSpan decoded, MutableByteSpan encoded) const = 0;
  // For transpose: order[i] is the decoded dimension that becomes encoded dimension i. Empty for
  // every other codec. Callers may turn it into strides instead of calling Decode.
  virtual std::span<const uint64_t> transpose_order() const { return {}; }
  virtual CodecCost cost() const { return {}; }
};

class VlenCodec {
 public:
  virtual ~VlenCodec() = default;
  virtual std::string_view name() const = 0;
  // Fills `elems`, whose data point into `encoded` or, where that is impossible (a JSON text), into
  // `*heap`, which the codec allocates; either must outlive them. kCorrupt when the count differs.
  virtual Status Decode(ByteSpan encoded, std::span<VlenRef> elems, Buffer* heap) const = 0;
  virtual Result<Buffer> Encode(std::span<const VlenRef> elems) const = 0;
  virtual CodecCost cost() const { return {}; }
};

class BytesCodec {
 public:
  virtual ~BytesCodec() = default;
  virtual std::string_view name() const = 0;
  // The encoded size where it depends on the decoded size alone (shuffle, checksums).
  virtual std::optional<uint64_t> EncodedBytes(uint64_t decoded_bytes) const {
    (void)decoded_bytes;
    return std::nullopt;
  }
  // The most that Encode can produce; kOutOfRange when the library cannot take so much.
  virtual Result<uint64_t> MaxEncodedBytes(uint64_t decoded_bytes) const = 0;
  // Decodes to exactly decoded.size() bytes; anything else is kCorrupt, saying both sizes.
  virtual Status Decode(ByteSpan encoded, MutableByteSpan decoded) const = 0;
  // Decodes to a size that only the data tell, at most `max_bytes` (kCorrupt beyond).
  virtual Result<Buffer> DecodeUnsized(ByteSpan encoded, uint64_t max_bytes) const = 0;
  virtual PartialDecoding partial_decoding() const { return {}; }
  // Decodes part.size() bytes from `offset` on, of `decoded_bytes` in all, looking at no more of `encoded` than
  // these take: what stands elsewhere may be damaged. kCorrupt when there are fewer.
  // REQUIRES: partial_decoding().slowdown > 0, a part that lies within; where it is from_front, offset == 0.
  virtual Status DecodePart(ByteSpan encoded, uint64_t decoded_bytes, uint64_t offset, MutableByteSpan part) const;
  // Encodes into `encoded`, of at least MaxEncodedBytes(decoded.size()); returns the bytes used.
  virtual Result<uint64_t> Encode(ByteSpan decoded, MutableByteSpan encoded) const = 0;
  virtual CodecCost cost() const { return {}; }
};

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_CODEC_H_
