// moved_references: paths in what a store holds (references, committed types, dimension scales), when
// that to which they lead gets another path. Over JSON and arrays; knows no shadow. Internal to shadow/.
#ifndef H5ZARR_SHADOW_MOVED_REFERENCES_H_
#define H5ZARR_SHADOW_MOVED_REFERENCES_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "shadow/type_map.h"
#include "zarr/array.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

using zarr::Json;

// A node's path in the hierarchy, before and after; all below it goes with it.
struct PathRename {
  std::string from, to;
};
using PathRenames = std::vector<PathRename>;  // in the order they happened

// Each changes the paths (absolute ones, as references have them) and says whether there was any to
// change: one path; one element of `type` in the form of ElementToJson; all attributes of a node.
bool RenamePath(const PathRenames& renames, std::string* path);
bool RenameInElement(const PathRenames& renames, hid_t type, Json* element);
bool RenameInAttributes(const PathRenames& renames, Json* attributes);

// Whether elements are stored with paths in them, in a form that we write.
bool HoldsPaths(const ElementMap& element);

// What is still to be renamed in the elements of an array that HoldsPaths: any number of moves become
// one pass through its stored chunks.
class PendingRenames {
 public:
  bool empty() const { return renames_.empty(); }
  // An earlier pass failed half-way. REQUIRES for Add: not so.
  bool begun() const { return chunks_.has_value(); }
  void Add(PathRename rename) { renames_.push_back(std::move(rename)); }
  // Changes the elements, in the array's cache where chunks are changed in part. After a failure the
  // next call goes on where this one ended: no element is renamed twice.
  Status Apply(const ElementMap& element, zarr::Array* array);
  void Clear();

 private:
  struct Change {
    uint64_t array_offset = 0;  // in elements
    std::string text;
  };
  Status FindChanges(hid_t type, std::span<const uint64_t> chunk_coords, zarr::Array* array);
  Status WriteChanges(zarr::Array* array);

  PathRenames renames_;
  std::optional<std::vector<zarr::ChunkInfo>> chunks_;  // not looked at yet
  std::vector<Change> changes_;                         // of the chunk that was looked at last
};

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_MOVED_REFERENCES_H_
