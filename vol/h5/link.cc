// Link callbacks. HDF5 changes the shadow's links; the store moves and removes nodes accordingly.

#include <algorithm>

#include "h5/connector.h"
#include "shadow/hdf5_attribute.h"

namespace h5zarr {
namespace {

using shadow::LinkState;
using shadow::NodePtr;
using shadow::Resolution;

// H5L_SAME_LOC: of two objects one may be null, and stands for the other.
void UseSameLocation(Object** a, H5VL_loc_params_t* a_loc, Object** b, H5VL_loc_params_t* b_loc) {
  if (*a == nullptr) {
    *a = *b;
    a_loc->obj_type = b_loc->obj_type;
  } else if (*b == nullptr) {
    *b = *a;
    b_loc->obj_type = a_loc->obj_type;
  }
}

// By index, the location is the group: it is followed.
LastLink LinkOf(const H5VL_loc_params_t* loc) {
  return loc->type == H5VL_OBJECT_BY_IDX ? LastLink::kFollowed : LastLink::kItself;
}

herr_t link_create(H5VL_link_create_args_t* args, void* opaque, const H5VL_loc_params_t* loc, hid_t lcpl, hid_t lapl,
                   hid_t dxpl, void** request) {
  return PathGuard("link_create", [&]() -> Status {
    H5VL_link_create_args_t native_args = *args;
    Object* base = AsObject(opaque);
    H5VL_loc_params_t base_loc = *loc;
    Place current;
    if (args->op_type == H5VL_LINK_CREATE_HARD) {
      Object* existing = AsObject(args->args.hard.curr_obj);
      H5VL_loc_params_t existing_loc = args->args.hard.curr_loc_params;
      UseSameLocation(&existing, &existing_loc, &base, &base_loc);
      H5ZARR_ASSIGN_OR_RETURN(current, Locate(existing, &existing_loc));
      native_args.args.hard.curr_obj = current.under();
      native_args.args.hard.curr_loc_params = current.loc;
    }
    // Not LocateNew: a link's name may be one that no Zarr node could have.
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(base, &base_loc, nullptr, LastLink::kItself));
    H5ZARR_RETURN_IF_ERROR(RequireWritable(at.object));
    if (at.store() != nullptr) H5ZARR_RETURN_IF_ERROR(at.store()->CheckTakesLinks());
    H5ZARR_RETURN_IF_ERROR(NativeStatus(
        H5VLlink_create(&native_args, at.under(), &at.loc, host::NativeConnector(), lcpl, lapl, dxpl, request)));
    if (at.store() == nullptr) return OkStatus();
    H5ZARR_RETURN_IF_ERROR(UndoOnFailure(at, at.store()->NoteCreated(at.object->node, at.path())));
    if (args->op_type != H5VL_LINK_CREATE_UD) return OkStatus();
    std::string value(static_cast<const char*>(args->args.ud.buf), args->args.ud.buf_size);
    return at.store()->NoteUserLink(at.object->node, at.path(), std::move(value));
  });
}

// Both ends of a link that is copied or moved.
struct TwoPlaces {
  Place from, to;
};

Result<TwoPlaces> LocateBoth(void* source, const H5VL_loc_params_t* source_loc, void* target,
                             const H5VL_loc_params_t* target_loc) {
  TwoPlaces places;
  Object* from = AsObject(source);
  Object* to = AsObject(target);
  H5VL_loc_params_t from_loc = *source_loc, to_loc = *target_loc;
  UseSameLocation(&from, &from_loc, &to, &to_loc);
  H5ZARR_ASSIGN_OR_RETURN(places.from, Locate(from, &from_loc, nullptr, LastLink::kItself));
  H5ZARR_ASSIGN_OR_RETURN(places.to, LocateNew(to, &to_loc));
  return places;
}

// What a store knows of a user-defined link.
std::optional<std::string> UserLinkValue(const Place& at) {
  if (at.found.parent == nullptr) return std::nullopt;
  const auto link = at.found.parent->group.links.find(at.found.name);
  return link != at.found.parent->group.links.end() ? link->second.value : std::nullopt;
}

herr_t link_copy(void* source, const H5VL_loc_params_t* source_loc, void* target, const H5VL_loc_params_t* target_loc,
                 hid_t lcpl, hid_t lapl, hid_t dxpl, void** request) {
  return PathGuard("link_copy", [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(const TwoPlaces places, LocateBoth(source, source_loc, target, target_loc));
    const Place& to = places.to;
    H5ZARR_RETURN_IF_ERROR(NativeStatus(H5VLlink_copy(places.from.under(), &places.from.loc, to.under(), &to.loc,
                                                      host::NativeConnector(), lcpl, lapl, dxpl, request)));
    if (to.store() == nullptr) return OkStatus();
    H5ZARR_RETURN_IF_ERROR(UndoOnFailure(to, to.store()->NoteCreated(to.object->node, to.path())));
    return to.store()->NoteUserLink(to.object->node, to.path(), UserLinkValue(places.from));
  });
}

// Tells the store of a move that HDF5 made in the shadow.
Status NoteMove(const Place& from, const Place& to) {
  shadow::StoreFile& store = *to.store();
  // Groups on the way may have been made, too.
  const std::string new_path = to.path();
  const std::size_t slash = new_path.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    H5ZARR_RETURN_IF_ERROR(store.NoteCreated(to.object->node, new_path.substr(0, slash).c_str()));
  }
  H5ZARR_ASSIGN_OR_RETURN(const Resolution link, store.Resolve(to.object->node, new_path.c_str()));
  if (link.parent == nullptr) return InternalError("moved link '" + new_path + "' got lost");
  return store.NoteMoved(from.found.parent, from.found.name, link.parent, link.name);
}

