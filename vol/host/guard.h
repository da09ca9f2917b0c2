// guard: the boundary between HDF5's C callbacks and our C++. The only `try` around callbacks.
#ifndef H5ZARR_HOST_GUARD_H_
#define H5ZARR_HOST_GUARD_H_

#include <hdf5.h>

#include <exception>
#include <new>
#include <string_view>
#include <type_traits>

#include "base/status.h"
#include "host/error_stack.h"

namespace h5zarr::host {

// Runs `body` (returning Status or Result<T>), turning exceptions into a Status.
template <typename Body>
auto CatchAll(Body&& body) -> std::invoke_result_t<Body> {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return NoSpaceError("out of memory");
  } catch (const std::exception& error) {
    return InternalError(error.what());
  } catch (...) {
    return InternalError("unknown exception");
  }
}

// A callback that answers success or failure: 0 or -1, with the failure on HDF5's error stack.
template <typename Body>
herr_t Guard(std::string_view operation, Body&& body) {
  const Status status = CatchAll(body);
  if (status.ok()) return 0;
  PushStatus(status, operation);
  return -1;
}

// A callback that answers an object: its pointer, or null with the failure on the error stack.
template <typename Body>
void* GuardPointer(std::string_view operation, Body&& body) {
  auto result = CatchAll(body);
  if (result.ok()) return result.value();
  PushStatus(result.status(), operation);
  return nullptr;
}

// A callback that answers what an operator of the program returned: >= 0, or negative on failure.
template <typename Body>
herr_t GuardValue(std::string_view operation, Body&& body) {
  auto result = CatchAll(body);
  if (result.ok()) return result.value();
  PushStatus(result.status(), operation);
  return -1;
}

}  // namespace h5zarr::host

#endif  // H5ZARR_HOST_GUARD_H_
