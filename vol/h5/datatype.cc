// Committed datatype callbacks.

#include "h5/connector.h"
#include "shadow/creation_map.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/object_times.h"

namespace h5zarr {
namespace {

using shadow::NodePtr;

void* datatype_commit(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t type, hid_t lcpl, hid_t tcpl,
                      hid_t tapl, hid_t dxpl, void** request) {
  return PathGuardPointer("datatype_commit", [&]() -> Result<void*> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, LocateNew(AsObject(opaque), loc, name));
    void* under = H5VLdatatype_commit(at.under(), &at.loc, host::NativeConnector(), at.name, type, lcpl, tcpl, tapl,
                                      dxpl, request);
    H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(under, H5I_DATATYPE, at.object));
    if (const NodePtr node = AsObject(wrapper)->node) {
      shadow::NoteAttributeOrder(tcpl, &node->node.attributes());
      shadow::NoteCreation(shadow::CreationKind::kDatatype, tcpl, &node->node.attributes());
      shadow::NoteTimes(AsObject(wrapper)->store->format_bounds().low, false, tcpl, &node->node.attributes());
    }
    if (at.store() != nullptr && at.name != nullptr) {
      const Status noted = UndoOnFailure(at, at.store()->NoteCreated(at.object->node, at.name));
      if (!noted.ok()) {
        CloseObject("datatype_commit", wrapper, H5VLdatatype_close, dxpl, nullptr);
        return noted;
      }
    }
    return wrapper;
  });
}

void* datatype_open(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t tapl, hid_t dxpl,
                    void** request) {
  return PathGuardPointer("datatype_open", [&]() -> Result<void*> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc, name));
    void* under = H5VLdatatype_open(at.opening.under, &at.opening.loc, host::NativeConnector(), at.opening.name, tapl,
                                    dxpl, request);
    return Wrap(under, H5I_DATATYPE, at.object);
  });
}

herr_t datatype_get(void* opaque, H5VL_datatype_get_args_t* args, hid_t dxpl, void** request) {
  return host::Guard("datatype_get", [&]() -> Status {
    const Object* object = AsObject(opaque);
    H5ZARR_RETURN_IF_ERROR(
        NativeStatus(H5VLdatatype_get(object->native.under, host::NativeConnector(), args, dxpl, request)));
    if (args->op_type != H5VL_DATATYPE_GET_TCPL || object->node == nullptr) return OkStatus();
    const shadow::Json& attributes = object->node->node.attributes();
    const hid_t tcpl = args->args.get_tcpl.tcpl_id;
    H5ZARR_RETURN_IF_ERROR(shadow::RestoreCreation(shadow::CreationKind::kDatatype, attributes, tcpl));
    return shadow::RestoreTracking(attributes, tcpl);
  });
}

herr_t datatype_specific(void* opaque, H5VL_datatype_specific_args_t* args, hid_t dxpl, void** request) {
  return host::Guard("datatype_specific", [&]() -> Status {
    Object* object = AsObject(opaque);
    if (args->op_type == H5VL_DATATYPE_FLUSH && object->store != nullptr) {
      H5ZARR_RETURN_IF_ERROR(object->store->Save());
    }
    return NativeStatus(H5VLdatatype_specific(object->native.under, host::NativeConnector(), args, dxpl, request));
  });
}

herr_t datatype_optional(void* object, H5VL_optional_args_t* args, hid_t dxpl, void** request) {
  return H5VLdatatype_optional(UnderOf(object), host::NativeConnector(), args, dxpl, request);
}

herr_t datatype_close(void* object, hid_t dxpl, void** request) {
  return CloseObject("datatype_close", object, H5VLdatatype_close, dxpl, request);
}

}  // namespace

const H5VL_datatype_class_t kDatatypeClass = {datatype_commit,   datatype_open,     datatype_get,
                                              datatype_specific, datatype_optional, datatype_close};

}  // namespace h5zarr
