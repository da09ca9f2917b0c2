#include "mirror/copy_attributes.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "h5/copy_references.h"
#include "host/handle.h"
#include "host/native.h"
#include "mirror/hdf5_read.h"
#include "shadow/type_map.h"

namespace h5zarr::mirror {
namespace {

herr_t TakeName(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

Result<std::vector<std::string>> NamesInOrder(hid_t object) {
  std::vector<std::string> names;
  // By creation where that is kept, or else by name.
  for (const H5_index_t order : {H5_INDEX_CRT_ORDER, H5_INDEX_NAME}) {
    names.clear();
    if (H5Aiterate2(object, order, H5_ITER_INC, nullptr, TakeName, &names) >= 0) return names;
    H5Eclear2(H5E_DEFAULT);
  }
  return Hdf5Error("its attributes");
}

// The type of the attribute, in the target's terms: a committed datatype is found by its path.
Result<Handle> TypeFor(hid_t attribute, hid_t to_file) {
  Handle type(H5Aget_type(attribute));
  if (!type.valid()) return Hdf5Error("its type");
  if (H5Tcommitted(type.get()) > 0) {
    std::string path(4096, '\0');
    if (H5Iget_name(type.get(), path.data(), path.size()) > 0) {
      Handle committed(H5Topen2(to_file, path.c_str(), H5P_DEFAULT));
      if (committed.valid() && H5Tequal(committed.get(), type.get()) > 0) return committed;
    }
    H5Eclear2(H5E_DEFAULT);
  }
  H5ZARR_ASSIGN_OR_RETURN(const shadow::Json description, shadow::TypeToJson(type.get()));
  return shadow::TypeFromJson(description);
}

}  // namespace

void CopiedReferences::Note(const H5O_info2_t& info, const std::string& path) {
  path_of_.emplace(host::TokenKey(info.token), path);
}

Status CopiedReferences::Translate(hid_t source, hid_t to, hid_t type, void* data, uint64_t count) const {
  const auto open_copy = [&](uint64_t token) -> Result<Handle> {
    const auto found = path_of_.find(token);
    if (found == path_of_.end()) return NotFoundError("a reference to what was not copied");
    Handle copy(H5Oopen(to, found->second.c_str(), H5P_DEFAULT));
    if (!copy.valid()) return Hdf5Error("'" + found->second + "'");
    return copy;
  };
  h5zarr::Translate translate;
  translate.object = [&](uint64_t token) -> Result<uint64_t> {
    if (!path_of_.contains(token)) return uint64_t{0};
    H5ZARR_ASSIGN_OR_RETURN(const Handle copy, open_copy(token));
    H5O_info2_t info;
    if (H5Oget_info3(copy.get(), &info, H5O_INFO_BASIC) < 0) return Hdf5Error("a copy");
    return host::TokenKey(info.token);
  };
  translate.other = [&](hid_t of_type, void* reference) {
    return Retarget(source, of_type, reference,
                    [&](const H5O_info2_t& target) { return open_copy(host::TokenKey(target.token)); });
  };
  return TranslateReferences(type, static_cast<std::byte*>(data), count, H5Tget_size(type), translate);
}

Status CopiedReferences::Translate(hid_t source, hid_t to, Elements* elements) const {
  return Translate(source, to, elements->type(), elements->mutable_data(), elements->count());
}

Status CopyAttributes(hid_t from, hid_t copy, hid_t to_file, const std::set<std::string>& without,
                      const CopiedReferences& references) {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesInOrder(from));
  for (const std::string& name : names) {
    if (without.contains(name)) continue;
    const Status copied = [&]() -> Status {
      H5ZARR_ASSIGN_OR_RETURN(shadow::AttributeValue value, ReadAttribute(from, name));
      const Handle source(H5Aopen(from, name.c_str(), H5P_DEFAULT));
      const Handle acpl(H5Aget_create_plist(source.get()));
      H5ZARR_ASSIGN_OR_RETURN(const Handle type, TypeFor(source.get(), to_file));
      const hssize_t elems = H5Sget_simple_extent_npoints(value.space());
      if (H5Tdetect_class(value.type(), H5T_REFERENCE) > 0 && elems > 0) {
        H5ZARR_RETURN_IF_ERROR(
            references.Translate(from, to_file, value.type(), value.data(), static_cast<uint64_t>(elems)));
      }
      const Handle made(H5Acreate2(copy, name.c_str(), type.get(), value.space(), acpl.get(), H5P_DEFAULT));
      if (!made.valid()) return Hdf5Error("it cannot be made");
      if (elems > 0 && H5Awrite(made.get(), type.get(), value.data()) < 0) return Hdf5Error("its value");
      return OkStatus();
    }();
    if (!copied.ok()) return copied.WithContext("attribute '" + name + "'");
  }
  return OkStatus();
}

Status CopyComment(hid_t from, hid_t copy) {
  const ssize_t bytes = H5Oget_comment(from, nullptr, 0);
  if (bytes < 0) return Hdf5Error("its comment");
  if (bytes == 0) return OkStatus();
  std::string comment(static_cast<std::size_t>(bytes) + 1, '\0');
  if (H5Oget_comment(from, comment.data(), comment.size()) < 0 || H5Oset_comment(copy, comment.c_str()) < 0) {
    return Hdf5Error("its comment");
  }
  return OkStatus();
}

}  // namespace h5zarr::mirror
