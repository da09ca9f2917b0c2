// Files that are opened through the connector, by whoever uses it from within: the command, and mirrors.
#ifndef H5ZARR_MIRROR_CONNECTOR_FILES_H_
#define H5ZARR_MIRROR_CONNECTOR_FILES_H_

#include <hdf5.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "host/handle.h"
#include "shadow/store_file.h"
#include "zarr/metadata.h"

namespace h5zarr::mirror {

// A part of a file: what is worked on.
struct OpenedFile {
  Handle file;
  Handle root;              // the group that stands for the whole
  std::string name;         // as the user gave it
  bool is_version = false;  // `root` is a version of a versioned-hdf5 file
};

// A file access list of the connector, which must be registered, with `config` as in its string.
Result<Handle> ConnectorFapl(const std::string& config);

// The store that an object is in; null for one of an HDF5 file. `token`: which object it is.
std::shared_ptr<shadow::StoreFile> StoreOf(hid_t object, uint64_t* token);
// The document of a dataset in a store; null for others, and for those that are no arrays there.
const zarr::ArrayMetadata* DocumentOf(hid_t dataset);

// H5Dchunk_iter with the true coordinates of all chunks (transfer/chunk_list): where HDF5 tells others `op` is not told
// of filters that a chunk lacks.
Status IterateChunks(hid_t dataset, H5D_chunk_iter_op_t op, void* opaque);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_CONNECTOR_FILES_H_
