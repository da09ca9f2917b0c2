// selection_json: the selection of a dataspace as members of a JSON object. Internal to shadow/.
#ifndef H5ZARR_SHADOW_SELECTION_JSON_H_
#define H5ZARR_SHADOW_SELECTION_JSON_H_

#include <hdf5.h>

#include "base/status.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

using zarr::Json;

// Adds to `object` what says the selection of `space`: "selection": "all" or "none"; "points", a
// list of coordinates; "blocks", a list of first and last coordinates; or, for regular selections of
// more than one block, "start", "stride", "count" and "block" (null: unlimited).
Status AddSelection(hid_t space, Json* object);

// Selects in `space` what `object` says; kCorrupt where it says none or one of another rank.
Status ApplySelection(const Json& object, hid_t space);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_SELECTION_JSON_H_
