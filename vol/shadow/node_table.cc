#include "shadow/node_table.h"

namespace h5zarr::shadow {

void NodeTable::DropPath(const NodePtr& node) {
  const auto known = by_path_.find(node->path);
  if (known != by_path_.end() && known->second == node) by_path_.erase(known);
}

void NodeTable::AddWithoutPath(const NodePtr& node) {
  NodePtr& there = by_token_[node->token];
  if (there != nullptr) DropPath(there);
  there = node;
}

void NodeTable::Add(const NodePtr& node) {
  AddWithoutPath(node);
  by_path_[node->path] = node;
}

NodePtr NodeTable::Find(uint64_t token) const {
  const auto found = by_token_.find(token);
  return found == by_token_.end() ? nullptr : found->second;
}

NodePtr NodeTable::At(const std::string& path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
}

std::vector<NodePtr> NodeTable::AtOrBelow(const std::string& path) const {
  std::vector<NodePtr> nodes;
  if (NodePtr node = At(path)) nodes.push_back(std::move(node));
  const std::string below = path + "/";
  for (auto it = by_path_.lower_bound(below); it != by_path_.end(); ++it) {
    if (!it->first.starts_with(below)) break;
    nodes.push_back(it->second);
  }
  return nodes;
}

std::vector<NodePtr> NodeTable::Move(const std::string& from, const std::string& to) {
  std::vector<NodePtr> nodes = AtOrBelow(from);
  for (const NodePtr& node : nodes) DropPath(node);
  for (const NodePtr& node : nodes) {
    node->path = to + node->path.substr(from.size());
    node->node.path = node->path;
    by_path_[node->path] = node;
  }
  return nodes;
}

void NodeTable::Forget(const std::string& path) {
  for (const NodePtr& node : AtOrBelow(path)) {
    DropPath(node);
    const auto known = by_token_.find(node->token);
    if (known != by_token_.end() && known->second == node) by_token_.erase(known);
  }
}

}  // namespace h5zarr::shadow
