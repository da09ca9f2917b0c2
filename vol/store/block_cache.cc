#include "store/block_cache.h"

namespace h5zarr {

ByteSpan BlockCache::Find(uint64_t block) {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return {};
  used_.splice(used_.begin(), used_, found->second);
  return std::as_const(found->second->second).span();
}

Status BlockCache::Insert(uint64_t block, ByteSpan bytes) {
  if (Has(block)) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(Buffer kept, Buffer::CopyOf(bytes));
  while (!used_.empty() && used_.size() >= max_blocks_) {
    blocks_.erase(used_.back().first);
    used_.pop_back();
  }
  used_.emplace_front(block, std::move(kept));
  blocks_[block] = used_.begin();
  return OkStatus();
}

}  // namespace h5zarr
