// Memory for one chunk, or one group of chunks, a thread, kept for the length of a call: fresh
// memory costs a page fault every 4 KiB.
#ifndef H5ZARR_ZARR_SCRATCH_POOL_H_
#define H5ZARR_ZARR_SCRATCH_POOL_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr::zarr {

// Thread-safe.
class ScratchPool {
 public:
  // Exactly `size_bytes` bytes, of any content.
  Result<Buffer> Take(uint64_t size_bytes);
  // Takes back a buffer of the size it was taken with.
  void Return(Buffer buffer);
  void Clear();

 private:
  std::mutex mutex_;
  std::vector<Buffer> free_;  // guarded by mutex_
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_SCRATCH_POOL_H_
