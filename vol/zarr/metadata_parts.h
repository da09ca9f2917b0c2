// What the readers and writers of both metadata formats share. Internal to zarr/, but for the limits.
#ifndef H5ZARR_ZARR_METADATA_PARTS_H_
#define H5ZARR_ZARR_METADATA_PARTS_H_

#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "zarr/json.h"
#include "zarr/metadata.h"

namespace h5zarr::zarr {

inline constexpr std::size_t kMaxRank = 32;              // HDF5's limit too
inline constexpr uint64_t kMaxItemBytes = 256ull << 20;  // of one element: its fill is kept in memory
inline constexpr const char* kMaxItemText = "256 MiB";

// Runs `body` and turns what third parties throw into a Status.
template <typename Body>
auto NoThrow(std::string_view what, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return NoSpaceError(std::string(what) + ": out of memory");
  } catch (const std::exception& error) {
    return InternalError(std::string(what) + ": " + error.what());
  }
}

// The member of `document`, or kCorrupt saying that it is missing.
Result<const Json*> RequireMember(const Json& document, std::string_view name);

// An integer within [0, INT64_MAX]; `what` names it in the message.
Result<uint64_t> ParseExtent(const Json& value, std::string_view what);
// A list of them, at most kMaxRank long.
Result<std::vector<uint64_t>> ParseExtents(const Json& value, std::string_view what);

// Checks everything about the extents together: ranks, products, no zero chunk where the array has
// elements. Turns the remaining zero chunk extents into 1.
Status CheckExtents(const std::vector<uint64_t>& shape, const DType& dtype, std::vector<uint64_t>* chunk_shape);

// Checks the chunk shapes of sharding codecs, at any depth, in a v3 chain for chunks of
// `chunk_shape`.
Status CheckSharding(const std::vector<CodecSpec>& codecs, std::vector<uint64_t> chunk_shape);

// A v3 extension point — a name, or an object with `name` and optional `configuration` — as a codec
// is one. An absent or null configuration gives null.
Result<CodecSpec> ParseNamed(const Json& value, std::string_view what);
Result<std::vector<CodecSpec>> ParseCodecListV3(const Json& value);
Json FormatNamed(const std::string& name, const Json& configuration);

// Replaces member `name` of `document`, keeping its place, or appends it.
void SetMember(Json* document, std::string_view name, Json value);

// Gives `dtype` and all its fields the byte order, as v3's bytes codec does.
void SetEndian(DType* dtype, Endian endian);
// The one byte order of all multi-byte parts; little where there are none; nothing where they
// differ.
std::optional<Endian> CommonEndian(const DType& dtype);
// Whether any part of an element has a byte order.
bool AnyEndian(const DType& dtype);

// Appends a member behind those that are there. kUnsupported when the struct grows too large.
Status AppendField(DType* dtype, std::string name, std::vector<uint64_t> shape, DType member);

// item_bytes of `dtype` as the fill of an array or of an undefined value: zero bytes, or nothing
// for the variable-length kinds.
FillValue ZeroFill(const DType& dtype, bool defined);

// A fill value spelled as v3's `struct` has it: an object with a value for each field.
Result<Json> FormatStructFill(ByteSpan bytes, const DType& dtype);

// zarr.json as parsed, but for the value of consolidated_metadata, which may be many megabytes and
// is cut out of the text before that is parsed.
struct DocumentV3 {
  Json members;
  bool has_consolidated = false;
};
Result<DocumentV3> ParseDocumentV3(std::string_view text, std::string_view what);
Result<std::string> NodeTypeOf(const Json& document);
Result<ArrayMetadata> ArrayFromDocumentV3(Json document);
Result<GroupMetadata> GroupFromDocumentV3(DocumentV3 document);

Result<ArrayMetadata> ArrayFromDocumentV2(Json document);

// The texts of FormatArray for one format.
Result<std::string> FormatArrayV3(const ArrayMetadata& metadata);
Result<std::string> FormatArrayV2(const ArrayMetadata& metadata);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_METADATA_PARTS_H_
