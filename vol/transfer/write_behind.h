// write_behind: a write whose data are copied, so that it can go on after the call.
#ifndef H5ZARR_TRANSFER_WRITE_BEHIND_H_
#define H5ZARR_TRANSFER_WRITE_BEHIND_H_

#include "base/status.h"
#include "zarr/array.h"

namespace h5zarr::transfer {

// Copies what `request` writes and hands it to Array::WriteLater; blocks while the copies of earlier
// writes fill the budget. What fails later is returned by a later call of the array. Not for vlen
// arrays.
Status WriteBehind(const zarr::WriteRequest& request);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_WRITE_BEHIND_H_
