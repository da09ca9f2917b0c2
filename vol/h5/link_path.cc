#include "h5/link_path.h"

#include <deque>
#include <optional>

#include "h5/connector.h"
#include "h5/mounted_stores.h"

namespace h5zarr {
namespace {

// Links into other files that one path may lead through, and soft links between two of them. HDF5's own
// bound is 16 unless the program asks for another; beyond ours a path is taken for circular.
constexpr int kMaxLinks = 64;

TraversalScope* innermost = nullptr;
std::vector<hid_t>* pending = nullptr;

// Where a path leaves the file it began in: by the link or mount point at `link`, or, this being "/", to
// the file that this one is mounted on; `rest` after it.
struct Exit {
  std::string link;
  std::string rest;
  bool by_link = false;  // not by a mount
};

// The number of the file in which a place's path begins, if it were not mounted.
Result<unsigned long> OwnFileNumber(const Object& object) {
  if (object.store != nullptr) return object.store->fileno();
  if (object.native.type == H5I_FILE) return host::FileNumber(object.native.under);
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(object.native));
  return identity.fileno;
}

// Of a file that is mounted on another HDF5 means that other one's root: by the file's identifier, and by
// paths that begin with '/'.
Result<std::optional<Exit>> FindExitOfMount(const Place& place) {
  const std::optional<Exit> none;
  if (!GetConnector().has_mounts) return none;
  const char* path = place.path();
  const bool from_root = path != nullptr && path[0] == '/';
  if (!from_root && place.object->native.type != H5I_FILE) return none;
  H5ZARR_ASSIGN_OR_RETURN(const unsigned long own, OwnFileNumber(*place.object));
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity top, host::IdentifyByName(place.object->native, "/"));
  if (top.fileno == own) return none;
  return std::optional<Exit>(Exit{"/", shadow::JoinParts(shadow::SplitPath(path != nullptr ? path : "")), false});
}

Result<std::optional<Exit>> FindExitOfStore(Place* place, LastLink last) {
  shadow::StoreFile& store = *place->object->store;
  H5ZARR_RETURN_IF_ERROR(store.CatchUp());
  shadow::NodePtr base = place->object->node;
  if (place->loc.type == H5VL_OBJECT_BY_TOKEN) {
    base = store.FindNode(host::TokenKey(*place->loc.loc_data.loc_by_token.token));
  }
  if (base != nullptr && !base->broken.ok()) return base->broken;
  H5ZARR_ASSIGN_OR_RETURN(place->found, store.Resolve(base, place->path()));
  place->node = place->found.node;
  // A link that is the last component was found in this store.
  const bool stays = last == LastLink::kItself && place->found.parent != nullptr;
  if (place->node == nullptr && !place->found.left_store) {
    H5ZARR_RETURN_IF_ERROR(WhyBlocked(store, base, place->path()));
  }
  if (!place->found.left_store || stays) return std::optional<Exit>();
  const shadow::Resolution& found = place->found;
  return std::optional<Exit>(Exit{found.link_path, found.rest, found.by_link});
}

struct NativeLink {
  bool exists = false;
  H5L_type_t type = H5L_TYPE_HARD;
  std::string soft_target;
};

