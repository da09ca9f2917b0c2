#include "shadow/link_order.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "store/temp_name.h"

namespace h5zarr::shadow {
namespace {

using host::NativeObject;

Status Rename(NativeObject group, const std::string& from, const std::string& to) {
  const H5VL_loc_params_t from_loc = host::LocByName(group.type, from.c_str());
  const H5VL_loc_params_t to_loc = host::LocByName(group.type, to.c_str());
  return host::KeepingLinkCount(group, [&]() -> Status {
    if (H5VLlink_move(group.under, &from_loc, group.under, &to_loc, host::NativeConnector(),
                      H5P_LST_LINK_CREATE_ID_g, H5P_LST_LINK_ACCESS_ID_g, host::DefaultDxpl(),
                      nullptr) < 0) {
      return host::AlreadyReported();
    }
    return OkStatus();
  });
}

// A link that gets a name counts as made then.
Status MakeLast(NativeObject group, const std::string& name) {
  const std::string between = NextTempName();
  H5ZARR_RETURN_IF_ERROR(Rename(group, name, between));
  return Rename(group, between, name);
}

}  // namespace

Status OrderLinks(NativeObject group, const std::vector<std::string>& names) {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> made,
                          host::LinkNames(group, H5_INDEX_CRT_ORDER));
  std::set<std::string> left(made.begin(), made.end());
  std::vector<std::string> wanted;
  for (const std::string& name : names) {
    if (left.erase(name) != 0) wanted.push_back(name);
  }
  std::copy_if(made.begin(), made.end(), std::back_inserter(wanted),
               [&left](const std::string& name) { return left.count(name) != 0; });
  const auto first = std::mismatch(wanted.begin(), wanted.end(), made.begin(), made.end()).first;
  for (auto name = first; name != wanted.end(); ++name) {
    H5ZARR_RETURN_IF_ERROR(MakeLast(group, *name));
  }
  return OkStatus();
}

}  // namespace h5zarr::shadow
