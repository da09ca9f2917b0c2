#include "location/location.h"

#include "store/local_store.h"

namespace h5zarr {
namespace {

std::unique_ptr<Store> OpenFolder(const std::string& path, bool writable, const Config& config) {
  LocalStoreOptions options;
  options.read_only = !writable;
  options.durable = config.durable;
  if (config.io == Config::Io::kUring) options.io = LocalStoreOptions::Io::kUring;
  if (config.io == Config::Io::kDirect) options.io = LocalStoreOptions::Io::kDirect;
  return MakeLocalStore(path, options);
}

}  // namespace

Result<std::unique_ptr<Store>> OpenLocation(const std::string& location, bool writable,
                                            const Config& config) {
  return OpenFolder(location, writable, config);
}

}  // namespace h5zarr
