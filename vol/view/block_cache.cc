#include "view/block_cache.h"

#include <utility>

namespace h5zarr::view {

const Buffer* BlockCache::Find(uint64_t at) {
  const auto found = blocks_.find(at);
  if (found == blocks_.end()) return nullptr;
  uses_.splice(uses_.begin(), uses_, found->second.use);
  return &found->second.block;
}

void BlockCache::Clear() {
  blocks_.clear();
  uses_.clear();
  held_bytes_ = 0;
}

void BlockCache::Insert(uint64_t at, Buffer block) {
  if (Find(at) != nullptr) return;
  held_bytes_ += block.size_bytes();
  uses_.push_front(at);
  blocks_[at] = {std::move(block), uses_.begin()};
  while (held_bytes_ > budget_bytes_ && uses_.size() > 1) {
    const auto oldest = blocks_.find(uses_.back());
    held_bytes_ -= oldest->second.block.size_bytes();
    blocks_.erase(oldest);
    uses_.pop_back();
  }
}

}  // namespace h5zarr::view
