#include "shadow/stores_above.h"

#include <utility>

#include "location/location.h"
#include "store/local_store.h"
#include "store/url.h"

namespace h5zarr::shadow {

Result<std::unique_ptr<Store>> StoresAbove::Open(const std::string& path) const {
  if (!IsRemoteName(path_)) {
    LocalStoreOptions options;
    options.durable = config_.durable;
    return MakeLocalStore(path, options);
  }
  if (!IsS3Url(path) || path.ends_with('/')) return std::unique_ptr<Store>();
  return OpenLocation(path, true, config_);
}

Status StoresAbove::ForEach(const std::string& v2_document,
                            const std::function<Status(std::unique_ptr<Store>)>& visit) const {
  for (std::size_t slash = path_.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path_.rfind('/', slash - 1)) {
    H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, Open(path_.substr(0, slash)));
    if (store == nullptr) break;
    // Most folders are no store: no more is asked of them than that.
    const auto v3 = store->ObjectBytes("zarr.json");
    // (Of a bucket a user may be allowed to see a part only.)
    if (!v3.ok() && v3.status().code() == StatusCode::kPermissionDenied && IsS3Url(path_)) break;
    H5ZARR_RETURN_IF_ERROR(v3.status());
    H5ZARR_ASSIGN_OR_RETURN(const auto v2, store->ObjectBytes(v2_document));
    if (*v3 || v2) H5ZARR_RETURN_IF_ERROR(visit(std::move(store)));
  }
  return OkStatus();
}

Status StoresAbove::InvalidateConsolidated() {
  return ForEach(".zmetadata", [this](std::unique_ptr<Store> store) -> Status {
    Above above;
    above.store = std::move(store);
    above.hierarchy = std::make_unique<zarr::Hierarchy>(above.store.get());
    H5ZARR_ASSIGN_OR_RETURN(const bool found, above.hierarchy->HasConsolidated());
    if (!found) return OkStatus();
    H5ZARR_RETURN_IF_ERROR(above.hierarchy->InvalidateConsolidated());
    removed_.push_back(std::move(above));
    return OkStatus();
  });
}

Status StoresAbove::RewriteConsolidated() {
  while (!removed_.empty()) {
    H5ZARR_RETURN_IF_ERROR(removed_.back().hierarchy->RewriteConsolidated());
    removed_.pop_back();
  }
  return OkStatus();
}

Result<std::vector<zarr::Json>> StoresAbove::Attributes() const {
  std::vector<zarr::Json> groups;
  H5ZARR_RETURN_IF_ERROR(ForEach(".zgroup", [&groups](std::unique_ptr<Store> store) -> Status {
    zarr::Hierarchy hierarchy(store.get());
    H5ZARR_ASSIGN_OR_RETURN(const std::optional<zarr::Node> node, hierarchy.Open(""));
    if (node) groups.push_back(node->attributes());
    return OkStatus();
  }));
  return groups;
}

}  // namespace h5zarr::shadow
