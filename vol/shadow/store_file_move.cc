// Moves: a node gets another path, and so does whatever leads to it by its path.

#include <algorithm>

#include "host/error_stack.h"
#include "shadow/dimension_scales.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/store_file.h"

namespace h5zarr::shadow {

// Whoever moves or unlinks a node must know what else leads to it, wherever that is.
void StoreFile::NoteInRoot(const char* member) {
  if (root_is_array_ || !Hdf5Member(root_->node.attributes(), member).is_null()) return;
  SetHdf5Member(&root_->node.attributes(), member, true);
  root_->document_changed = true;
}

bool StoreFile::MayHaveHardLinks() const {
  return !root_is_array_ && !Hdf5Member(root_->node.attributes(), kHardLinks).is_null();
}

bool StoreFile::MayHaveReferences() const {
  if (root_is_array_) return false;
  const Json& attributes = root_->node.attributes();
  // (The root of an NWB file refers to its specifications, whoever made a store of it.)
  return !Hdf5Member(attributes, kReferences).is_null() || attributes.contains(".specloc");
}

Status StoreFile::LoadHardLinks() {
  H5ZARR_RETURN_IF_ERROR(RefuseHardLinksAround());
  return MayHaveHardLinks() ? Fill(root_, true) : OkStatus();
}

// A failure is no reason to say nothing of an object that is there. (While something is loaded they pass for
// counted: HDF5 asks what the committed types are that it is handed then.)
void StoreFile::CountHardLinks() {
  if (hard_links_counted_ || saving_ || !MayHaveHardLinks()) return;
  hard_links_counted_ = true;
  const host::KeepErrors keep;
  (void)Fill(root_, true).ok();
}

Status StoreFile::LoadForMove(const Resolution& from, const NodePtr& to_parent) {
  if (from.parent == nullptr) return OkStatus();
  const auto link = from.parent->group.links.find(from.name);
  if (link == from.parent->group.links.end()) return OkStatus();
  const NodePtr node = link->second.target.lock();
  if (node == nullptr) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(RefuseMoveOfPart(node->path));
  H5ZARR_RETURN_IF_ERROR(RefuseHardLinksAround());
  if (MayHaveHardLinks() || MayHaveReferences()) {
    H5ZARR_RETURN_IF_ERROR(Fill(root_, true));
  } else if (from.parent != to_parent) {
    // Arrays find the scales of their dimensions by name, in the groups around them.
    H5ZARR_RETURN_IF_ERROR(Fill(node, true));
  }
  // Whatever a scale is attached to names its dimensions anew.
  H5ZARR_RETURN_IF_ERROR(CompleteAttributes(node));
  // What could not be done for the last move comes before the next.
  for (const auto& [token, other] : nodes_) {
    if (other->dataset.renames.begun()) H5ZARR_RETURN_IF_ERROR(OpenElements(other).status());
  }
  return OkStatus();
}

Result<H5T_cset_t> StoreFile::CsetOfLink(const NodePtr& group, const std::string& name) {
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle native, host::OpenByToken(Location(), group->token));
  H5ZARR_ASSIGN_OR_RETURN(const H5L_info2_t info, host::LinkInfo(native.object(), name.c_str()));
  return info.cset;
}

Status StoreFile::NoteMoved(const NodePtr& from_parent, const std::string& from_name, const NodePtr& to_parent,
                            const std::string& to_name) {
  GroupState& from_group = from_parent->group;
  GroupState& to_group = to_parent->group;
  const auto known = from_group.links.find(from_name);
  if (known == from_group.links.end()) return NoteLinkAt(to_parent, to_name);
  const NodePtr target = known->second.target.lock();
  const std::string from = JoinPath(from_parent->path, from_name);
  const std::string to = JoinPath(to_parent->path, to_name);
  const bool is_node = known->second.kind == LinkState::Kind::kHard && target != nullptr && target->path == from;
  H5ZARR_ASSIGN_OR_RETURN(const H5T_cset_t cset, CsetOfLink(to_parent, to_name));
  // First what may fail: until then nothing is moved, here and in the store.
  if (known->second.is_stub) H5ZARR_RETURN_IF_ERROR(RemoveStub(from_parent, from_name));
  if (is_node && target->stored) {
    H5ZARR_RETURN_IF_ERROR(EnsureStored(to_parent));
    H5ZARR_RETURN_IF_ERROR(BeforeChange());
    WaitForJobs();
    H5ZARR_RETURN_IF_ERROR(hierarchy_.Move(from, to));
  }
  LinkState link = std::move(known->second);
  link.is_stub = false;
  link.cset = cset;
  from_group.links.erase(known);
  from_group.absent.insert(from_name);
  from_group.names.reset();
  to_group.absent.erase(to_name);
  to_group.names.reset();
  to_group.links[to_name] = std::move(link);
  if (!is_node || from_group.ordered) from_group.links_changed = true;
  if (!is_node || to_group.ordered) to_group.links_changed = true;
  if (LinkCset(to_parent->node.attributes(), to_name) != cset) to_group.links_changed = true;
  if (!is_node) return OkStatus();
  if (target->bare_dimension) ForgetBareDimension(from_parent, target);
  TouchDimensionsOf(target);
  MovePaths(from, to);
  if (from_parent != to_parent) {
    for (const NodePtr& below : nodes_.AtOrBelow(to)) {
      if (below != target) TouchDimensionsOf(below);
    }
  }
  RenameWhatLeadsTo(from, to);
  return OkStatus();
}

// What leads to the node that is now at `to`, or to what is below it, says its new path.
void StoreFile::RenameWhatLeadsTo(const std::string& from, const std::string& to) {
  const PathRename rename{from, to};
  const bool references = MayHaveReferences();
  for (const auto& [token, node] : nodes_) {
    for (std::vector<std::string>& scales : node->dataset.attached) {
      for (std::string& path : scales) RenamePath({rename}, &path);
    }
    if (!references || !node->broken.ok()) continue;
    if (RenameInAttributes({rename}, &node->node.attributes())) node->document_changed = true;
    const bool is_array = node->kind == NodeState::Kind::kDataset && node->node.is_array();
    if (is_array && HoldsPaths(node->dataset.element)) node->dataset.renames.Add(rename);
  }
  TouchLinksTo(to);
}

// Further hard links to what is now at `path` or below name it by its path: they must be stored anew.
void StoreFile::TouchLinksTo(const std::string& path) {
  if (!MayHaveHardLinks()) return;
  for (const auto& [token, group] : nodes_) {
    for (const auto& [name, link] : group->group.links) {
      const NodePtr target = link.target.lock();
      if (target == nullptr || target->path == JoinPath(group->path, name)) continue;
      if (target->path == path || IsBelow(target->path, path)) group->group.links_changed = true;
    }
  }
}

}  // namespace h5zarr::shadow
