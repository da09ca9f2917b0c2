// The identifiers of Icechunk's objects and nodes, and the names that objects have by them.
#ifndef H5ZARR_ICECHUNK_IDS_H_
#define H5ZARR_ICECHUNK_IDS_H_

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace h5zarr::icechunk {

// Of a snapshot (and its transaction log), a manifest or a chunk object.
struct ObjectId {
  std::array<uint8_t, 12> bytes = {};
  auto operator<=>(const ObjectId&) const = default;
};

// Of a node: the same in every version in which the node is.
struct NodeId {
  std::array<uint8_t, 8> bytes = {};
  auto operator<=>(const NodeId&) const = default;
};

// Of the snapshot without nodes that every repository begins with: given by the format.
extern const ObjectId kFirstSnapshot;

// The object's name in its folder: 20 characters of Crockford's base 32.
std::string ToText(const ObjectId& id);
// kInvalidArgument unless `text` is such a name.
Result<ObjectId> ParseObjectId(std::string_view text);

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_IDS_H_
