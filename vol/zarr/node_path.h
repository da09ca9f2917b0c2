// Keys of metadata documents, and, within zarr/ only, which names may stand in a node's path.
#ifndef H5ZARR_ZARR_NODE_PATH_H_
#define H5ZARR_ZARR_NODE_PATH_H_

#include <string>
#include <string_view>

#include "base/status.h"

namespace h5zarr::zarr {

inline constexpr std::string_view kDocumentV3 = "zarr.json";
inline constexpr std::string_view kArrayV2 = ".zarray";
inline constexpr std::string_view kGroupV2 = ".zgroup";
inline constexpr std::string_view kAttributesV2 = ".zattrs";
inline constexpr std::string_view kConsolidatedV2 = ".zmetadata";

// `name` below `path`; `path` may be the root, "".
std::string JoinPath(std::string_view path, std::string_view name);
// The path above `path`: "" for a node of the root. REQUIRES: `path` is not "".
std::string ParentPath(std::string_view path);

// Whether a node of this name could be told from the metadata of the group around it, and stays
// within the store. Weaker than CheckNodeName, for what other writers made.
bool CanNameNode(std::string_view name);
// CanNameNode for each name of `path`; true for "".
bool CanBePath(std::string_view path);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_NODE_PATH_H_
