// The versions of a versioned-hdf5 file: what its group `_version_data/versions` says of them.
#ifndef H5ZARR_MIRROR_VERSIONS_H_
#define H5ZARR_MIRROR_VERSIONS_H_

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace h5zarr::mirror {

inline constexpr std::string_view kVersionsPath = "/_version_data/versions";
// The empty version that all others come from; no version of a user's.
inline constexpr std::string_view kFirstVersion = "__first_version__";

struct Version {
  std::string name;
  std::string previous;       // kFirstVersion for one that begins
  std::string timestamp;      // as the file says it
  uint64_t timestamp_us = 0;  // microseconds since 1970, UTC
  bool committed = true;      // false: its writer did not come to its end
};

struct Versions {
  std::string current;       // the name of the version that comes before the next
  std::vector<Version> all;  // each after its previous one; else by time
};

// kUnsupported when `file` is none of versioned-hdf5's, kCorrupt when versions come from each other in
// a ring or from none.
Result<Versions> ReadVersions(hid_t file);

// Microseconds since 1970 of "2026-01-31 12:30:00.123456+0000". kCorrupt for anything else.
Result<uint64_t> ParseTimestamp(const std::string& text);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_VERSIONS_H_
