// JSON as Zarr stores hold it: member order kept, bare NaN/Infinity accepted when reading, never
// written.
#ifndef H5ZARR_ZARR_JSON_H_
#define H5ZARR_ZARR_JSON_H_

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr::zarr {

using Json = nlohmann::ordered_json;

// Parses `text`. Integers up to UINT64_MAX and down to INT64_MIN are exact. Bare NaN, Infinity and
// -Infinity (zarr-python writes them into attributes) become floats of that value. Nesting deeper
// than 200 levels, trailing text and invalid UTF-8 are kCorrupt, saying where. `what` names the
// document in messages ("a/zarr.json").
Result<Json> ParseJson(std::string_view text, std::string_view what);

// The text of `json`, indented by two spaces as zarr-python does. Non-finite numbers are written as
// the strings "NaN", "Infinity", "-Infinity" (the bare tokens are not JSON: other readers refuse the
// whole document). REQUIRES: strings are valid UTF-8.
std::string DumpJson(const Json& json);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_JSON_H_
