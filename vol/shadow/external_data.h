// external_data: datasets whose raw data lies in flat files beside the store (H5Pset_external). HDF5
// itself reads and writes those files through the shadow's dataset; the array of the store holds a copy
// for readers of Zarr. Internal to shadow/.
#ifndef H5ZARR_SHADOW_EXTERNAL_DATA_H_
#define H5ZARR_SHADOW_EXTERNAL_DATA_H_

#include <hdf5.h>

#include "base/status.h"
#include "host/native.h"
#include "shadow/type_map.h"
#include "zarr/array.h"

namespace h5zarr::shadow {

// Copies what the files hold into the array, a chunk at a time. False when they can't be read (yet).
Result<bool> CopyExternalData(host::NativeObject dataset, const ElementMap& element, zarr::Array* array);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_EXTERNAL_DATA_H_
