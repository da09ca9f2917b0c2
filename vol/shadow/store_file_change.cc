// Changes: where nodes are, as links are made, moved and removed in the shadow.

#include <algorithm>

#include "shadow/hdf5_attribute.h"
#include "shadow/json_text.h"
#include "shadow/store_file.h"
#include "shadow/user_links.h"
#include "store/temp_name.h"

namespace h5zarr::shadow {
namespace {

using host::NativeHandle;
using host::NativeObject;

// The value of a link of the shadow: what a soft link leads to, with a NUL; file and path of an external one.
Result<std::string> ValueOfLink(NativeObject group, const std::string& name, std::size_t bytes) {
  std::string value(bytes, '\0');
  if (bytes == 0) return value;
  H5VL_link_get_args_t args;
  args.op_type = H5VL_LINK_GET_VAL;
  args.args.get_val.buf_size = bytes;
  args.args.get_val.buf = value.data();
  const H5VL_loc_params_t loc = host::LocByName(group.type, name.c_str());
  if (H5VLlink_get(group.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return value;
}

// kInvalidArgument for a link that JSON cannot hold. (The values of user-defined ones may be any bytes.)
Status CheckTexts(const std::string& name, const std::string& target) {
  const char* what = IsValidUtf8(name) ? nullptr : "its name";
  if (what == nullptr && !IsValidUtf8(target)) what = "what it leads to";
  if (what == nullptr) return OkStatus();
  return InvalidArgumentError("link " + zarr::DumpJson(TextToJson(name), -1) + ": " + what +
                              " is no UTF-8 text, and Zarr has no other");
}

H5I_type_t IdentifierTypeOf(H5O_type_t type) {
  switch (type) {
    case H5O_TYPE_DATASET: return H5I_DATASET;
    case H5O_TYPE_NAMED_DATATYPE: return H5I_DATATYPE;
    default: return H5I_GROUP;
  }
}

}  // namespace

// Where an object without a place keeps its data: a name that listings leave out.
std::string StoreFile::StagingPath() { return NextTempName(); }

Result<LinkState> StoreFile::LookAtLink(const NodePtr& group, const std::string& name) {
  H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), group->token));
  H5ZARR_ASSIGN_OR_RETURN(const H5L_info2_t info, host::LinkInfo(native.object(), name.c_str()));
  LinkState link;
  link.cset = info.cset;
  switch (info.type) {
    case H5L_TYPE_HARD: {
      const uint64_t token = host::TokenKey(info.u.token);
      NodePtr node = FindNode(token);
      if (node == nullptr) {
        H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::IdentifyByName(native.object(), name.c_str()));
        node = FindOrMakeNode(token, IdentifierTypeOf(identity.type));
      }
      link.target = node;
      break;
    }
    case H5L_TYPE_SOFT: {
      link.kind = LinkState::Kind::kSoft;
      H5ZARR_ASSIGN_OR_RETURN(link.soft_target, ValueOfLink(native.object(), name, info.u.val_size));
      link.soft_target.resize(std::min(link.soft_target.find('\0'), link.soft_target.size()));
      H5ZARR_RETURN_IF_ERROR(CheckTexts(name, link.soft_target));
      break;
    }
    default:
      link.kind = LinkState::Kind::kOther;
      link.link_class = info.type;
      if (IsUserClass(info.type)) {
        H5ZARR_ASSIGN_OR_RETURN(link.value, ReadUserLink(native.object(), name, info.type));
        break;
      }
      H5ZARR_ASSIGN_OR_RETURN(const std::string target, ValueOfLink(native.object(), name, info.u.val_size));
      H5ZARR_RETURN_IF_ERROR(CheckTexts(name, target));
      break;
  }
  return link;
}

Status StoreFile::NoteLinkAt(const NodePtr& parent, const std::string& name) {
  H5ZARR_ASSIGN_OR_RETURN(LinkState link, LookAtLink(parent, name));
  const NodePtr target = link.target.lock();
  const bool is_node = link.kind == LinkState::Kind::kHard && target != nullptr;
  const bool is_place = is_node && (!target->placed || target->path == JoinPath(parent->path, name));
  if (is_node && !is_place) H5ZARR_RETURN_IF_ERROR(RefuseHardLinkInPart());
  // What is no folder's name, or not only that, is in a document.
  if (!is_place || parent->group.ordered) H5ZARR_RETURN_IF_ERROR(CheckTexts(name, ""));
  parent->group.absent.erase(name);
  parent->group.names.reset();
  if (link.cset != LinkCset(parent->node.attributes(), name)) parent->group.links_changed = true;
  parent->group.links[name] = std::move(link);
  if (is_node && !target->placed) {
    H5ZARR_RETURN_IF_ERROR(Place(target, parent, name));
  } else if (!is_node || target->path != JoinPath(parent->path, name)) {
    parent->group.links_changed = true;
    if (is_node) NoteInRoot(kHardLinks);
  }
  if (parent->group.ordered) parent->group.links_changed = true;
  return OkStatus();
}

