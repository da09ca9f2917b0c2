// introspect, blob and token callbacks: all answered by the native connector beneath.

#include "h5/connector.h"
#include "host/host_api.h"

namespace h5zarr {
namespace {

herr_t get_conn_cls(void* object, H5VL_get_conn_lvl_t level, const H5VL_class_t** answer) {
  if (level == H5VL_GET_CONN_LVL_CURR) {
    *answer = ConnectorClass();
    return 0;
  }
  // At the terminal level this is the native class, and truly so: HDF5's version-1 functions and h5py
  // depend on it.
  return H5VLintrospect_get_conn_cls(UnderOf(object), host::NativeConnector(), level, answer);
}

herr_t get_cap_flags(const void* info, uint64_t* flags) {
  (void)info;
  host::LoadVariables();
  host::KeepErrors keep;
  const herr_t result = H5VLintrospect_get_cap_flags(nullptr, host::NativeConnector(), flags);
  if (result >= 0) *flags |= H5VL_CAP_FLAG_ASYNC;
  return result;
}

herr_t opt_query(void* object, H5VL_subclass_t subclass, int op, uint64_t* flags) {
  return H5VLintrospect_opt_query(UnderOf(object), host::NativeConnector(), subclass, op, flags);
}

herr_t blob_put(void* object, const void* blob, size_t bytes, void* id, void* context) {
  return H5VLblob_put(UnderOf(object), host::NativeConnector(), blob, bytes, id, context);
}

herr_t blob_get(void* object, const void* id, void* blob, size_t bytes, void* context) {
  return H5VLblob_get(UnderOf(object), host::NativeConnector(), id, blob, bytes, context);
}

herr_t blob_specific(void* object, void* id, H5VL_blob_specific_args_t* args) {
  return H5VLblob_specific(UnderOf(object), host::NativeConnector(), id, args);
}

herr_t blob_optional(void* object, void* id, H5VL_optional_args_t* args) {
  return H5VLblob_optional(UnderOf(object), host::NativeConnector(), id, args);
}

herr_t token_cmp(void* object, const H5O_token_t* a, const H5O_token_t* b, int* result) {
  return H5VLtoken_cmp(UnderOf(object), host::NativeConnector(), a, b, result);
}

herr_t token_to_str(void* object, H5I_type_t type, const H5O_token_t* token, char** text) {
  return H5VLtoken_to_str(UnderOf(object), type, host::NativeConnector(), token, text);
}

herr_t token_from_str(void* object, H5I_type_t type, const char* text, H5O_token_t* token) {
  return H5VLtoken_from_str(UnderOf(object), type, host::NativeConnector(), text, token);
}

}  // namespace

const H5VL_introspect_class_t kIntrospectClass = {get_conn_cls, get_cap_flags, opt_query};
const H5VL_blob_class_t kBlobClass = {blob_put, blob_get, blob_specific, blob_optional};
const H5VL_token_class_t kTokenClass = {token_cmp, token_to_str, token_from_str};

}  // namespace h5zarr