herr_t link_move(void* source, const H5VL_loc_params_t* source_loc, void* target, const H5VL_loc_params_t* target_loc,
                 hid_t lcpl, hid_t lapl, hid_t dxpl, void** request) {
  return PathGuard("link_move", [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(const TwoPlaces places, LocateBoth(source, source_loc, target, target_loc));
    const Place& from = places.from;
    const Place& to = places.to;
    H5ZARR_RETURN_IF_ERROR(RequireWritable(from.object));
    if (from.store() != nullptr) {
      H5ZARR_RETURN_IF_ERROR(from.store()->LoadForMove(from.found, to.found.parent));
    }
    H5ZARR_RETURN_IF_ERROR(NativeStatus(H5VLlink_move(from.under(), &from.loc, to.under(), &to.loc,
                                                      host::NativeConnector(), lcpl, lapl, dxpl, request)));
    if (to.store() == nullptr || from.found.parent == nullptr) return OkStatus();
    const Status noted = NoteMove(from, to);
    if (noted.ok()) return noted;
    // The store has left the node where it was: so must the shadow.
    host::KeepErrors keep;
    H5VLlink_move(to.under(), &to.loc, from.under(), &from.loc, host::NativeConnector(), H5P_LST_LINK_CREATE_ID_g,
                  H5P_LST_LINK_ACCESS_ID_g, host::DefaultDxpl(), nullptr);
    return noted;
  });
}

// The character set of a link's name.
H5T_cset_t CsetOf(const NodePtr& group, const std::string& name) {
  const auto link = group->group.links.find(name);
  return link != group->group.links.end() ? link->second.cset : shadow::LinkCset(group->node.attributes(), name);
}

Result<std::string> NameByIndex(const Place& at) {
  std::size_t length = 0;
  H5VL_link_get_args_t args;
  args.op_type = H5VL_LINK_GET_NAME;
  args.args.get_name = {0, nullptr, &length};
  if (H5VLlink_get(at.under(), &at.loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  std::string name(length + 1, '\0');
  args.args.get_name = {name.size(), name.data(), &length};
  if (H5VLlink_get(at.under(), &at.loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  name.resize(length);
  return name;
}

herr_t link_get(void* opaque, const H5VL_loc_params_t* loc, H5VL_link_get_args_t* args, hid_t dxpl, void** request) {
  return PathGuard("link_get", [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc, nullptr, LinkOf(loc)));
    H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
    H5ZARR_RETURN_IF_ERROR(
        NativeStatus(H5VLlink_get(at.under(), &at.loc, host::NativeConnector(), args, dxpl, request)));
    if (args->op_type != H5VL_LINK_GET_INFO || at.store() == nullptr || args->args.get_info.linfo == nullptr) {
      return OkStatus();
    }
    std::string name = at.found.name;
    NodePtr group = at.found.parent;
    if (at.loc.type == H5VL_OBJECT_BY_IDX) {
      group = at.node;
      H5ZARR_ASSIGN_OR_RETURN(name, NameByIndex(at));
    }
    if (group != nullptr) args->args.get_info.linfo->cset = CsetOf(group, name);
    return OkStatus();
  });
}

// What a deletion is about to remove: where the link is, what it leads to.
struct DoomedLink {
  NodePtr parent;
  std::string name;
  NodePtr target;
  bool other_links = false;
  bool parent_has_other_links = false;  // some may be removed with what this one leads to
};

Result<bool> HasOtherLinks(const shadow::StoreFile& store, const NodePtr& node) {
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle native, host::OpenByToken(store.Location(), node->token));
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(native.object()));
  return identity.ref_count > 1;
}

