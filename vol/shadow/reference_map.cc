#include "shadow/reference_map.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "host/native.h"
#include "shadow/h5_types.h"
#include "shadow/json_text.h"
#include "shadow/number_json.h"
#include "shadow/selection_json.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {
namespace {

bool IsRegionReference(hid_t type) { return H5Tequal(type, H5T_STD_REF_DSETREG) > 0; }

bool IsNull(const void* reference, std::size_t size_bytes) {
  const auto* bytes = static_cast<const unsigned char*>(reference);
  return std::all_of(bytes, bytes + size_bytes, [](unsigned char byte) { return byte == 0; });
}

// The path of an open object, or "" where it has none.
Result<std::string> PathOf(const ReferenceStore& store, hid_t object) {
  H5O_info2_t info;
  if (H5Oget_info3(object, &info, H5O_INFO_BASIC) < 0) {
    return Hdf5Failure("the target of a reference");
  }
  if (info.fileno != store.fileno) {
    return UnsupportedError("references into another file have no form in Zarr");
  }
  return store.path_of(host::TokenKey(info.token));
}

Result<Json> WithSelection(const std::string& path, hid_t space) {
  Json json = Json::object();
  json["path"] = TextToJson(path);
  H5ZARR_RETURN_IF_ERROR(AddSelection(space, &json));
  return json;
}

Result<Json> RegionToJson(const ReferenceStore& store, const void* reference) {
  const Handle target(H5Rdereference2(store.root, H5P_DEFAULT, H5R_DATASET_REGION, reference));
  const Handle space(target.valid() ? H5Rget_region(store.root, H5R_DATASET_REGION, reference) : H5I_INVALID_HID);
  if (!space.valid()) return Json("");
  H5ZARR_ASSIGN_OR_RETURN(const std::string path, PathOf(store, target.get()));
  if (path.empty()) return Json("");
  return WithSelection(path, space.get());
}

Result<Json> AnyToJson(const ReferenceStore& store, const void* reference) {
  // HDF5 takes no constant: it may attach a file to a reference.
  auto* own = const_cast<H5R_ref_t*>(static_cast<const H5R_ref_t*>(reference));
  const Handle target(H5Ropen_object(own, H5P_DEFAULT, H5P_DEFAULT));
  if (!target.valid()) return Json("");
  H5ZARR_ASSIGN_OR_RETURN(const std::string path, PathOf(store, target.get()));
  if (path.empty()) return Json("");
  switch (H5Rget_type(own)) {
    case H5R_OBJECT1:
    case H5R_OBJECT2: return TextToJson(path);
    case H5R_DATASET_REGION1:
    case H5R_DATASET_REGION2: {
      const Handle space(H5Ropen_region(own, H5P_DEFAULT, H5P_DEFAULT));
      if (!space.valid()) return Json("");
      return WithSelection(path, space.get());
    }
    case H5R_ATTR: {
      const ssize_t length = H5Rget_attr_name(own, nullptr, 0);
      if (length < 0) return Hdf5Failure("the name of a referenced attribute");
      std::string name(static_cast<std::size_t>(length) + 1, '\0');
      if (H5Rget_attr_name(own, name.data(), name.size()) < 0) {
        return Hdf5Failure("the name of a referenced attribute");
      }
      name.pop_back();
      Json json = Json::object();
      json["path"] = TextToJson(path);
      json["attribute"] = TextToJson(name);
      return json;
    }
    default: return Hdf5Failure("the kind of a reference");
  }
}

// The space of the dataset at `path` with what `json` selects; invalid where there is no dataset.
Result<Handle> SelectedSpace(const ReferenceStore& store, const std::string& path, const Json& json) {
  const Handle target(H5Oopen(store.root, path.c_str(), H5P_DEFAULT));
  if (!target.valid() || H5Iget_type(target.get()) != H5I_DATASET) return Handle();
  Handle space(H5Dget_space(target.get()));
  if (!space.valid()) return Hdf5Failure("the space of a referenced dataset");
  H5ZARR_RETURN_IF_ERROR(ApplySelection(json, space.get()));
  return space;
}

}  // namespace

Result<Json> ReferenceToJson(const ReferenceStore& store, hid_t type, const void* reference) {
  if (IsNull(reference, H5Tget_size(type))) return Json("");
  const QuietErrors quiet;  // dangling references fail to open
  if (IsRegionReference(type)) return RegionToJson(store, reference);
  return AnyToJson(store, reference);
}

Status ReferenceFromJson(const ReferenceStore& store, const Json& json, hid_t type, void* reference) {
  std::memset(reference, 0, H5Tget_size(type));
  const bool region_only = IsRegionReference(type);
  const Json* path_json = json.is_object() ? zarr::FindMember(json, "path") : &json;
  const std::optional<std::string> path = path_json != nullptr ? TextFromJson(*path_json) : std::nullopt;
  if (!path) return BadElement(json, type);
  if (path->empty()) return OkStatus();
  if (region_only && !json.is_object()) return BadElement(json, type);
  const QuietErrors quiet;  // missing targets fail to open
  herr_t made = -1;
  if (!json.is_object()) {
    made = H5Rcreate_object(store.root, path->c_str(), H5P_DEFAULT, static_cast<H5R_ref_t*>(reference));
  } else if (const Json* attribute = zarr::FindMember(json, "attribute")) {
    const std::optional<std::string> name = TextFromJson(*attribute);
    if (!name || region_only) return BadElement(json, type);
    made = H5Rcreate_attr(store.root, path->c_str(), name->c_str(), H5P_DEFAULT, static_cast<H5R_ref_t*>(reference));
  } else {
    H5ZARR_ASSIGN_OR_RETURN(const Handle space, SelectedSpace(store, *path, json));
    if (!space.valid()) return OkStatus();
    made = region_only ? H5Rcreate(reference, store.root, path->c_str(), H5R_DATASET_REGION, space.get())
                       : H5Rcreate_region(store.root, path->c_str(), space.get(), H5P_DEFAULT,
                                          static_cast<H5R_ref_t*>(reference));
  }
  if (made < 0) std::memset(reference, 0, H5Tget_size(type));
  return OkStatus();
}

}  // namespace h5zarr::shadow
