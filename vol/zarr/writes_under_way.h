// WritesUnderWay: objects that a store takes several at once, of which there are to be no more than memory
// allows.
#ifndef H5ZARR_ZARR_WRITES_UNDER_WAY_H_
#define H5ZARR_ZARR_WRITES_UNDER_WAY_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace h5zarr::zarr {

class WritesUnderWay {
 public:
  explicit WritesUnderWay(uint64_t most_bytes) : most_bytes_(most_bytes) {}
  WritesUnderWay(const WritesUnderWay&) = delete;
  // Waits for all of them.
  ~WritesUnderWay() { Wait(); }

  // Blocks until there is room for one more of this size, or it is the only one.
  void Begin(uint64_t bytes) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return count_ == 0 || bytes_ + bytes <= most_bytes_; });
    ++count_;
    bytes_ += bytes;
  }
  // Any thread's last act for that write: nothing of this may be touched afterwards.
  void End(uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    --count_;
    bytes_ -= bytes;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  const uint64_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t count_ = 0;  // guarded by mutex_
  uint64_t bytes_ = 0;  // guarded by mutex_
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_WRITES_UNDER_WAY_H_
