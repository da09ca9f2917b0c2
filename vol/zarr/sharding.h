// CodecChain::Sharding: the `sharding_indexed` codec as a value — which inner chunks a shard has,
// how its index is stored, and how a shard is put together. No I/O: see shard.h.
#ifndef H5ZARR_ZARR_SHARDING_H_
#define H5ZARR_ZARR_SHARDING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "zarr/codec_chain.h"

namespace h5zarr::zarr {

struct CodecChain::Sharding {
  Sharding(CodecChain inner_chain) : inner(std::move(inner_chain)) {}  // NOLINT

  CodecChain inner;                 // of one inner chunk; may be sharded itself
  std::vector<uint64_t> per_shard;  // inner chunks a shard, by array dimension
  // The index lists inner chunks in C order of these array dimensions (identity unless a transpose
  // stands before the sharding).
  std::vector<uint64_t> index_order;
  uint64_t entries = 0;  // product of per_shard
  codec::ShardIndexFormat format;
  // Checksums behind the index other than a single crc32c, in encoding order.
  std::vector<std::unique_ptr<codec::BytesCodec>> index_codecs;
  uint64_t index_bytes = 0;  // as stored

  // Decodes an index of `index_bytes`. kCorrupt when it contradicts itself or a shard of
  // `shard_bytes`, whose index is not part of any inner chunk.
  Result<codec::ShardIndex> DecodeIndex(ByteSpan encoded, uint64_t shard_bytes) const;
  Status EncodeIndex(const codec::ShardIndex& index, MutableByteSpan encoded) const;

  // The index of a whole shard in memory.
  Result<codec::ShardIndex> IndexOf(ByteSpan shard) const;

  // Where the inner chunks of these sizes (nothing: missing) lie in a shard that holds them one
  // after the other, and the shard's size. kOutOfRange when it does not fit 64 bits.
  struct Layout {
    codec::ShardIndex index;
    uint64_t shard_bytes = 0;
    uint64_t index_offset = 0;
    bool empty = true;  // no inner chunk at all
  };
  Result<Layout> Place(std::span<const std::optional<uint64_t>> sizes_bytes) const;

  // Position of the inner chunk at `inner_coords` (by array dimension) in the index, and back.
  uint64_t Entry(std::span<const uint64_t> inner_coords) const;
  void EntryCoords(uint64_t entry, std::span<uint64_t> inner_coords) const;
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_SHARDING_H_
