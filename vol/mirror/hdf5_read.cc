#include "mirror/hdf5_read.h"

#include <algorithm>
#include <cstdlib>

#include "shadow/attribute_map.h"
#include "shadow/hdf5_attribute.h"

namespace h5zarr::mirror {
namespace {

herr_t TakeInnermost(unsigned, const H5E_error2_t* error, void* text) {
  *static_cast<std::string*>(text) = error->desc != nullptr ? error->desc : "";
  return 0;
}

herr_t TakeLink(hid_t, const char* name, const H5L_info2_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

Result<Handle> OpenAttribute(hid_t object, const std::string& name, const std::string& path) {
  const htri_t exists = H5Aexists_by_name(object, path.c_str(), name.c_str(), H5P_DEFAULT);
  if (exists < 0) return Hdf5Error("attribute '" + name + "'");
  if (exists == 0) return NotFoundError("no attribute '" + name + "'");
  Handle attribute(H5Aopen_by_name(object, path.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
  if (!attribute.valid()) return Hdf5Error("attribute '" + name + "'");
  return attribute;
}

// The whole value, in the attribute's own type.
Result<shadow::AttributeValue> ReadValue(hid_t attribute, const std::string& name) {
  Handle type(H5Aget_type(attribute));
  Handle space(H5Aget_space(attribute));
  if (!type.valid() || !space.valid()) return Hdf5Error("attribute '" + name + "'");
  const hssize_t elems = H5Sget_simple_extent_npoints(space.get());
  if (elems < 0) return Hdf5Error("attribute '" + name + "'");
  const uint64_t bytes = static_cast<uint64_t>(elems) * H5Tget_size(type.get());
  H5ZARR_ASSIGN_OR_RETURN(Buffer data, Buffer::Allocate(bytes));
  std::fill_n(data.data(), bytes, std::byte{0});
  if (bytes > 0 && H5Aread(attribute, type.get(), data.data()) < 0) {
    return Hdf5Error("attribute '" + name + "'");
  }
  return shadow::AttributeValue(std::move(type), std::move(space), std::move(data));
}

}  // namespace

Status Hdf5Error(std::string_view what) {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, TakeInnermost, &text);
  H5Eclear2(H5E_DEFAULT);
  return Status(StatusCode::kIo, std::string(what) + ": " + (text.empty() ? "HDF5 failed" : text));
}

Result<std::vector<std::string>> MemberNames(hid_t group, H5_index_t order) {
  std::vector<std::string> names;
  if (H5Literate2(group, order, H5_ITER_INC, nullptr, TakeLink, &names) < 0) {
    return Hdf5Error("a group");
  }
  return names;
}

Result<std::vector<std::string>> AttributeNames(hid_t object, const std::string& path) {
  H5O_info2_t info;
  if (H5Oget_info_by_name3(object, path.c_str(), &info, H5O_INFO_NUM_ATTRS, H5P_DEFAULT) < 0) {
    return Hdf5Error("attributes");
  }
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.num_attrs; ++i) {
    const Handle attribute(
        H5Aopen_by_idx(object, path.c_str(), H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT));
    const ssize_t chars = attribute.valid() ? H5Aget_name(attribute.get(), 0, nullptr) : -1;
    if (chars < 0) return Hdf5Error("attributes");
    std::string name(static_cast<std::size_t>(chars), '\0');
    if (H5Aget_name(attribute.get(), name.size() + 1, name.data()) < 0) return Hdf5Error("attributes");
    names.push_back(std::move(name));
  }
  return names;
}

Result<shadow::AttributeValue> ReadAttribute(hid_t object, const std::string& name, const std::string& path) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle attribute, OpenAttribute(object, name, path));
  return ReadValue(attribute.get(), name);
}

Result<std::string> TextAttribute(hid_t object, const std::string& name, const std::string& path) {
  H5ZARR_ASSIGN_OR_RETURN(const shadow::AttributeValue value, ReadAttribute(object, name, path));
  H5ZARR_ASSIGN_OR_RETURN(const shadow::AttributeJson json, shadow::AttributeToJson(value, {}));
  if (!json.value.is_string()) return CorruptError("attribute '" + name + "' is no text");
  return json.value.get<std::string>();
}

Result<std::vector<uint64_t>> NumbersAttribute(hid_t object, const std::string& name, const std::string& path) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle attribute, OpenAttribute(object, name, path));
  const Handle space(H5Aget_space(attribute.get()));
  const hssize_t elems = space.valid() ? H5Sget_simple_extent_npoints(space.get()) : -1;
  if (elems < 0 || elems > H5S_MAX_RANK) return CorruptError("attribute '" + name + "': its extent");
  std::vector<uint64_t> numbers(static_cast<std::size_t>(elems));
  if (H5Aread(attribute.get(), H5T_NATIVE_UINT64, numbers.data()) < 0) {
    return Hdf5Error("attribute '" + name + "'");
  }
  return numbers;
}

Result<bool> FlagAttribute(hid_t object, const std::string& name, bool absent) {
  Result<Handle> attribute = OpenAttribute(object, name, ".");
  if (!attribute.ok() && attribute.status().code() == StatusCode::kNotFound) return absent;
  if (!attribute.ok()) return attribute.status();
  H5ZARR_ASSIGN_OR_RETURN(shadow::AttributeValue value, ReadValue(attribute->get(), name));
  if (H5Tget_size(value.type()) != 1) return CorruptError("attribute '" + name + "' is no boolean");
  return *static_cast<const uint8_t*>(value.data()) != 0;
}

Status AddAttributes(hid_t object, const std::string& path, const std::vector<std::string>& without,
                     zarr::Json* attributes) {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> names, AttributeNames(object, path));
  for (const std::string& name : names) {
    if (std::find(without.begin(), without.end(), name) != without.end()) continue;
    H5ZARR_ASSIGN_OR_RETURN(const shadow::AttributeValue value, ReadAttribute(object, name, path));
    const Result<shadow::AttributeJson> json = shadow::AttributeToJson(value, {});
    if (!json.ok()) return json.status().WithContext("attribute '" + name + "'");
    shadow::SetAttribute(attributes, name, &*json);
  }
  return OkStatus();
}

}  // namespace h5zarr::mirror
