#include "h5/store_place.h"

#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "location/location.h"
#include "store/url.h"
#include "zarr/hierarchy.h"
#include "zarr/node_path.h"

namespace h5zarr {
namespace {

Status RefuseOccupied(const FileName& name) {
  return Status(StatusCode::kAlreadyExists,
                "unable to create '" + name.given + "': a folder that is neither empty nor a Zarr store is there",
                EISDIR);
}

Status RefuseExisting(const FileName& name) {
  return Status(StatusCode::kAlreadyExists, "unable to create '" + name.given + "': file exists", EEXIST);
}

// In a bucket a folder is there as long as something is in it.
Status MakeRoomInBucket(const FileName& name, unsigned flags, const Config& config) {
  H5ZARR_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenLocation(name.path, true, config));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ListEntry> entries, store->List(""));
  if (entries.empty()) return OkStatus();
  if ((flags & H5F_ACC_EXCL) != 0) return RefuseExisting(name);
  zarr::Hierarchy hierarchy(store.get());
  H5ZARR_ASSIGN_OR_RETURN(const auto root, hierarchy.Open(""));
  if (!root || root->implicit) return RefuseOccupied(name);
  return store->DeletePrefix("");
}

}  // namespace

bool IsMadeStore(const FileName& name, const Config& config) {
  if (!IsS3Url(name.path)) return HasRootDocument(name.path);
  const auto store = OpenLocation(name.path, false, config);
  if (!store.ok()) return false;
  zarr::Hierarchy hierarchy(store->get());
  const auto root = hierarchy.Open("");
  return root.ok() && *root && !(*root)->implicit;
}

bool IsRoomForStore(const FileName& name) {
  return !name.remote && name.looks_like_zarr && IsFolder(name.path) && IsEmptyFolder(name.path);
}

Status MakeRoom(const FileName& name, unsigned flags, const Config& config) {
  if (IsS3Url(name.path)) return MakeRoomInBucket(name, flags, config);
  struct stat status;
  if (lstat(name.path.c_str(), &status) != 0) return OkStatus();
  if (IsRoomForStore(name)) return OkStatus();
  if ((flags & H5F_ACC_EXCL) != 0) return RefuseExisting(name);
  if (S_ISREG(status.st_mode) && status.st_size == 0) {
    if (unlink(name.path.c_str()) == 0) return OkStatus();
    return ErrnoError(errno, "unable to create '" + name.given + "'");
  }
  if (!IsFolder(name.path)) {
    return Status(StatusCode::kAlreadyExists,
                  "unable to create '" + name.given + "': a file that is no Zarr store is there", ENOTDIR);
  }
  if (IsEmptyFolder(name.path)) return OkStatus();
  if (!HasRootDocument(name.path) && !FindIcechunk(name.path)) {
    if (access(name.path.c_str(), R_OK | X_OK) != 0) return ErrnoError(errno, "unable to create '" + name.given + "'");
    return RefuseOccupied(name);
  }
  return RemoveStore(name, config);
}

Status ClaimStore(const FileName& name, const Config& config) {
  H5ZARR_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenLocation(name.path, true, config));
  const bool is_v2 = config.zarr_format == 2;
  const std::string_view document =
      is_v2 ? R"({"zarr_format":2})" : R"({"zarr_format":3,"node_type":"group","attributes":{}})";
  H5ZARR_ASSIGN_OR_RETURN(const bool is_ours,
                          store->WriteNew(is_v2 ? zarr::kGroupV2 : zarr::kDocumentV3, AsBytes(document)));
  return is_ours ? OkStatus() : RefuseExisting(name);
}

Status RemoveStore(const FileName& name, const Config& config) {
  H5ZARR_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenLocation(name.path, true, config));
  return store->DeletePrefix("");
}

}  // namespace h5zarr
