// Object callbacks.

#include "h5/connector.h"
#include "h5/dataset_chunks.h"
#include "h5/object_copy.h"

namespace h5zarr {
namespace {

void* object_open(void* opaque, const H5VL_loc_params_t* loc, H5I_type_t* type, hid_t dxpl,
                  void** request) {
  return PathGuardPointer("object_open", [&]() -> Result<void*> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc));
    H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
    void* under = H5VLobject_open(at.opening.under, &at.opening.loc, host::NativeConnector(), type,
                                  dxpl, request);
    H5ZARR_ASSIGN_OR_RETURN(void* wrapper,
                            Wrap(under, under != nullptr ? *type : H5I_BADID, at.object));
    return *type == H5I_DATASET ? OpenArrayOf(wrapper, 0) : Result<void*>(wrapper);
  });
}

herr_t object_copy(void* source, const H5VL_loc_params_t* source_loc, const char* source_name,
                   void* target, const H5VL_loc_params_t* target_loc, const char* target_name,
                   hid_t ocpypl, hid_t lcpl, hid_t dxpl, void** request) {
  return PathGuard("object_copy", [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(const Place from, Locate(AsObject(source), source_loc, source_name));
    H5ZARR_ASSIGN_OR_RETURN(const Place to, LocateNew(AsObject(target), target_loc, target_name));
    return CopyObject(from, to, ocpypl, lcpl, dxpl, request);
  });
}

herr_t object_get(void* opaque, const H5VL_loc_params_t* loc, H5VL_object_get_args_t* args,
                  hid_t dxpl, void** request) {
  return PathGuard("object_get", [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc));
    H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
    const bool counts_attributes = args->op_type == H5VL_OBJECT_GET_INFO &&
                                   (args->args.get_info.fields & H5O_INFO_NUM_ATTRS) != 0;
    if (counts_attributes && at.store() != nullptr) {
      H5ZARR_RETURN_IF_ERROR(at.store()->CompleteAttributes(at.node));
    }
    return NativeStatus(
        H5VLobject_get(at.under(), &at.loc, host::NativeConnector(), args, dxpl, request));
  });
}

herr_t object_specific(void* opaque, const H5VL_loc_params_t* loc,
                       H5VL_object_specific_args_t* args, hid_t dxpl, void** request) {
  return PathGuardValue("object_specific", [&]() -> Result<herr_t> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc));
    H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
    switch (args->op_type) {
      case H5VL_OBJECT_CHANGE_REF_COUNT: H5ZARR_RETURN_IF_ERROR(RequireWritable(at.object)); break;
      case H5VL_OBJECT_VISIT: H5ZARR_RETURN_IF_ERROR(FillForVisit(at)); break;
      case H5VL_OBJECT_EXISTS: case H5VL_OBJECT_LOOKUP: break;
      case H5VL_OBJECT_FLUSH:
        if (at.store() != nullptr) H5ZARR_RETURN_IF_ERROR(at.store()->Save());
        break;
      case H5VL_OBJECT_REFRESH:
        if (at.store() != nullptr) H5ZARR_RETURN_IF_ERROR(at.store()->Refresh(at.node));
        break;
    }
    const herr_t result =
        H5VLobject_specific(at.under(), &at.loc, host::NativeConnector(), args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    return result;
  });
}

herr_t object_optional(void* opaque, const H5VL_loc_params_t* loc, H5VL_optional_args_t* args,
                       hid_t dxpl, void** request) {
  return PathGuardValue("object_optional", [&]() -> Result<herr_t> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc));
    H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
    if (args->op_type == H5VL_NATIVE_OBJECT_SET_COMMENT) {
      H5ZARR_RETURN_IF_ERROR(RequireWritable(at.object));
    }
    const herr_t result =
        H5VLobject_optional(at.under(), &at.loc, host::NativeConnector(), args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    if (args->op_type == H5VL_NATIVE_OBJECT_SET_COMMENT && at.store() != nullptr) {
      at.store()->NoteComment(at.node);
    }
    return result;
  });
}

}  // namespace

const H5VL_object_class_t kObjectClass = {object_open, object_copy, object_get, object_specific,
                                          object_optional};

}  // namespace h5zarr
