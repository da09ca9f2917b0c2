// Object callbacks.

#include "h5/connector.h"
#include "h5/dataset_chunks.h"
#include "h5/object_copy.h"
#include "shadow/object_times.h"

namespace h5zarr {
namespace {

// Of an object in a store, the times that are kept, and not those of the shadow. `info` says which it is.
void AnswerTimesInStore(H5O_info2_t* info) {
  const auto store = GetConnector().stores.ByFileNumber(info->fileno);
  if (store == nullptr) return;
  const shadow::NodePtr node = store->FindNode(host::TokenKey(info->token));
  if (node != nullptr) shadow::AnswerTimes(node->node.attributes(), info);
}

Status GetInfo(const Place& at, H5VL_object_get_args_t* args, hid_t dxpl, void** request) {
  const unsigned fields = args->args.get_info.fields;
  if ((fields & H5O_INFO_NUM_ATTRS) != 0 && at.store() != nullptr) {
    H5ZARR_RETURN_IF_ERROR(at.store()->CompleteAttributes(at.node));
  }
  if ((fields & H5O_INFO_BASIC) != 0 && at.store() != nullptr) at.store()->CountHardLinks();
  H5VL_object_get_args_t native_args = *args;
  if ((fields & H5O_INFO_TIME) != 0) native_args.args.get_info.fields |= H5O_INFO_BASIC;
  H5ZARR_RETURN_IF_ERROR(
      NativeStatus(H5VLobject_get(at.under(), &at.loc, host::NativeConnector(), &native_args, dxpl, request)));
  if ((fields & H5O_INFO_TIME) != 0) AnswerTimesInStore(args->args.get_info.oinfo);
  return OkStatus();
}

// The program's operator, called with the times that are kept.
struct ObjectVisit {
  H5O_iterate2_t op;
  void* op_data;
};

herr_t VisitObject(hid_t object, const char* name, const H5O_info2_t* native_info, void* opaque) {
  const auto* visit = static_cast<const ObjectVisit*>(opaque);
  H5O_info2_t info = *native_info;
  AnswerTimesInStore(&info);
  return visit->op(object, name, &info, visit->op_data);
}

// The value of an operator that stopped the visit is its own.
herr_t Visit(const Place& at, H5VL_object_specific_args_t* args, hid_t dxpl, void** request) {
  H5VL_object_specific_args_t native_args = *args;
  ObjectVisit visit{args->args.visit.op, args->args.visit.op_data};
  if ((args->args.visit.fields & H5O_INFO_TIME) != 0 && !GetConnector().stores.empty()) {
    native_args.args.visit.fields |= H5O_INFO_BASIC;
    native_args.args.visit.op = VisitObject;
    native_args.args.visit.op_data = &visit;
  }
  return H5VLobject_specific(at.under(), &at.loc, host::NativeConnector(), &native_args, dxpl, request);
}

void* object_open(void* opaque, const H5VL_loc_params_t* loc, H5I_type_t* type, hid_t dxpl, void** request) {
  return PathGuardPointer("object_open", [&]() -> Result<void*> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc));
    H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
    void* under = H5VLobject_open(at.opening.under, &at.opening.loc, host::NativeConnector(), type, dxpl, request);
    H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(under, under != nullptr ? *type : H5I_BADID, at.object));
    return *type == H5I_DATASET ? OpenArrayOf(wrapper, 0) : Result<void*>(wrapper);
  });
}

herr_t object_copy(void* source, const H5VL_loc_params_t* source_loc, const char* source_name, void* target,
                   const H5VL_loc_params_t* target_loc, const char* target_name, hid_t ocpypl, hid_t lcpl, hid_t dxpl,
                   void** request) {
  return PathGuard("object_copy", [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(const Place from, Locate(AsObject(source), source_loc, source_name));
    H5ZARR_ASSIGN_OR_RETURN(const Place to, LocateNew(AsObject(target), target_loc, target_name));
    return CopyObject(from, to, ocpypl, lcpl, dxpl, request);
  });
}

herr_t object_get(void* opaque, const H5VL_loc_params_t* loc, H5VL_object_get_args_t* args, hid_t dxpl,
                  void** request) {
  return PathGuard("object_get", [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc));
    H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
    if (args->op_type == H5VL_OBJECT_GET_INFO) return GetInfo(at, args, dxpl, request);
    return NativeStatus(H5VLobject_get(at.under(), &at.loc, host::NativeConnector(), args, dxpl, request));
  });
}

herr_t object_specific(void* opaque, const H5VL_loc_params_t* loc, H5VL_object_specific_args_t* args, hid_t dxpl,
                       void** request) {
  return PathGuardValue("object_specific", [&]() -> Result<herr_t> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc));
    H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
    switch (args->op_type) {
      case H5VL_OBJECT_CHANGE_REF_COUNT: H5ZARR_RETURN_IF_ERROR(RequireWritable(at.object)); break;
      case H5VL_OBJECT_VISIT:
        H5ZARR_RETURN_IF_ERROR(FillForVisit(at));
        if (at.store() != nullptr) at.store()->CountHardLinks();
        break;
      case H5VL_OBJECT_EXISTS:
      case H5VL_OBJECT_LOOKUP: break;
      case H5VL_OBJECT_FLUSH:
        if (at.store() != nullptr) H5ZARR_RETURN_IF_ERROR(at.store()->Save());
        break;
      case H5VL_OBJECT_REFRESH:
        if (at.store() != nullptr) H5ZARR_RETURN_IF_ERROR(at.store()->Refresh(at.node));
        break;
    }
    const herr_t result = args->op_type == H5VL_OBJECT_VISIT
                              ? Visit(at, args, dxpl, request)
                              : H5VLobject_specific(at.under(), &at.loc, host::NativeConnector(), args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    return result;
  });
}

herr_t object_optional(void* opaque, const H5VL_loc_params_t* loc, H5VL_optional_args_t* args, hid_t dxpl,
                       void** request) {
  return PathGuardValue("object_optional", [&]() -> Result<herr_t> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc));
    H5ZARR_RETURN_IF_ERROR(FillIndexed(at));
    if (args->op_type == H5VL_NATIVE_OBJECT_SET_COMMENT) {
      H5ZARR_RETURN_IF_ERROR(RequireWritable(at.object));
    }
    const herr_t result = H5VLobject_optional(at.under(), &at.loc, host::NativeConnector(), args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    if (args->op_type == H5VL_NATIVE_OBJECT_SET_COMMENT && at.store() != nullptr) {
      at.store()->NoteComment(at.node);
    }
    return result;
  });
}

}  // namespace

const H5VL_object_class_t kObjectClass = {object_open, object_copy, object_get, object_specific, object_optional};

}  // namespace h5zarr
