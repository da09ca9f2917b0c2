// Refreshing: what others changed in the store since an object was loaded.

#include <algorithm>
#include <utility>

#include "host/error_stack.h"
#include "shadow/dimension_scales.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/json_text.h"
#include "shadow/store_file.h"
#include "shadow/virtual_layout.h"

namespace h5zarr::shadow {
namespace {

using host::NativeHandle;
using host::NativeObject;

NodeState::Kind KindOf(const zarr::Node& node) {
  if (node.is_array() || IsVirtualNode(node.attributes())) return NodeState::Kind::kDataset;
  if (Hdf5Member(node.attributes(), "kind") == "datatype") return NodeState::Kind::kDatatype;
  return NodeState::Kind::kGroup;
}

bool SameDimensions(const zarr::ArrayMetadata& a, const zarr::ArrayMetadata& b, std::string_view name,
                    std::size_t rank) {
  return DimensionNamesOf(a) == DimensionNamesOf(b) &&
         RoleFromMetadata(a, name, rank) == RoleFromMetadata(b, name, rank) &&
         RecordedScales(a.attributes, rank) == RecordedScales(b.attributes, rank) &&
         RecordedLabels(a.attributes, rank) == RecordedLabels(b.attributes, rank);
}

}  // namespace

Status StoreFile::Refresh(const NodePtr& node) {
  const bool made_up = root_is_array_ && node == root_;
  if (node == nullptr || !node->placed || node->dirty() || made_up) return OkStatus();
  if (!node->stored && !node->node.implicit) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(LoadRoot());
  const std::string name = "'/" + node->path + "' of '" + name_ + "'";
  H5ZARR_ASSIGN_OR_RETURN(std::optional<zarr::Node> now, hierarchy_.Open(node->path));
  if (!now) return NotFoundError(name + " was removed from the store");
  if (KindOf(*now) != node->kind || now->is_array() != node->node.is_array()) {
    return ChangedError(name + " was replaced by another object: open it anew");
  }
  if (now->is_array()) {
    const auto difference = zarr::DifferenceOfElements(node->node.array(), now->array());
    if (difference) return ChangedError(name + " was replaced by another array (" + *difference + "): open it anew");
    // Which no document says.
    std::get<zarr::ArrayMetadata>(now->metadata).fill.block = node->node.array().fill.block;
  }
  zarr::Node before = std::exchange(node->node, std::move(*now));
  if (const Status taken = TakeOverNow(node, before); !taken.ok()) {
    node->node = std::move(before);
    return taken;
  }
  // Opened again at the next use, with nothing in its cache.
  node->dataset.array.reset();
  node->dataset.chunk_list.reset();
  return OkStatus();
}

// The node has become what the store has, in which another program changed something: so does the shadow. What
// cannot be shown any more is let go of.
Status StoreFile::TakeOver(const NodePtr& node, const zarr::Node& before) {
  const host::KeepErrors keep;
  return LetGoUnless(node, TakeOverNow(node, before));
}

Status StoreFile::TakeOverNow(const NodePtr& node, const zarr::Node& before) {
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle native, host::OpenByToken(Location(), node->token));
  H5ZARR_RETURN_IF_ERROR(RefreshAttributes(before, node->node, native.object()));
  node->stored = !node->node.implicit;
  if (node->node.is_array()) {
    if (node->node.array().shape != before.array().shape) {
      H5ZARR_RETURN_IF_ERROR(StoreBeforeExtent(node));
      H5ZARR_RETURN_IF_ERROR(RefreshExtent(node, native.object()));
    }
    return RefreshDimensions(node, before.array(), native.object());
  }
  if (node->kind == NodeState::Kind::kGroup) {
    H5ZARR_RETURN_IF_ERROR(RefreshLinks(node, before, native.object()));
  }
  LookAgain(node);
  return OkStatus();
}

// What waits in an array that is to be opened anew, with another extent, is stored. What lies where another program
// cut it off is gone.
Status StoreFile::StoreBeforeExtent(const NodePtr& node) {
  if (node->dataset.array == nullptr || !node->dataset.array->dirty()) return OkStatus();
  zarr::Array& array = *node->dataset.array;
  H5ZARR_RETURN_IF_ERROR(array.Flush());
  const std::vector<uint64_t>& now = node->node.array().shape;
  std::vector<uint64_t> kept(array.shape().begin(), array.shape().end());
  for (std::size_t dim = 0; dim < kept.size(); ++dim) kept[dim] = std::min(kept[dim], now[dim]);
  return kept == array.metadata().shape ? OkStatus() : array.Resize(kept);
}

Status StoreFile::RefreshDimensions(const NodePtr& node, const zarr::ArrayMetadata& before, NativeObject native) {
  const zarr::ArrayMetadata& now = node->node.array();
  const std::size_t rank = now.shape.size() - node->dataset.element.elem_dims.size();
  if (SameDimensions(before, now, NameOf(node->path), rank)) return OkStatus();
  for (const char* name : {"CLASS", "NAME", "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST"}) {
    H5ZARR_RETURN_IF_ERROR(DeleteNativeAttribute(native, name));
  }
  node->dataset.is_scale = false;
  node->dataset.references_pending = false;
  node->dataset.attached.clear();
  return LoadDimensions(nodes_.At(std::string(ParentOf(node->path))), node, native);
}

Status StoreFile::RefreshAttributes(const zarr::Node& loaded, const zarr::Node& now, NativeObject native) {
  const Json comment = Hdf5Member(now.attributes(), "comment");
  if (comment != Hdf5Member(loaded.attributes(), "comment")) {
    H5ZARR_RETURN_IF_ERROR(WriteNativeComment(native, TextFromJson(comment).value_or("")));
  }
  const Json before = AttributesForProgram(loaded);
  const Json after = AttributesForProgram(now);
  const auto description = [](const zarr::Node& node, const std::string& name) {
    return AttributeDescription(node.attributes(), name);
  };
  const auto same = [&](const std::string& name) {
    const auto old_value = before.find(name);
    const auto new_value = after.find(name);
    return old_value != before.end() && new_value != after.end() && *old_value == *new_value &&
           description(loaded, name) == description(now, name);
  };
  for (const auto& [name, value] : before.items()) {
    if (!same(name)) H5ZARR_RETURN_IF_ERROR(DeleteNativeAttribute(native, name));
  }
  for (const auto& [name, value] : after.items()) {
    if (!same(name)) H5ZARR_RETURN_IF_ERROR(LoadAttribute(now, name, value, native));
  }
  return OkStatus();
}

Status StoreFile::RefreshExtent(const NodePtr& node, NativeObject native) {
  const std::vector<uint64_t>& shape = node->node.array().shape;
  const std::size_t rank = shape.size() - node->dataset.element.elem_dims.size();
  std::vector<hsize_t> extent(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(rank));
  H5VL_dataset_specific_args_t args;
  args.op_type = H5VL_DATASET_SET_EXTENT;
  args.args.set_extent.size = extent.data();
  if (H5VLdataset_specific(native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return ChangedError("'/" + node->path + "' of '" + name_ + "' has outgrown its maximum extent: open the file anew");
  }
  node->dataset.array.reset();
  node->dataset.chunk_list.reset();
  return OkStatus();
}

}  // namespace h5zarr::shadow
