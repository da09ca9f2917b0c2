// Refreshing: what other processes changed in the store since an object was loaded.

#include "host/error_stack.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/store_file.h"

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

// Whether an array is still the one that was loaded, but for its extent.
bool IsSameArray(const zarr::ArrayMetadata& loaded, const zarr::ArrayMetadata& now) {
  return loaded.zarr_format == now.zarr_format && loaded.shape.size() == now.shape.size() &&
         loaded.dtype == now.dtype && loaded.chunk_shape == now.chunk_shape &&
         loaded.fill == now.fill && loaded.codecs == now.codecs;
}

}  // namespace

Status StoreFile::Refresh(const NodePtr& node) {
  if (node == nullptr || !node->placed || !node->stored || node->dirty() || root_is_array_) {
    return OkStatus();
  }
  const std::string name = "'/" + node->path + "' of '" + name_ + "'";
  H5ZARR_ASSIGN_OR_RETURN(std::optional<zarr::Node> now, hierarchy_.Open(node->path));
  if (!now) return NotFoundError(name + " was removed from the store");
  if (now->is_array() != node->node.is_array() ||
      (now->is_array() && !IsSameArray(node->node.array(), now->array()))) {
    return ChangedError(name + " was replaced by another object: open it anew");
  }
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle native, host::OpenByToken(Location(), node->token));
  H5ZARR_RETURN_IF_ERROR(RefreshAttributes(node->node, *now, native.object()));
  if (now->is_array()) {
    H5ZARR_RETURN_IF_ERROR(RefreshExtent(node, now->array().shape, native.object()));
  }
  node->node = std::move(*now);
  // Children that others made are looked for again.
  node->group.absent.clear();
  node->group.names.reset();
  node->group.filled = false;
  return OkStatus();
}

Status StoreFile::RefreshAttributes(const zarr::Node& loaded, const zarr::Node& now,
                                    NativeObject native) {
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
