// The Store behind one dataset of a native HDF5 file: its one object, under whatever key, is the file with
// an index behind it, as a shard has one. So an array whose inner chunks are HDF5's chunks reads the
// dataset as it would read one shard.
//
// For reading only. It knows nothing of HDF5: what the index says is the caller's to find out.
#ifndef H5ZARR_STORE_NATIVE_FILE_H_
#define H5ZARR_STORE_NATIVE_FILE_H_

#include <memory>
#include <string>

#include "base/buffer.h"
#include "base/status.h"
#include "store/store.h"

namespace h5zarr {

// A file that somebody else holds open.
struct OpenFile {
  std::string path;  // for messages
  int fd = -1;       // borrowed: must be open whenever a store of this file reads
  uint64_t file_bytes = 0;
  Generation generation;  // as it was when it was opened
};

// kIo where `fd` is not that of a regular file.
Result<OpenFile> DescribeOpenFile(std::string path, int fd);

// `index` is what the last bytes of the object are. Reading a file that is no longer as it was when it was
// described is kChanged.
std::unique_ptr<Store> MakeNativeFileStore(OpenFile file, Buffer index);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_NATIVE_FILE_H_
