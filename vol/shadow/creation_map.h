// creation_map: what creation lists say of HDF5's own file format: sizes, thresholds, estimates. No store
// needs any of it, and the shadow not either, but programs get back what they set: it is kept in the
// member `creation` of `_hdf5`, as far as it is not HDF5's default.
#ifndef H5ZARR_SHADOW_CREATION_MAP_H_
#define H5ZARR_SHADOW_CREATION_MAP_H_

#include <hdf5.h>

#include "base/status.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

using zarr::Json;

enum class CreationKind : unsigned { kFile = 1, kGroup = 2, kDataset = 4, kDatatype = 8 };

// Notes in a new node's attributes what `list`, its creation list, says.
void NoteCreation(CreationKind kind, hid_t list, Json* attributes);

// Sets in `list`, which is about to be given to a program, what the node's attributes have noted.
// kCorrupt when they say what HDF5 does not take.
Status RestoreCreation(CreationKind kind, const Json& attributes, hid_t list);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_CREATION_MAP_H_
