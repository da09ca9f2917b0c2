// A Store that shows one snapshot of an Icechunk repository: documents and chunks under the keys that
// they have in any Zarr v3 store. Read-only.
#ifndef H5ZARR_ICECHUNK_ICECHUNK_STORE_H_
#define H5ZARR_ICECHUNK_ICECHUNK_STORE_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/store.h"

namespace h5zarr::icechunk {

// `place`: where the repository is. `version`: as for Repository::Resolve. `node_path`: the group, or
// array, that is the store's root ("" for the repository's own). kNotFound when there is no such
// repository, version or node, kCorrupt when what was read is damaged.
//
// Chunks that are outside of the repository ("virtual" ones) are an error when they are read
// (kUnsupported): Icechunk reads them only where its user allows each place.
Result<std::unique_ptr<Store>> OpenSnapshot(std::unique_ptr<Store> place, std::string_view version,
                                            std::string_view node_path);

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_ICECHUNK_STORE_H_
