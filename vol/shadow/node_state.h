// NodeState: what a store knows of one object of its shadow, by token: where it is in the Zarr
// hierarchy, its metadata, and what of it is not stored yet.
#ifndef H5ZARR_SHADOW_NODE_STATE_H_
#define H5ZARR_SHADOW_NODE_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "host/native.h"
#include "shadow/dataset_map.h"
#include "shadow/moved_references.h"
#include "shadow/virtual_layout.h"
#include "zarr/array.h"
#include "zarr/hierarchy.h"

namespace h5zarr::shadow {

struct NodeState;

// A link of a group, as far as the store has looked at it.
struct LinkState {
  enum class Kind { kHard, kSoft, kOther };  // kOther: external and user-defined
  Kind kind = Kind::kHard;
  std::weak_ptr<NodeState> target;     // kHard
  std::string soft_target;             // kSoft
  int link_class = H5L_TYPE_EXTERNAL;  // kOther
  std::optional<std::string> value;    // kOther, of a user-defined class: its bytes, where they are known
  // Of its name. (What HDF5 says of a link that was loaded is the character set that the program asked
  // for in the call that made us load it.)
  H5T_cset_t cset = H5T_CSET_ASCII;
  bool is_stub = false;  // stored as LINDI does, as a node of its own
};

// A dimension without an array: see dimension_scales.h.
struct BareDimension {
  std::optional<uint64_t> extent;  // that the group's arrays agree on
  zarr::Json document;             // as the group's `_hdf5.dimensions` has it, or null
};

struct GroupState {
  bool filled = false;                            // every child is in `links`
  bool filling = false;                           // being filled: children load one by one
  std::set<std::string> loading;                  // links being loaded (hard ones may lead in circles)
  std::string at_turn;                            // while filling: the link that is made now
  std::set<std::string> early;                    // links that were needed before their turn, and the group without
  host::NativeHandle early_group;                 // a name they are in until then: see StoreFile::OpenForLink
  std::map<std::string, LinkState> links;         // the shadow's links, while known
  std::set<std::string> absent;                   // names known to be no child
  std::optional<std::vector<std::string>> names;  // cached listing of an unfilled group
  bool links_changed = false;                     // `_LINKS` must be written anew
  bool mounted = false;                           // another file is, or was, mounted here, and hides it
  bool ordered = false;                           // tracks creation order of links
  std::vector<std::shared_ptr<NodeState>> without_header;    // see StoreFile::LoadHeader
  std::optional<std::map<std::string, BareDimension>> bare;  // once somebody asked
};

struct DatasetState {
  ElementMap element;
  H5D_layout_t layout = H5D_CHUNKED;
  H5D_alloc_time_t alloc_time = H5D_ALLOC_TIME_INCR;
  bool null_space = false;
  // In the shadow the array has no maximum extents, so that Refresh can show how others let it grow; programs see
  // DatasetHeader's. Else empty.
  std::vector<uint64_t> least_maximum;
  bool is_scale = false;                           // a dimension scale
  bool references_pending = false;                 // …whose REFERENCE_LIST is not in the shadow yet
  std::vector<std::vector<std::string>> attached;  // scales by dimension, as they were loaded
  zarr::ChunkUnit chunk_unit = zarr::ChunkUnit::kObject;
  uint64_t committed_type = 0;         // token of the committed datatype it was made with, or 0
  bool external = false;               // reads and writes go to files of the dataset's own, through the shadow
  bool external_copied = false;        // …and the array is known to hold the same
  std::unique_ptr<zarr::Array> array;  // once opened
  PendingRenames renames;              // of what its elements refer to
  // The array's stored chunks, while nothing was written since they were listed.
  std::optional<std::vector<zarr::ChunkInfo>> chunk_list;
  // Of a virtual dataset, whose node is a group and which has nothing of the above.
  std::shared_ptr<VirtualLayout> virtual_layout;
};

struct NodeState {
  enum class Kind { kGroup, kDataset, kDatatype };
  Kind kind = Kind::kGroup;
  uint64_t token = 0;

  std::string path;             // in the hierarchy ("" is the root); where it is staged when not placed
  bool placed = false;          // reachable by `path`; else anonymous or unlinked
  bool stored = false;          // its document exists in the store
  bool bare_dimension = false;  // a scale without a document: its group's says what it is
  bool document_changed = false;
  bool comment_changed = false;
  std::vector<std::string> changed_attributes;  // to be written from the shadow, in this order
  int open_objects = 0;                         // wrappers of it
  Status broken;                                // why it cannot be opened (unknown codec, type…)

  zarr::Node node;       // its metadata as stored or to be stored
  GroupState group;      // kGroup
  DatasetState dataset;  // kDataset

  bool dirty() const {
    return document_changed || !changed_attributes.empty() || group.links_changed || !dataset.renames.empty() ||
           (dataset.array != nullptr && (dataset.array->dirty() || dataset.array->omitted_fill()));
  }
};

// The node's name in its parent, or "" for the root.
inline std::string_view NameOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}
inline std::string_view ParentOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}
// True where `path` is that of something below the node at `prefix`.
inline bool IsBelow(std::string_view path, std::string_view prefix) {
  return path.size() > prefix.size() && path.starts_with(prefix) && path[prefix.size()] == '/';
}
inline std::string JoinPath(std::string_view parent, std::string_view name) {
  std::string path(parent);
  if (!path.empty()) path += '/';
  path += name;
  return path;
}

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_NODE_STATE_H_
