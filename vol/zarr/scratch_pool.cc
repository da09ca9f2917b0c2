#include "zarr/scratch_pool.h"

#include <utility>

namespace h5zarr::zarr {

Result<Buffer> ScratchPool::Take(uint64_t size_bytes) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = free_.size(); i-- > 0;) {
      if (free_[i].size_bytes() != size_bytes) continue;
      Buffer buffer = std::move(free_[i]);
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return buffer;
    }
  }
  return Buffer::Allocate(size_bytes);
}

void ScratchPool::Return(Buffer buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  // Of another array's size: the oldest make room.
  if (free_.size() >= 64) free_.erase(free_.begin());
  free_.push_back(std::move(buffer));
}

void ScratchPool::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  free_.clear();
}

}  // namespace h5zarr::zarr
