// object_times: when objects were made and changed, for those that track it (H5Pset_obj_track_times): the member
// `times` of `_hdf5`. What an HDF5 file keeps depends on its format, and so does what is kept here: of a
// dataset the time of its last change; between formats from HDF5 1.8 on four times of every object, or `false`
// for one that must not have any.
#ifndef H5ZARR_SHADOW_OBJECT_TIMES_H_
#define H5ZARR_SHADOW_OBJECT_TIMES_H_

#include <hdf5.h>

#include "base/status.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

using zarr::Json;

// Notes in a new node's attributes what its creation list asks for. `low`: the oldest format its file may have.
void NoteTimes(H5F_libver_t low, bool is_dataset, hid_t creation_list, Json* attributes);

// Notes the times that a copied object had (as HDF5 says them, in seconds since 1970; 0: none).
void CopyTimes(const H5O_info2_t& original, Json* attributes);

// The node is about to be stored with changes.
void TouchTimes(Json* attributes);

// Puts the times that are kept into what a program has asked for; 0 for those that are not.
void AnswerTimes(const Json& attributes, H5O_info2_t* info);

// Sets in `list`, which is about to be given to a program, whether the object tracks its times. Where nothing is kept
// of that, it stays as the list says: an old format tells only of an object that was just made.
Status RestoreTracking(const Json& attributes, hid_t list);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_OBJECT_TIMES_H_
