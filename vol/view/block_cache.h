// BlockCache: decoded blocks of an image, the last used ones, within a budget.
#ifndef H5ZARR_VIEW_BLOCK_CACHE_H_
#define H5ZARR_VIEW_BLOCK_CACHE_H_

#include <cstdint>
#include <list>
#include <unordered_map>

#include "base/buffer.h"

namespace h5zarr::view {

class BlockCache {
 public:
  explicit BlockCache(uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}
  uint64_t budget_bytes() const { return budget_bytes_; }
  // The block at the address, now the one used last; null when it is not here. Valid until Insert.
  const Buffer* Find(uint64_t at);
  void Clear();
  // May drop others; never the block itself.
  void Insert(uint64_t at, Buffer block);

 private:
  struct Entry {
    Buffer block;
    std::list<uint64_t>::iterator use;
  };
  const uint64_t budget_bytes_;
  uint64_t held_bytes_ = 0;
  std::list<uint64_t> uses_;  // addresses, the last used first
  std::unordered_map<uint64_t, Entry> blocks_;
};

}  // namespace h5zarr::view

#endif  // H5ZARR_VIEW_BLOCK_CACHE_H_
