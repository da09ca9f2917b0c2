// remote_vfd: a file driver by which HDF5 reads a file that lies behind a server.
//
// It reads only, and only the file it was given: a name that stands in that file opens nothing with it.
#ifndef H5ZARR_TRANSFER_REMOTE_VFD_H_
#define H5ZARR_TRANSFER_REMOTE_VFD_H_

#include <hdf5.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "store/remote_file.h"

namespace h5zarr::transfer {

// Makes `fapl` one with which the native connector opens `file` under `name`. The driver is registered with the
// first.
Status SetRemoteDriver(hid_t fapl, std::string name, std::shared_ptr<RemoteFile> file);

bool IsRemoteDriver(hid_t driver);

// The library closes, and with it the driver's identifier.
void ForgetRemoteDriver();

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_REMOTE_VFD_H_
