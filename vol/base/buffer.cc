#include "base/buffer.h"

#include <cstring>
#include <string>

namespace h5zarr {

Result<Buffer> Buffer::Allocate(uint64_t size_bytes, std::size_t alignment) {
  Buffer buffer;
  if (size_bytes == 0) return buffer;
  if (size_bytes > SIZE_MAX - alignment) {
    return NoSpaceError("cannot allocate " + std::to_string(size_bytes) + " bytes");
  }
  // aligned_alloc wants a multiple of the alignment.
  const std::size_t rounded = (size_bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) {
    return NoSpaceError("cannot allocate " + std::to_string(size_bytes) + " bytes");
  }
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
