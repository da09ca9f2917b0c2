// remote_open: HDF5 files that lie behind a URL. They are native files, which HDF5 reads by a driver of ours.
#ifndef H5ZARR_H5_REMOTE_OPEN_H_
#define H5ZARR_H5_REMOTE_OPEN_H_

#include <hdf5.h>

#include "base/config.h"
#include "base/status.h"
#include "h5/file_name.h"
#include "location/location.h"

namespace h5zarr {

// What lies at the URL `name`, where that is one object (location/FindRemoteFile).
Result<RemoteObject> FindRemoteFile(const FileName& name, const Config& config);

// Whether a store or an HDF5 file is at the URL `name`.
bool IsRemoteAccessible(const FileName& name, const Config& config);

// What to say of the URL `name`, behind which `object` was found, that is no file, and no store because of `why`.
Status WhyNeither(const FileName& name, const RemoteObject& object, const Status& why);

// Opens `object`, an HDF5 file, for reading; kPermissionDenied with `flags` that ask for more.
Result<void*> OpenRemoteHdf5(const FileName& name, const RemoteObject& object, unsigned flags, const Config& config,
                             hid_t fapl, hid_t dxpl, void** request);

// Makes the access list of a remote file one that opens others as well, and that file by its name.
Status HideRemoteDriver(hid_t fapl);

}  // namespace h5zarr

#endif  // H5ZARR_H5_REMOTE_OPEN_H_
