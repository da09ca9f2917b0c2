#include "shadow/external_list.h"

#include <climits>
#include <limits>
#include <optional>
#include <string>

#include "host/error_stack.h"
#include "shadow/h5_types.h"

namespace h5zarr::shadow {

Result<Json> ExternalToJson(hid_t dcpl) {
  const int count = H5Pget_external_count(dcpl);
  if (count < 0) return Hdf5Failure("the external files of a property list");
  if (count == 0) return Json(nullptr);
  Json files = Json::array();
  for (int i = 0; i < count; ++i) {
    char name[PATH_MAX + 1] = {};
    off_t offset_bytes = 0;
    hsize_t size_bytes = 0;
    if (H5Pget_external(dcpl, static_cast<unsigned>(i), sizeof name, name, &offset_bytes, &size_bytes) < 0) {
      return Hdf5Failure("an external file of a property list");
    }
    if (name[PATH_MAX] != '\0') return UnsupportedError("the name of an external file is too long");
    if (!IsValidUtf8(name)) return UnsupportedError("the name of an external file is no UTF-8 text");
    files.push_back(
        {name, static_cast<int64_t>(offset_bytes), size_bytes == H5F_UNLIMITED ? Json(nullptr) : Json(size_bytes)});
  }
  return Json{{"files", std::move(files)}};
}

Status ExternalFromJson(const Json& external, hid_t dcpl) {
  const auto bad = [&external] {
    return CorruptError("_hdf5.external " + zarr::BriefJson(external) +
                        ": expected files as lists of name, offset and size");
  };
  const Json* files = zarr::FindMember(external, "files");
  if (files == nullptr || !files->is_array() || files->empty()) return bad();
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  for (const Json& file : *files) {
    if (!file.is_array() || file.size() != 3 || !file[0].is_string()) return bad();
    const std::string name = file[0].get<std::string>();
    const std::optional<uint64_t> offset_bytes = AsUnsigned(file[1]);
    const std::optional<uint64_t> size_bytes =
        file[2].is_null() ? std::optional<uint64_t>(H5F_UNLIMITED) : AsUnsigned(file[2]);
    if (name.empty() || name.size() > PATH_MAX || name.find('\0') != std::string::npos || !offset_bytes ||
        *offset_bytes > std::numeric_limits<off_t>::max() || !size_bytes ||
        H5Pset_external(dcpl, name.c_str(), static_cast<off_t>(*offset_bytes), *size_bytes) < 0) {
      return bad();
    }
  }
  return OkStatus();
}

}  // namespace h5zarr::shadow
