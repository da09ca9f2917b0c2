#ifndef H5ZARR_TOOLS_MIRROR_STATE_COMMAND_H_
#define H5ZARR_TOOLS_MIRROR_STATE_COMMAND_H_

#include "mirror/connector_files.h"
#include "store/store.h"
#include "tools/command.h"

namespace h5zarr::tools {

// Mirrors the state of `source` into the repository in `store`, as `words` say. The exit code.
int MirrorState(const mirror::OpenedFile& source, Store* store, const Words& words);

}  // namespace h5zarr::tools

#endif  // H5ZARR_TOOLS_MIRROR_STATE_COMMAND_H_
