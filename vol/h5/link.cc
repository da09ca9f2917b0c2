// Link callbacks. HDF5 changes the shadow's links; the store moves and removes nodes accordingly.

#include <algorithm>

#include "h5/connector.h"

namespace h5zarr {
namespace {

using shadow::LinkState;
using shadow::NodePtr;
using shadow::Resolution;

const char* NameIn(const H5VL_loc_params_t* loc) {
  return loc->type == H5VL_OBJECT_BY_NAME ? loc->loc_data.loc_by_name.name : ".";
}

herr_t link_create(H5VL_link_create_args_t* args, void* opaque, const H5VL_loc_params_t* loc,
                   hid_t lcpl, hid_t lapl, hid_t dxpl, void** request) {
  return host::Guard("link_create", [&]() -> Status {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    H5VL_link_create_args_t native_args = *args;
    Object* base = object;
    if (args->op_type == H5VL_LINK_CREATE_HARD && args->args.hard.curr_obj != nullptr) {
      Object* current = AsObject(args->args.hard.curr_obj);
      if (base == nullptr) base = current;  // H5L_SAME_LOC
      H5ZARR_RETURN_IF_ERROR(PrepareLocation(current, &args->args.hard.curr_loc_params).status());
      native_args.args.hard.curr_obj = current->native.under;
    }
    H5ZARR_RETURN_IF_ERROR(RequireWritable(base));
    if (base != nullptr && base->store != nullptr) {
      H5ZARR_RETURN_IF_ERROR(PrepareLocation(base, loc).status());
    }
    H5ZARR_RETURN_IF_ERROR(NativeStatus(H5VLlink_create(&native_args, UnderOf(object), loc,
                                                        host::NativeConnector(), lcpl, lapl, dxpl,
                                                        request)));
    if (base == nullptr || base->store == nullptr) return OkStatus();
    return UndoOnFailure(base, NameIn(loc),
                         base->store->NoteCreated(base->node, NameIn(loc)));
  });
}

herr_t link_copy(void* source, const H5VL_loc_params_t* source_loc, void* target,
                 const H5VL_loc_params_t* target_loc, hid_t lcpl, hid_t lapl, hid_t dxpl,
                 void** request) {
  return host::Guard("link_copy", [&]() -> Status {
    TraversalScope scope;
    Object* from = AsObject(source != nullptr ? source : target);
    Object* to = AsObject(target != nullptr ? target : source);
    H5ZARR_RETURN_IF_ERROR(RequireWritable(to));
    H5ZARR_RETURN_IF_ERROR(PrepareLocation(from, source_loc).status());
    if (to->store != nullptr) {
      H5ZARR_RETURN_IF_ERROR(to->store->CheckNewPath(NameIn(target_loc)));
      H5ZARR_RETURN_IF_ERROR(PrepareLocation(to, target_loc).status());
    }
    H5ZARR_RETURN_IF_ERROR(NativeStatus(
        H5VLlink_copy(UnderOf(source), source_loc, UnderOf(target), target_loc,
                      host::NativeConnector(), lcpl, lapl, dxpl, request)));
    if (to->store == nullptr) return OkStatus();
    return UndoOnFailure(to, NameIn(target_loc),
                         to->store->NoteCreated(to->node, NameIn(target_loc)));
  });
}

herr_t link_move(void* source, const H5VL_loc_params_t* source_loc, void* target,
                 const H5VL_loc_params_t* target_loc, hid_t lcpl, hid_t lapl, hid_t dxpl,
                 void** request) {
  return host::Guard("link_move", [&]() -> Status {
    TraversalScope scope;
    Object* from = AsObject(source != nullptr ? source : target);
    Object* to = AsObject(target != nullptr ? target : source);
    H5ZARR_RETURN_IF_ERROR(RequireWritable(from));
    H5ZARR_RETURN_IF_ERROR(RequireWritable(to));
    Resolution old_link;
    if (from->store != nullptr) {
      H5ZARR_RETURN_IF_ERROR(from->store->LoadHardLinks());
      H5ZARR_ASSIGN_OR_RETURN(old_link, from->store->Resolve(from->node, NameIn(source_loc)));
      // Whatever a scale is attached to names its dimensions anew.
      H5ZARR_RETURN_IF_ERROR(from->store->CompleteAttributes(old_link.node));
    }
    if (to->store != nullptr) {
      H5ZARR_RETURN_IF_ERROR(to->store->CheckNewPath(NameIn(target_loc)));
      H5ZARR_RETURN_IF_ERROR(PrepareLocation(to, target_loc).status());
    }
    H5ZARR_RETURN_IF_ERROR(NativeStatus(
        H5VLlink_move(UnderOf(source), source_loc, UnderOf(target), target_loc,
                      host::NativeConnector(), lcpl, lapl, dxpl, request)));
    if (to->store == nullptr || old_link.parent == nullptr) return OkStatus();
    // Groups on the way may have been made, too.
    const std::string new_path = NameIn(target_loc);
    const std::size_t slash = new_path.rfind('/');
    if (slash != std::string::npos && slash > 0) {
      H5ZARR_RETURN_IF_ERROR(to->store->NoteCreated(to->node, new_path.substr(0, slash).c_str()));
    }
    H5ZARR_ASSIGN_OR_RETURN(const Resolution new_link,
                            to->store->Resolve(to->node, new_path.c_str()));
    if (new_link.parent == nullptr) return InternalError("moved link '" + new_path + "' got lost");
    return to->store->NoteMoved(old_link.parent, old_link.name, new_link.parent, new_link.name);
  });
}

herr_t link_get(void* opaque, const H5VL_loc_params_t* loc, H5VL_link_get_args_t* args, hid_t dxpl,
                void** request) {
  return host::Guard("link_get", [&]() -> Status {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    H5ZARR_RETURN_IF_ERROR(PrepareLocation(object, loc).status());
    return NativeStatus(
        H5VLlink_get(object->native.under, loc, host::NativeConnector(), args, dxpl, request));
  });
}

Result<std::string> NameByIndex(const Object* object, const H5VL_loc_params_t* loc) {
  std::size_t length = 0;
  H5VL_link_get_args_t args;
  args.op_type = H5VL_LINK_GET_NAME;
  args.args.get_name = {0, nullptr, &length};
  if (H5VLlink_get(object->native.under, loc, host::NativeConnector(), &args, host::DefaultDxpl(),
                   nullptr) < 0) {
    return host::AlreadyReported();
  }
  std::string name(length + 1, '\0');
  args.args.get_name = {name.size(), name.data(), &length};
  if (H5VLlink_get(object->native.under, loc, host::NativeConnector(), &args, host::DefaultDxpl(),
                   nullptr) < 0) {
    return host::AlreadyReported();
  }
  name.resize(length);
  return name;
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
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle native,
                          host::OpenByToken(store.Location(), node->token));
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(native.object()));
  return identity.ref_count > 1;
}

