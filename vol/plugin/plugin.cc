// plugin: what HDF5's plugin loader calls. It knows all there is, and tells the connector of what lies above.

#include <H5PLextern.h>
#include <hdf5.h>

#include "h5/connector.h"
#include "host/host_api.h"
#include "mirror/update_mirror.h"

namespace {

const void* InfoFor(void* return_address) {
  h5zarr::SetUpdateMirror(&h5zarr::mirror::UpdateMirror);
  return h5zarr::host::BindOrFindImage(return_address, h5zarr::ConnectorClass(), &InfoFor);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_VOL; }

extern "C" __attribute__((visibility("default"), noinline)) const void* H5PLget_plugin_info(void) {
  return InfoFor(__builtin_return_address(0));
}
