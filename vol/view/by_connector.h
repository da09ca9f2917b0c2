// by_connector: what only the connector itself can read of a store: virtual datasets, whose sources lie
// anywhere. The store is opened a second time for each call, and closed again: no identifier is kept that a
// program would see.
#ifndef H5ZARR_VIEW_BY_CONNECTOR_H_
#define H5ZARR_VIEW_BY_CONNECTOR_H_

#include <hdf5.h>

#include <string>

#include "base/status.h"
#include "host/handle.h"
#include "shadow/store_file.h"

namespace h5zarr::view {

// The dataspace of the dataset at `path`, as large as its sources make it.
Result<Handle> SpaceByConnector(const shadow::StoreFile& store, const std::string& path);
// Its elements, as H5Dread. Not for references, which would be those of another file.
Status ReadByConnector(const shadow::StoreFile& store, const std::string& path, hid_t mem_type, hid_t mem_space,
                       hid_t file_space, void* buffer);

}  // namespace h5zarr::view

#endif  // H5ZARR_VIEW_BY_CONNECTOR_H_
