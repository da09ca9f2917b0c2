#include "h5/open_parts.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "h5/connector.h"
#include "store/url.h"

namespace h5zarr {

using shadow::StoreFile;

std::vector<std::shared_ptr<StoreFile>> OpenParts(const FileName& name, bool writable) {
  std::vector<std::shared_ptr<StoreFile>> parts;
  std::optional<std::string> outermost;
  for (std::shared_ptr<StoreFile>& store : GetConnector().stores.All()) {
    if (store->path() == name.path || store->forked() || !(writable || store->writable())) continue;
    if (!outermost) outermost = OutermostStore(name.path);
    if (store->path().starts_with(name.path + "/") || name.path.starts_with(store->path() + "/") ||
        OutermostStore(store->path()) == *outermost) {
      parts.push_back(std::move(store));
    }
  }
  return parts;
}

Status RefuseOverlap(const FileName& name, const char* operation) {
  const auto parts = OpenParts(name, true);
  if (parts.empty()) return OkStatus();
  return Status(StatusCode::kPermissionDenied,
                std::string("unable to ") + operation + " '" + ShownName(name.given) + "': '" +
                    ShownName(parts[0]->name()) +
                    "', a part of the same Zarr store, is open; use the open file, or close it first",
                EAGAIN);
}

Result<bool> IsStoreOrNewPart(const FileName& name, const Config& config) {
  if (IsStore(name.path, config)) return true;
  for (const std::shared_ptr<StoreFile>& store : GetConnector().stores.All()) {
    if (!name.path.starts_with(store->path() + "/") || store->forked()) continue;
    H5ZARR_RETURN_IF_ERROR(store->Save());
    if (IsStore(name.path, config)) return true;
  }
  return false;
}

}  // namespace h5zarr
