// Parts of one Zarr store that are open together: `x.zarr` and `x.zarr/group`, or two such groups. Each has
// a shadow of its own. Before one of them changes something the others store what they changed, so that
// no two know different things that are not stored yet; and each tells the others what it stored, which
// they take over before they next look.

#include <algorithm>

#include "shadow/conventions.h"
#include "shadow/hdf5_member.h"
#include "shadow/store_file.h"
#include "store/url.h"

namespace h5zarr::shadow {
namespace {

using host::NativeHandle;

Status DeleteNativeLink(host::NativeObject group, const std::string& name) {
  H5VL_link_specific_args_t args;
  std::memset(&args, 0, sizeof args);
  args.op_type = H5VL_LINK_DELETE;
  const H5VL_loc_params_t loc = host::LocByName(group.type, name.c_str());
  return host::KeepingLinkCount(group, [&]() -> Status {
    if (H5VLlink_specific(group.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
      return host::AlreadyReported();
    }
    return OkStatus();
  });
}

}  // namespace

void StoreFile::Meet(const std::shared_ptr<StoreFile>& other) {
  parts_.push_back(other);
  other->parts_.push_back(weak_from_this());
}

std::vector<std::shared_ptr<StoreFile>> StoreFile::OtherParts() {
  std::erase_if(parts_, [](const std::weak_ptr<StoreFile>& part) { return part.expired(); });
  std::vector<std::shared_ptr<StoreFile>> others;
  for (const std::weak_ptr<StoreFile>& part : parts_) {
    if (auto other = part.lock(); other != nullptr && !other->forked()) others.push_back(std::move(other));
  }
  return others;
}

Status StoreFile::BeginChange() {
  touched_ = true;
  if (parts_.empty()) return OkStatus();
  for (const std::shared_ptr<StoreFile>& other : OtherParts()) {
    if (other->touched_) H5ZARR_RETURN_IF_ERROR(other->Save());
  }
  return CatchUp();
}

void StoreFile::NoteWritten(const NodePtr& node) {
  node->dataset.chunk_list.reset();
  TellOthers(node->path);
}

void StoreFile::TellOthers(const std::string& path) {
  if (parts_.empty()) return;
  const std::string changed = path.empty() ? path_ : path_ + "/" + path;
  for (const std::shared_ptr<StoreFile>& other : OtherParts()) {
    if (IsBelow(changed, other->path_)) {
      other->told_.insert(changed.substr(other->path_.size() + 1));
    } else if (changed == other->path_ || IsBelow(other->path_, changed)) {
      other->told_.insert("");
    }
  }
}

void StoreFile::TellOthersOfConsolidated() {
  for (const std::shared_ptr<StoreFile>& other : OtherParts()) {
    other->above_noted_ = false;
    other->hierarchy_.ForgetUnconsolidated();
    // (What it has removed itself is its own to write anew.)
    if (!other->had_consolidated_) other->change_noted_ = false;
  }
}

Status StoreFile::CatchUp() {
  if (told_.empty() || saving_) return OkStatus();
  for (const std::shared_ptr<StoreFile>& other : OtherParts()) other->WaitForJobs();
  while (!told_.empty()) {  // parents first
    const std::string path = *told_.begin();
    H5ZARR_RETURN_IF_ERROR(CatchUpAt(path));
    told_.erase(path);
  }
  return OkStatus();
}

Status StoreFile::CatchUpAt(const std::string& path) {
  hierarchy_.Forget(path);
  const NodePtr node = nodes_.At(path);
  if (node == nullptr) {
    if (const NodePtr parent = nodes_.At(std::string(ParentOf(path)))) LookAgain(parent);
    return OkStatus();
  }
  const host::KeepErrors keep;
  Status refreshed = IsOfOneDocument(*node) ? Refresh(node) : OkStatus();
  if (!IsOfOneDocument(*node)) {
    const Result<std::optional<zarr::Node>> now = hierarchy_.Open(path);
    if (!now.ok() || !*now || (*now)->attributes() != node->node.attributes()) {
      refreshed = ChangedError("'/" + path + "' of '" + ShownName(name_) + "' was replaced");
    }
  }
  return LetGoUnless(node, refreshed);
}

// Lets go of a node that cannot be shown as it is now.
Status StoreFile::LetGoUnless(const NodePtr& node, const Status& refreshed) {
  switch (refreshed.code()) {
    case StatusCode::kNotFound:
    case StatusCode::kChanged:
    case StatusCode::kCorrupt:
    case StatusCode::kUnsupported: return LetGo(node, refreshed);
    default: return refreshed;
  }
}

// Whether what a node is in the shadow is in its document alone, and its like cannot be changed there.
bool StoreFile::IsOfOneDocument(const NodeState& node) {
  return node.broken.ok() && node.kind != NodeState::Kind::kDatatype && node.dataset.virtual_layout == nullptr;
}

void StoreFile::LookAgain(const NodePtr& group) {
  group->group.absent.clear();
  group->group.names.reset();
  group->group.filled = false;
  hard_links_counted_ = false;
}

// A node is no more, or no longer what it was: it leaves the shadow, and whoever has it open gets `why`.
Status StoreFile::LetGo(const NodePtr& node, const Status& why) {
  for (const NodePtr& gone : nodes_.AtOrBelow(node->path)) {
    gone->broken = why;
    gone->dataset.array.reset();
  }
  if (node->path.empty()) return OkStatus();
  const NodePtr parent = nodes_.At(std::string(ParentOf(node->path)));
  const std::string name(NameOf(node->path));
  nodes_.Forget(node->path);
  if (parent == nullptr) return OkStatus();
  LookAgain(parent);
  if (parent->group.links.erase(name) == 0) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle native, host::OpenByToken(Location(), parent->token));
  return DeleteNativeLink(native.object(), name);
}

// The attributes of the groups this store lies in. (Whether there are any does not change: around what is open
// no store is made.)
Result<std::vector<Json>> StoreFile::GroupsAround() {
  if (!is_part_.value_or(true)) return std::vector<Json>();
  H5ZARR_ASSIGN_OR_RETURN(std::vector<Json> around, stores_above_.Attributes());
  is_part_ = !around.empty();
  return around;
}

// A further hard link names its target by the path from the root: only who has the whole store open can keep
// such links true.
Status StoreFile::RefuseHardLinksAround() {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<Json> around, GroupsAround());
  for (const Json& attributes : around) {
    if (Hdf5Member(attributes, kHardLinks).is_null()) continue;
    return UnsupportedError("further hard links may lead into '" + ShownName(name_) +
                            "' from the store it is a part of: move and delete in that as a whole");
  }
  return OkStatus();
}

