// Refreshing: what others changed in the store since an object was loaded.

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

Status DeleteNativeAttribute(NativeObject object, const std::string& name) {
  H5ZARR_ASSIGN_OR_RETURN(const bool exists, NativeAttributeExists(object, name));
  if (!exists) return OkStatus();
  H5VL_attr_specific_args_t args;
  args.op_type = H5VL_ATTR_DELETE;
  args.args.del.name = name.c_str();
  const H5VL_loc_params_t loc = host::LocSelf(object.type);
  if (H5VLattr_specific(object.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(),
                        nullptr) < 0) {
    return host::AlreadyReported();
  }
  return OkStatus();
}

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
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle native, host::OpenByToken(Location(), node->token));
  H5ZARR_RETURN_IF_ERROR(RefreshAttributes(node->node, *now, native.object()));
  if (now->is_array()) {
    H5ZARR_RETURN_IF_ERROR(RefreshExtent(node, now->array().shape, native.object()));
  } else if (node->kind == NodeState::Kind::kGroup) {
    H5ZARR_RETURN_IF_ERROR(RefreshLinks(node, *now, native.object()));
  }
  const zarr::Node before = std::exchange(node->node, std::move(*now));
  node->stored = !node->node.implicit;
  LookAgain(node);
  return node->node.is_array() ? RefreshDimensions(node, before.array(), native.object()) : OkStatus();
}

Status StoreFile::RefreshDimensions(const NodePtr& node, const zarr::ArrayMetadata& before,
                                    NativeObject native) {
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

Status StoreFile::RefreshAttributes(const zarr::Node& loaded, const zarr::Node& now,
                                    NativeObject native) {
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

Status StoreFile::RefreshExtent(const NodePtr& node, const std::vector<uint64_t>& shape,
                                NativeObject native) {
  const std::size_t rank = shape.size() - node->dataset.element.elem_dims.size();
  if (shape != node->node.array().shape) {
    std::vector<hsize_t> extent(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(rank));
    H5VL_dataset_specific_args_t args;
    args.op_type = H5VL_DATASET_SET_EXTENT;
    args.args.set_extent.size = extent.data();
    if (H5VLdataset_specific(native.under, host::NativeConnector(), &args, host::DefaultDxpl(),
                             nullptr) < 0) {
      return ChangedError("'/" + node->path + "' of '" + name_ +
                          "' has outgrown its maximum extent: open the file anew");
    }
  }
  // Opened again at the next use, with nothing in its cache.
  node->dataset.array.reset();
  node->dataset.chunk_list.reset();
  return OkStatus();
}

}  // namespace h5zarr::shadow
