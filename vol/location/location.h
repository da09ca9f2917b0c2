// location: from the name of a place to the Store that reads and writes it. The one place that
// knows every kind of store: a new kind is a case here, and nothing above changes.
//
// A location is the canonical name of a place, which is also its identity (equal locations are one
// store): the absolute path of a folder, resolved through links. It is made by h5/file_name from
// what a program wrote.
#ifndef H5ZARR_LOCATION_LOCATION_H_
#define H5ZARR_LOCATION_LOCATION_H_

#include <memory>
#include <string>

#include "base/config.h"
#include "base/status.h"
#include "store/store.h"

namespace h5zarr {

// The store at `location`, owned by the caller. Whether anything is there is not asked (a local
// folder need not exist). kPermissionDenied when `writable`, and the place can only be read.
Result<std::unique_ptr<Store>> OpenLocation(const std::string& location, bool writable,
                                            const Config& config);

}  // namespace h5zarr

#endif  // H5ZARR_LOCATION_LOCATION_H_