Result<DoomedLink> FindDoomed(const Object* object, const H5VL_loc_params_t* loc) {
  DoomedLink doomed;
  shadow::StoreFile& store = *object->store;
  H5ZARR_RETURN_IF_ERROR(store.LoadHardLinks());
  if (loc->type == H5VL_OBJECT_BY_IDX) {
    H5ZARR_RETURN_IF_ERROR(PrepareLocation(object, loc).status());
    H5ZARR_ASSIGN_OR_RETURN(const Resolution group,
                            store.Resolve(object->node, loc->loc_data.loc_by_idx.name));
    doomed.parent = group.node;
    H5ZARR_ASSIGN_OR_RETURN(doomed.name, NameByIndex(object, loc));
  } else {
    H5ZARR_ASSIGN_OR_RETURN(const Resolution link, store.Resolve(object->node, NameIn(loc)));
    doomed.parent = link.parent;
    doomed.name = link.name;
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
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle native,
                          host::OpenByToken(store.Location(), group->token));
  return host::KeepingLinkCount(native.object(), change);
}

Status DeleteLink(Object* object, const H5VL_loc_params_t* loc, H5VL_link_specific_args_t* args,
                  hid_t dxpl, void** request) {
  H5ZARR_RETURN_IF_ERROR(RequireWritable(object));
  DoomedLink doomed;
  if (object->store != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(doomed, FindDoomed(object, loc));
  }
  const auto remove = [&] {
    return NativeStatus(
        H5VLlink_specific(object->native.under, loc, host::NativeConnector(), args, dxpl, request));
  };
  H5ZARR_RETURN_IF_ERROR(doomed.parent_has_other_links
                             ? ChangeOwnLinks(*object->store, doomed.parent, remove)
                             : remove());
  if (doomed.parent == nullptr) return OkStatus();
  return object->store->NoteUnlinked(doomed.parent, doomed.name, doomed.target,
                                     doomed.other_links);
}

