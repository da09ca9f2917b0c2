// Group callbacks.

#include "h5/connector.h"
#include "shadow/creation_map.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/object_times.h"

namespace h5zarr {
namespace {

void* group_create(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t lcpl, hid_t gcpl, hid_t gapl,
                   hid_t dxpl, void** request) {
  return PathGuardPointer("group_create", [&]() -> Result<void*> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, LocateNew(AsObject(opaque), loc, name));
    void* under =
        H5VLgroup_create(at.under(), &at.loc, host::NativeConnector(), at.name, lcpl, gcpl, gapl, dxpl, request);
    H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(under, H5I_GROUP, at.object));
    const Object* group = AsObject(wrapper);
    if (group->store != nullptr) {
      group->node->group.ordered = shadow::TracksLinkOrder(gcpl);
      if (group->node->group.ordered) group->node->group.links_changed = true;
      shadow::NoteAttributeOrder(gcpl, &group->node->node.attributes());
      shadow::NoteCreation(shadow::CreationKind::kGroup, gcpl, &group->node->node.attributes());
      shadow::NoteTimes(group->store->format_bounds().low, false, gcpl, &group->node->node.attributes());
      if (at.name != nullptr) {
        const Status noted = UndoOnFailure(at, group->store->NoteCreated(at.object->node, at.name));
        if (!noted.ok()) {
          CloseObject("group_create", wrapper, H5VLgroup_close, dxpl, nullptr);
          return noted;
        }
      }
    }
    return wrapper;
  });
}

void* group_open(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t gapl, hid_t dxpl, void** request) {
  return PathGuardPointer("group_open", [&]() -> Result<void*> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc, name));
    if (at.node != nullptr && !at.node->broken.ok()) return at.node->broken;
    void* under = H5VLgroup_open(at.opening.under, &at.opening.loc, host::NativeConnector(), at.opening.name, gapl,
                                 dxpl, request);
    return Wrap(under, H5I_GROUP, at.object);
  });
}

herr_t group_get(void* opaque, H5VL_group_get_args_t* args, hid_t dxpl, void** request) {
  return PathGuard("group_get", [&]() -> Status {
    Object* object = AsObject(opaque);
    if (args->op_type != H5VL_GROUP_GET_INFO) {
      H5ZARR_RETURN_IF_ERROR(
          NativeStatus(H5VLgroup_get(object->native.under, host::NativeConnector(), args, dxpl, request)));
      if (args->op_type != H5VL_GROUP_GET_GCPL || object->node == nullptr) return OkStatus();
      const shadow::Json& attributes = object->node->node.attributes();
      const hid_t gcpl = args->args.get_gcpl.gcpl_id;
      H5ZARR_RETURN_IF_ERROR(shadow::RestoreCreation(shadow::CreationKind::kGroup, attributes, gcpl));
      return shadow::RestoreTracking(attributes, gcpl);
    }
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(object, &args->args.get_info.loc_params));
    H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
    const std::vector<std::string>* names = nullptr;
    if (at.node != nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(names, at.store()->UnfilledNames(at.node));
      if (names == nullptr) H5ZARR_RETURN_IF_ERROR(at.store()->Fill(at.node, false));
    }
    H5VL_group_get_args_t native_args = *args;
    native_args.args.get_info.loc_params = at.loc;
    H5ZARR_RETURN_IF_ERROR(
        NativeStatus(H5VLgroup_get(at.under(), host::NativeConnector(), &native_args, dxpl, request)));
    if (names != nullptr) args->args.get_info.ginfo->nlinks = names->size();
    return OkStatus();
  });
}

Status JoinMounts(shadow::StoreFile* store) {
  if (store == nullptr) return OkStatus();
  // HDF5 1.14 holds a shadow for a file of its own where no connector was named.
  if (store->holders().empty()) {
    return UnsupportedError("mounts with '" + store->name() +
                            "' need the connector to be named: set HDF5_VOL_CONNECTOR=zarr");
  }
  GetConnector().resting_store.LetGoOf(*store);
  return store->JoinMounts();
}

