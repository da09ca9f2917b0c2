// What a snapshot says of the version that it is. Within mirror/ only.
#ifndef H5ZARR_MIRROR_SNAPSHOT_ITEMS_H_
#define H5ZARR_MIRROR_SNAPSHOT_ITEMS_H_

#include <map>
#include <string>

#include "mirror/versions.h"

namespace h5zarr::mirror {

inline constexpr char kNameItem[] = "versioned_hdf5_version";
inline constexpr char kTimestampItem[] = "versioned_hdf5_timestamp";
inline constexpr char kPreviousItem[] = "versioned_hdf5_previous";

inline std::map<std::string, std::string> ItemsOf(const Version& version) {
  return {{kNameItem, version.name}, {kTimestampItem, version.timestamp}, {kPreviousItem, version.previous}};
}

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_SNAPSHOT_ITEMS_H_
