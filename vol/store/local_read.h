// The reading half of the local store.
//
// Within store/ only.
#ifndef H5ZARR_STORE_LOCAL_READ_H_
#define H5ZARR_STORE_LOCAL_READ_H_

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "store/local_store.h"
#include "store/posix_file.h"
#include "store/store.h"

namespace h5zarr {

// Memory for reads that bring none, kept from one batch to the next: fresh memory costs a page
// fault every 4 KiB, about as much as reading it. Thread-safe.
class ScratchPool {
 public:
  // Keeps buffers of `buffer_bytes`; larger ones come and go.
  explicit ScratchPool(uint64_t buffer_bytes) : buffer_bytes_(buffer_bytes) {}

  // At least `size_bytes` bytes.
  Result<Buffer> Take(uint64_t size_bytes);
  void Return(Buffer buffer);

 private:
  static constexpr std::size_t kMaxKept = 32;

  const uint64_t buffer_bytes_;
  std::mutex mutex_;
  std::vector<Buffer> kept_;  // guarded by mutex_
};

// Where the objects of a batch are.
class ObjectFiles {
 public:
  virtual ~ObjectFiles() = default;
  // The file's name, also for messages.
  virtual std::string PathOf(const std::string& key) const = 0;
  // Nothing where there is no object. Called by several threads at a time.
  virtual Result<std::optional<OpenObject>> Open(const std::string& path) const = 0;
};

// Store::ReadBatch for objects that are `files`.
Status ReadFiles(const ObjectFiles& files, const LocalStoreOptions& options, ScratchPool& scratch,
                 std::span<ReadOp> ops, const ReadSink& sink, Executor& executor);

// The same for objects that are files below `root`.
Status ReadLocalBatch(const std::string& root, const LocalStoreOptions& options, ScratchPool& scratch,
                      std::span<ReadOp> ops, const ReadSink& sink, Executor& executor);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_LOCAL_READ_H_
