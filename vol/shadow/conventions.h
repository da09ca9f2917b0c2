// conventions: what LINDI, hdmf-zarr and NCZarr say in attributes of their own, and which attributes
// HDF5 programs do not see. Pure functions over documents. Internal to shadow/.
#ifndef H5ZARR_SHADOW_CONVENTIONS_H_
#define H5ZARR_SHADOW_CONVENTIONS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shadow/type_map.h"
#include "zarr/json.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {

using zarr::Json;

// An attribute of the formats we read and write: never shown to HDF5 programs, whose own of such a
// name are kept in `_hdf5.escaped`; so are those whose name is no UTF-8 (KeyOfName).
bool IsHiddenAttribute(std::string_view name);

// One dimension of extent 1 stands for a scalar: LINDI's _SCALAR, hdmf-zarr's zarr_dtype "scalar",
// NCZarr's `scalar` and its dimension `_scalar_`.
bool IsScalarByConvention(const zarr::ArrayMetadata& metadata);

// hdmf-zarr's arrays name dimensions that are none of netCDF's ("dim0").
bool NamesAreLabels(const Json& attributes);

// Links of a group: entries of `_LINKS` (hdmf-zarr and ours), of `zarr_link` (older hdmf-zarr) and of
// `_hdf5.user_links` (kind "user"), as far as they have the form.
struct StoredLink {
  std::string name, source, path, kind;
  int link_class = 0;  // of a user-defined one
  std::string value;
  bool operator==(const StoredLink&) const = default;
};
std::vector<StoredLink> StoredLinks(const Json& attributes);

// LINDI's stub of a soft link: the path it leads to.
std::optional<std::string> SoftLinkStub(const Json& attributes);

// LINDI's array whose chunks are only in an HDF5 file.
struct ExternalArray {
  std::string url;
  std::string name;                 // of the dataset in the file
  std::optional<std::string> file;  // what `url` is, if it is one: a local path, or a URL that opens
};
std::optional<ExternalArray> ExternalArrayLink(const Json& attributes);

// References of hdmf-zarr's attributes, {"zarr_dtype": "object", "value": …} and the path in `.specloc`,
// in the form {"_REFERENCE": …}; any other value as it is.
Json WithPlainReferences(std::string_view name, const Json& value);

// LINDI keeps compounds and references as JSON objects in an array of objects. MayHoldObjects: only
// its first element tells. ObjectElements: the map for them, given that element; nothing where the
// elements are texts. kUnsupported names a member's type that is not known.
bool MayHoldObjects(const zarr::ArrayMetadata& metadata);
Result<std::optional<ElementMap>> ObjectElements(const zarr::ArrayMetadata& metadata, const Json& first);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_CONVENTIONS_H_
