// number_json: integers, bitfields and floats of any HDF5 type as JSON. Internal to shadow/.
#ifndef H5ZARR_SHADOW_NUMBER_JSON_H_
#define H5ZARR_SHADOW_NUMBER_JSON_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

using zarr::Json;

// A number that Zarr has no type for is base64 of its bytes. Floats are as short as their width
// allows.
Result<Json> IntegerElementToJson(hid_t type, const void* element);
Result<Json> FloatElementToJson(hid_t type, const void* element);
// kCorrupt where `json` is no number that `type` can hold.
Status IntegerElementFromJson(const Json& json, hid_t type, void* element);
Status FloatElementFromJson(const Json& json, hid_t type, void* element);

// "NaN", "Infinity", "-Infinity".
std::optional<double> NonFiniteWord(std::string_view word);
// 1.1f as 1.1, not as 1.10000002384185791015625.
double ShortestDouble(float value);

// Bytes as base64 text, and back into exactly `size_bytes` bytes.
Json BytesElementToJson(const void* element, std::size_t size_bytes);
Status BytesElementFromJson(const Json& json, void* element, std::size_t size_bytes);

// kCorrupt: `json` is no element of `type`.
Status BadElement(const Json& json, hid_t type);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_NUMBER_JSON_H_
