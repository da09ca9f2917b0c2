#include "shadow/user_links.h"

#include <algorithm>
#include <cstring>

#include "host/error_stack.h"

namespace h5zarr::shadow {
namespace {

hid_t RefuseTraversal(const char*, hid_t, const void*, size_t, hid_t, hid_t) { return H5I_INVALID_HID; }

ssize_t GiveBytes(const char*, const void* value, size_t bytes, void* buffer, size_t buffer_bytes) {
  if (buffer != nullptr) std::memcpy(buffer, value, std::min(bytes, buffer_bytes));
  return static_cast<ssize_t>(bytes);
}

// HDF5 makes no link of a class that it does not know, and gives nobody its bytes: until the scope ends
// it knows one.
class StandInClass {
 public:
  explicit StandInClass(int link_class) : id_(static_cast<H5L_type_t>(link_class)) {
    if (H5Lis_registered(id_) != 0) return;
    H5L_class_t stand_in;
    std::memset(&stand_in, 0, sizeof stand_in);
    stand_in.version = H5L_LINK_CLASS_T_VERS;
    stand_in.id = id_;
    stand_in.trav_func = RefuseTraversal;
    stand_in.query_func = GiveBytes;
    registered_ = H5Lregister(&stand_in) >= 0;
  }
  StandInClass(const StandInClass&) = delete;
  ~StandInClass() {
    const host::KeepErrors keep;
    if (registered_) H5Lunregister(id_);
  }
  bool registered() const { return registered_; }

 private:
  const H5L_type_t id_;
  bool registered_ = false;
};

Result<bool> LinkExists(host::NativeObject group, const std::string& name) {
  hbool_t exists = false;
  H5VL_link_specific_args_t args;
  args.op_type = H5VL_LINK_EXISTS;
  args.args.exists.exists = &exists;
  const H5VL_loc_params_t loc = host::LocByName(group.type, name.c_str());
  if (H5VLlink_specific(group.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return exists != 0;
}

}  // namespace

Status CreateUserLink(host::NativeObject group, const std::string& name, int link_class, const std::string& value) {
  const StandInClass stand_in(link_class);
  H5VL_link_create_args_t args;
  args.op_type = H5VL_LINK_CREATE_UD;
  args.args.ud.type = static_cast<H5L_type_t>(link_class);
  args.args.ud.buf = value.data();
  args.args.ud.buf_size = value.size();
  const H5VL_loc_params_t loc = host::LocByName(group.type, name.c_str());
  herr_t created = 0;
  {
    const host::KeepErrors keep;
    created = H5VLlink_create(&args, group.under, &loc, host::NativeConnector(), H5P_LST_LINK_CREATE_ID_g,
                              H5P_LST_LINK_ACCESS_ID_g, host::DefaultDxpl(), nullptr);
  }
  if (created >= 0) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const bool exists, LinkExists(group, name));
  return exists ? OkStatus() : InternalError("cannot make the user-defined link '" + name + "'");
}

Result<std::optional<std::string>> ReadUserLink(host::NativeObject group, const std::string& name, int link_class) {
  const StandInClass stand_in(link_class);
  H5ZARR_ASSIGN_OR_RETURN(const H5L_info2_t info, host::LinkInfo(group, name.c_str()));
  std::string value(info.u.val_size, '\0');
  if (value.empty()) {
    return stand_in.registered() ? std::optional(value) : std::optional<std::string>();
  }
  H5VL_link_get_args_t args;
  args.op_type = H5VL_LINK_GET_VAL;
  args.args.get_val.buf_size = value.size();
  args.args.get_val.buf = value.data();
  const H5VL_loc_params_t loc = host::LocByName(group.type, name.c_str());
  if (H5VLlink_get(group.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return std::optional(std::move(value));
}

}  // namespace h5zarr::shadow
