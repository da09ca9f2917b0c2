// The inside of CodecChain, for codec_chain.cc (making one) and codec_chain_run.cc (running one).
#ifndef H5ZARR_ZARR_CODEC_CHAIN_IMPL_H_
#define H5ZARR_ZARR_CODEC_CHAIN_IMPL_H_

#include <memory>
#include <optional>
#include <vector>

#include "zarr/codec_chain.h"
#include "zarr/sharding.h"

namespace h5zarr::zarr {

// The content of a vlen fill value and the element that refers to it. Never copied: it points into
// itself.
struct FillElem {
  std::vector<std::byte> content;
  VlenRef ref;
  ByteSpan elem;  // what an element of fill is in memory, or a block of them
};

struct CodecChain::Impl {
  DType dtype;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> order;
  std::vector<int64_t> strides_bytes;
  uint64_t elems = 0;
  uint64_t decoded_bytes = 0;
  std::shared_ptr<const FillElem> fill;

  // In encoding order: array codecs, then one of {nothing, vlen, sharding}, then byte codecs.
  std::vector<std::unique_ptr<codec::ArrayCodec>> array_codecs;
  std::unique_ptr<codec::VlenCodec> vlen;
  std::unique_ptr<Sharding> sharding;
  std::vector<std::unique_ptr<codec::BytesCodec>> bytes_codecs;
  // sizes[i] enters byte codec i, sizes.back() is what is stored; nothing where only data tell.
  std::vector<std::optional<uint64_t>> sizes_bytes;
  // The most that may enter byte codec i: what a decoder must not exceed.
  std::vector<uint64_t> caps_bytes;
  // The most that encoding makes; nothing where only data tell.
  std::optional<uint64_t> max_encoded_bytes;
  double decode_cost_ns = 0;
  double encode_cost_ns = 0;

  bool is_identity() const {
    return array_codecs.empty() && vlen == nullptr && sharding == nullptr && bytes_codecs.empty();
  }

  Status DecodeInto(ByteSpan encoded, MutableByteSpan target, Executor* executor = nullptr) const;
  Status DecodePart(ByteSpan encoded, uint64_t offset, MutableByteSpan part) const;
  Result<DecodedChunk> DecodeVlen(ByteSpan encoded) const;
  // Undoes all byte codecs; the result lies in `encoded` itself or in `*holder`.
  Result<ByteSpan> DecodeBytes(ByteSpan encoded, std::size_t down_to, Buffer* holder) const;
  Status DecodeArrayCodecs(ByteSpan encoded, MutableByteSpan target) const;
  // Decode all inner chunks of a shard into `target`; heaps of vlen ones go to `heaps`.
  Status DecodeShard(ByteSpan shard, MutableByteSpan target, Executor* executor) const;
  Status DecodeVlenShard(ByteSpan shard, MutableByteSpan target, std::vector<Buffer>* heaps) const;

  Result<Buffer> Encode(ByteSpan elements, Executor* executor = nullptr) const;
  Result<uint64_t> EncodeInto(ByteSpan elements, MutableByteSpan room) const;
  Result<Buffer> EncodeArrayCodecs(ByteSpan elements) const;
  Result<Buffer> EncodeShard(ByteSpan elements, Executor* executor) const;
  bool IsFill(ByteSpan elements) const;
  void FillByBlock(std::byte* target, std::span<const int64_t> target_strides_bytes, std::vector<uint64_t> counts,
                   uint64_t offset_bytes, std::span<const int64_t> strides_bytes) const;
  bool fill_differs() const { return !dtype.is_vlen() && fill->elem.size() > dtype.item_bytes; }
  void Fill(std::byte* target, std::span<const int64_t> target_strides_bytes, std::span<const uint64_t> counts,
            uint64_t chunk_offset_bytes, std::span<const int64_t> chunk_strides_bytes) const;
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_CODEC_CHAIN_IMPL_H_
