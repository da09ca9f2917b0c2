// open_parts: what of one Zarr store is open as several files, `x.zarr` and `x.zarr/group`. How they keep together is
// shadow/store_file_parts' business.
#ifndef H5ZARR_H5_OPEN_PARTS_H_
#define H5ZARR_H5_OPEN_PARTS_H_

#include <memory>
#include <vector>

#include "h5/file_name.h"
#include "shadow/store_file.h"

namespace h5zarr {

// What is open of the Zarr store that the place is, or lies in, but for the place itself; for one that is to be
// read only what may change. Readers have nothing to do with each other.
std::vector<std::shared_ptr<shadow::StoreFile>> OpenParts(const FileName& name, bool writable);

// kPermissionDenied (EAGAIN) where there is any: a part is not made or removed under the hands of whoever has
// another one open. `operation`: "create", "delete".
Status RefuseOverlap(const FileName& name, const char* operation);

// Whether the place is a store, if need be after storing what is open around it: a group may be there that is not
// stored yet.
Result<bool> IsStoreOrNewPart(const FileName& name, const Config& config);

}  // namespace h5zarr

#endif  // H5ZARR_H5_OPEN_PARTS_H_
