// json_text: bytes as JSON strings. HDF5 strings may hold anything; JSON holds valid UTF-8 only.
// Internal to shadow/ and transfer/.
#ifndef H5ZARR_SHADOW_JSON_TEXT_H_
#define H5ZARR_SHADOW_JSON_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/dtype.h"
#include "base/status.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

using zarr::AsUnsigned;
using zarr::Json;
using zarr::StringMember;
using zarr::UnsignedMember;

// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsValidUtf8(std::string_view text);

// `text` as a JSON string, or {"base64": …} where it is not valid UTF-8; and back.
Json TextToJson(std::string_view text);
std::optional<std::string> TextFromJson(const Json& json);

// A name of HDF5's as the name of a member, and back. One that is no valid UTF-8 becomes base64 behind a NUL, which
// no name has.
std::string KeyOfName(std::string_view name);
std::string NameOfKey(std::string_view key);

// The path within a reference of LINDI's or hdmf-zarr's, {"_REFERENCE": {"source": ".", "path": …}}, or
// null: also where it leads to another store.
const Json* ReferencePath(const Json& json);

// NUL-padded UTF-32 text as NUL-padded UTF-8 of the same size, which is always enough, in place.
// What is no code point becomes U+FFFD. REQUIRES: the size is a multiple of 4.
void Utf32ToUtf8(MutableByteSpan text, Endian endian);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_JSON_TEXT_H_
