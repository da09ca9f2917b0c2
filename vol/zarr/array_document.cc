// Whether an open array is still the one that its document describes: another process may have removed or replaced
// it meanwhile.
#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "zarr/array_impl.h"

namespace h5zarr::zarr {

namespace {

// How often a document that cannot be parsed is read again: some writers do not replace theirs at once.
constexpr int kAttempts = 20;

Result<ArrayMetadata> ParseArray(ByteSpan document, int zarr_format, const std::string& key) {
  const std::string_view text = AsText(document);
  if (zarr_format == 2) return ParseArrayV2(text, "", key);
  H5ZARR_ASSIGN_OR_RETURN(const std::string type, NodeTypeV3(text, key));
  if (type != "array") return ChangedError("it is a " + type + " now");
  return ParseArrayV3(text, key);
}

// What `metadata` becomes by being stored and read. (A document may spell things in another way than whoever made
// the array.)
Result<ArrayMetadata> Stored(const ArrayMetadata& metadata, const std::string& key) {
  H5ZARR_ASSIGN_OR_RETURN(const MetadataTexts texts, FormatArray(metadata));
  return ParseArray(AsBytes(texts.document), metadata.zarr_format, key);
}

}  // namespace

Status Array::Impl::CheckDocument(Check check) {
  if (!document_stored) return OkStatus();
  const std::string key = DocumentKey();
  const std::optional<ObjectState> now = store->StateNow(key);
  if (now && now->generation.known()) {
    return now->generation == document_state ? OkStatus() : ReadDocumentAgain(key, *now);
  }
  if (!now) {
    if (check == Check::kCheap) return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(const std::optional<uint64_t> bytes, store->ObjectBytes(key));
    if (bytes) return OkStatus();
  }
  return Status(StatusCode::kIo,
                "array '" + path + "': its document " + key + " has been removed from " + store->Describe() +
                    " while the array was open",
                ENOENT);
}

Status Array::Impl::ReadDocumentAgain(const std::string& key, const ObjectState& now) {
  const std::string replaced =
      "array '" + path + "' of " + store->Describe() + " was replaced while it was open: " + key + ": ";
  Result<ArrayMetadata> found = ChangedError("it has gone");
  Generation read;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> bytes, store->Read(key, &read));
    if (!bytes) break;
    found = ParseArray(bytes->span(), metadata.zarr_format, key);
    if (found.ok() || found.status().code() != StatusCode::kCorrupt) break;
  }
  if (!found.ok()) return ChangedError(replaced + std::string(found.status().message()));
  std::optional<std::string> difference = DifferenceOfElements(metadata, *found);
  if (difference) {
    if (const Result<ArrayMetadata> ours = Stored(metadata, key); ours.ok()) {
      difference = DifferenceOfElements(*ours, *found);
    }
  }
  if (difference) return ChangedError(replaced + *difference);
  document_state = now.settled && read == now.generation ? read : Generation();
  shrunk = false;
  for (std::size_t dim = 0; dim < metadata.rank(); ++dim) {
    // (It says less, too, where this array has grown and that is not stored yet.)
    shrunk = shrunk || found->shape[dim] < std::min(document_shape[dim], metadata.shape[dim]);
  }
  (shrunk ? shrunk_shape : document_shape) = std::move(found->shape);
  return OkStatus();
}

Status Array::Impl::CheckExtent(uint64_t id) const {
  if (!shrunk) return OkStatus();
  Coords coords, extent;
  grid.InnerCoords(id, coords.data());
  grid.InnerExtent(id, extent.data());
  for (std::size_t dim = 0; dim < grid.rank(); ++dim) {
    if (coords[dim] * grid.inner_shape()[dim] + extent[dim] <= shrunk_shape[dim]) continue;
    return ChangedError("array '" + path + "' of " + store->Describe() +
                        " has shrunk while it was open: " + DocumentKey() + ": shape " + BriefJson(Json(shrunk_shape)) +
                        ", was " + BriefJson(Json(metadata.shape)));
  }
  return OkStatus();
}

}  // namespace h5zarr::zarr
