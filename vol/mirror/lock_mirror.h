// One run at a time works on a mirror. Within mirror/ only.
#ifndef H5ZARR_MIRROR_LOCK_MIRROR_H_
#define H5ZARR_MIRROR_LOCK_MIRROR_H_

#include <memory>

#include "base/status.h"
#include "store/store.h"

namespace h5zarr::mirror {

// Waits until no other run works in `store`; others wait until the guard is gone. Where nothing is, what every
// repository begins with is made. kAlreadyExists when something other than a repository is there. Blocks.
Result<std::shared_ptr<void>> LockMirror(Store* store);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_LOCK_MIRROR_H_
