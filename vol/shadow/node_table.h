// NodeTable: the nodes that a store knows, by token and by path. Paths are the table's to change: it
// finds a node, or all below one, without looking at the others.
#ifndef H5ZARR_SHADOW_NODE_TABLE_H_
#define H5ZARR_SHADOW_NODE_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shadow/node_state.h"

namespace h5zarr::shadow {

using NodePtr = std::shared_ptr<NodeState>;

class NodeTable {
 public:
  // Takes the place of a node that has the same token (HDF5 gives those of deleted objects to new ones).
  void Add(const NodePtr& node);
  // A node that has no path: the made-up root of a store that is a single array.
  void AddWithoutPath(const NodePtr& node);
  NodePtr Find(uint64_t token) const;  // null where there is none
  NodePtr At(const std::string& path) const;
  // The node at `path`, where there is one, and all below it.
  std::vector<NodePtr> AtOrBelow(const std::string& path) const;
  // They get paths at and below `to`; returns them.
  std::vector<NodePtr> Move(const std::string& from, const std::string& to);
  void Forget(const std::string& path);  // they are dropped

  // All of them, by token.
  auto begin() const { return by_token_.begin(); }
  auto end() const { return by_token_.end(); }

 private:
  void DropPath(const NodePtr& node);

  std::map<uint64_t, NodePtr> by_token_;
  std::map<std::string, NodePtr, std::less<>> by_path_;
};

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_NODE_TABLE_H_
