// image_driver: HDF5's file driver for images. Programs never name it; it is in the access list with
// which a view is opened.
#ifndef H5ZARR_VIEW_IMAGE_DRIVER_H_
#define H5ZARR_VIEW_IMAGE_DRIVER_H_

#include <hdf5.h>

#include <memory>

#include "base/status.h"
#include "host/handle.h"
#include "view/image.h"

namespace h5zarr::view {

// `fapl` with the native connector and `image` as what every file opened or created with it is.
// Chunks go past HDF5's own cache, so that a read comes as one request. Keeps the image while the list
// or a file of it lives.
Result<Handle> ImageFapl(hid_t fapl, std::shared_ptr<Image> image);

// The library closes: the driver's identifier ends with it.
void ForgetImageDriver();

}  // namespace h5zarr::view

#endif  // H5ZARR_VIEW_IMAGE_DRIVER_H_
