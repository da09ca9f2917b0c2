// Failures that say nothing of what was asked for.
#ifndef H5ZARR_BASE_SHORTAGE_H_
#define H5ZARR_BASE_SHORTAGE_H_

#include <cerrno>

#include "base/status.h"

namespace h5zarr {

// Whether the process or the machine was short of something (descriptors, memory) when this failed: then what was
// looked for may be there and well, and the next attempt may find it.
inline bool IsShortage(const Status& status) {
  switch (status.errno_value()) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS: return !status.ok();
    default: return false;
  }
}

}  // namespace h5zarr

#endif  // H5ZARR_BASE_SHORTAGE_H_
