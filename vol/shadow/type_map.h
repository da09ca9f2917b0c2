// type_map: HDF5 datatypes ↔ Zarr data types, both directions, by the mapping table of the format
// document (README.md, "How HDF5 is stored").
//
// Pure functions over property-less HDF5 identifiers; no file, no store. They never keep an
// identifier (HDF5 would count it among the program's own): types are rebuilt from TypeText.
#ifndef H5ZARR_SHADOW_TYPE_MAP_H_
#define H5ZARR_SHADOW_TYPE_MAP_H_

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "host/handle.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

using zarr::Json;

// How the elements of an HDF5 dataset lie in a Zarr array.
struct ElementMap {
  enum class Form : uint8_t {
    kPlain,            // the bytes of `stored_type`, which HDF5 converts to what the program wants
    kUtf32,            // UTF-32 in Zarr, as a whole or in members; HDF5 shows UTF-8 of the same size
                       // (padded with NUL): see Utf32Parts
    kVlenString,       // VlenRef ↔ char*
    kVlenSequence,     // VlenRef of packed items ↔ hvl_t of `item` elements
    kObjectReference,  // VlenRef of a path ↔ object reference (dataset of references)
    kJsonElement,      // VlenRef of one JSON text ↔ a reference of another kind, or an element that
                       // holds vlen or reference members
  };
  Form form = Form::kPlain;
  DType dtype;                      // of the Zarr array
  std::vector<uint64_t> elem_dims;  // trailing Zarr dimensions that make up one HDF5 element
                                    // (array datatypes, types stored as bytes); usually none
  Json hdf5_type;                   // what goes to `_hdf5.type`; null when dtype says it all
  // Bytes of one HDF5 element as stored: dtype.item_bytes * prod(elem_dims).
  uint64_t stored_bytes() const;
  bool read_only = false;  // JSON in a form of another program's that we do not write
  bool verbatim = false;   // kPlain: the stored bytes are those of `hdf5_type` itself, padding and all
};

// For a dataset that is being created. kUnsupported, naming the type, for what has no form here.
Result<ElementMap> MapToZarr(hid_t type, int zarr_format);

// For an array that is being opened: the map, given its Zarr type, its `_hdf5.type` (null where
// there is none) and the rank of trailing dimensions is implied by hdf5_type. A `_hdf5.type` that
// contradicts the dtype is kCorrupt. kUnsupported names types HDF5 cannot show.
Result<ElementMap> MapFromZarr(const DType& dtype, const std::vector<uint64_t>& shape, const Json& hdf5_type);

// The HDF5 type a program sees. The caller owns it.
Result<Handle> ReportedType(const ElementMap& map);
// kPlain and kUtf32: an HDF5 type whose bytes are exactly the stored bytes of one element (packed,
// in stored byte order), for H5Tconvert. For kUtf32 they are that once all Utf32Parts are
// UTF-8. The caller owns it.
Result<Handle> StoredType(const ElementMap& map);
// The map of elements whose bytes are those of `type` as it is: an HDF5 file's, never a store's. kUnsupported
// for elements that refer to others.
Result<ElementMap> MapVerbatim(hid_t type);
// Where UTF-32 text lies in one element of `dtype`: `texts` of `text_bytes` each, from offset_bytes
// on. A string has one part; structs may have several. Calls no HDF5.
struct Utf32Part {
  uint64_t offset_bytes = 0;
  uint64_t text_bytes = 0;
  uint64_t texts = 1;
  Endian endian = Endian::kLittle;
};
std::vector<Utf32Part> Utf32Parts(const DType& dtype);
// kVlenSequence: the type of one stored item.
Result<Handle> StoredItemType(const ElementMap& map);

// An HDF5 type as JSON and back, lossless for every type libhdf5 has: predefined types by their
// name ("H5T_STD_I32LE"), others as objects in the words of the HDF5/JSON vocabulary ("class",
// "base", "charSet", "strPad", "length", "mapping", "fields", "dims", "tag") extended by "size",
// "offset", "precision"; what that cannot say as {"class": "encoded", "base64": H5Tencode}.
// Committed types are described by their structure.
Result<Json> TypeToJson(hid_t type);
Result<Handle> TypeFromJson(const Json& json);

// h5py's own spelling of boolean: enum over int8 with FALSE = 0, TRUE = 1.
Handle MakeBoolType();
bool IsBoolType(hid_t type);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_TYPE_MAP_H_
