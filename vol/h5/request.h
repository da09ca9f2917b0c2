// request: what an asynchronous call answers.
#ifndef H5ZARR_H5_REQUEST_H_
#define H5ZARR_H5_REQUEST_H_

#include <hdf5.h>

#include "exec/background.h"

namespace h5zarr {

// The token of `job` that HDF5 passes to the request callbacks, and frees with one of them.
void* MakeRequest(JobPtr job);

extern const H5VL_request_class_t kRequestClass;

}  // namespace h5zarr

#endif  // H5ZARR_H5_REQUEST_H_
