// view_file: stores in programs whose HDF5 came upon us by its probe, no connector having been named.
//
// HDF5 2.x registers what a probed plugin opens under the native connector. So it gets a native file: an
// image of the store (view/), which HDF5 reads by itself, and which can only be read.
#ifndef H5ZARR_H5_VIEW_FILE_H_
#define H5ZARR_H5_VIEW_FILE_H_

#include <hdf5.h>

#include "base/config.h"
#include "base/status.h"
#include "h5/file_name.h"

namespace h5zarr {

// Whether this HDF5 mistakes what it is about to open for the native connector's: IS_ACCESSIBLE found the
// store for it a moment ago.
Result<bool> TakeProbed(const FileName& name, hid_t fapl);
// What IS_ACCESSIBLE found for a probe.
void NoteProbed(const FileName& name);

// The native file. kUnsupported, with advice, for opening in order to write, and for stores that have no
// image.
Result<void*> OpenView(const FileName& name, unsigned flags, const Config& config, hid_t fapl, hid_t dxpl,
                       void** request);

}  // namespace h5zarr

#endif  // H5ZARR_H5_VIEW_FILE_H_
