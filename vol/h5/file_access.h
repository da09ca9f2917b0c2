// file_access: file access property lists: that of a shadow, and what a program is told of
// a store.
#ifndef H5ZARR_H5_FILE_ACCESS_H_
#define H5ZARR_H5_FILE_ACCESS_H_

#include <hdf5.h>

#include "base/status.h"
#include "host/handle.h"
#include "shadow/store_file.h"

namespace h5zarr {

// The access list for native calls: the program's, with the native connector in it.
Result<Handle> NativeFapl(hid_t fapl);

// Whether the list names no file driver of its own: files of an explicit one stay HDF5.
bool HasDefaultDriver(hid_t fapl);

// The access list of a store's shadow, from the program's.
Result<Handle> ShadowFapl(hid_t fapl);

// What the first open of a store asks of it, from its access list and flags. The page buffer is that
// which an HDF5 file would get; where HDF5 would refuse to create a file with one, so does this.
Result<shadow::FileAccess> AccessOf(const shadow::StoreFile& store, hid_t fapl, unsigned flags);

// For a further open of a store: errors where HDF5 has them for a file that is open (another kind of
// file locking, single-writer flags that do not match).
Status CheckSecondOpen(const shadow::StoreFile& store, host::NativeObject file, hid_t fapl, unsigned flags);

// Puts into the shadow's access list what a program is to see of the store.
Status AnswerFapl(const shadow::StoreFile& store, hid_t fapl);

}  // namespace h5zarr

#endif  // H5ZARR_H5_FILE_ACCESS_H_
