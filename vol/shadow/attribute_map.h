// attribute_map: values of HDF5 attributes ↔ JSON.
//
// A JSON attribute of a foreign store has a natural HDF5 form; an HDF5 attribute whose value does
// not come back the same through that form carries a description beside it (`_hdf5.attrs[name]`).
#ifndef H5ZARR_SHADOW_ATTRIBUTE_MAP_H_
#define H5ZARR_SHADOW_ATTRIBUTE_MAP_H_

#include <hdf5.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/dtype.h"
#include "base/status.h"
#include "host/handle.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

using zarr::Json;

// An attribute's value in memory, ready for H5Awrite / as H5Aread left it. Owns its vlen parts
// (made with malloc) and frees them with the buffer.
class AttributeValue {
 public:
  AttributeValue() = default;
  AttributeValue(Handle type, Handle space, Buffer data);
  AttributeValue(AttributeValue&&) = default;
  AttributeValue& operator=(AttributeValue&&) = default;
  ~AttributeValue();  // H5Treclaim

  hid_t type() const { return type_.get(); }    // also the memory type of data()
  hid_t space() const { return space_.get(); }  // scalar, null or simple
  void* data() { return data_.data(); }
  const void* data() const { return data_.data(); }

 private:
  Handle type_;
  Handle space_;
  Buffer data_;
};

// References are stored as what they lead to. The first two functions translate between the 8 bytes
// of an hobj_ref_t in the shadow and the path of its target ("": a null reference), the others
// between any other type of reference and its JSON (see reference_map.h). Empty functions: there is
// no store, and only null references can be told.
struct ReferenceResolver {
  std::function<std::string(const void* reference)> to_path;
  std::function<Result<bool>(const std::string& path, void* reference)> from_path;  // false: no such object
  std::function<Result<Json>(hid_t type, const void* reference)> to_json;
  std::function<Status(const Json& json, hid_t type, void* reference)> from_json;
};

// What an attribute is stored as.
struct AttributeJson {
  Json value;
  Json description;  // for `_hdf5.attrs[name]`: {"type": …, "shape": …}; null when value says it all
};

// Bytes that are no number or text become base64 or hex text; nothing is lost, and a description
// says how to read it.
Result<AttributeJson> AttributeToJson(const AttributeValue& value, const ReferenceResolver& references);

// `description` is null for an attribute that has none; one that the value does not fit (another
// program changed the value) counts as none. Natural forms: text → scalar variable UTF-8 string
// (fixed if it has a NUL); bool → h5py's; integers → int64 (uint64 above INT64_MAX); floats → float64;
// a (nested, rectangular) list of such → an array of the common type; [] → float64 of shape (0);
// null → null dataspace of float64; objects and ragged or mixed lists → their compact JSON text as
// a scalar variable UTF-8 string that is padded with spaces, which AttributeToJson makes that JSON again.
// LINDI's and hdmf-zarr's {"_REFERENCE": {…, "path"}} → an object reference (null where
// there is no such object).
Result<AttributeValue> AttributeFromJson(const Json& value, const Json& description,
                                         const ReferenceResolver& references);

// Whether an attribute without a description is shown as its JSON text; and the JSON of which a program's attribute
// is the text, if it is that of such JSON and of the type of such text, or a string as most write them. It may have
// blanks, and escapes of what is not ASCII, that the shown text has not; numbers in other words make it none.
bool IsShownAsText(const Json& stored);
std::optional<Json> JsonOfText(const AttributeJson& attribute);

// One value of any type as JSON and back (members and elements recursively): numbers; strings
// (invalid UTF-8 as {"base64": …}); NaN and infinities as text, NaNs with payload as hex; enums by
// number, but h5py's booleans as true and false; opaque and custom numbers as base64; compounds as
// lists in member order; arrays and vlen as lists; references as paths.
Result<Json> ElementToJson(hid_t type, const void* element, const ReferenceResolver& references);
// Writes one element of `type` (memory form, zeroed by the caller) from `json`.
Status ElementFromJson(const Json& json, hid_t type, void* element, const ReferenceResolver& references);

// xarray keeps the attribute `_FillValue` of v3 arrays of floats as base64 of a little-endian
// float64 and fails on anything else. EncodedFillValue: an attribute's value so; NaturalFillValue:
// back to a number. Both leave alone what is no such value, other types and other formats.
// FillValueDescription: what makes AttributeFromJson give a foreign `value` the array's own type, as
// HDF5's readers expect of `_FillValue`; null where value or type are no number.
Json EncodedFillValue(const Json& value, const DType& dtype, int zarr_format);
Json NaturalFillValue(const Json& value, const DType& dtype, int zarr_format);
Json FillValueDescription(const DType& dtype, const Json& value);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_ATTRIBUTE_MAP_H_
