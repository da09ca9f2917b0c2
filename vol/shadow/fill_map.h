// fill_map: fill value and fill time of a property list ↔ a Zarr fill value and `_hdf5`. Internal
// to shadow/.
#ifndef H5ZARR_SHADOW_FILL_MAP_H_
#define H5ZARR_SHADOW_FILL_MAP_H_

#include <hdf5.h>

#include "base/status.h"
#include "shadow/type_map.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {

// The fill value of `dcpl` as stored; what Zarr cannot say of it is added to `hdf5` (fill:
// "default" or "undefined"; a value for each element of an array; fill_time). kUnsupported for a fill that
// Zarr has no value for: references, numbers without a name.
Result<zarr::FillValue> FillFromDcpl(hid_t dcpl, hid_t type, const ElementMap& map, int zarr_format, Json* hdf5);

// Gives `dcpl` the fill value and fill time that `fill` and `hdf5` (may be null) say.
Status FillToDcpl(const zarr::FillValue& fill, const ElementMap& map, const Json& hdf5, hid_t dcpl);

// What elements of arrays are filled with where they differ, as `hdf5` says it: zarr::FillValue::block.
// Else nothing.
Result<std::vector<std::byte>> FillBlock(const ElementMap& map, const Json& hdf5);

// The same for a dataset that is no array: `hdf5` says it all, a value of the program as `fill_value`,
// in the form of an element (ElementToJson).
Status FillToJson(hid_t dcpl, hid_t type, Json* hdf5);
Status FillFromJson(const Json& hdf5, hid_t type, hid_t dcpl);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_FILL_MAP_H_
