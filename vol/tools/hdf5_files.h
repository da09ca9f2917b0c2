// Files of either kind, opened by the HDF5 this command is linked with through the connector, which is part
// of the command: no plugin is looked for.
#ifndef H5ZARR_TOOLS_HDF5_FILES_H_
#define H5ZARR_TOOLS_HDF5_FILES_H_

#include <hdf5.h>

#include <string>

#include "base/status.h"
#include "host/handle.h"
#include "mirror/connector_files.h"

namespace h5zarr::tools {

using mirror::OpenedFile;

// Points HDF5's functions at the libhdf5 that this program is linked with (the objects it shares with the
// plugin know only forwarders), and registers the connector. Once, before any other call of HDF5.
Status BindHdf5();

// Gives HDF5 the filter LZF, for reading. Part of BindHdf5. False when HDF5 does not take it.
bool RegisterLzf();

// Opens an HDF5 file, any store, or one version of a versioned-hdf5 file ("FILE.h5@VERSION", where nothing is
// called so), for reading. `config`: as in the connector string. kNotFound, kIo with HDF5's own words.
Result<OpenedFile> OpenAny(const std::string& name, const std::string& config = "");

// Opens a file for reading by HDF5 alone.
Result<Handle> OpenNative(const std::string& name);

// Creates a store or an HDF5 file, as `config` says ("create=zarr"). kAlreadyExists when something is there.
Result<Handle> CreateFile(const std::string& name, const std::string& config, hid_t fcpl);

// Whether a name is a URL.
bool IsRemote(const std::string& name);

// Removes a store and all that is in it; what cannot be removed stays.
void RemoveStore(const std::string& name);

// The format of the store that `file` is; 0 for an HDF5 file.
int ZarrFormatOf(hid_t file);

// Closes a file that was written, which is when the last of it is stored.
Status CloseWritten(Handle file, const std::string& name);

}  // namespace h5zarr::tools

#endif  // H5ZARR_TOOLS_HDF5_FILES_H_
