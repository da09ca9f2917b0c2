// Copying: arrays that come from a store, as H5Ocopy brings them.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "shadow/dimension_scales.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/store_file.h"

namespace h5zarr::shadow {

using host::NativeHandle;

Status StoreFile::CopyChunks(const NodePtr& node, StoreFile& from, const NodePtr& source) {
  const zarr::ArrayMetadata& metadata = source->node.array();
  const std::string what = "'/" + source->path + "' of '" + from.name_ + "'";
  if (zarr::Array::CheckCodecs(metadata).ok()) {  // else nobody can have written to it
    H5ZARR_ASSIGN_OR_RETURN(zarr::Array* const array, from.OpenElements(source));
    H5ZARR_RETURN_IF_ERROR(array->Flush());
    // It has none for it is all fill, which is not stored yet either.
    if (array->omitted_fill()) {
      H5ZARR_ASSIGN_OR_RETURN(const bool has_chunks, array->HasStoredChunks());
      if (!has_chunks) SetHdf5Member(&node->node.attributes(), "written", true);
    }
  }
  const std::string prefix = source->path.empty() ? "" : source->path + "/";
  std::vector<std::vector<uint64_t>> chunks;
  H5ZARR_RETURN_IF_ERROR(from.store_->Walk(source->path, [&](std::string_view key, uint64_t) {
    if (!key.starts_with(prefix)) return OkStatus();
    auto coords = metadata.key_encoding.Parse(key.substr(prefix.size()), metadata.rank());
    bool is_within = coords.has_value();
    for (std::size_t d = 0; is_within && d < metadata.rank(); ++d) {
      is_within = (*coords)[d] < CeilDiv(metadata.shape[d], metadata.chunk_shape[d]);
    }
    if (is_within) chunks.push_back(std::move(*coords));
    return OkStatus();
  }));
  H5ZARR_RETURN_IF_ERROR(EnsureStored(node));
  const zarr::ChunkKeyEncoding& encoding = node->node.array().key_encoding;
  for (const std::vector<uint64_t>& coords : chunks) {
    const std::string key = metadata.key_encoding.Key(coords);
    H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> chunk, from.store_->Read(prefix + key));
    if (!chunk) return ChangedError("chunk " + key + " of " + what + " vanished while it was copied");
    H5ZARR_RETURN_IF_ERROR(store_->Write(JoinPath(node->path, encoding.Key(coords)), chunk->span()));
  }
  // An array without chunks is all fill, but not one that is gone.
  return from.CheckDocument(*source);
}

bool StoreFile::KeepDimensions(const NodePtr& node, const NodeState& source) {
  const auto& changed = source.changed_attributes;
  if (std::any_of(changed.begin(), changed.end(), IsDimensionAttribute)) return false;
  // (A scale's own dimension has its own name.)
  if (source.dataset.is_scale && NameOf(node->path) != NameOf(source.path)) return false;
  std::erase_if(node->changed_attributes, IsDimensionAttribute);
  node->dataset.is_scale = source.dataset.is_scale;
  return true;
}

Status StoreFile::LoadDimensionsOfCopy(const NodePtr& node) {
  const NodePtr group = nodes_.At(std::string(ParentOf(node->path)));
  if (group == nullptr || !node->placed) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle native, host::OpenByToken(Location(), node->token));
  for (const char* name : {"DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"}) {
    H5ZARR_RETURN_IF_ERROR(DeleteNativeAttribute(native.object(), name));
  }
  return LoadDimensions(group, node, native.object());
}

}  // namespace h5zarr::shadow
