#include "h5/mounted_stores.h"

#include <set>
#include <utility>

#include "h5/connector.h"

namespace h5zarr {
namespace {

using LinkedObject = std::unique_ptr<Object, CloseLinked>;

// Whether the store is mounted somewhere below the file of number `top`.
Result<bool> IsMountedBelow(const shadow::StoreFile& store, unsigned long top) {
  if (!store.in_mounts() || store.fileno() == top) return false;
  for (void* file : store.holders()) {
    H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify({file, H5I_FILE}));
    if (identity.fileno == top) return true;
  }
  return false;
}

Result<bool> AnyIsMountedBelow(const Object& object) {
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity top, host::IdentifyByName(object.native, "/"));
  for (const std::shared_ptr<shadow::StoreFile>& store : GetConnector().stores.All()) {
    H5ZARR_ASSIGN_OR_RETURN(const bool mounted, IsMountedBelow(*store, top.fileno));
    if (mounted) return true;
  }
  return false;
}

Result<LinkedObject> Open(void* under, const H5VL_loc_params_t& loc) {
  H5I_type_t type = H5I_BADID;
  void* opened = H5VLobject_open(under, &loc, host::NativeConnector(), &type, host::DefaultDxpl(), nullptr);
  H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(opened, type, nullptr));
  return LinkedObject(AsObject(wrapper));
}

// Goes through groups as HDF5 will, and loads what stores it comes to.
class MountWalk {
 public:
  Status Walk(const Object& group) {
    H5ZARR_ASSIGN_OR_RETURN(const host::Identity here, host::Identify(group.native));
    if (!seen_.insert({here.fileno, here.token}).second) return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<host::LinkName> links, host::Links(group.native, H5_INDEX_NAME));
    for (const host::LinkName& link : links) {
      if (link.type != H5L_TYPE_HARD) continue;
      H5ZARR_ASSIGN_OR_RETURN(const host::Identity there, host::IdentifyByName(group.native, link.name.c_str()));
      if (there.type != H5O_TYPE_GROUP) continue;
      H5ZARR_ASSIGN_OR_RETURN(const LinkedObject next,
                              Open(group.native.under, host::LocByName(group.native.type, link.name.c_str())));
      if (there.fileno != here.fileno && next->store != nullptr) {
        H5ZARR_RETURN_IF_ERROR(next->store->Fill(next->node, true));
      }
      H5ZARR_RETURN_IF_ERROR(Walk(*next));
    }
    return OkStatus();
  }

 private:
  std::set<std::pair<unsigned long, uint64_t>> seen_;
};

}  // namespace

Status FillMounted(const Place& place) {
  H5ZARR_ASSIGN_OR_RETURN(const bool any, AnyIsMountedBelow(*place.object));
  if (!any) return OkStatus();
  const Object& object = *place.object;
  const char* path = place.path();
  H5ZARR_ASSIGN_OR_RETURN(const LinkedObject visited,
                          Open(object.native.under, host::LocByName(object.native.type, path != nullptr ? path : ".")));
  return visited->native.type == H5I_GROUP ? MountWalk().Walk(*visited) : OkStatus();
}

}  // namespace h5zarr