Result<NativeLink> LookAtNativeLink(host::NativeObject base, const std::string& path) {
  NativeLink link;
  const H5VL_loc_params_t loc = host::LocByName(base.type, path.c_str());
  H5VL_link_specific_args_t exists;
  exists.op_type = H5VL_LINK_EXISTS;
  exists.args.exists.exists = &link.exists;
  if (H5VLlink_specific(base.under, &loc, host::NativeConnector(), &exists, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  if (!link.exists) return link;
  H5L_info2_t info;
  H5VL_link_get_args_t args;
  args.op_type = H5VL_LINK_GET_INFO;
  args.args.get_info.linfo = &info;
  if (H5VLlink_get(base.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  link.type = info.type;
  if (info.type != H5L_TYPE_SOFT) return link;
  link.soft_target.resize(info.u.val_size);
  args.op_type = H5VL_LINK_GET_VAL;
  args.args.get_val.buf_size = link.soft_target.size();
  args.args.get_val.buf = link.soft_target.data();
  if (H5VLlink_get(base.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  link.soft_target.resize(std::min(link.soft_target.find('\0'), link.soft_target.size()));
  return link;
}

// The native object a place's path begins at.
Result<host::NativeHandle> OpenBase(const Place& place) {
  if (place.loc.type == H5VL_OBJECT_BY_TOKEN) {
    return host::OpenByToken(place.object->native, host::TokenKey(*place.loc.loc_data.loc_by_token.token));
  }
  return host::NativeHandle();
}

Result<std::optional<Exit>> FindExitOfNativeFile(const Place& place, LastLink last) {
  const std::optional<Exit> none;
  const char* path = place.path();
  const bool follows = TraversalScope::FollowsNativePaths() || GetConnector().has_mounts;
  if (!follows || path == nullptr) return none;
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle opened, OpenBase(place));
  const host::NativeObject base = opened.valid() ? opened.object() : place.object->native;
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity start, host::Identify(base));
  std::deque<std::string> parts = shadow::SplitPath(path);
  std::string prefix = path[0] == '/' ? "/" : "";
  int soft_links = 0;
  while (!parts.empty()) {
    const std::string here = prefix + parts.front();
    parts.pop_front();
    if (parts.empty() && last == LastLink::kItself) return none;
    H5ZARR_ASSIGN_OR_RETURN(const NativeLink link, LookAtNativeLink(base, here));
    if (!link.exists) return none;
    if (link.type == H5L_TYPE_SOFT) {
      if (++soft_links > kMaxLinks) return none;
      const std::deque<std::string> more = shadow::SplitPath(link.soft_target);
      parts.insert(parts.begin(), more.begin(), more.end());
      if (!link.soft_target.starts_with('/')) continue;
      // (HDF5 finds it in a store only after us.)
      if (GetConnector().has_mounts) return std::optional<Exit>(Exit{"/", shadow::JoinParts(parts)});
      prefix = "/";
      continue;
    }
    const bool by_link = link.type != H5L_TYPE_HARD;
    bool leaves = by_link;
    if (!leaves) {
      // Another file may be mounted here.
      H5ZARR_ASSIGN_OR_RETURN(const host::Identity there, host::IdentifyByName(base, here.c_str()));
      leaves = there.fileno != start.fileno;
    }
    if (leaves) return std::optional<Exit>(Exit{here, shadow::JoinParts(parts), by_link});
    prefix = here + "/";
  }
  return none;
}

// What a link leads to; null when it cannot be opened.
Result<std::unique_ptr<Object, CloseLinked>> OpenLinked(const Place& place, const Exit& exit) {
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle opened, OpenBase(place));
  const host::NativeObject base = opened.valid() ? opened.object() : place.object->native;
  const H5VL_loc_params_t loc = host::LocByName(base.type, exit.link.c_str());
  H5I_type_t type = H5I_BADID;
  void* under = H5VLobject_open(base.under, &loc, host::NativeConnector(), &type, host::DefaultDxpl(), nullptr);
  if (under == nullptr) {
    // Within a traversal each link would be tried twice as often as the one before.
    if (TraversalDepth::levels() > 0) return host::AlreadyReported();
    ClearErrors();
    return std::unique_ptr<Object, CloseLinked>();
  }
  H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(under, type, place.object));
  std::unique_ptr<Object, CloseLinked> linked(AsObject(wrapper));
  // What was mounted here no longer is.
  if (linked->node != nullptr && linked->store == place.object->store) {
    linked->node->group.mounted = false;
  }
  return linked;
}

// Makes `linked`, and `rest` below it, what the place stands for.
void GoOnAt(std::unique_ptr<Object, CloseLinked> linked, const std::string& rest, Place* place) {
  auto path = std::make_unique<std::string>(rest.empty() ? "." : rest);
  const H5I_type_t type = linked->native.type;
  if (place->name != nullptr) {
    place->name = path->c_str();
    place->loc = host::LocSelf(type);
  } else if (place->loc.type == H5VL_OBJECT_BY_IDX) {
    place->loc.loc_data.loc_by_idx.name = path->c_str();
  } else if (place->loc.type == H5VL_OBJECT_BY_NAME) {
    place->loc.loc_data.loc_by_name.name = path->c_str();
  }
  place->loc.obj_type = type;
  place->object = linked.get();
  place->linked = std::move(linked);
  place->rest = std::move(path);
}

}  // namespace

Status WhyBlocked(shadow::StoreFile& store, const shadow::NodePtr& base, const char* path) {
  if (path == nullptr) return OkStatus();
  std::string part = path[0] == '/' ? "/" : "";
  for (const std::string& name : shadow::SplitPath(path)) {
    part += name + "/";
    H5ZARR_ASSIGN_OR_RETURN(const shadow::Resolution found, store.Resolve(base, part.c_str()));
    if (found.node == nullptr) return OkStatus();
    H5ZARR_RETURN_IF_ERROR(found.node->broken);
  }
  return OkStatus();
}

TraversalScope::TraversalScope() : outer_(innermost) { innermost = this; }

TraversalScope::~TraversalScope() {
  (void)Close().ok();
  innermost = outer_;
  if (!broken_.ok()) NoteBroken(std::move(broken_));
}

Status TraversalScope::Close() {
  if (outer_ != nullptr || pending == nullptr || pending->empty()) return OkStatus();
  std::vector<hid_t> ids;
  ids.swap(*pending);
  bool closed = true;
  {
    host::KeepErrors keep;
    // Files were opened before what lies in them.
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) closed &= H5Idec_ref(*id) >= 0;
  }
  if (closed) return OkStatus();
  return Status(StatusCode::kIo, "what was changed behind a link could not be saved");
}

