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

// A filter must not hand back less room than it got: H5Ocopy uses it for the next chunk, too, and copies one that
// is in the cache there, as it is, without looking. Nor more than it needs: what H5Ocopy has for the background of
// conversions stays as large as it was.
//
// Room for `size_bytes` bytes, and for as many as `buffer` has; kNoSpace when the host has none.
Result<void*> HostAllocate(HostBuffer buffer, uint64_t size_bytes);

// Frees what `buffer` holds and gives it the result of HostAllocate, which has that many bytes. Returns their number.
size_t Replace(HostBuffer buffer, void* bytes, size_t size_bytes);

// Makes `bytes`, which are no part of `buffer`, what it holds. Returns their number.
Result<size_t> Fill(HostBuffer buffer, ByteSpan bytes);

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
