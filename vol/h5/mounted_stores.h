// mounted_stores: the stores that a visit of a file comes to through mounts.
#ifndef H5ZARR_H5_MOUNTED_STORES_H_
#define H5ZARR_H5_MOUNTED_STORES_H_

#include "base/status.h"
#include "h5/link_path.h"

namespace h5zarr {

// Loads the whole of each store that is mounted below the object at `place`, a group whose own store has been
// loaded: HDF5 visits what is mounted, too.
Status FillMounted(const Place& place);

}  // namespace h5zarr

#endif  // H5ZARR_H5_MOUNTED_STORES_H_
