// GuardedBuffer: bytes that end where an unmapped page begins, so that the first byte read or
// written behind them is a crash, also within libraries that no sanitizer watches.
#ifndef H5ZARR_TEST_CONFORMANCE_GUARDED_BUFFER_H_
#define H5ZARR_TEST_CONFORMANCE_GUARDED_BUFFER_H_

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/buffer.h"

namespace h5zarr::codec {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t most_bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    usable_bytes_ = (most_bytes / page + 1) * page;
    mapped_bytes_ = usable_bytes_ + page;
    void* base = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::runtime_error("mmap failed");
    base_ = static_cast<std::byte*>(base);
    if (mprotect(base_ + usable_bytes_, page, PROT_NONE) != 0) {
      throw std::runtime_error("mprotect failed");
    }
  }
  ~GuardedBuffer() { munmap(base_, mapped_bytes_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // The last `bytes` bytes before the guard.
  MutableByteSpan Last(std::size_t bytes) {
    if (bytes > usable_bytes_) throw std::runtime_error("more bytes than were asked for");
    return {base_ + usable_bytes_ - bytes, bytes};
  }
  // A copy of `content` right before the guard.
  ByteSpan Put(ByteSpan content) {
    const MutableByteSpan target = Last(content.size());
    std::copy(content.begin(), content.end(), target.begin());
    return target;
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t usable_bytes_ = 0;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace h5zarr::codec

#endif  // H5ZARR_TEST_CONFORMANCE_GUARDED_BUFFER_H_
