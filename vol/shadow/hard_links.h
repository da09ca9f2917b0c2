// hard_links: hard links of the shadow. Internal to shadow/.
#ifndef H5ZARR_SHADOW_HARD_LINKS_H_
#define H5ZARR_SHADOW_HARD_LINKS_H_

#include <string>

#include "base/status.h"
#include "host/native.h"

namespace h5zarr::shadow {

// Makes the link `name` of `group`, which leads to `target`.
Status CreateHardLink(host::NativeObject group, const std::string& name, host::NativeObject target);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_HARD_LINKS_H_
