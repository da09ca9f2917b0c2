// reference_map: region references (hdset_reg_ref_t) and the references of HDF5 1.12 (H5R_ref_t) ↔
// JSON. Object references (hobj_ref_t) are paths: see ReferenceResolver. Internal to shadow/.
//
// What these references hold is HDF5's secret; the functions ask HDF5 through an identifier of the
// store, so they need a callback around them.
#ifndef H5ZARR_SHADOW_REFERENCE_MAP_H_
#define H5ZARR_SHADOW_REFERENCE_MAP_H_

#include <hdf5.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

using zarr::Json;

// The store as references see it.
struct ReferenceStore {
  hid_t root = H5I_INVALID_HID;  // an identifier of its root group
  unsigned long fileno = 0;
  std::function<std::string(uint64_t token)> path_of;  // "" where the object has no path
};

// "" for a null reference and for one whose target is gone; the path for an object; else an object
// with "path" and the members of AddSelection, or "attribute". kUnsupported for a reference into
// another file.
Result<Json> ReferenceToJson(const ReferenceStore& store, hid_t type, const void* reference);

// The other way. A target that is not there makes a null reference, as HDF5's readers know them.
// kCorrupt where `json` says no reference of `type`. An H5R_ref_t must be destroyed by its owner.
Status ReferenceFromJson(const ReferenceStore& store, const Json& json, hid_t type, void* reference);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_REFERENCE_MAP_H_
