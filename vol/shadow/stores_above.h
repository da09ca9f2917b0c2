// StoresAbove: the stores that a store lies in (`x.zarr` above `x.zarr/group`). Their consolidated metadata
// copies what is below them, and changes with it; their groups' attributes may speak of it.
#ifndef H5ZARR_SHADOW_STORES_ABOVE_H_
#define H5ZARR_SHADOW_STORES_ABOVE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/status.h"
#include "store/store.h"
#include "zarr/hierarchy.h"

namespace h5zarr::shadow {

class StoresAbove {
 public:
  // `path`: the canonical name of the store below. Reads nothing.
  StoresAbove(std::string path, const Config& config) : path_(std::move(path)), config_(config) {}

  // Before a change at `path` or below: removes the copies, wherever there are some.
  Status InvalidateConsolidated();
  // Whether there is anything to write anew.
  bool invalidated() const { return !removed_.empty(); }
  // Writes anew what InvalidateConsolidated removed.
  Status RewriteConsolidated();
  // The attributes of the groups it lies in, the nearest first; none where it is no part of a larger store.
  Result<std::vector<zarr::Json>> Attributes() const;

 private:
  struct Above {
    std::unique_ptr<Store> store;
    std::unique_ptr<zarr::Hierarchy> hierarchy;
  };

  // Calls `visit` with each folder above that has a zarr.json or that document of v2, the nearest first. Ends
  // at the first failure.
  Status ForEach(const std::string& v2_document, const std::function<Status(std::unique_ptr<Store>)>& visit) const;
  // The store in the folder at `path`, which lies above; null where that is none that can be asked.
  Result<std::unique_ptr<Store>> Open(const std::string& path) const;

  std::string path_;
  Config config_;
  std::vector<Above> removed_;
};

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_STORES_ABOVE_H_
