// Shards as stored objects: the indexes an array has read, and changing some inner chunks of a
// shard without touching the others.
#ifndef H5ZARR_ZARR_SHARD_H_
#define H5ZARR_ZARR_SHARD_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "exec/executor.h"
#include "store/store.h"
#include "zarr/sharding.h"

namespace h5zarr::zarr {

// A shard's index and the state of the object it was read from.
struct LoadedIndex {
  codec::ShardIndex index;
  Generation generation;
  bool settled = true;  // see ReadResult
};
using IndexPtr = std::shared_ptr<const LoadedIndex>;

// The indexes an array has read, least recently used first out, by bytes. One thread at a time.
class ShardIndexCache {
 public:
  explicit ShardIndexCache(uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}
  IndexPtr Find(uint64_t object);
  void Insert(uint64_t object, IndexPtr index);
  void Erase(uint64_t object);
  void Clear();

 private:
  using Item = std::pair<uint64_t, IndexPtr>;
  std::list<Item> lru_;  // front: most recently used
  std::unordered_map<uint64_t, std::list<Item>::iterator> index_;
  uint64_t budget_bytes_;
  uint64_t bytes_ = 0;
};

// Which bytes of a shard are its index.
ByteRange IndexRange(const CodecChain::Sharding& sharding);

// Encoded bytes of a chunk: in `owner`, or borrowed from somewhere that outlives this. Nothing
// where the chunk is all fill and not to be stored.
struct EncodedChunk {
  std::optional<ByteSpan> bytes;
  Buffer owner;
};

// What becomes of one inner chunk: other bytes, or nothing (it is missing from then on).
struct ShardChange {
  uint64_t entry = 0;
  EncodedChunk encoded;
};

// A whole shard in one buffer that holds just `changes` (of different entries), or nothing when no
// inner chunk is left.
Result<std::optional<Buffer>> AssembleShard(const CodecChain::Sharding& sharding,
                                            const std::vector<ShardChange>& changes);

// The index of the shard at `key`, fresh; null where there is no shard. kCorrupt for one that is
// not true. Blocks.
Result<IndexPtr> ReadShardIndex(Store* store, const std::string& key, const CodecChain::Sharding& sharding,
                                Executor& executor);

// Rewrites the shard at `key` with `changes` made and every other inner chunk carried over, still
// encoded; deletes it when nothing is left. A corrupt old shard is an error and stays as it is. The
// caller holds Store::Lock on it. Blocks.
Status UpdateShard(Store* store, const std::string& key, const CodecChain::Sharding& sharding,
                   const std::vector<ShardChange>& changes, Executor& executor);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_SHARD_H_
