// versioned_map: the virtual datasets of versioned-hdf5 files. Each chunk of one is a whole chunk of the
// dataset `raw_data`, which holds those of all versions, one below the other.
#ifndef H5ZARR_TRANSFER_VERSIONED_MAP_H_
#define H5ZARR_TRANSFER_VERSIONED_MAP_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace h5zarr::transfer {

// Where the chunks of the dataset at `path` are, if that is a path of one in a version:
// "…/_version_data/versions/<version>/<name>" has them in "…/_version_data/<name>/raw_data".
std::optional<std::string> RawDataPath(std::string_view path);

inline constexpr uint64_t kNoSlot = UINT64_MAX;

// Of each chunk of a virtual dataset of `extent`, in C order, which chunk of `raw_data` it is (counted along
// the first dimension), or kNoSlot where it is fill. kUnsupported unless every mapping of `dcpl` says that of
// one chunk, and of the dataset `raw_path` of the same file.
Result<std::vector<uint64_t>> SlotsOf(hid_t dcpl, const std::string& raw_path,
                                      std::span<const uint64_t> extent,
                                      std::span<const uint64_t> chunk);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_VERSIONED_MAP_H_
