// Attribute callbacks. Attributes live in the shadow; the store notes which ones changed.

#include <cstring>

#include "h5/connector.h"
#include "shadow/hdf5_attribute.h"

namespace h5zarr {
namespace {

// The object whose attributes a location means, ready for an operation on the attribute `name` (null:
// on any). By index, the index is among attributes, not links.
Result<Place> LocateOwner(void* object, const H5VL_loc_params_t* loc, const char* name) {
  H5ZARR_ASSIGN_OR_RETURN(Place at, Locate(AsObject(object), loc));
  if (at.store() == nullptr || at.node == nullptr) return at;
  // The one attribute that is not there from the beginning. (Those after it are then made anew, and must not be
  // open.)
  if (name == nullptr || std::strcmp(name, "REFERENCE_LIST") == 0 ||
      shadow::HasAttributesAfterReferences(at.node->node.attributes())) {
    H5ZARR_RETURN_IF_ERROR(at.store()->CompleteAttributes(at.node));
  }
  return at;
}

Result<std::string> NameOfAttribute(void* owner, const H5VL_loc_params_t& loc) {
  std::size_t length = 0;
  H5VL_attr_get_args_t args;
  args.op_type = H5VL_ATTR_GET_NAME;
  args.args.get_name.loc_params = loc;
  args.args.get_name.buf = nullptr;
  args.args.get_name.buf_size = 0;
  args.args.get_name.attr_name_len = &length;
  if (H5VLattr_get(owner, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  std::string name(length + 1, '\0');
  args.args.get_name.buf = name.data();
  args.args.get_name.buf_size = name.size();
  if (H5VLattr_get(owner, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  name.resize(length);
  return name;
}

void* attr_create(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t type, hid_t space, hid_t acpl,
                  hid_t aapl, hid_t dxpl, void** request) {
  return PathGuardPointer("attr_create", [&]() -> Result<void*> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, LocateOwner(opaque, loc, name));
    H5ZARR_RETURN_IF_ERROR(RequireWritable(at.object));
    if (at.store() != nullptr && at.node != nullptr && shadow::TracksAttributeOrder(at.node->node.attributes())) {
      H5ZARR_RETURN_IF_ERROR(at.store()->CompleteAttributes(at.node));
    }
    void* under =
        H5VLattr_create(at.under(), &at.loc, host::NativeConnector(), name, type, space, acpl, aapl, dxpl, request);
    if (under != nullptr && at.store() != nullptr) at.store()->NoteNewAttribute(at.node, name);
    return WrapAttribute(under, at.object, at.node, name);
  });
}

void* attr_open(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t aapl, hid_t dxpl, void** request) {
  return PathGuardPointer("attr_open", [&]() -> Result<void*> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, LocateOwner(opaque, loc, name));
    void* under = H5VLattr_open(at.under(), &at.loc, host::NativeConnector(), name, aapl, dxpl, request);
    std::string full_name;
    if (under != nullptr && at.store() != nullptr) {
      if (name != nullptr) {
        full_name = name;
      } else {
        H5ZARR_ASSIGN_OR_RETURN(full_name, NameOfAttribute(under, host::LocSelf(H5I_ATTR)));
      }
    }
    return WrapAttribute(under, at.object, at.node, std::move(full_name));
  });
}

herr_t attr_read(void* object, hid_t type, void* buffer, hid_t dxpl, void** request) {
  return H5VLattr_read(UnderOf(object), host::NativeConnector(), type, buffer, dxpl, request);
}

herr_t attr_write(void* opaque, hid_t type, const void* buffer, hid_t dxpl, void** request) {
  return host::Guard("attr_write", [&]() -> Status {
    Object* object = AsObject(opaque);
    H5ZARR_RETURN_IF_ERROR(RequireWritable(object));
    H5ZARR_RETURN_IF_ERROR(
        NativeStatus(H5VLattr_write(object->native.under, host::NativeConnector(), type, buffer, dxpl, request)));
    if (object->store != nullptr) {
      object->store->NoteAttribute(object->node, object->attribute_name);
    }
    return OkStatus();
  });
}

herr_t attr_get(void* opaque, H5VL_attr_get_args_t* args, hid_t dxpl, void** request) {
  return PathGuard("attr_get", [&]() -> Status {
    H5VL_attr_get_args_t native_args = *args;
    H5VL_loc_params_t* loc = nullptr;
    const char* name = "";
    if (args->op_type == H5VL_ATTR_GET_INFO) {
      loc = &native_args.args.get_info.loc_params;
      name = args->args.get_info.attr_name;
    } else if (args->op_type == H5VL_ATTR_GET_NAME) {
      loc = &native_args.args.get_name.loc_params;
    }
    if (loc == nullptr) {
      return NativeStatus(H5VLattr_get(UnderOf(opaque), host::NativeConnector(), args, dxpl, request));
    }
    H5ZARR_ASSIGN_OR_RETURN(const Place at, LocateOwner(opaque, loc, name));
    *loc = at.loc;
    return NativeStatus(H5VLattr_get(at.under(), host::NativeConnector(), &native_args, dxpl, request));
  });
}

// The name of the attribute that an operation is about to delete; empty for other operations.
Result<std::string> DoomedName(const Object* object, const H5VL_loc_params_t* loc,
                               const H5VL_attr_specific_args_t* args) {
  switch (args->op_type) {
    case H5VL_ATTR_DELETE: return std::string(args->args.del.name);
    case H5VL_ATTR_DELETE_BY_IDX: {
      H5VL_loc_params_t by_index = host::LocSelf(loc->obj_type);
      by_index.type = H5VL_OBJECT_BY_IDX;
      const char* owner = loc->type == H5VL_OBJECT_BY_NAME ? loc->loc_data.loc_by_name.name : ".";
      by_index.loc_data.loc_by_idx = {owner, args->args.delete_by_idx.idx_type, args->args.delete_by_idx.order,
                                      args->args.delete_by_idx.n, H5P_LST_LINK_ACCESS_ID_g};
      return NameOfAttribute(object->native.under, by_index);
    }
    case H5VL_ATTR_RENAME:
    case H5VL_ATTR_EXISTS:
    case H5VL_ATTR_ITER: break;
  }
  return std::string();
}

// The one attribute an operation is about, or null.
const char* NameOperatedOn(const H5VL_attr_specific_args_t& args) {
  switch (args.op_type) {
    case H5VL_ATTR_DELETE: return args.args.del.name;
    case H5VL_ATTR_EXISTS: return args.args.exists.name;
    case H5VL_ATTR_RENAME:
    case H5VL_ATTR_DELETE_BY_IDX:
    case H5VL_ATTR_ITER: return nullptr;
  }
  return nullptr;
}

herr_t attr_specific(void* opaque, const H5VL_loc_params_t* loc, H5VL_attr_specific_args_t* args, hid_t dxpl,
                     void** request) {
  return PathGuardValue("attr_specific", [&]() -> Result<herr_t> {
    const bool changes = args->op_type != H5VL_ATTR_EXISTS && args->op_type != H5VL_ATTR_ITER;
    H5ZARR_ASSIGN_OR_RETURN(const Place at, LocateOwner(opaque, loc, NameOperatedOn(*args)));
    if (changes) H5ZARR_RETURN_IF_ERROR(RequireWritable(at.object));
    std::string doomed;
    if (changes && at.store() != nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(doomed, DoomedName(at.object, &at.loc, args));
    }
    const herr_t result = H5VLattr_specific(at.under(), &at.loc, host::NativeConnector(), args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    if (at.store() == nullptr) return result;
    if (!doomed.empty()) at.store()->NoteAttribute(at.node, doomed);
    if (args->op_type == H5VL_ATTR_RENAME) {
      at.store()->NoteRenamedAttribute(at.node, args->args.rename.old_name, args->args.rename.new_name);
    }
    return result;
  });
}

herr_t attr_optional(void* object, H5VL_optional_args_t* args, hid_t dxpl, void** request) {
  return H5VLattr_optional(UnderOf(object), host::NativeConnector(), args, dxpl, request);
}

herr_t attr_close(void* object, hid_t dxpl, void** request) {
  return CloseObject("attr_close", object, H5VLattr_close, dxpl, request);
}

}  // namespace

const H5VL_attr_class_t kAttributeClass = {attr_create, attr_open,     attr_read,     attr_write,
                                           attr_get,    attr_specific, attr_optional, attr_close};

}  // namespace h5zarr
