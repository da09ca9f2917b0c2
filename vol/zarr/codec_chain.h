// CodecChain: the codecs of one array, made once and bound to its chunk, as the steps that decode
// and encode run: a permutation that is folded into strides, array codecs, at most one
// variable-length codec, byte codecs; and, for a sharded array, the sharding above an inner chain.
#ifndef H5ZARR_ZARR_CODEC_CHAIN_H_
#define H5ZARR_ZARR_CODEC_CHAIN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "codec/codec.h"
#include "codec/shard_index.h"
#include "exec/executor.h"
#include "zarr/metadata.h"

namespace h5zarr::zarr {

// A decoded chunk. Fixed-size types: `elems` holds them, in *stored* order: C order of the permuted
// shape (see CodecChain::order). Vlen types: `elems` is an array of VlenRef whose data lie in
// `heaps` (or in a heap added by a writer, or are the fill value that the chain was made with).
struct DecodedChunk {
  Buffer elems;
  std::vector<Buffer> heaps;
  uint64_t heap_bytes() const;
};

class CodecChain {
 public:
  // Binds `codecs` to a chunk of `shape` and `dtype`. kUnsupported names an unknown codec,
  // kInvalidArgument a wrong order (bytes → bytes before array → array, two vlen codecs, sharding
  // behind another array → bytes codec…) or configuration. For a sharded array this is the chain of
  // the *outer* chunk: sharding() is set. `fill` is what inner chunks missing in a shard hold.
  static Result<CodecChain> Make(const DType& dtype, std::vector<uint64_t> shape, const std::vector<CodecSpec>& codecs,
                                 const FillValue& fill = {});

  struct Sharding;  // inner chunk shape, grid of inner chunks per shard, index format, inner chain

  const DType& dtype() const;
  std::span<const uint64_t> shape() const;  // of a decoded chunk, in array dimension order
  // Decoded chunks lie in memory as C order of shape[order[0]], shape[order[1]], …; identity unless
  // the chain begins with transpose (or v2 order F).
  std::span<const uint64_t> order() const;
  std::span<const int64_t> strides_bytes() const;  // of a decoded chunk, by array dimension
  uint64_t elems() const;                          // of a decoded chunk
  uint64_t decoded_bytes() const;                  // elems() * dtype().item_bytes
  // What fill is in memory, over and over from the beginning of a chunk: the bytes of one element (a
  // VlenRef to the fill's content for vlen types; this chain, or what keep_fill() returns, must outlive
  // it), or where they differ those of a block (FillValue::block).
  ByteSpan fill_elem() const;
  bool fill_differs() const;
  // Writes fill to the strided `target`, whose elements are those of a chunk that lie there at
  // `chunk_offset_bytes` with `chunk_strides_bytes`.
  void Fill(std::byte* target, std::span<const int64_t> target_strides_bytes, std::span<const uint64_t> counts,
            uint64_t chunk_offset_bytes, std::span<const int64_t> chunk_strides_bytes) const;
  std::shared_ptr<const void> keep_fill() const;

  // How stored bytes are found within an object, for readers of single inner chunks. Null for a
  // plain array, and where byte codecs stand behind the sharding: then only the object as a whole
  // can be decoded. A sharding within a sharding is the inner chain's, and decoded as a whole.
  const Sharding* sharding() const;
  // No codec at all between stored bytes and elements: byte ranges of the object are elements.
  bool is_identity() const;
  // Stored size where it depends on nothing but the shape.
  std::optional<uint64_t> EncodedBytes() const;
  double decode_cost_ns() const;  // of one whole chunk
  double encode_cost_ns() const;

  // Decodes one chunk's stored bytes (a whole shard too) into `target`, of exactly the decoded
  // size; with an `executor` the inner chunks of a shard at once. Not for vlen types. kCorrupt names
  // what contradicts. Thread-safe.
  Status DecodeInto(ByteSpan encoded, MutableByteSpan target, Executor* executor = nullptr) const;
  // Whether a part of a chunk can be had for less than all of it, and then part.size() of its decoded bytes from
  // `offset` on (codec::BytesCodec). What stands elsewhere is not looked at, unless a checksum is over all.
  codec::PartialDecoding partial_decoding() const;
  // Whether DecodePart takes the front of what is stored for all of it: kCorrupt where it is too short.
  bool decodes_cut_off() const;
  Status DecodePart(ByteSpan encoded, uint64_t offset, MutableByteSpan part) const;
  // Any type.
  Result<DecodedChunk> Decode(ByteSpan encoded) const;
  // `elems` as DecodedChunk::elems. Inner chunks of a shard that hold nothing but fill are left
  // out; with an `executor` the others are encoded at once.
  Result<Buffer> Encode(ByteSpan elems, Executor* executor = nullptr) const;
  // The room that EncodeInto asks for; nothing where only Encode is possible (vlen, sharded).
  std::optional<uint64_t> MaxEncodedBytes() const;
  // As Encode, into memory of the caller; returns how many bytes it took.
  Result<uint64_t> EncodeInto(ByteSpan elems, MutableByteSpan room) const;

  // True when all of `elems` (one or more elements in memory) are fill that may be left out: bitwise, or
  // for vlen types by content. Never so where fill differs: other readers would see another value.
  bool IsFill(ByteSpan elems) const;

 private:
  struct Impl;
  struct Builder;
  friend struct Impl;
  explicit CodecChain(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_CODEC_CHAIN_H_
