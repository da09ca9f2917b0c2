#include "mirror/lock_mirror.h"

#include <set>
#include <string>

#include "icechunk/repository.h"

namespace h5zarr::mirror {
namespace {

// Something else in the folder is not ours to build upon. What a run that was killed at once leaves
// behind is.
Status CheckFolder(Store& store) {
  const std::set<std::string> ours = {"chunks", "manifests", "refs", "snapshots", "transactions"};
  H5ZARR_ASSIGN_OR_RETURN(const bool found, icechunk::IsRepository(store));
  if (found) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const auto entries, store.List(""));
  for (const ListEntry& entry : entries) {
    if (ours.contains(entry.name)) continue;
    return AlreadyExistsError(store.Describe() + " has '" + entry.name + "' in it, and is no Icechunk repository");
  }
  return OkStatus();
}

}  // namespace

Result<std::shared_ptr<void>> LockMirror(Store* store) {
  H5ZARR_RETURN_IF_ERROR(CheckFolder(*store));
  H5ZARR_RETURN_IF_ERROR(icechunk::Repository::WriteFirstSnapshot(store));
  // This object never changes, so the lock is always the same.
  return store->Lock(icechunk::SnapshotKey(icechunk::kFirstSnapshot), kWholeArray);
}

}  // namespace h5zarr::mirror
