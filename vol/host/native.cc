#include "host/native.h"

namespace h5zarr::host {
namespace {

hid_t native_connector = H5I_INVALID_HID;

Result<Identity> IdentifyAt(NativeObject object, const H5VL_loc_params_t& loc) {
  H5O_info2_t info;
  std::memset(&info, 0, sizeof info);
  H5VL_object_get_args_t args;
  args.op_type = H5VL_OBJECT_GET_INFO;
  args.args.get_info.fields = H5O_INFO_BASIC;
  args.args.get_info.oinfo = &info;
  if (H5VLobject_get(object.under, &loc, NativeConnector(), &args, DefaultDxpl(), nullptr) < 0) {
    return AlreadyReported();
  }
  Identity identity;
  identity.fileno = info.fileno;
  identity.token = TokenKey(info.token);
  identity.ref_count = info.rc;
  identity.type = info.type;
  return identity;
}

}  // namespace

hid_t NativeConnector() {
  if (native_connector < 0) {
    KeepErrors keep;  // it may be a failed open that led HDF5 to us
    native_connector = H5VLregister_connector_by_value(H5VL_NATIVE_VALUE, H5P_DEFAULT);
  }
  return native_connector;
}

void ForgetNativeConnector() { native_connector = H5I_INVALID_HID; }

NativeHandle& NativeHandle::operator=(NativeHandle&& other) noexcept {
  if (this != &other) {
    Close();
    object_ = other.object_;
    other.object_.under = nullptr;
  }
  return *this;
}

void* NativeHandle::Release() {
  void* under = object_.under;
  object_.under = nullptr;
  return under;
}

void NativeHandle::Close() {
  if (object_.under == nullptr) return;
  void* under = Release();
  const hid_t native = NativeConnector();
  switch (object_.type) {
    case H5I_GROUP: H5VLgroup_close(under, native, DefaultDxpl(), nullptr); break;
    case H5I_DATASET: H5VLdataset_close(under, native, DefaultDxpl(), nullptr); break;
    case H5I_DATATYPE: H5VLdatatype_close(under, native, DefaultDxpl(), nullptr); break;
    case H5I_ATTR: H5VLattr_close(under, native, DefaultDxpl(), nullptr); break;
    case H5I_FILE: H5VLfile_close(under, native, DefaultDxpl(), nullptr); break;
    default: break;
  }
}

Result<Identity> Identify(NativeObject object) { return IdentifyAt(object, LocSelf(object.type)); }

Result<Identity> IdentifyByName(NativeObject object, const char* name) {
  return IdentifyAt(object, LocByName(object.type, name));
}

uint64_t TokenKey(const H5O_token_t& token) {
  uint64_t key;
  std::memcpy(&key, &token, sizeof key);
  return key;
}

H5O_token_t TokenOfKey(uint64_t key) {
  H5O_token_t token;
  std::memset(&token, 0, sizeof token);
  std::memcpy(&token, &key, sizeof key);
  return token;
}

Result<NativeHandle> OpenByToken(NativeObject in_file, uint64_t token) {
  H5O_token_t full = TokenOfKey(token);
  const H5VL_loc_params_t loc = LocByToken(in_file.type, &full);
  H5I_type_t type = H5I_BADID;
  void* under = H5VLobject_open(in_file.under, &loc, NativeConnector(), &type, DefaultDxpl(), nullptr);
  if (under == nullptr) return AlreadyReported();
  return NativeHandle(under, type);
}

Result<unsigned long> FileNumber(void* file) {
  unsigned long number = 0;
  H5VL_file_get_args_t args;
  args.op_type = H5VL_FILE_GET_FILENO;
  args.args.get_fileno.fileno = &number;
  if (H5VLfile_get(file, NativeConnector(), &args, DefaultDxpl(), nullptr) < 0) {
    return AlreadyReported();
  }
  return number;
}

Status ChangeLinkCount(NativeObject object, int delta) {
  const H5VL_loc_params_t loc = LocSelf(object.type);
  H5VL_object_specific_args_t args;
  std::memset(&args, 0, sizeof args);
  args.op_type = H5VL_OBJECT_CHANGE_REF_COUNT;
  args.args.change_rc.delta = delta;
  if (H5VLobject_specific(object.under, &loc, NativeConnector(), &args, DefaultDxpl(), nullptr) < 0) {
    return AlreadyReported();
  }
  return OkStatus();
}

Result<H5L_info2_t> LinkInfo(NativeObject object, const char* name) {
  H5L_info2_t info;
  H5VL_link_get_args_t args;
  args.op_type = H5VL_LINK_GET_INFO;
  args.args.get_info.linfo = &info;
  const H5VL_loc_params_t loc = LocByName(object.type, name);
  if (H5VLlink_get(object.under, &loc, NativeConnector(), &args, DefaultDxpl(), nullptr) < 0) {
    return AlreadyReported();
  }
  return info;
}

Result<std::vector<std::string>> LinkNames(NativeObject group, H5_index_t order) {
  H5G_info_t info;
  H5VL_group_get_args_t get;
  get.op_type = H5VL_GROUP_GET_INFO;
  get.args.get_info.loc_params = LocSelf(group.type);
  get.args.get_info.ginfo = &info;
  if (H5VLgroup_get(group.under, NativeConnector(), &get, DefaultDxpl(), nullptr) < 0) {
    return AlreadyReported();
  }
  std::vector<std::string> names;
  std::string name(255, '\0');
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    H5VL_loc_params_t loc = LocSelf(group.type);
    loc.type = H5VL_OBJECT_BY_IDX;
    loc.loc_data.loc_by_idx = {".", order, H5_ITER_INC, i, H5P_LST_LINK_ACCESS_ID_g};
    // Again where the name is longer than any before.
    for (std::size_t length = 0;; name.resize(length)) {
      H5VL_link_get_args_t args;
      args.op_type = H5VL_LINK_GET_NAME;
      args.args.get_name = {name.size() + 1, name.data(), &length};
      if (H5VLlink_get(group.under, &loc, NativeConnector(), &args, DefaultDxpl(), nullptr) < 0) {
        return AlreadyReported();
      }
      if (length > name.size()) continue;
      names.push_back(name.substr(0, length));
      break;
    }
  }
  return names;
}

