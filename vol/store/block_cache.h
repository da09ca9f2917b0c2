// BlockCache: blocks of one file that were read lately.
//
// Within store/ only. Knows nothing of where they come from. One thread at a time.
#ifndef H5ZARR_STORE_BLOCK_CACHE_H_
#define H5ZARR_STORE_BLOCK_CACHE_H_

#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr {

class BlockCache {
 public:
  // Small, since what is wanted of a file is often little, here and there; reads are of many blocks.
  static constexpr uint64_t kBlockBytes = 4096;

  // Keeps at most so much (and one block); the least recently used goes first.
  explicit BlockCache(uint64_t max_bytes) : max_blocks_(max_bytes / kBlockBytes) {}

  bool Has(uint64_t block) const { return blocks_.count(block) > 0; }
  // Its bytes, until the next Insert; empty where it is not there.
  ByteSpan Find(uint64_t block);
  // The file's last block may be shorter than others. One that is there stays.
  Status Insert(uint64_t block, ByteSpan bytes);

 private:
  using Entry = std::pair<uint64_t, Buffer>;
  const uint64_t max_blocks_;
  std::list<Entry> used_;  // the latest first
  std::unordered_map<uint64_t, std::list<Entry>::iterator> blocks_;
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_BLOCK_CACHE_H_