bool TraversalScope::MustRepeat() {
  if (!asked_ || follows_native_paths_) return false;
  follows_native_paths_ = true;
  return true;
}

bool TraversalScope::FollowsNativePaths() { return innermost != nullptr && innermost->follows_native_paths_; }

bool TraversalScope::AskForRepetition() {
  if (innermost == nullptr || FollowsNativePaths()) return false;
  innermost->asked_ = true;
  return true;
}

bool TraversalScope::AskedForRepetition() {
  return innermost != nullptr && innermost->asked_ && !innermost->follows_native_paths_;
}

void TraversalScope::NoteBroken(Status why) {
  if (innermost != nullptr && innermost->broken_.ok()) innermost->broken_ = std::move(why);
}

Status TraversalScope::Broken() { return innermost != nullptr ? innermost->broken_ : OkStatus(); }

bool KeepUntilScopeEnds(hid_t id) {
  if (innermost == nullptr) return false;
  if (pending == nullptr) pending = new std::vector<hid_t>;  // leaked with the process
  pending->push_back(id);
  return true;
}

void ClearErrors() { H5Eclear2(H5E_DEFAULT); }

void CloseLinked::operator()(Object* object) const {
  NativeClose close = H5VLgroup_close;
  if (object->native.type == H5I_DATASET) close = H5VLdataset_close;
  if (object->native.type == H5I_DATATYPE) close = H5VLdatatype_close;
  host::KeepErrors keep;
  CloseObject("link", object, close, host::DefaultDxpl(), nullptr);
}

const char* Place::path() const {
  if (name != nullptr) return name;
  if (loc.type == H5VL_OBJECT_BY_NAME) return loc.loc_data.loc_by_name.name;
  if (loc.type == H5VL_OBJECT_BY_IDX) return loc.loc_data.loc_by_idx.name;
  return nullptr;
}

namespace {

Result<Place> FindPlace(Object* object, const H5VL_loc_params_t* loc, const char* name, LastLink last) {
  Place place;
  place.object = object;
  place.loc = *loc;
  place.name = name;
  if (object == nullptr) return place;
  for (int links = 0; links <= kMaxLinks; ++links) {
    H5ZARR_ASSIGN_OR_RETURN(std::optional<Exit> exit, FindExitOfMount(place));
    if (exit) {
      // (`place` goes on there.)
    } else if (place.object->store != nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(exit, FindExitOfStore(&place, last));
    } else {
      place.node = nullptr;
      place.found = shadow::Resolution();
      H5ZARR_ASSIGN_OR_RETURN(exit, FindExitOfNativeFile(place, last));
    }
    if (!exit) return place;
    H5ZARR_ASSIGN_OR_RETURN(auto linked, OpenLinked(place, *exit));
    if (linked == nullptr) return place;  // HDF5 will find the same, and says what it means
    place.behind_link = place.behind_link || exit->by_link;
    GoOnAt(std::move(linked), exit->rest, &place);
  }
  if (!place.behind_link) return place;  // of one file's mounts HDF5 will find the same
  return NotFoundError("too many links: '" + std::string(place.path()) + "' may lead to itself");
}

}  // namespace

Result<Place> Locate(Object* object, const H5VL_loc_params_t* loc, const char* name, LastLink last) {
  H5ZARR_ASSIGN_OR_RETURN(Place place, FindPlace(object, loc, name, last));
  if (place.behind_link) {
    place.opening = {place.under(), place.loc, place.name};
  } else {
    place.opening = {UnderOf(object), *loc, name};
  }
  return place;
}

Status FillIndexed(const Place& place) {
  if (place.loc.type != H5VL_OBJECT_BY_IDX || place.node == nullptr) return OkStatus();
  return place.store()->Fill(place.node, false);
}

Status FillForVisit(const Place& place) {
  if (place.node != nullptr) H5ZARR_RETURN_IF_ERROR(place.store()->Fill(place.node, true));
  return GetConnector().has_mounts ? FillMounted(place) : OkStatus();
}

Result<Place> LocateNew(Object* object, const H5VL_loc_params_t* loc, const char* name) {
  H5ZARR_ASSIGN_OR_RETURN(Place place, Locate(object, loc, name, LastLink::kItself));
  H5ZARR_RETURN_IF_ERROR(RequireWritable(place.object));
  if (place.object != nullptr && place.object->store != nullptr) {
    H5ZARR_RETURN_IF_ERROR(place.store()->CheckNewPath(place.path()));
  }
  return place;
}

}  // namespace h5zarr
