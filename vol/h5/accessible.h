// accessible: whether a name is for this connector to open, when HDF5 asks.
#ifndef H5ZARR_H5_ACCESSIBLE_H_
#define H5ZARR_H5_ACCESSIBLE_H_

#include <hdf5.h>

#include "base/status.h"

namespace h5zarr {

// IS_ACCESSIBLE. True of stores, remote HDF5 files, and what HDF5 opens. When HDF5 asks by itself, after a failed open,
// also of what no open will succeed on but of which we know more than HDF5 does: file_open then says it.
Status AnswerAccessible(H5VL_file_specific_args_t* args, hid_t dxpl, void** request);

// Whether the connector that this access list names is HDF5's own.
bool ConnectorIsNative(hid_t fapl);

}  // namespace h5zarr

#endif  // H5ZARR_H5_ACCESSIBLE_H_
