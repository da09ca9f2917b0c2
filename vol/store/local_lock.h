// Exclusion between writers of a local store, in this and in other processes.
//
// Within store/ only.
#ifndef H5ZARR_STORE_LOCAL_LOCK_H_
#define H5ZARR_STORE_LOCAL_LOCK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace h5zarr {

// Store::Lock with the metadata document at `path`: an open-file-description lock on one byte far
// behind the document's end (a byte for each resource; all bytes for kWholeArray). Such locks
// exclude threads of one process as well, end with the process, and leave no trace. Documents are
// replaced by rename, so a lock counts only if its file is still the one at `path` when it is held.
Result<std::shared_ptr<void>> LockLocal(const std::string& path, uint64_t resource);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_LOCAL_LOCK_H_
