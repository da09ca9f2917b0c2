#include "shadow/hdf5_member.h"

#include <string>
#include <utility>

namespace h5zarr::shadow {

using zarr::Json;

namespace {

constexpr std::string_view kHdf5 = "_hdf5";
constexpr int kHdf5Version = 1;

const Json* FindHdf5(const Json& attributes) {
  const auto found = attributes.find(kHdf5);
  return found != attributes.end() && found->is_object() ? &*found : nullptr;
}

}  // namespace

Json Hdf5Member(const Json& attributes, std::string_view name) {
  const Json* hdf5 = FindHdf5(attributes);
  if (hdf5 == nullptr) return nullptr;
  const auto found = hdf5->find(name);
  return found != hdf5->end() ? *found : Json(nullptr);
}

bool HasHdf5(const Json& attributes) { return FindHdf5(attributes) != nullptr; }

void SetHdf5Member(Json* attributes, std::string_view name, Json value) {
  const std::string key(name);
  if (value.is_null()) {
    if (FindHdf5(*attributes) == nullptr) return;
    Json& hdf5 = (*attributes)[std::string(kHdf5)];
    hdf5.erase(key);
    if (hdf5.empty() || (hdf5.size() == 1 && hdf5.contains("version"))) {
      attributes->erase(std::string(kHdf5));
    }
    return;
  }
  Json& hdf5 = (*attributes)[std::string(kHdf5)];
  if (!hdf5.is_object()) hdf5 = Json::object();
  if (!hdf5.contains("version")) hdf5["version"] = kHdf5Version;
  hdf5[key] = std::move(value);
}

}  // namespace h5zarr::shadow
