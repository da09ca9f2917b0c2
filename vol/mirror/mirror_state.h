// Mirror of any file or store: its state as the next snapshot of an Icechunk repository, so that what keeps
// no versions of its own gains a history.
//
// A state is copied as into a Zarr store (copy_tree), which is read whole; chunks that were in a snapshot
// before are not stored again. What is as it was makes no snapshot. An HDF5 file that nobody touched since the last
// snapshot was made of it is not even read (file_stamp).
#ifndef H5ZARR_MIRROR_MIRROR_STATE_H_
#define H5ZARR_MIRROR_MIRROR_STATE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "mirror/connector_files.h"
#include "mirror/run_counts.h"
#include "store/store.h"

namespace h5zarr::mirror {

struct StateOptions {
  std::string tag;     // of the snapshot; empty: its time, as "20260131T123000Z"
  std::string config;  // how the connector works while copying ("threads=2")
  std::function<void(uint64_t done, uint64_t all, const std::string& path)> progress;  // may be empty
};

struct StateReport : RunCounts {
  bool was_read = true;  // the source; else it is a file that was not touched since the last snapshot
  bool added = false;    // else all is as the last snapshot has it
  std::string tag;       // of the last snapshot
  std::string snapshot;  // its identifier
};

// `store`: a folder that holds the repository, or nothing yet; it should write durably. Two runs at once take
// turns. The snapshot is the next one on branch "main". kUnsupported for what cannot be mirrored, kAlreadyExists
// when the folder holds something else, or the tip of "main" is none of this source's (others committed to it, or
// it is the mirror of a file of another name), or a tag is taken; nothing that was there changes then.
Result<StateReport> MirrorState(const OpenedFile& source, Store* store, const StateOptions& options);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_MIRROR_STATE_H_
