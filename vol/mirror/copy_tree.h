// All that is below a group, copied into a new file of either kind.
#ifndef H5ZARR_MIRROR_COPY_TREE_H_
#define H5ZARR_MIRROR_COPY_TREE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/config.h"
#include "base/status.h"
#include "mirror/connector_files.h"

namespace h5zarr::mirror {

struct CopyOptions {
  Config config;          // of the target
  bool to_store = false;  // it is a store
  // Filters that HDF5 alone does not have (and shards) become shuffle and deflate of HDF5's own.
  bool only_filters_of_hdf5 = false;
  // Asked now and then: true ends the copy with kIo. May be empty.
  std::function<bool()> is_cancelled;
  // How many pieces of an object are copied. May be empty.
  std::function<void(uint64_t done, uint64_t all, const std::string& path)> progress;
};

struct CopyReport {
  uint64_t objects = 0;
  uint64_t bytes = 0;            // of elements, decoded
  bool is_all_of_source = true;  // no elements came from other files than the source
};

// What the new file is created with: what the source was, where that is a whole file, and the orders that its
// root group keeps.
Result<Handle> CreationList(const OpenedFile& from);

// Copies groups, datasets, committed datatypes, links, attributes, comments and references from `from` into
// the empty file `to`. Virtual datasets become plain ones; of a version of versioned-hdf5 what it adds to each
// object is left out. Fails at the first thing that cannot be kept, naming it.
Result<CopyReport> CopyTree(const OpenedFile& from, hid_t to, const CopyOptions& options);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_COPY_TREE_H_
