// object_copy: H5Ocopy. HDF5 copies headers, links and attributes; raw data of a store it does not know,
// and raw data it copies into a shadow must go to the store. Objects are paired by their path below the
// two roots.
#ifndef H5ZARR_H5_OBJECT_COPY_H_
#define H5ZARR_H5_OBJECT_COPY_H_

#include "h5/connector.h"

namespace h5zarr {

// H5Ocopy of what is at `from` to `to` (a path without anything), by the lists of the call. On failure
// nothing is left of the copy: kUnsupported for shards into native files and for region references.
Status CopyObject(const Place& from, const Place& to, hid_t ocpypl, hid_t lcpl, hid_t dxpl, void** request);

}  // namespace h5zarr

#endif  // H5ZARR_H5_OBJECT_COPY_H_