Result<DoomedLink> FindDoomed(const Place& at) {
  DoomedLink doomed;
  shadow::StoreFile& store = *at.store();
  H5ZARR_RETURN_IF_ERROR(store.LoadHardLinks());
  if (at.loc.type == H5VL_OBJECT_BY_IDX) {
    H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
    doomed.parent = at.node;
    H5ZARR_ASSIGN_OR_RETURN(doomed.name, NameByIndex(at));
  } else {
    doomed.parent = at.found.parent;
    doomed.name = at.found.name;
  }
  if (doomed.parent == nullptr) return doomed;
  const auto link = doomed.parent->group.links.find(doomed.name);
  if (link == doomed.parent->group.links.end() || link->second.kind != LinkState::Kind::kHard) {
    return doomed;
  }
  doomed.target = link->second.target.lock();
  if (doomed.target != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(doomed.other_links, HasOtherLinks(store, doomed.target));
    H5ZARR_ASSIGN_OR_RETURN(doomed.parent_has_other_links, HasOtherLinks(store, doomed.parent));
  }
  return doomed;
}

// Makes a change to the links of `group` that may remove a hard link to that group itself.
template <typename Change>
Status ChangeOwnLinks(const shadow::StoreFile& store, const NodePtr& group, Change&& change) {
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle native, host::OpenByToken(store.Location(), group->token));
  return host::KeepingLinkCount(native.object(), change);
}

Status DeleteLink(const Place& at, H5VL_link_specific_args_t* args, hid_t dxpl, void** request) {
  H5ZARR_RETURN_IF_ERROR(RequireWritable(at.object));
  DoomedLink doomed;
  if (at.store() != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(doomed, FindDoomed(at));
  }
  const auto remove = [&] {
    return NativeStatus(H5VLlink_specific(at.under(), &at.loc, host::NativeConnector(), args, dxpl, request));
  };
  H5ZARR_RETURN_IF_ERROR(doomed.parent_has_other_links ? ChangeOwnLinks(*at.store(), doomed.parent, remove) : remove());
  if (doomed.parent == nullptr) return OkStatus();
  return at.store()->NoteUnlinked(doomed.parent, doomed.name, doomed.target, doomed.other_links);
}

// Iterates the names of a group that is not in the shadow, without loading its children. Nothing
// when the shadow must be asked.
Result<std::optional<herr_t>> IterateNames(shadow::StoreFile& store, const NodePtr& group,
                                           H5VL_link_iterate_args_t* iterate) {
  std::optional<herr_t> result;
  if (iterate->recursive || iterate->idx_type != H5_INDEX_NAME) return result;
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string>* listed, store.UnfilledNames(group));
  if (listed == nullptr) return result;
  std::vector<std::string> names = *listed;  // the program's operator may change the group
  if (iterate->order == H5_ITER_DEC) std::reverse(names.begin(), names.end());
  H5ZARR_ASSIGN_OR_RETURN(host::NativeHandle native, host::OpenByToken(store.Location(), group->token));
  const Handle group_id(H5VLwrap_register(native.get(), H5I_GROUP));
  if (!group_id.valid()) return host::AlreadyReported();
  native.Release();  // now the identifier's
  hsize_t index = iterate->idx_p != nullptr ? *iterate->idx_p : 0;
  herr_t answer = 0;
  for (; index < names.size() && answer == 0; ++index) {
    H5L_info2_t info;
    std::memset(&info, 0, sizeof info);
    info.type = H5L_TYPE_HARD;
    info.cset = CsetOf(group, names[index]);
    const auto link = group->group.links.find(names[index]);
    if (link != group->group.links.end()) {
      if (const NodePtr child = link->second.target.lock()) {
        info.u.token = host::TokenOfKey(child->token);
      }
    }
    answer = iterate->op(group_id.get(), names[index].c_str(), &info, iterate->op_data);
  }
  if (iterate->idx_p != nullptr) *iterate->idx_p = index;
  result = answer;
  return result;
}

