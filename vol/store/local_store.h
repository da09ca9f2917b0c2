// A Store in a folder of a local (or mounted) file system.
#ifndef H5ZARR_STORE_LOCAL_STORE_H_
#define H5ZARR_STORE_LOCAL_STORE_H_

#include <memory>
#include <string>

#include "store/store.h"

namespace h5zarr {

struct LocalStoreOptions {
  bool read_only = false;
  bool durable = false;  // fsync of every written file and its folder
  // How large objects are written: through the page cache; through it and io_uring; past it. What the
  // kernel or the file system refuses is done without.
  enum class Io { kPageCache, kUring, kDirect };
  Io io = Io::kPageCache;
  // Two ranges of one object are read as one when the gap between them is at most this…
  uint64_t coalesce_gap_bytes = 16 << 10;
  // …and the joint range stays at most this.
  uint64_t coalesce_max_bytes = 256 << 10;
};

// `root` must be an absolute path; it need not exist (then everything is absent, and the first
// Write makes it, but not the folder it lies in). Opens no file. Objects are files named as their
// key; new files get the process's umask; a write goes to a temporary name beside the target and is
// renamed.
std::unique_ptr<Store> MakeLocalStore(std::string root, const LocalStoreOptions& options = {});

}  // namespace h5zarr

#endif  // H5ZARR_STORE_LOCAL_STORE_H_
