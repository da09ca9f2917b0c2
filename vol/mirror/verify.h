// Whether everything that a repository's branches and tags lead to is there and whole.
#ifndef H5ZARR_MIRROR_VERIFY_H_
#define H5ZARR_MIRROR_VERIFY_H_

#include <cstdint>

#include "base/status.h"
#include "store/store.h"

namespace h5zarr::mirror {

struct VerifyReport {
  uint64_t tags = 0;
  uint64_t snapshots = 0;  // that refs lead to, and those before them; but the first, which is empty
  uint64_t chunks = 0;     // references to them, in all snapshots
  uint64_t objects = 0;    // that hold them
  uint64_t object_bytes = 0;
};

// Reads every snapshot, transaction log, manifest and chunk object. kCorrupt names the first that is missing, damaged,
// shorter than the chunks in it, or (of packs of ours, which are named by their content) changed.
Result<VerifyReport> VerifyRepository(Store* store);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_VERIFY_H_
