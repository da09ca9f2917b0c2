// ConsolidatedAbove: consolidated metadata of the stores that a store lies in (`x.zarr` above
// `x.zarr/group`). They hold copies of what is below them, which change with it.
#ifndef H5ZARR_SHADOW_CONSOLIDATED_ABOVE_H_
#define H5ZARR_SHADOW_CONSOLIDATED_ABOVE_H_

#include <memory>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/status.h"
#include "store/store.h"
#include "zarr/hierarchy.h"

namespace h5zarr::shadow {

class ConsolidatedAbove {
 public:
  // `path`: the canonical name of the store below. Reads nothing.
  ConsolidatedAbove(std::string path, const Config& config)
      : path_(std::move(path)), config_(config) {}

  // Before a change at `path` or below: removes the copies, wherever there are some.
  Status Invalidate();
  bool removed() const { return !removed_.empty(); }
  // Writes anew what Invalidate removed.
  Status Rewrite();
  // The attributes of the groups it lies in, the nearest first; none where it is no part of a larger store.
  Result<std::vector<zarr::Json>> Attributes() const;

 private:
  struct Above {
    std::unique_ptr<Store> store;
    std::unique_ptr<zarr::Hierarchy> hierarchy;
  };

  // The store in the folder at `path`, which lies above; null where that is none that can be asked.
  Result<std::unique_ptr<Store>> OpenAbove(const std::string& path) const;

  std::string path_;
  Config config_;
  std::vector<Above> removed_;
};

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_CONSOLIDATED_ABOVE_H_
