#include "base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace h5zarr {
namespace {

// From this size on memory is asked for in huge pages: touching it for the first time, 4 KiB by 4 KiB,
// costs as much as reading or compressing what it is for.
constexpr std::size_t kHugeBytes = 4 << 20;
constexpr std::size_t kHugePageBytes = 2 << 20;
// Below, a piece of memory more or less is nothing.
constexpr std::size_t kLeastBytes = 4 << 10;

// glibc looks for more than it is asked for where memory is to be aligned, and gives the rest back: what a buffer
// leaves is too small for the next one of its size. Where small things are allocated in between, that takes as much
// memory as all buffers there ever were. Plain memory fits, and is aligned where an aligned buffer was.
void* AllocateAligned(std::size_t alignment, std::size_t bytes) {
  void* const plain = bytes >= kLeastBytes ? std::malloc(bytes) : nullptr;
  if (reinterpret_cast<uintptr_t>(plain) % alignment == 0 && plain != nullptr) return plain;
  std::free(plain);
  return std::aligned_alloc(alignment, bytes);
}

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
  void* memory = huge ? std::aligned_alloc(alignment, rounded) : AllocateAligned(alignment, rounded);
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