// Iterates the names of a group that is not in the shadow, without loading its children. Nothing
// when the shadow must be asked.
Result<std::optional<herr_t>> IterateNames(const Object* object, const NodePtr& group,
                                           H5VL_link_iterate_args_t* iterate) {
  std::optional<herr_t> result;
  if (iterate->recursive || iterate->idx_type != H5_INDEX_NAME) return result;
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string>* listed,
                          object->store->UnfilledNames(group));
  if (listed == nullptr) return result;
  std::vector<std::string> names = *listed;  // the program's operator may change the group
  if (iterate->order == H5_ITER_DEC) std::reverse(names.begin(), names.end());
  H5ZARR_ASSIGN_OR_RETURN(host::NativeHandle native,
                          host::OpenByToken(object->store->Location(), group->token));
  const Handle group_id(H5VLwrap_register(native.get(), H5I_GROUP));
  if (!group_id.valid()) return host::AlreadyReported();
  native.Release();  // now the identifier's
  hsize_t index = iterate->idx_p != nullptr ? *iterate->idx_p : 0;
  herr_t answer = 0;
  for (; index < names.size() && answer == 0; ++index) {
    H5L_info2_t info;
    std::memset(&info, 0, sizeof info);
    info.type = H5L_TYPE_HARD;
    info.cset = H5T_CSET_UTF8;
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

herr_t link_specific(void* opaque, const H5VL_loc_params_t* loc, H5VL_link_specific_args_t* args,
                     hid_t dxpl, void** request) {
  return host::GuardValue("link_specific", [&]() -> Result<herr_t> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    switch (args->op_type) {
      case H5VL_LINK_DELETE:
        H5ZARR_RETURN_IF_ERROR(DeleteLink(object, loc, args, dxpl, request));
        return 0;
      case H5VL_LINK_EXISTS:
        H5ZARR_RETURN_IF_ERROR(PrepareLocation(object, loc).status());
        break;
      case H5VL_LINK_ITER: {
        if (object->store == nullptr) break;
        H5ZARR_ASSIGN_OR_RETURN(const NodePtr group, PrepareLocation(object, loc));
        if (group == nullptr || group->kind != shadow::NodeState::Kind::kGroup) break;
        H5ZARR_ASSIGN_OR_RETURN(const std::optional<herr_t> answer,
                                IterateNames(object, group, &args->args.iterate));
        if (answer) return *answer;
        H5ZARR_RETURN_IF_ERROR(object->store->Fill(group, args->args.iterate.recursive));
        break;
      }
    }
    const herr_t result = H5VLlink_specific(object->native.under, loc, host::NativeConnector(),
                                            args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    return result;
  });
}

herr_t link_optional(void* object, const H5VL_loc_params_t* loc, H5VL_optional_args_t* args,
                     hid_t dxpl, void** request) {
  return H5VLlink_optional(UnderOf(object), loc, host::NativeConnector(), args, dxpl, request);
}

}  // namespace

Status UndoOnFailure(const Object* base, const char* path, Status status) {
  if (status.ok()) return status;
  host::KeepErrors keep;
  const H5VL_loc_params_t link = host::LocByName(base->native.type, path);
  H5VL_link_specific_args_t args;
  std::memset(&args, 0, sizeof args);
  args.op_type = H5VL_LINK_DELETE;
  H5VLlink_specific(base->native.under, &link, host::NativeConnector(), &args,
                    host::DefaultDxpl(), nullptr);
  return status;
}

const H5VL_link_class_t kLinkClass = {link_create, link_copy,     link_move,
                                      link_get,    link_specific, link_optional};

}  // namespace h5zarr