Result<std::vector<std::string>> AttributeNames(NativeObject object) {
  H5O_info2_t info;
  H5VL_object_get_args_t get;
  get.op_type = H5VL_OBJECT_GET_INFO;
  get.args.get_info.oinfo = &info;
  get.args.get_info.fields = H5O_INFO_NUM_ATTRS;
  const H5VL_loc_params_t self = LocSelf(object.type);
  if (H5VLobject_get(object.under, &self, NativeConnector(), &get, DefaultDxpl(), nullptr) < 0) {
    return AlreadyReported();
  }
  std::vector<std::string> names;
  std::string name(255, '\0');
  for (hsize_t i = 0; i < info.num_attrs; ++i) {
    H5VL_attr_get_args_t args;
    args.op_type = H5VL_ATTR_GET_NAME;
    H5VL_loc_params_t& loc = args.args.get_name.loc_params;
    loc = self;
    loc.type = H5VL_OBJECT_BY_IDX;
    loc.loc_data.loc_by_idx = {".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, H5P_LST_LINK_ACCESS_ID_g};
    for (std::size_t length = 0;; name.resize(length)) {
      args.args.get_name.buf_size = name.size() + 1;
      args.args.get_name.buf = name.data();
      args.args.get_name.attr_name_len = &length;
      if (H5VLattr_get(object.under, NativeConnector(), &args, DefaultDxpl(), nullptr) < 0) {
        return AlreadyReported();
      }
      if (length > name.size()) continue;
      names.push_back(name.substr(0, length));
      break;
    }
  }
  return names;
}

Result<std::vector<LinkName>> Links(NativeObject group, H5_index_t order) {
  H5ZARR_ASSIGN_OR_RETURN(std::vector<std::string> names, LinkNames(group, order));
  std::vector<LinkName> links;
  for (std::string& name : names) {
    H5ZARR_ASSIGN_OR_RETURN(const H5L_info2_t info, LinkInfo(group, name.c_str()));
    links.push_back({std::move(name), info.type});
  }
  return links;
}

}  // namespace h5zarr::host