Status StoreFile::NoteCreated(const NodePtr& base, const char* path) {
  NodePtr current = path[0] == '/' ? root_ : base;
  std::string_view rest(path);
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string name(rest.substr(0, slash));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    if (current == nullptr || current->kind != NodeState::Kind::kGroup) return OkStatus();
    const auto known = current->group.links.find(name);
    if (known == current->group.links.end()) {
      H5ZARR_RETURN_IF_ERROR(NoteLinkAt(current, name));
    }
    const LinkState& link = current->group.links[name];
    if (link.kind == LinkState::Kind::kHard) {
      current = link.target.lock();
    } else if (link.kind == LinkState::Kind::kSoft) {
      H5ZARR_ASSIGN_OR_RETURN(const Resolution soft, Resolve(current, name.c_str()));
      current = soft.node;
    } else {
      return OkStatus();
    }
  }
  return OkStatus();
}

Status StoreFile::NoteUserLink(const NodePtr& base, const char* path, std::optional<std::string> value) {
  H5ZARR_ASSIGN_OR_RETURN(const Resolution found, Resolve(base, path));
  if (found.parent == nullptr || !value) return OkStatus();
  const auto link = found.parent->group.links.find(found.name);
  if (link == found.parent->group.links.end()) return OkStatus();
  if (IsUserClass(link->second.link_class)) link->second.value = std::move(value);
  return OkStatus();
}

// Gives a node its place in the hierarchy; what it had stored while it had none moves there.
Status StoreFile::Place(const NodePtr& node, const NodePtr& parent, const std::string& name) {
  H5ZARR_RETURN_IF_ERROR(zarr::CheckNodeName(name));
  WaitForJobs();  // they know places
  const std::string path = JoinPath(parent->path, name);
  const std::string staged = node->path;
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ListEntry> there, store_->List(path));
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<uint64_t> file, store_->ObjectBytes(path));
  if (!there.empty() || file) {
    return AlreadyExistsError("'" + path + "' in " + path_ + " is a " + (file ? "file" : "folder") +
                              " that is no Zarr node: it is not overwritten");
  }
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ListEntry> moved, store_->List(staged));
  if (!moved.empty()) {
    H5ZARR_RETURN_IF_ERROR(EnsureStored(parent));
    H5ZARR_RETURN_IF_ERROR(store_->RenamePrefix(staged, path));
  }
  MovePaths(staged, path);
  node->placed = true;
  return OkStatus();
}

// Takes a node that is still open out of the hierarchy, as HDF5 keeps an unlinked object while it is
// open.
Status StoreFile::Unplace(const NodePtr& node) {
  WaitForJobs();
  const std::string staged = StagingPath();
  const std::string path = node->path;
  if (node->stored) {
    H5ZARR_RETURN_IF_ERROR(BeforeChange());
    H5ZARR_RETURN_IF_ERROR(store_->RenamePrefix(path, staged));
  }
  MovePaths(path, staged);
  node->placed = false;
  return OkStatus();
}

void StoreFile::MovePaths(const std::string& from, const std::string& to) {
  for (const NodePtr& node : nodes_.Move(from, to)) {
    if (node->dataset.array != nullptr) node->dataset.array->MovedTo(store_.get(), node->path);
  }
  TellOthers(from);
  TellOthers(to);
}

Status StoreFile::NoteUnlinked(const NodePtr& parent, const std::string& name, const NodePtr& target,
                               bool other_links) {
  GroupState& group = parent->group;
  const auto known = group.links.find(name);
  const bool was_node = target != nullptr && target->path == JoinPath(parent->path, name);
  const bool has_cset = LinkCset(parent->node.attributes(), name) != NameCset(name, Json());
  if (!was_node || group.ordered || has_cset) group.links_changed = true;
  if (known != group.links.end()) {
    if (known->second.is_stub) H5ZARR_RETURN_IF_ERROR(RemoveStub(parent, name));
    group.links.erase(known);
  }
  group.absent.insert(name);
  group.names.reset();
  if (!was_node) return OkStatus();
  if (target->bare_dimension) ForgetBareDimension(parent, target);
  if (other_links) {
    // Links below itself do not count: nothing leads there any more.
    H5ZARR_ASSIGN_OR_RETURN(const bool moved, GiveAnotherHome(target, target->path));
    if (moved) return OkStatus();
  }
  return Discard(target);
}

// The node that stood for a link goes with the link.
Status StoreFile::RemoveStub(const NodePtr& parent, const std::string& name) {
  H5ZARR_RETURN_IF_ERROR(BeforeChange());
  TellOthers(JoinPath(parent->path, name));
  return hierarchy_.Remove(JoinPath(parent->path, name));
}

