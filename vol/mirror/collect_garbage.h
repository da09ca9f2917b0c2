// Removes what no branch and no tag leads to: what killed runs left, and versions whose tags were removed.
#ifndef H5ZARR_MIRROR_COLLECT_GARBAGE_H_
#define H5ZARR_MIRROR_COLLECT_GARBAGE_H_

#include <cstdint>

#include "base/status.h"
#include "store/store.h"

namespace h5zarr::mirror {

struct GarbageReport {
  uint64_t objects = 0;  // that were removed
  uint64_t bytes = 0;
  uint64_t foreign = 0;  // that nothing leads to either, but which others wrote: they stay
};

// Waits for a mirror that is at work, and lets none begin meanwhile. What others write is not known to be
// abandoned, and stays: Icechunk's own collection goes by its age. kNotFound when no repository is in `store`,
// kUnsupported for one of version 2; nothing is removed when anything that is led to cannot be read.
Result<GarbageReport> CollectGarbage(Store* store);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_COLLECT_GARBAGE_H_