// The program's operator, called with what the store knows of its links.
struct LinkVisit {
  H5L_iterate2_t op;
  void* op_data;
  const Place* at;
};

herr_t VisitLink(hid_t group, const char* name, const H5L_info2_t* native_info, void* opaque) {
  const auto* visit = static_cast<const LinkVisit*>(opaque);
  H5L_info2_t info = *native_info;
  (void)host::CatchAll([&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(const Resolution found, visit->at->store()->Resolve(visit->at->node, name));
    if (found.parent != nullptr) info.cset = CsetOf(found.parent, found.name);
    return OkStatus();
  }).ok();
  return visit->op(group, name, &info, visit->op_data);
}

herr_t link_specific(void* opaque, const H5VL_loc_params_t* loc, H5VL_link_specific_args_t* args, hid_t dxpl,
                     void** request) {
  return PathGuardValue("link_specific", [&]() -> Result<herr_t> {
    const bool iterates = args->op_type == H5VL_LINK_ITER;
    H5ZARR_ASSIGN_OR_RETURN(const Place at,
                            Locate(AsObject(opaque), loc, nullptr, iterates ? LastLink::kFollowed : LinkOf(loc)));
    switch (args->op_type) {
      case H5VL_LINK_DELETE: H5ZARR_RETURN_IF_ERROR(DeleteLink(at, args, dxpl, request)); return 0;
      case H5VL_LINK_EXISTS: break;
      case H5VL_LINK_ITER: {
        if (args->args.iterate.recursive) H5ZARR_RETURN_IF_ERROR(FillForVisit(at));
        if (at.node == nullptr || at.node->kind != shadow::NodeState::Kind::kGroup) break;
        H5ZARR_ASSIGN_OR_RETURN(const std::optional<herr_t> answer,
                                IterateNames(*at.store(), at.node, &args->args.iterate));
        if (answer) return *answer;
        H5ZARR_RETURN_IF_ERROR(at.store()->Fill(at.node, false));
        LinkVisit visit{args->args.iterate.op, args->args.iterate.op_data, &at};
        H5VL_link_specific_args_t native_args = *args;
        native_args.args.iterate.op = VisitLink;
        native_args.args.iterate.op_data = &visit;
        const herr_t answer_of_op =
            H5VLlink_specific(at.under(), &at.loc, host::NativeConnector(), &native_args, dxpl, request);
        if (answer_of_op < 0) return host::AlreadyReported();
        return answer_of_op;
      }
    }
    const herr_t result = H5VLlink_specific(at.under(), &at.loc, host::NativeConnector(), args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    return result;
  });
}

herr_t link_optional(void* object, const H5VL_loc_params_t* loc, H5VL_optional_args_t* args, hid_t dxpl,
                     void** request) {
  return H5VLlink_optional(UnderOf(object), loc, host::NativeConnector(), args, dxpl, request);
}

}  // namespace

Status UndoOnFailure(const Place& place, Status status) {
  if (status.ok()) return status;
  host::KeepErrors keep;
  const host::NativeObject base = place.object->native;
  const H5VL_loc_params_t link = host::LocByName(base.type, place.path());
  H5VL_link_specific_args_t args;
  std::memset(&args, 0, sizeof args);
  args.op_type = H5VL_LINK_DELETE;
  H5VLlink_specific(base.under, &link, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr);
  if (place.store() == nullptr) return status;
  const Result<Resolution> found = place.store()->Resolve(place.object->node, place.path());
  if (!found.ok() || found->parent == nullptr) return status;
  const auto known = found->parent->group.links.find(found->name);
  if (known == found->parent->group.links.end()) return status;
  const NodePtr target = known->second.target.lock();
  // What cannot be removed now stays as a folder that nothing leads to.
  (void)place.store()->NoteUnlinked(found->parent, found->name, target, false).ok();
  return status;
}

const H5VL_link_class_t kLinkClass = {link_create, link_copy, link_move, link_get, link_specific, link_optional};

}  // namespace h5zarr
