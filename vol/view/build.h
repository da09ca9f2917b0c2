// build: makes the image of a store, for an HDF5 that reads stores by itself.
#ifndef H5ZARR_VIEW_BUILD_H_
#define H5ZARR_VIEW_BUILD_H_

#include <hdf5.h>

#include <memory>
#include <string_view>

#include "base/status.h"
#include "shadow/store_file.h"
#include "view/image.h"

namespace h5zarr::view {

inline constexpr std::string_view kAdvice = "set HDF5_VOL_CONNECTOR=zarr before the program starts";

// Loads all metadata of `store` (open for reading, and used for nothing else), and elements that hold
// references or parts of variable length as far as a quarter of the memory of its configuration goes; what
// lies beyond is there and unreadable; what can't be shown is linked and can't be opened. kUnsupported for
// more than 20,000 nodes.
// Within a file callback, or anywhere else that HDF5 may be called.
Result<std::shared_ptr<Image>> MakeImage(std::shared_ptr<shadow::StoreFile> store);

}  // namespace h5zarr::view

#endif  // H5ZARR_VIEW_BUILD_H_
