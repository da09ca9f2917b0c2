// user_links: links of classes that programs define (H5Lregister, H5Lcreate_ud), in the shadow.
// External ones are of a class of HDF5's own, and no business of this file. Internal to shadow/.
#ifndef H5ZARR_SHADOW_USER_LINKS_H_
#define H5ZARR_SHADOW_USER_LINKS_H_

#include <hdf5.h>

#include <optional>
#include <string>

#include "base/status.h"
#include "host/native.h"

namespace h5zarr::shadow {

inline bool IsUserClass(int link_class) {
  return link_class >= H5L_TYPE_UD_MIN && link_class <= H5L_TYPE_MAX && link_class != H5L_TYPE_EXTERNAL;
}

// Makes a link whose class need not be registered. Where it is, HDF5 calls its create function, as
// there is no other way to make a link; what that answers does not count.
Status CreateUserLink(host::NativeObject group, const std::string& name, int link_class, const std::string& value);

// The bytes of a link; nothing where its class is registered and has no function that gives them.
Result<std::optional<std::string>> ReadUserLink(host::NativeObject group, const std::string& name, int link_class);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_USER_LINKS_H_
