// versioned_map: which datasets are virtual ones of versioned-hdf5 files. Each chunk of one is a whole chunk of the
// dataset `raw_data`, which holds those of all versions, one below the other; slot_map says which.
#ifndef H5ZARR_TRANSFER_VERSIONED_MAP_H_
#define H5ZARR_TRANSFER_VERSIONED_MAP_H_

#include <optional>
#include <string>
#include <string_view>

namespace h5zarr::transfer {

// Where the chunks of the dataset at `path` are, if that is a path of one in a version:
// "…/_version_data/versions/<version>/<name>" has them in "…/_version_data/<name>/raw_data".
std::optional<std::string> RawDataPath(std::string_view path);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_VERSIONED_MAP_H_
