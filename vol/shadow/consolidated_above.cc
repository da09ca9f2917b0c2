#include "shadow/consolidated_above.h"

#include <utility>

#include "store/local_store.h"

namespace h5zarr::shadow {

Status ConsolidatedAbove::Invalidate() {
  for (std::size_t slash = path_.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path_.rfind('/', slash - 1)) {
    LocalStoreOptions options;
    options.durable = durable_;
    Above above;
    above.store = MakeLocalStore(path_.substr(0, slash), options);
    // Most folders are no store: no more is asked of them than that.
    H5ZARR_ASSIGN_OR_RETURN(const auto v3, above.store->ObjectBytes("zarr.json"));
    H5ZARR_ASSIGN_OR_RETURN(const auto v2, above.store->ObjectBytes(".zmetadata"));
    if (!v3 && !v2) continue;
    above.hierarchy = std::make_unique<zarr::Hierarchy>(above.store.get());
    H5ZARR_ASSIGN_OR_RETURN(const bool found, above.hierarchy->HasConsolidated());
    if (!found) continue;
    H5ZARR_RETURN_IF_ERROR(above.hierarchy->InvalidateConsolidated());
    removed_.push_back(std::move(above));
  }
  return OkStatus();
}

Status ConsolidatedAbove::Rewrite() {
  while (!removed_.empty()) {
    H5ZARR_RETURN_IF_ERROR(removed_.back().hierarchy->RewriteConsolidated());
    removed_.pop_back();
  }
  return OkStatus();
}

}  // namespace h5zarr::shadow
