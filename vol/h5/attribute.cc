// Attribute callbacks. Attributes live in the shadow; the store notes which ones changed.

#include <cstring>

#include "h5/connector.h"

namespace h5zarr {
namespace {

using shadow::NodePtr;

// The node whose attributes a location means, ready for an operation on the attribute `name` (null:
// on any). By index, the index is among attributes, not links.
Result<NodePtr> PrepareOwner(const Object* object, const H5VL_loc_params_t* loc, const char* name) {
  if (object == nullptr || object->store == nullptr) return NodePtr();
  NodePtr owner;
  if (loc->type != H5VL_OBJECT_BY_IDX) {
    H5ZARR_ASSIGN_OR_RETURN(owner, PrepareLocation(object, loc));
  } else {
    H5ZARR_ASSIGN_OR_RETURN(const shadow::Resolution found,
                            object->store->Resolve(object->node, loc->loc_data.loc_by_idx.name));
    owner = found.node;
  }
  // The one attribute that is not there from the beginning.
  if (name == nullptr || std::strcmp(name, "REFERENCE_LIST") == 0) {
    H5ZARR_RETURN_IF_ERROR(object->store->CompleteAttributes(owner));
  }
  return owner;
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

void* attr_create(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t type,
                  hid_t space, hid_t acpl, hid_t aapl, hid_t dxpl, void** request) {
  return host::GuardPointer("attr_create", [&]() -> Result<void*> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    H5ZARR_RETURN_IF_ERROR(RequireWritable(object));
    H5ZARR_ASSIGN_OR_RETURN(const NodePtr owner, PrepareOwner(object, loc, name));
    void* under = H5VLattr_create(object->native.under, loc, host::NativeConnector(), name, type,
                                  space, acpl, aapl, dxpl, request);
    if (under != nullptr && object->store != nullptr) {
      object->store->NoteNewAttribute(owner, name);
    }
    return WrapAttribute(under, object, owner, name);
  });
}

void* attr_open(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t aapl, hid_t dxpl,
                void** request) {
  return host::GuardPointer("attr_open", [&]() -> Result<void*> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    H5ZARR_ASSIGN_OR_RETURN(const NodePtr owner, PrepareOwner(object, loc, name));
    void* under = H5VLattr_open(object->native.under, loc, host::NativeConnector(), name, aapl,
                                dxpl, request);
    std::string full_name;
    if (under != nullptr && object->store != nullptr) {
      if (name != nullptr) {
        full_name = name;
      } else {
        H5ZARR_ASSIGN_OR_RETURN(full_name, NameOfAttribute(under, host::LocSelf(H5I_ATTR)));
      }
    }
    return WrapAttribute(under, object, owner, std::move(full_name));
  });
}

herr_t attr_read(void* object, hid_t type, void* buffer, hid_t dxpl, void** request) {
  return H5VLattr_read(UnderOf(object), host::NativeConnector(), type, buffer, dxpl, request);
}

herr_t attr_write(void* opaque, hid_t type, const void* buffer, hid_t dxpl, void** request) {
  return host::Guard("attr_write", [&]() -> Status {
    Object* object = AsObject(opaque);
    H5ZARR_RETURN_IF_ERROR(RequireWritable(object));
    H5ZARR_RETURN_IF_ERROR(NativeStatus(H5VLattr_write(
        object->native.under, host::NativeConnector(), type, buffer, dxpl, request)));
    if (object->store != nullptr) {
      object->store->NoteAttribute(object->node, object->attribute_name);
    }
    return OkStatus();
  });
}

herr_t attr_get(void* opaque, H5VL_attr_get_args_t* args, hid_t dxpl, void** request) {
  return host::Guard("attr_get", [&]() -> Status {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    if (args->op_type == H5VL_ATTR_GET_INFO) {
      H5ZARR_RETURN_IF_ERROR(PrepareOwner(object, &args->args.get_info.loc_params,
                                          args->args.get_info.attr_name)
                                 .status());
    } else if (args->op_type == H5VL_ATTR_GET_NAME) {
      H5ZARR_RETURN_IF_ERROR(PrepareOwner(object, &args->args.get_name.loc_params, "").status());
    }
    return NativeStatus(
        H5VLattr_get(object->native.under, host::NativeConnector(), args, dxpl, request));
  });
}

// Names of attributes that an operation is about to change.
Result<std::vector<std::string>> ChangedNames(const Object* object, const H5VL_loc_params_t* loc,
                                              const H5VL_attr_specific_args_t* args) {
  std::vector<std::string> names;
  switch (args->op_type) {
    case H5VL_ATTR_DELETE: names.emplace_back(args->args.del.name); break;
    case H5VL_ATTR_DELETE_BY_IDX: {
      H5VL_loc_params_t by_index = host::LocSelf(loc->obj_type);
      by_index.type = H5VL_OBJECT_BY_IDX;
      const char* owner =
          loc->type == H5VL_OBJECT_BY_NAME ? loc->loc_data.loc_by_name.name : ".";
      by_index.loc_data.loc_by_idx = {owner, args->args.delete_by_idx.idx_type,
                                      args->args.delete_by_idx.order, args->args.delete_by_idx.n,
                                      H5P_LST_LINK_ACCESS_ID_g};
      H5ZARR_ASSIGN_OR_RETURN(std::string name, NameOfAttribute(object->native.under, by_index));
      names.push_back(std::move(name));
      break;
    }
    case H5VL_ATTR_RENAME:
      names.emplace_back(args->args.rename.old_name);
      names.emplace_back(args->args.rename.new_name);
      break;
    case H5VL_ATTR_EXISTS: case H5VL_ATTR_ITER: break;
  }
  return names;
}

// The one attribute an operation is about, or null.
const char* NameOperatedOn(const H5VL_attr_specific_args_t& args) {
  switch (args.op_type) {
    case H5VL_ATTR_DELETE: return args.args.del.name;
    case H5VL_ATTR_EXISTS: return args.args.exists.name;
    case H5VL_ATTR_RENAME: case H5VL_ATTR_DELETE_BY_IDX: case H5VL_ATTR_ITER: return nullptr;
  }
  return nullptr;
}

herr_t attr_specific(void* opaque, const H5VL_loc_params_t* loc, H5VL_attr_specific_args_t* args,
                     hid_t dxpl, void** request) {
  return host::GuardValue("attr_specific", [&]() -> Result<herr_t> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    const bool changes = args->op_type != H5VL_ATTR_EXISTS && args->op_type != H5VL_ATTR_ITER;
    if (changes) H5ZARR_RETURN_IF_ERROR(RequireWritable(object));
    const char* name = NameOperatedOn(*args);
    H5ZARR_ASSIGN_OR_RETURN(const NodePtr owner, PrepareOwner(object, loc, name));
    std::vector<std::string> names;
    if (changes && object->store != nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(names, ChangedNames(object, loc, args));
    }
    const herr_t result = H5VLattr_specific(object->native.under, loc, host::NativeConnector(),
                                            args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    for (const std::string& name : names) object->store->NoteAttribute(owner, name);
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
