// Mirror: every committed version of a versioned-hdf5 file as a snapshot and a tag of an Icechunk
// repository.
//
// A version that is there is not looked at again. What a new version has in common with the one before it
// is known from the file's mappings; the rest is read, and told by SHA-256. Objects are named by their
// content, so that a run that was killed is taken up where it was, and converges to the same repository.
#ifndef H5ZARR_MIRROR_MIRROR_H_
#define H5ZARR_MIRROR_MIRROR_H_

#include <hdf5.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "mirror/run_counts.h"
#include "mirror/source_dataset.h"
#include "mirror/versions.h"
#include "store/store.h"

namespace h5zarr::mirror {

struct MirrorOptions {
  Encoding encoding = Encoding::kPassthrough;
  std::string since;         // only versions that are newer than this one; empty: all
  bool delete_gone = false;  // remove the tags of versions that the file no longer has
  int threads = 0;           // that read, encode and hash; 0: those of this machine, or of the container
  // Called after each version that was added; it is seen soon after. May be empty.
  std::function<void(const Version& version, std::size_t done, std::size_t all)> progress;
};

struct MirrorReport : RunCounts {
  std::size_t versions = 0;              // committed ones in the file
  std::size_t added = 0;                 // by this run
  std::vector<std::string> uncommitted;  // left out: their writer did not come to its end
  std::vector<std::string> gone;         // tags of versions that are no longer in the file…
  bool gone_were_deleted = false;        // …and no longer in the repository either
  bool main_kept = false;                // branch "main" has commits of others, and was left alone
};

// `file`: an open HDF5 file. `store`: a folder that holds the repository, or nothing yet; it should write
// durably. Two runs at once take turns. kUnsupported for what cannot be mirrored, kAlreadyExists when a
// version in the repository is another one of the same name, or the folder holds something else; nothing
// that was there changes then.
Result<MirrorReport> Mirror(hid_t file, Store* store, const MirrorOptions& options);

// The tag of a version: its name, but for what no tag may have ("%2F" for '/').
std::string TagOf(const std::string& version);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_MIRROR_H_
