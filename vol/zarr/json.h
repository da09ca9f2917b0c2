// JSON as Zarr stores hold it: member order kept, bare NaN/Infinity accepted when reading, never
// written.
#ifndef H5ZARR_ZARR_JSON_H_
#define H5ZARR_ZARR_JSON_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr::zarr {

using Json = nlohmann::ordered_json;

// Parses `text`. Integers up to UINT64_MAX and down to INT64_MIN are exact. Bare NaN, Infinity and
// -Infinity (zarr-python writes them into attributes) become floats of that value. Of members with
// the same name the last wins, as in Python. An escaped lone surrogate becomes U+FFFD. Nesting
// deeper than 200 levels, trailing text, numbers beyond a double's range and invalid UTF-8 are
// kCorrupt, saying where. `what` names the document in messages ("a/zarr.json").
Result<Json> ParseJson(std::string_view text, std::string_view what);

// The text of `json`, indented by two spaces as zarr-python does (`indent` -1: on one line).
// Non-finite numbers are written as the strings "NaN", "Infinity", "-Infinity" (the bare tokens are
// not JSON: other readers refuse the whole document). REQUIRES: strings are valid UTF-8 (other
// bytes are written as U+FFFD).
std::string DumpJson(const Json& json, int indent = 2);

// The text on one line, at most `max_bytes` of it: for messages.
std::string BriefJson(const Json& json, std::size_t max_bytes = 80);

// The value of member `name`, or null where `object` is no object or has no such member.
const Json* FindMember(const Json& object, std::string_view name);

// `json`, or member `name` of `object`, as an unsigned number or a string; nothing where it is
// absent or of another kind.
std::optional<uint64_t> AsUnsigned(const Json& json);
std::optional<uint64_t> UnsignedMember(const Json& object, std::string_view name);
std::optional<std::string> StringMember(const Json& object, std::string_view name);

// Where in `text` the value of the top-level object's member `name` lies (the last of several),
// found by matching brackets alone: a value of many megabytes costs one pass and no memory. Nothing
// when there is none, or when `text` is too broken to tell.
std::optional<std::string_view> FindMemberText(std::string_view text, std::string_view name);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_JSON_H_
