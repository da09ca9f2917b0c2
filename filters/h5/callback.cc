#include "filter/callback.h"

#include <cstring>
#include <string>

namespace h5zarr::filter {

Result<void*> HostAllocate(uint64_t size_bytes) {
  void* bytes = H5allocate_memory(size_bytes, false);
  if (bytes == nullptr) {
    return NoSpaceError("HDF5 has no memory for " + std::to_string(size_bytes) + " bytes");
  }
  return bytes;
}

Result<void*> HostCopy(ByteSpan bytes) {
  H5ZARR_ASSIGN_OR_RETURN(void* copy, HostAllocate(bytes.size()));
  std::memcpy(copy, bytes.data(), bytes.size());
  return copy;
}

}  // namespace h5zarr::filter
