// callback: what the filters' callbacks share. HDF5 gives a filter a buffer of its own allocator and
// takes one back; 0 means failure.
#ifndef H5ZARR_FILTER_CALLBACK_H_
#define H5ZARR_FILTER_CALLBACK_H_

#include <hdf5.h>

#include <string_view>

#include "base/buffer.h"
#include "host/guard.h"
#include "host/host_api.h"

namespace h5zarr::filter {

// What the host calls a chunk's buffer.
struct HostBuffer {
  size_t* size_bytes;
  void** data;
};

// Frees what `buffer` holds and gives it `bytes`, allocated by the host. Returns their number.
inline size_t Replace(HostBuffer buffer, void* bytes, size_t size_bytes) {
  H5free_memory(*buffer.data);
  *buffer.data = bytes;
  *buffer.size_bytes = size_bytes;
  return size_bytes;
}

// `size_bytes` bytes of the host's allocator; kNoSpace when it has none.
Result<void*> HostAllocate(uint64_t size_bytes);

// The same, holding a copy of `bytes`.
Result<void*> HostCopy(ByteSpan bytes);

// Runs `body` (returning Result<size_t>, a chunk's new size); 0 with the failure on HDF5's error
// stack.
template <typename Body>
size_t GuardFilter(std::string_view filter, Body&& body) {
  host::LoadVariables();
  const auto result = host::CatchAll(body);
  if (result.ok()) return result.value();
  host::PushStatus(result.status(), filter);
  return 0;
}

}  // namespace h5zarr::filter

#endif  // H5ZARR_FILTER_CALLBACK_H_
