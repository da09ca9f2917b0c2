// The index of a Zarr v3 shard: where each inner chunk's encoded bytes lie within the shard.
// A pure value format: no I/O here. Spec: zarr v3 codec `sharding_indexed`, "Binary shard format".
#ifndef H5ZARR_CODEC_SHARD_INDEX_H_
#define H5ZARR_CODEC_SHARD_INDEX_H_

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/dtype.h"
#include "base/status.h"

namespace h5zarr::codec {

// One inner chunk's place; missing() where it is absent (reads as fill).
struct ShardEntry {
  static constexpr uint64_t kMissing = UINT64_MAX;
  uint64_t offset = kMissing;
  uint64_t length = kMissing;
  bool missing() const { return offset == kMissing && length == kMissing; }
  bool operator==(const ShardEntry&) const = default;
};

// How an index is stored: the fixed-size part of `index_codecs`.
struct ShardIndexFormat {
  Endian endian = Endian::kLittle;  // of the `bytes` codec
  bool crc32c = true;               // a crc32c follows the entries
  bool at_start = false;            // index_location
  uint64_t EncodedBytes(uint64_t entries) const { return entries * 16 + (crc32c ? 4 : 0); }
};

using ShardIndex = std::vector<ShardEntry>;  // C order over the inner chunks of one shard

// Decodes; kCorrupt when the size is not EncodedBytes(entries) or the checksum differs (saying
// stored and computed). Does not check the places: see ValidateShardIndex.
Result<ShardIndex> DecodeShardIndex(ByteSpan encoded, uint64_t entries, const ShardIndexFormat& format);

// Writes EncodedBytes(index.size()) bytes to `encoded` (of exactly that size).
Status EncodeShardIndex(const ShardIndex& index, const ShardIndexFormat& format, MutableByteSpan encoded);

// kCorrupt, naming the entry and its range, when a place does not lie within [0, shard_bytes) or
// only one of offset and length says "missing".
Status ValidateShardIndex(const ShardIndex& index, uint64_t shard_bytes);

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_SHARD_INDEX_H_