Status StoreFile::RefuseHardLinkInPart() {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<Json> around, GroupsAround());
  if (around.empty()) return OkStatus();
  return UnsupportedError("a further hard link in '" + ShownName(name_) +
                          "', which is a part of a store: make it in that as a whole");
}

// What others have open as a store of its own cannot move away under them.
Status StoreFile::RefuseMoveOfPart(const std::string& path) {
  const std::string moved = path_ + "/" + path;
  for (const std::shared_ptr<StoreFile>& other : OtherParts()) {
    if (other->path_ != moved && !IsBelow(other->path_, moved)) continue;
    return Status(
        StatusCode::kPermissionDenied,
        "unable to move '/" + path + "' of '" + ShownName(name_) + "': '" + ShownName(other->name_) + "' is open",
        EBUSY);
  }
  return OkStatus();
}

// Links of a group other than those to its own children that are no more, or lead elsewhere now, leave the
// shadow.
Status StoreFile::RefreshLinks(const NodePtr& group, const zarr::Node& before, host::NativeObject native) {
  const std::vector<StoredLink> after = StoredLinks(group->node.attributes());
  for (const StoredLink& link : StoredLinks(before.attributes())) {
    if (std::find(after.begin(), after.end(), link) != after.end()) continue;
    if (group->group.links.erase(link.name) != 0) {
      H5ZARR_RETURN_IF_ERROR(DeleteNativeLink(native, link.name));
    }
  }
  return OkStatus();
}

}  // namespace h5zarr::shadow
