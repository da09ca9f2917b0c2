#include "mirror/open_place.h"

#include "location/location.h"

namespace h5zarr::mirror {

Result<std::unique_ptr<Store>> OpenMirrorPlace(const std::string& location, bool writable, Config config) {
  config.durable = true;
  if (config.io == Config::Io::kAuto) config.io = Config::Io::kDirect;
  return OpenPlace(location, writable, config);
}

}  // namespace h5zarr::mirror
