// libh5zarr_shard: what HDF5's plugin loader calls for filter 480.
#include <H5PLextern.h>

#include "filter/filters.h"
#include "host/host_api.h"

namespace {

const void* InfoFor(void* return_address) {
  return h5zarr::host::BindOrFindImage(return_address, h5zarr::filter::ShardFilter(), &InfoFor);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }

extern "C" __attribute__((visibility("default"), noinline)) const void* H5PLget_plugin_info(void) {
  return InfoFor(__builtin_return_address(0));
}
