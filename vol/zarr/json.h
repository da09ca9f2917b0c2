// JSON as Zarr stores hold it: member order kept, and every value that is not changed written as it
// was, also what Json has no value for.
#ifndef H5ZARR_ZARR_JSON_H_
#define H5ZARR_ZARR_JSON_H_

#include <cstdint>
#include <functional>
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
// the same name the last wins, as in Python. Larger integers, numbers beyond a double's range and
// strings with an escaped lone surrogate are kept verbatim: as a `binary` that holds the literal, which
// is no number and no string (PlainJson). Nesting deeper than 200 levels, trailing text and invalid
// UTF-8 are kCorrupt, saying where. `what` names the document in messages ("a/zarr.json").
Result<Json> ParseJson(std::string_view text, std::string_view what);

// The text of `json`, indented by two spaces as zarr-python does (`indent` -1: on one line).
// What ParseJson kept verbatim is written so; floats that are not finite as the bare tokens they were.
// Nobody else may put such floats into a document (the tokens are not JSON, and some readers refuse
// all of it): new ones are the strings "NaN", "Infinity", "-Infinity". REQUIRES: strings are valid
// UTF-8 (other bytes are written as U+FFFD).
std::string DumpJson(const Json& json, int indent = 2);

// `json` with what was kept verbatim replaced by the nearest plain value: numbers by doubles, which may
// be infinite; lone surrogates in strings by U+FFFD.
Json PlainJson(Json json);

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

// Calls `visit(name, value)` with every member of the object `text`, found in the same way: the name as
// it is written, without its quotes, and the value's text. False when `text` is too broken to tell.
bool ForEachMemberText(std::string_view text,
                       const std::function<void(std::string_view name, std::string_view value)>& visit);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_JSON_H_
