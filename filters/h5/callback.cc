#include "filter/callback.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace h5zarr::filter {

Result<void*> HostAllocate(HostBuffer buffer, uint64_t size_bytes) {
  const uint64_t room_bytes = std::max<uint64_t>(size_bytes, *buffer.size_bytes);
  void* bytes = H5allocate_memory(room_bytes, false);
  if (bytes == nullptr) {
    return NoSpaceError("HDF5 has no memory for " + std::to_string(room_bytes) + " bytes");
  }
  return bytes;
}

size_t Replace(HostBuffer buffer, void* bytes, size_t size_bytes) {
  H5free_memory(*buffer.data);
  *buffer.data = bytes;
  *buffer.size_bytes = std::max(*buffer.size_bytes, size_bytes);
  return size_bytes;
}

Result<size_t> Fill(HostBuffer buffer, ByteSpan bytes) {
  if (bytes.size() <= *buffer.size_bytes) {
    std::memcpy(*buffer.data, bytes.data(), bytes.size());
    return bytes.size();
  }
  H5ZARR_ASSIGN_OR_RETURN(void* copy, HostAllocate(buffer, bytes.size()));
  std::memcpy(copy, bytes.data(), bytes.size());
  return Replace(buffer, copy, bytes.size());
}

}  // namespace h5zarr::filter
