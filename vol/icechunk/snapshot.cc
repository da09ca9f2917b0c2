#include "icechunk/snapshot.h"

#include <algorithm>

#include "icechunk/envelope.h"
#include "icechunk/message_pack.h"
#include "icechunk/sealed.h"
#include "icechunk/verified.h"

namespace h5zarr::icechunk {
namespace {

Status Damaged(std::string_view key, const std::string& what) {
  return CorruptError("'" + std::string(key) + "': " + what);
}

// "/", or "/a/b": no empty, "." or ".." segments.
bool IsNodePath(std::string_view path) {
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) return false;
  if (path == "/") return true;
  path.remove_prefix(1);
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

// --- decoding ------------------------------------------------------------------------------------

void DecodeDimensions(const fb::ArrayData& array, std::vector<Dimension>* dimensions) {
  if (array.shape_v2() != nullptr) {
    for (const fb::DimensionShapeV2* shape : *array.shape_v2()) {
      dimensions->push_back({shape->array_length(), 0, std::nullopt});
    }
  } else {
    for (flatbuffers::uoffset_t i = 0; i < array.shape()->size(); ++i) {
      const auto shape = StructAt<fb::DimensionShape>(*array.shape(), i);
      dimensions->push_back({shape.array_length(), shape.chunk_length(), std::nullopt});
    }
  }
  const auto* names = array.dimension_names();
  if (names == nullptr || names->size() != dimensions->size()) return;
  for (flatbuffers::uoffset_t i = 0; i < names->size(); ++i) {
    if (const auto* name = names->Get(i)->name()) (*dimensions)[i].name = name->str();
  }
}

Status DecodeArray(std::string_view key, const fb::ArrayData& array, Node* node) {
  DecodeDimensions(array, &node->dimensions);
  for (const fb::ManifestRef* flat : *array.manifests()) {
    ManifestRef manifest;
    manifest.id = FromFlat(*flat->object_id());
    for (const fb::IndexRange* range : *flat->extents()) {
      manifest.extents.push_back({range->from(), range->to()});
    }
    if (manifest.extents.size() != node->dimensions.size()) {
      return Damaged(key, "array '" + node->path + "' has " + std::to_string(node->dimensions.size()) +
                              " dimensions, the extents of its manifest " + std::to_string(manifest.extents.size()));
    }
    node->manifests.push_back(std::move(manifest));
  }
  return OkStatus();
}

Result<Node> DecodeNode(std::string_view key, const fb::Node& flat) {
  Node node;
  node.id = FromFlat(*flat.id());
  node.path = flat.path()->str();
  if (!IsNodePath(node.path)) return Damaged(key, "'" + node.path + "' is no path of a node");
  node.document.assign(reinterpret_cast<const char*>(flat.user_data()->data()), flat.user_data()->size());
  if (const fb::ArrayData* array = flat.node_data_as_Array()) {
    node.is_array = true;
    H5ZARR_RETURN_IF_ERROR(DecodeArray(key, *array, &node));
  } else if (flat.node_data_as_Group() == nullptr) {
    return Damaged(key, "node '" + node.path + "' is neither array nor group");
  }
  return node;
}

void DecodeManifests(const fb::Snapshot& flat, std::vector<ManifestInfo>* manifests) {
  for (flatbuffers::uoffset_t i = 0; i < flat.manifest_files()->size(); ++i) {
    const auto file = StructAt<fb::ManifestFile>(*flat.manifest_files(), i);
    manifests->push_back({FromFlat(file.id()), file.size_bytes(), file.num_chunk_refs()});
  }
  if (flat.manifest_files_v2() == nullptr) return;
  for (const fb::ManifestFileV2* file : *flat.manifest_files_v2()) {
    if (file->id() == nullptr) continue;
    manifests->push_back({FromFlat(*file->id()), file->size_bytes(), file->num_chunk_refs()});
  }
}

// --- encoding ------------------------------------------------------------------------------------

using Builder = flatbuffers::FlatBufferBuilder;

flatbuffers::Offset<fb::ArrayData> EncodeArray(Builder& builder, const Node& node) {
  std::vector<fb::DimensionShape> shape;
  std::vector<flatbuffers::Offset<fb::DimensionName>> names;
  for (const Dimension& dimension : node.dimensions) {
    shape.emplace_back(dimension.array_elems, dimension.chunk_elems);
    const auto name = dimension.name ? builder.CreateString(*dimension.name) : 0;
    names.push_back(fb::CreateDimensionName(builder, name));
  }
  std::vector<flatbuffers::Offset<fb::ManifestRef>> manifests;
  for (const ManifestRef& manifest : node.manifests) {
    std::vector<fb::IndexRange> extents;
    for (const IndexRange& range : manifest.extents) extents.emplace_back(range.from, range.to);
    const fb::Id12 id = ToFlat(manifest.id);
    const auto flat_extents = builder.CreateVectorOfStructs(extents);
    manifests.push_back(fb::CreateManifestRef(builder, &id, flat_extents));
  }
  const auto flat_shape = builder.CreateVectorOfStructs(shape);
  const auto flat_names = builder.CreateVector(names);
  const auto flat_manifests = builder.CreateVector(manifests);
  return fb::CreateArrayData(builder, flat_shape, flat_names, flat_manifests);
}

flatbuffers::Offset<fb::Node> EncodeNode(Builder& builder, const Node& node) {
  const auto path = builder.CreateString(node.path);
  const auto document =
      builder.CreateVector(reinterpret_cast<const uint8_t*>(node.document.data()), node.document.size());
  const auto data = node.is_array ? EncodeArray(builder, node).Union() : fb::CreateGroupData(builder).Union();
  const fb::Id8 id = ToFlat(node.id);
  return fb::CreateNode(builder, &id, path, document, node.is_array ? fb::NodeData_Array : fb::NodeData_Group, data);
}

void EncodeRoot(Builder& builder, const ObjectId& id, const Snapshot& snapshot) {
  std::vector<flatbuffers::Offset<fb::Node>> nodes;
  for (const Node& node : snapshot.nodes) nodes.push_back(EncodeNode(builder, node));
  std::vector<flatbuffers::Offset<fb::MetadataItem>> metadata;
  for (const auto& [name, text] : snapshot.metadata) {
    const auto flat_name = builder.CreateString(name);
    const auto value = builder.CreateVector(TextToMessagePack(text));
    metadata.push_back(fb::CreateMetadataItem(builder, flat_name, value));
  }
  std::vector<fb::ManifestFile> manifests;
  for (const ManifestInfo& manifest : snapshot.manifests) {
    manifests.emplace_back(ToFlat(manifest.id), manifest.bytes, manifest.chunks);
  }
  const auto flat_nodes = builder.CreateVector(nodes);
  const auto message = builder.CreateString(snapshot.message);
  const auto flat_metadata = builder.CreateVector(metadata);
  const auto flat_manifests = builder.CreateVectorOfStructs(manifests);
  const fb::Id12 flat_id = ToFlat(id);
  const fb::Id12 parent = ToFlat(snapshot.parent.value_or(ObjectId()));
  builder.Finish(fb::CreateSnapshot(builder, &flat_id, snapshot.parent ? &parent : nullptr, flat_nodes,
                                    snapshot.flushed_at_us, message, flat_metadata, flat_manifests));
}

}  // namespace

Result<Snapshot> DecodeSnapshot(std::string_view key, ByteSpan file) {
  H5ZARR_ASSIGN_OR_RETURN(const Payload payload, OpenEnvelope(key, file, FileType::kSnapshot));
  H5ZARR_ASSIGN_OR_RETURN(const fb::Snapshot* flat, VerifiedRoot<fb::Snapshot>(key, payload.bytes));
  Snapshot snapshot;
  snapshot.spec_version = payload.spec_version;
  snapshot.id = FromFlat(*flat->id());
  if (flat->parent_id() != nullptr) snapshot.parent = FromFlat(*flat->parent_id());
  snapshot.flushed_at_us = flat->flushed_at();
  snapshot.message = flat->message()->str();
  for (const fb::Node* flat_node : *flat->nodes()) {
    H5ZARR_ASSIGN_OR_RETURN(Node node, DecodeNode(key, *flat_node));
    if (!snapshot.nodes.empty() && node.path <= snapshot.nodes.back().path) {
      return Damaged(
          key, "node '" + node.path + "' comes after '" + snapshot.nodes.back().path + "': they must be in order");
    }
    snapshot.nodes.push_back(std::move(node));
  }
  if (payload.spec_version == 1) {
    for (const fb::MetadataItem* item : *flat->metadata()) {
      const auto text = TextFromMessagePack({item->value()->data(), item->value()->size()});
      if (text) snapshot.metadata[item->name()->str()] = *text;
    }
  }
  DecodeManifests(*flat, &snapshot.manifests);
  return snapshot;
}

Result<Buffer> EncodeSnapshot(Snapshot* snapshot) {
  Builder builder(1 << 16);
  EncodeRoot(builder, ObjectId(), *snapshot);
  H5ZARR_ASSIGN_OR_RETURN(snapshot->id, Seal<fb::Snapshot>(builder));
  return MakeEnvelope(FileType::kSnapshot, BytesOf(builder));
}

Result<Buffer> EncodeSnapshotAs(const ObjectId& id, Snapshot* snapshot) {
  Builder builder(1 << 10);
  EncodeRoot(builder, id, *snapshot);
  snapshot->id = id;
  return MakeEnvelope(FileType::kSnapshot, BytesOf(builder));
}

}  // namespace h5zarr::icechunk
