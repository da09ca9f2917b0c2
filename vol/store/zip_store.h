// A Store in a ZIP archive (zarr-python's ZipStore): its objects are the archive's members. Read-only.
#ifndef H5ZARR_STORE_ZIP_STORE_H_
#define H5ZARR_STORE_ZIP_STORE_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "store/remote_file.h"
#include "store/store.h"

namespace h5zarr {

// The archive at `path`, a local file: its directory is read. kNotFound, kCorrupt (no archive, or a damaged
// one), kUnsupported where libzip cannot be loaded. Members may be stored or deflated; encrypted ones fail
// when they are read. Of two members with one name the later one counts.
Result<std::unique_ptr<Store>> OpenZipStore(const std::string& path);
// The same for one behind a server. Members that are read at the same time are asked for together.
Result<std::unique_ptr<Store>> OpenRemoteZipStore(std::shared_ptr<RemoteFile> file);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_ZIP_STORE_H_
