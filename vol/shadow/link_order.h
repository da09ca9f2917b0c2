// link_order: the order in which the links of a native group were made. Internal to shadow/.
#ifndef H5ZARR_SHADOW_LINK_ORDER_H_
#define H5ZARR_SHADOW_LINK_ORDER_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "host/native.h"

namespace h5zarr::shadow {

// Makes the links of a group that tracks their order anew where they were not made in the order of `names`: a
// child that another one needs (a committed datatype, the target of a hard link) is loaded before it. Names
// without a link are passed over; links without a name come last.
Status OrderLinks(host::NativeObject group, const std::vector<std::string>& names);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_LINK_ORDER_H_
