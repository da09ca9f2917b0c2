// store_place: the folder or prefix of a bucket in which a store is, or is going to be made.
#ifndef H5ZARR_H5_STORE_PLACE_H_
#define H5ZARR_H5_STORE_PLACE_H_

#include "base/config.h"
#include "base/status.h"
#include "h5/file_name.h"

namespace h5zarr {

// Whether a store was made there. A folder that holds stores reads as a group, too, but is none's to remove.
bool IsMadeStore(const FileName& name, const Config& config);

// An empty folder with the name of a store: as good as nothing.
bool IsRoomForStore(const FileName& name);

// Clears the way for a new store: nothing, a store, an empty folder or an empty file (a temporary name
// that was reserved) may be in it, nothing else (kAlreadyExists). With H5F_ACC_EXCL in `flags` nothing may be, and
// IsRoomForStore.
Status MakeRoom(const FileName& name, unsigned flags, const Config& config);

// Of several programs that make the same store and want no other to be there, one goes on: the one that stores
// the root's document. What it says is written over it at once. kAlreadyExists for the others.
Status ClaimStore(const FileName& name, const Config& config);

// Removes all that is below the place.
Status RemoveStore(const FileName& name, const Config& config);

}  // namespace h5zarr

#endif  // H5ZARR_H5_STORE_PLACE_H_
