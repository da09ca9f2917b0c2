// RemoteArchive: a ZIP archive behind a server, as libzip reads it: through a RemoteFile.
//
// Within store/ only.
#ifndef H5ZARR_STORE_REMOTE_ARCHIVE_H_
#define H5ZARR_STORE_REMOTE_ARCHIVE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "store/remote_file.h"
#include "store/zip_library.h"

namespace h5zarr {

// One thread at a time.
class RemoteArchive {
 public:
  explicit RemoteArchive(std::shared_ptr<RemoteFile> file) : file_(std::move(file)) {}

  // The archive, which reads this from then on: this must outlive it.
  Result<zip_t*> Open(const ZipLibrary& zip);

  // Why the last read that failed did, which libzip cannot tell; ok where none has.
  const Status& failure() const { return failure_; }

  // Members, by their numbers, that are about to be read, from `offset` on: they are asked for together.
  struct Wanted {
    uint64_t number = 0;
    uint64_t offset = 0;
    uint64_t length = 0;  // stored bytes
  };
  Status Prefetch(std::span<const Wanted> members);

 private:
  // Where a member's header is, and how many bytes stand between that and the member, as the directory has it.
  struct Place {
    uint64_t header = 0;
    uint64_t name_bytes = 0;
  };

  static zip_int64_t OnCommand(void* self, void* data, zip_uint64_t bytes, zip_source_cmd_t command);
  zip_int64_t Answer(void* data, uint64_t bytes, zip_source_cmd_t command);
  zip_int64_t Read(void* data, uint64_t bytes);
  zip_int64_t Seek(const void* data, uint64_t bytes);
  Status FindMembers();

  const std::shared_ptr<RemoteFile> file_;
  std::vector<Place> places_;  // empty where the directory was not understood: only speed depends on it
  uint64_t at_ = 0;
  Status failure_;
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_REMOTE_ARCHIVE_H_
