// The Store behind one dataset of a native HDF5 file: its one object, under whatever key, is the file with
// an index behind it, as a shard has one. So an array whose inner chunks are HDF5's chunks reads the
// dataset as it would read one shard.
//
// For reading only. It knows nothing of HDF5: what the index says is the caller's to find out.
#ifndef H5ZARR_STORE_NATIVE_FILE_H_
#define H5ZARR_STORE_NATIVE_FILE_H_

#include <memory>
#include <span>
#include <string>

#include "base/buffer.h"
#include "base/status.h"
#include "store/store.h"

namespace h5zarr {

// The bytes of a file, wherever they are, in the state in which it was opened.
class FileBytes {
 public:
  virtual ~FileBytes() = default;
  FileBytes(const FileBytes&) = delete;

  const std::string& name() const { return name_; }  // for messages
  uint64_t file_bytes() const { return file_bytes_; }
  const Generation& generation() const { return generation_; }
  // Whether every read of it takes long, however small.
  virtual bool is_remote() const { return false; }

  // Someone is about to read all of an index in the file, or has done so.
  virtual void SetReadsIndex(bool) {}

  // Reads `ops`, which are spans of this file whatever their keys, as Store::ReadBatch does. kChanged where
  // the file is no longer as it was. Thread-safe.
  virtual Status ReadRanges(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) = 0;

 protected:
  FileBytes(std::string name, uint64_t file_bytes, Generation generation)
      : name_(std::move(name)), file_bytes_(file_bytes), generation_(generation) {}

 private:
  const std::string name_;
  const uint64_t file_bytes_;
  const Generation generation_;
};

// Those of a file that somebody else holds open: `fd` is borrowed, and must be open whenever it is read. `path`
// is for messages. kIo where `fd` is not that of a regular file.
Result<std::shared_ptr<FileBytes>> BytesOfOpenFile(std::string path, int fd);

// `index` is what the last bytes of the object are.
std::unique_ptr<Store> MakeNativeFileStore(std::shared_ptr<FileBytes> file, Buffer index);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_NATIVE_FILE_H_
