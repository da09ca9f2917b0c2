#include "base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace h5zarr {
namespace {

// From this size on memory is asked for in huge pages: touching it for the first time, 4 KiB by 4 KiB,
// costs as much as reading or compressing what it is for.
constexpr std::size_t kHugeBytes = 4 << 20;
constexpr std::size_t kHugePageBytes = 2 << 20;

}  // namespace

Result<Buffer> Buffer::Allocate(uint64_t size_bytes, std::size_t alignment) {
  Buffer buffer;
  if (size_bytes == 0) return buffer;
  if (size_bytes > SIZE_MAX - std::max(alignment, kHugePageBytes)) {
    return NoSpaceError("cannot allocate " + std::to_string(size_bytes) + " bytes");
  }
  const bool huge = size_bytes >= kHugeBytes;
  if (huge) alignment = std::max(alignment, kHugePageBytes);
  // aligned_alloc wants a multiple of the alignment.
  const std::size_t rounded = (size_bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) {
    return NoSpaceError("cannot allocate " + std::to_string(size_bytes) + " bytes");
  }
  if (huge) madvise(memory, rounded, MADV_HUGEPAGE);  // advice: what becomes of it does not matter
  buffer.data_.reset(static_cast<std::byte*>(memory));
  buffer.size_bytes_ = size_bytes;
  return buffer;
}

Result<Buffer> Buffer::CopyOf(ByteSpan bytes) {
  H5ZARR_ASSIGN_OR_RETURN(Buffer buffer, Allocate(bytes.size()));
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

}  // namespace h5zarr
