// The mirror of a file that a program writes through the connector: what the key `mirror` does.
#ifndef H5ZARR_MIRROR_UPDATE_MIRROR_H_
#define H5ZARR_MIRROR_UPDATE_MIRROR_H_

#include "base/status.h"
#include "h5/mirrored_files.h"

namespace h5zarr::mirror {

// Whether `file` is one of versioned-hdf5's. False for stores.
Result<bool> HasVersions(hid_t file);

// Brings the mirror up to date with the file as it is now, which may be open, and is flushed first: its new versions
// if it is one of versioned-hdf5's, or else its state. See mirror.h and mirror_state.h.
Status UpdateMirror(const MirroredFile& file);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_UPDATE_MIRROR_H_
