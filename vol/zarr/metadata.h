// Metadata documents of Zarr v3 (zarr.json) and v2 (.zarray, .zgroup, .zattrs) as values, and the
// one normalised form that everything above works with.
//
// Pure: no store, no I/O. Specs: Zarr core v3.1; Zarr v2; numcodecs for v2 codec configurations.
#ifndef H5ZARR_ZARR_METADATA_H_
#define H5ZARR_ZARR_METADATA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/dtype.h"
#include "base/status.h"
#include "zarr/json.h"

namespace h5zarr::zarr {

// One codec as metadata name it. v2's order, filters and compressor are normalised to this.
struct CodecSpec {
  std::string name;    // "gzip", "sharding_indexed", "numcodecs.delta", …
  Json configuration;  // object, or null for none
  bool operator==(const CodecSpec&) const = default;
};

// How chunk coordinates become a key below the array.
struct ChunkKeyEncoding {
  enum class Kind : uint8_t { kDefault, kV2 };
  Kind kind = Kind::kDefault;
  char separator = '/';

  // kDefault: "c/1/0", "c" for rank 0.  kV2: "1.0", "0" for rank 0.
  std::string Key(std::span<const uint64_t> chunk_coords) const;
  // The coordinates behind `key` (relative to the array), or nothing where it is not a chunk key
  // of this encoding and rank, or is spelled in a non-canonical way ("01").
  std::optional<std::vector<uint64_t>> Parse(std::string_view key, std::size_t rank) const;
  bool operator==(const ChunkKeyEncoding&) const = default;
};

// The value of elements that no chunk holds.
struct FillValue {
  bool defined = false;  // false: v2 null. Elements then read as zero bytes, as HDF5's default is.
  // Exactly dtype.item_bytes stored bytes (in the dtype's byte order); for vlen kinds the content of
  // the string. Meaningful (zeros, empty) also when not `defined`.
  std::vector<std::byte> bytes;
  // Where it is not the same for all elements: the values of a block of them (of whole last dimensions,
  // which every chunk holds whole), one behind the other; else empty. No document says it: HDF5 has arrays
  // as elements.
  std::vector<std::byte> block;
  bool operator==(const FillValue&) const = default;
};

struct ArrayMetadata {
  int zarr_format = 3;
  std::vector<uint64_t> shape;
  DType dtype;
  // Of the chunks that are stored as objects: shards, where there are shards. Never 0 (a 0 in v2
  // metadata, legal for a zero-length dimension, is read as 1).
  std::vector<uint64_t> chunk_shape;
  ChunkKeyEncoding key_encoding;
  FillValue fill;
  // In encoding order. v3: as given but for `bytes`, which is folded into dtype.endian and left out;
  // an array → bytes codec other than bytes stays. v2: [transpose if order F] + filters +
  // [compressor]; the vlen object codec is among the filters.
  std::vector<CodecSpec> codecs;
  std::vector<std::optional<std::string>> dimension_names;  // empty: none given
  Json attributes = Json::object();                         // user attributes, whatever the format keeps them in
  // The document this was parsed from (v3 zarr.json, whose `attributes` is null here to keep its
  // place; v2 .zarray), or null. Writing starts from it, so that unknown members and the order of
  // members survive. A new array may give a `data_type` here to choose among spellings of its dtype.
  Json document;

  std::size_t rank() const { return shape.size(); }
};

struct GroupMetadata {
  int zarr_format = 3;
  Json attributes = Json::object();
  Json document;                  // as above, without consolidated_metadata; .zgroup
  bool has_consolidated = false;  // v3: an inline consolidated_metadata member is (was) there
};

// Parses an array document. Every shape, product and count is checked: an array whose chunk does not
// fit in 2^63 bytes, a rank above 32, a sharding whose inner chunks do not divide, an unknown member
// without must_understand:false, an unknown data type, fill value or key encoding are errors that
// name the member, its value and what was expected. Codec *names* are not checked here (that is
// CodecChain::Make), so that an array with an unknown codec can still be listed and described.
// v3: `text` is zarr.json. v2: `text` is .zarray, `attributes_text` .zattrs (empty where absent).
Result<ArrayMetadata> ParseArrayV3(std::string_view text, std::string_view what);
Result<ArrayMetadata> ParseArrayV2(std::string_view text, std::string_view attributes_text, std::string_view what);
Result<GroupMetadata> ParseGroupV3(std::string_view text, std::string_view what);
Result<GroupMetadata> ParseGroupV2(std::string_view text, std::string_view attributes_text, std::string_view what);

// In what `now` differs from `was` such that chunks of the one are not to be read as the other's, and how:
// "data type is \"float64\", was \"int32\"". Nothing where they are the same but for extents, attributes, names of
// dimensions and what no document says (FillValue::block).
std::optional<std::string> DifferenceOfElements(const ArrayMetadata& was, const ArrayMetadata& now);

// "array" or "group" of a v3 document without parsing all of it.
Result<std::string> NodeTypeV3(std::string_view text, std::string_view what);

// The documents that say `metadata`, as texts: zarr.json for v3; .zarray/.zgroup and .zattrs for v2
// (`attributes` is empty where there are none). Members come from metadata.document where it has them
// and are replaced where the value differs. v3 always writes objects for codecs and `endian` for
// multi-byte types.
struct MetadataTexts {
  std::string document;
  std::string attributes;  // v2 only
};
Result<MetadataTexts> FormatArray(const ArrayMetadata& metadata);
Result<MetadataTexts> FormatGroup(const GroupMetadata& metadata);

// v3 data_type / v2 dtype and back; fill values in every spelling of either format. Exposed for
// tests and for attributes of type `_FillValue`.
Result<DType> ParseDTypeV3(const Json& data_type);
Result<Json> FormatDTypeV3(const DType& dtype);
Result<DType> ParseDTypeV2(const Json& dtype);
Result<Json> FormatDTypeV2(const DType& dtype);
Result<FillValue> ParseFillValue(const Json& value, const DType& dtype, int zarr_format);
Result<Json> FormatFillValue(const FillValue& fill, const DType& dtype, int zarr_format);

// Decodes or encodes standard base64 (RFC 4648, with padding).
Result<std::vector<std::byte>> DecodeBase64(std::string_view text);
std::string EncodeBase64(ByteSpan bytes);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_METADATA_H_
