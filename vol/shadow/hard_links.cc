#include "shadow/hard_links.h"

namespace h5zarr::shadow {

using host::NativeObject;

Status CreateHardLink(NativeObject group, const std::string& name, NativeObject target) {
  H5VL_link_create_args_t args;
  args.op_type = H5VL_LINK_CREATE_HARD;
  args.args.hard.curr_obj = target.under;
  // By itself: HDF5 takes any other location for a name.
  args.args.hard.curr_loc_params = host::LocSelf(target.type);
  const H5VL_loc_params_t loc = host::LocByName(group.type, name.c_str());
  if (H5VLlink_create(&args, group.under, &loc, host::NativeConnector(), H5P_LST_LINK_CREATE_ID_g,
                      H5P_LST_LINK_ACCESS_ID_g, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return OkStatus();
}

}  // namespace h5zarr::shadow