Status Mount(Object* object, H5VL_group_specific_args_t* args, hid_t dxpl, void** request) {
  Object* child = AsObject(args->args.mount.child_file);
  const H5VL_loc_params_t loc = host::LocByName(object->native.type, args->args.mount.name);
  H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(object, &loc));
  if (at.behind_link) {
    return InvalidArgumentError(
        "a file can be mounted on a group of the file itself, not of one that an "
        "external link leads to");
  }
  H5ZARR_RETURN_IF_ERROR(JoinMounts(at.store()));
  H5ZARR_RETURN_IF_ERROR(JoinMounts(child->store.get()));
  H5VL_group_specific_args_t native_args = *args;
  native_args.args.mount.name = at.path();
  native_args.args.mount.child_file = child->native.under;
  H5ZARR_RETURN_IF_ERROR(
      NativeStatus(H5VLgroup_specific(at.under(), host::NativeConnector(), &native_args, dxpl, request)));
  if (at.store() != nullptr || child->store != nullptr) GetConnector().has_mounts = true;
  if (at.node != nullptr) at.store()->NoteMounted(at.node);
  return OkStatus();
}

Status Unmount(Object* object, H5VL_group_specific_args_t* args, hid_t dxpl, void** request) {
  const H5VL_loc_params_t loc = host::LocByName(object->native.type, args->args.unmount.name);
  H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(object, &loc, nullptr, LastLink::kItself));
  H5VL_group_specific_args_t native_args = *args;
  native_args.args.unmount.name = at.path();
  return NativeStatus(H5VLgroup_specific(at.under(), host::NativeConnector(), &native_args, dxpl, request));
}

herr_t group_specific(void* opaque, H5VL_group_specific_args_t* args, hid_t dxpl, void** request) {
  return PathGuard("group_specific", [&]() -> Status {
    Object* object = AsObject(opaque);
    switch (args->op_type) {
      case H5VL_GROUP_MOUNT: return Mount(object, args, dxpl, request);
      case H5VL_GROUP_UNMOUNT: return Unmount(object, args, dxpl, request);
      case H5VL_GROUP_FLUSH:
        if (object->store != nullptr) H5ZARR_RETURN_IF_ERROR(object->store->Save());
        break;
      case H5VL_GROUP_REFRESH:
        if (object->store != nullptr) {
          H5ZARR_RETURN_IF_ERROR(object->store->Refresh(object->node));
        }
        break;
    }
    return NativeStatus(H5VLgroup_specific(object->native.under, host::NativeConnector(), args, dxpl, request));
  });
}

// The time in the old object information.
void AnswerObjectInfo(const Place& at, H5G_stat_t* info) {
  if (info == nullptr || at.node == nullptr || info->type >= H5G_LINK) return;
  H5O_info2_t times;
  shadow::AnswerTimes(at.node->node.attributes(), &times);
  info->mtime = times.ctime;
}

// The old iteration and object information work on the shadow's links.
herr_t group_optional(void* opaque, H5VL_optional_args_t* args, hid_t dxpl, void** request) {
  return PathGuardValue("group_optional", [&]() -> Result<herr_t> {
    Object* object = AsObject(opaque);
    const bool iterates = args->op_type == H5VL_NATIVE_GROUP_ITERATE_OLD;
    herr_t result = -1;
    if (iterates || args->op_type == H5VL_NATIVE_GROUP_GET_OBJINFO) {
      auto native = *static_cast<H5VL_native_group_optional_args_t*>(args->args);
      H5VL_loc_params_t* loc = iterates ? &native.iterate_old.loc_params : &native.get_objinfo.loc_params;
      const bool follows = iterates || native.get_objinfo.follow_link;
      H5ZARR_ASSIGN_OR_RETURN(const Place at,
                              Locate(object, loc, nullptr, follows ? LastLink::kFollowed : LastLink::kItself));
      H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
      if (iterates && at.node != nullptr) {
        H5ZARR_RETURN_IF_ERROR(at.store()->Fill(at.node, false));
      }
      *loc = at.loc;
      H5VL_optional_args_t native_args = *args;
      native_args.args = &native;
      result = H5VLgroup_optional(at.under(), host::NativeConnector(), &native_args, dxpl, request);
      if (result >= 0 && !iterates) AnswerObjectInfo(at, native.get_objinfo.statbuf);
    } else {
      result = H5VLgroup_optional(object->native.under, host::NativeConnector(), args, dxpl, request);
    }
    if (result < 0) return host::AlreadyReported();
    return result;
  });
}

herr_t group_close(void* object, hid_t dxpl, void** request) {
  return CloseObject("group_close", object, H5VLgroup_close, dxpl, request);
}

}  // namespace

const H5VL_group_class_t kGroupClass = {group_create,   group_open,     group_get,
                                        group_specific, group_optional, group_close};

}  // namespace h5zarr