// A node lost the link that was its place: it moves to where another link leads to it, outside of
// `leaving` (a path that is about to go). False when there is none.
Result<bool> StoreFile::GiveAnotherHome(const NodePtr& node, const std::string& leaving) {
  for (const auto& [token, group] : nodes_) {
    if (group->kind != NodeState::Kind::kGroup) continue;
    if (group->path == leaving || IsBelow(group->path, leaving)) continue;
    for (const auto& [name, link] : group->group.links) {
      const std::string from = node->path;
      const std::string to = JoinPath(group->path, name);
      if (link.target.lock() != node || to == from) continue;
      if (node->stored) {
        H5ZARR_RETURN_IF_ERROR(EnsureStored(group));
        H5ZARR_RETURN_IF_ERROR(BeforeChange());
        WaitForJobs();
        H5ZARR_RETURN_IF_ERROR(hierarchy_.Move(from, to));
      }
      MovePaths(from, to);
      group->group.links_changed = true;
      RenameWhatLeadsTo(from, to);
      return true;
    }
  }
  return false;
}

// A node lost its last link. Nodes below it that have a link elsewhere move there first.
Status StoreFile::Discard(const NodePtr& node) {
  const std::string path = node->path;
  bool open = false;
  for (const NodePtr& other : nodes_.AtOrBelow(path)) {
    open = open || other->open_objects > 0;
    if (IsBelow(other->path, path)) H5ZARR_RETURN_IF_ERROR(GiveAnotherHome(other, path).status());
  }
  if (open) return Unplace(node);
  if (node->stored) {
    H5ZARR_RETURN_IF_ERROR(BeforeChange());
    WaitForJobs();
    TellOthers(path);
    if (const Status removed = hierarchy_.Remove(path); !removed.ok()) {
      // What the store has of it still is loaded anew by whoever asks.
      nodes_.Forget(path);
      if (const NodePtr parent = nodes_.At(std::string(ParentOf(path)))) LookAgain(parent);
      return removed;
    }
  }
  nodes_.Forget(path);
  return OkStatus();
}

void StoreFile::NoteAttribute(const NodePtr& node, const std::string& name) {
  if (node == nullptr) return;
  std::vector<std::string>& changed = node->changed_attributes;
  if (changed.empty()) ++pending_nodes_;
  if (std::find(changed.begin(), changed.end(), name) == changed.end()) changed.push_back(name);
}

void StoreFile::NoteNewAttribute(const NodePtr& node, const std::string& name) {
  if (node == nullptr) return;
  // One of that name may have been deleted and not stored since: the new one comes last.
  SetAttribute(&node->node.attributes(), name, nullptr);
  std::vector<std::string>& changed = node->changed_attributes;
  if (changed.empty()) ++pending_nodes_;
  changed.erase(std::remove(changed.begin(), changed.end(), name), changed.end());
  changed.push_back(name);
  // Only when it closes a new file h5netcdf says whose it is: what is stored may read otherwise now.
  if (node == root_ && name == "_NCProperties") TouchSingles();
}

// Attributes that are lists of one: see IsNetcdf.
void StoreFile::TouchSingles() {
  for (const auto& [token, node] : nodes_) {
    for (const auto& [name, value] : node->node.attributes().items()) {
      if (value.is_array() && value.size() == 1) NoteAttribute(node, name);
    }
  }
}

void StoreFile::NoteRenamedAttribute(const NodePtr& node, const std::string& from, const std::string& to) {
  if (node == nullptr || from == to) return;
  RenameAttribute(&node->node.attributes(), from, to);
  for (Object* object : objects_) {  // open attributes are written by their name
    if (object->node == node && object->attribute_name == from) object->attribute_name = to;
  }
  std::vector<std::string>& changed = node->changed_attributes;
  std::erase(changed, to);
  const auto waiting = std::find(changed.begin(), changed.end(), from);
  if (waiting == changed.end()) {
    changed.push_back(to);
  } else {
    *waiting = to;
  }
}

void StoreFile::NoteComment(const NodePtr& node) {
  if (node == nullptr) return;
  node->comment_changed = true;
  node->document_changed = true;
}

void StoreFile::NoteLinks(const NodePtr& group) {
  if (group != nullptr) group->group.links_changed = true;
}

void StoreFile::Detach(Object* object) {
  objects_.erase(object);
  object->counted = false;
  if (objects_.empty()) anchor_.Close();  // or HDF5 would never close the shadow
  const NodePtr node = object->node;
  if (node == nullptr || --node->open_objects > 0) return;
  // Data of an object that was never linked, or is no longer: gone with its last handle.
  const std::string staged(std::string_view(node->path).substr(0, node->path.find('/')));
  if (!IsTempName(staged)) return;
  for (const NodePtr& other : nodes_.AtOrBelow(staged)) {
    if (other->open_objects > 0) return;
  }
  if (writable_ && !forked()) {
    WaitForJobs();
    // A failure leaves a hidden folder behind, nothing else.
    (void)store_->DeletePrefix(staged).ok();
  }
  nodes_.Forget(staged);
}

}  // namespace h5zarr::shadow
