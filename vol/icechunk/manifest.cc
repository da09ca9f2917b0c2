#include "icechunk/manifest.h"

#include <algorithm>

#include "base/checked.h"
#include "icechunk/envelope.h"
#include "icechunk/sealed.h"
#include "icechunk/verified.h"

namespace h5zarr::icechunk {
namespace {

using Refs = flatbuffers::Vector<flatbuffers::Offset<fb::ChunkRef>>;

std::span<const uint32_t> IndexOf(const fb::ChunkRef& ref) {
  static_assert(FLATBUFFERS_LITTLEENDIAN, "indexes are read in place");
  return {ref.index()->data(), ref.index()->size()};
}

bool IsBefore(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

std::string IndexText(std::span<const uint32_t> index) {
  std::string text;
  for (const uint32_t i : index) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return "(" + text + ")";
}

Status CheckRefs(const Refs& refs) {
  const fb::ChunkRef* previous = nullptr;
  for (const fb::ChunkRef* ref : refs) {
    if (previous != nullptr && !IsBefore(IndexOf(*previous), IndexOf(*ref))) {
      return CorruptError("chunk " + IndexText(IndexOf(*ref)) + " comes after " + IndexText(IndexOf(*previous)) +
                          ": they must be in order");
    }
    previous = ref;
    const bool has_location = ref->location() != nullptr || ref->compressed_location() != nullptr;
    const int places = (ref->inline_() != nullptr) + (ref->chunk_id() != nullptr) + has_location;
    if (places != 1) {
      return CorruptError("chunk " + IndexText(IndexOf(*ref)) + " is in " + std::to_string(places) +
                          " places, expected 1");
    }
    if (!CheckedAdd(ref->offset(), ref->length())) {
      return CorruptError("chunk " + IndexText(IndexOf(*ref)) + ": its end is beyond 2^64");
    }
  }
  return OkStatus();
}

ChunkPlace PlaceOf(const fb::ChunkRef& ref) {
  ChunkPlace place;
  place.offset = ref.offset();
  place.length = ref.length();
  if (ref.inline_() != nullptr) {
    place.kind = ChunkPlace::Kind::kInline;
    place.bytes = {reinterpret_cast<const std::byte*>(ref.inline_()->data()), ref.inline_()->size()};
    place.offset = 0;
    place.length = place.bytes.size();
  } else if (ref.chunk_id() != nullptr) {
    place.object = FromFlat(*ref.chunk_id());
  } else {
    place.kind = ChunkPlace::Kind::kVirtual;
    if (ref.location() != nullptr) place.location = ref.location()->str();
  }
  return place;
}

}  // namespace

Result<Manifest> Manifest::Decode(std::string_view key, ByteSpan file) {
  H5ZARR_ASSIGN_OR_RETURN(Payload payload, OpenEnvelope(key, file, FileType::kManifest));
  Manifest manifest;
  manifest.bytes_ = std::move(payload.bytes);
  H5ZARR_ASSIGN_OR_RETURN(manifest.root_, VerifiedRoot<fb::Manifest>(key, manifest.bytes_));
  std::optional<NodeId> previous;
  for (const fb::ArrayManifest* array : *manifest.root_->arrays()) {
    const NodeId node = FromFlat(*array->node_id());
    if (previous && node <= *previous) {
      return CorruptError("'" + std::string(key) + "': its arrays are not in order");
    }
    previous = node;
    H5ZARR_RETURN_IF_ERROR(CheckRefs(*array->refs()).WithContext("'" + std::string(key) + "'"));
  }
  return manifest;
}

const fb::ArrayManifest* Manifest::ArrayOf(const NodeId& node) const {
  for (const fb::ArrayManifest* array : *root_->arrays()) {
    if (FromFlat(*array->node_id()) == node) return array;
  }
  return nullptr;
}

std::optional<ChunkPlace> Manifest::Find(const NodeId& node, std::span<const uint32_t> index) const {
  const fb::ArrayManifest* array = ArrayOf(node);
  if (array == nullptr) return std::nullopt;
  const Refs& refs = *array->refs();
  flatbuffers::uoffset_t first = 0;
  flatbuffers::uoffset_t last = refs.size();
  while (first < last) {
    const flatbuffers::uoffset_t middle = first + (last - first) / 2;
    if (IsBefore(IndexOf(*refs.Get(middle)), index)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  if (first == refs.size()) return std::nullopt;
  const fb::ChunkRef& found = *refs.Get(first);
  if (!std::ranges::equal(IndexOf(found), index)) return std::nullopt;
  return PlaceOf(found);
}

Status Manifest::ForEach(const NodeId& node,
                         const std::function<Status(std::span<const uint32_t>, const ChunkPlace&)>& visit) const {
  const fb::ArrayManifest* array = ArrayOf(node);
  if (array == nullptr) return OkStatus();
  for (const fb::ChunkRef* ref : *array->refs()) {
    H5ZARR_RETURN_IF_ERROR(visit(IndexOf(*ref), PlaceOf(*ref)));
  }
  return OkStatus();
}

Result<EncodedManifest> EncodeManifest(const NodeId& node, std::span<const NewChunk> chunks) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  std::vector<flatbuffers::Offset<fb::ChunkRef>> refs;
  refs.reserve(chunks.size());
  for (const NewChunk& chunk : chunks) {
    const auto index = builder.CreateVector(chunk.index);
    const fb::Id12 object = ToFlat(chunk.object);
    refs.push_back(fb::CreateChunkRef(builder, index, 0, chunk.offset, chunk.length, &object));
  }
  const auto flat_refs = builder.CreateVector(refs);
  const fb::Id8 node_id = ToFlat(node);
  const std::vector arrays = {fb::CreateArrayManifest(builder, &node_id, flat_refs)};
  const auto flat_arrays = builder.CreateVector(arrays);
  const fb::Id12 unsealed = ToFlat(ObjectId());
  builder.Finish(fb::CreateManifest(builder, &unsealed, flat_arrays));
  EncodedManifest encoded;
  H5ZARR_ASSIGN_OR_RETURN(encoded.id, Seal<fb::Manifest>(builder));
  H5ZARR_ASSIGN_OR_RETURN(encoded.file, MakeEnvelope(FileType::kManifest, BytesOf(builder)));
  return encoded;
}

}  // namespace h5zarr::icechunk
