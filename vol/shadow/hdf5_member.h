// hdf5_member: the members of the attribute `_hdf5`, which carries what Zarr cannot say. Pure functions over documents.
#ifndef H5ZARR_SHADOW_HDF5_MEMBER_H_
#define H5ZARR_SHADOW_HDF5_MEMBER_H_

#include <string_view>

#include "zarr/json.h"

namespace h5zarr::shadow {

// The member `name` of `_hdf5` in a node's attributes, or null.
zarr::Json Hdf5Member(const zarr::Json& attributes, std::string_view name);

// Whether there is an `_hdf5`: that the node was written by this library.
bool HasHdf5(const zarr::Json& attributes);

// Sets (or, with a null value, removes) a member of `_hdf5`; an `_hdf5` without members but its version
// is removed altogether.
void SetHdf5Member(zarr::Json* attributes, std::string_view name, zarr::Json value);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_HDF5_MEMBER_H_
