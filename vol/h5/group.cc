// Group callbacks.

#include "h5/connector.h"
#include "shadow/creation_map.h"
#include "shadow/hdf5_attribute.h"

namespace h5zarr {
namespace {

using shadow::NodePtr;

void* group_create(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t lcpl,
                   hid_t gcpl, hid_t gapl, hid_t dxpl, void** request) {
  return host::GuardPointer("group_create", [&]() -> Result<void*> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    H5ZARR_RETURN_IF_ERROR(RequireWritable(object));
    if (object->store != nullptr) {
      H5ZARR_RETURN_IF_ERROR(PrepareNewPath(object, loc, name));
    }
    void* under = H5VLgroup_create(object->native.under, loc, host::NativeConnector(), name, lcpl,
                                   gcpl, gapl, dxpl, request);
    H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(under, H5I_GROUP, object));
    const Object* group = AsObject(wrapper);
    if (group->store != nullptr) {
      group->node->group.ordered = shadow::TracksLinkOrder(gcpl);
      if (group->node->group.ordered) group->node->group.links_changed = true;
      shadow::NoteAttributeOrder(gcpl, &group->node->node.attributes());
      shadow::NoteCreation(shadow::CreationKind::kGroup, gcpl, &group->node->node.attributes());
      if (name != nullptr) {
        const Status noted = UndoOnFailure(object, name, group->store->NoteCreated(
                                               object->node, name));
        if (!noted.ok()) {
          CloseObject("group_create", wrapper, H5VLgroup_close, dxpl, nullptr);
          return noted;
        }
      }
    }
    return wrapper;
  });
}

void* group_open(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t gapl,
                 hid_t dxpl, void** request) {
  return host::GuardPointer("group_open", [&]() -> Result<void*> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    H5ZARR_RETURN_IF_ERROR(PreparePath(object, loc, name).status());
    void* under = H5VLgroup_open(object->native.under, loc, host::NativeConnector(), name, gapl,
                                 dxpl, request);
    return Wrap(under, H5I_GROUP, object);
  });
}

herr_t group_get(void* opaque, H5VL_group_get_args_t* args, hid_t dxpl, void** request) {
  return host::Guard("group_get", [&]() -> Status {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    const std::vector<std::string>* names = nullptr;
    if (args->op_type == H5VL_GROUP_GET_INFO && object->store != nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(const NodePtr group,
                              PrepareLocation(object, &args->args.get_info.loc_params));
      if (group != nullptr) {
        H5ZARR_ASSIGN_OR_RETURN(names, object->store->UnfilledNames(group));
        if (names == nullptr) H5ZARR_RETURN_IF_ERROR(object->store->Fill(group, false));
      }
    }
    H5ZARR_RETURN_IF_ERROR(NativeStatus(
        H5VLgroup_get(object->native.under, host::NativeConnector(), args, dxpl, request)));
    if (names != nullptr) args->args.get_info.ginfo->nlinks = names->size();
    if (args->op_type == H5VL_GROUP_GET_GCPL && object->node != nullptr) {
      return shadow::RestoreCreation(shadow::CreationKind::kGroup, object->node->node.attributes(),
                                     args->args.get_gcpl.gcpl_id);
    }
    return OkStatus();
  });
}

herr_t group_specific(void* opaque, H5VL_group_specific_args_t* args, hid_t dxpl, void** request) {
  return host::Guard("group_specific", [&]() -> Status {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    H5VL_group_specific_args_t native_args = *args;
    switch (args->op_type) {
      case H5VL_GROUP_MOUNT: {
        const H5VL_loc_params_t loc =
            host::LocByName(object->native.type, args->args.mount.name);
        H5ZARR_RETURN_IF_ERROR(PrepareLocation(object, &loc).status());
        native_args.args.mount.child_file = UnderOf(args->args.mount.child_file);
        break;
      }
      case H5VL_GROUP_FLUSH:
        if (object->store != nullptr) H5ZARR_RETURN_IF_ERROR(object->store->Save());
        break;
      case H5VL_GROUP_UNMOUNT: case H5VL_GROUP_REFRESH: break;
    }
    return NativeStatus(H5VLgroup_specific(object->native.under, host::NativeConnector(),
                                           &native_args, dxpl, request));
  });
}

herr_t group_optional(void* opaque, H5VL_optional_args_t* args, hid_t dxpl, void** request) {
  return host::GuardValue("group_optional", [&]() -> Result<herr_t> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    if (object->store != nullptr) {
      // The old iteration and object information work on the shadow's links.
      if (args->op_type == H5VL_NATIVE_GROUP_ITERATE_OLD) {
        auto* native = static_cast<H5VL_native_group_optional_args_t*>(args->args);
        H5ZARR_ASSIGN_OR_RETURN(const NodePtr group,
                                PrepareLocation(object, &native->iterate_old.loc_params));
        H5ZARR_RETURN_IF_ERROR(object->store->Fill(group, false));
      } else if (args->op_type == H5VL_NATIVE_GROUP_GET_OBJINFO) {
        auto* native = static_cast<H5VL_native_group_optional_args_t*>(args->args);
        H5ZARR_RETURN_IF_ERROR(PrepareLocation(object, &native->get_objinfo.loc_params).status());
      }
    }
    const herr_t result =
        H5VLgroup_optional(object->native.under, host::NativeConnector(), args, dxpl, request);
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
