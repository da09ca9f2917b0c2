// virtual_selection: one side of a virtual dataset's mapping, between HDF5's dataspaces, values and
// JSON. Internal to shadow/, but for SpaceOf.
#ifndef H5ZARR_SHADOW_VIRTUAL_SELECTION_H_
#define H5ZARR_SHADOW_VIRTUAL_SELECTION_H_

#include <hdf5.h>

#include <span>

#include "base/status.h"
#include "host/handle.h"
#include "shadow/virtual_layout.h"

namespace h5zarr::shadow {

// kUnsupported for a selection of points, which HDF5 allows in no mapping.
Result<MappedSelection> SelectionOf(hid_t space);

// A dataspace of the extent that `selection` was given in (maximum extents: unlimited where it is) with
// its elements selected.
Result<Handle> SpaceOf(const MappedSelection& selection);

// {"all": extent}, {"none": extent}, {"start": …, "stride": …, "count": …, "block": …} (each only where
// it is not all 1; null: unlimited) or {"blocks": [[first…, last…], …]}.
Json SelectionToJson(const MappedSelection& selection);
// kCorrupt for anything else, for another rank than `rank` (unless it is negative), and for indices
// that do not fit 63 bits.
Result<MappedSelection> SelectionFromJson(const Json& json, int rank);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_VIRTUAL_SELECTION_H_
