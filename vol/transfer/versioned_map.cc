#include "transfer/versioned_map.h"

namespace h5zarr::transfer {
namespace {

constexpr std::string_view kData = "/_version_data/";
constexpr std::string_view kVersions = "versions/";

}  // namespace

std::optional<std::string> RawDataPath(std::string_view path) {
  const std::size_t data = path.find(kData);
  if (data == std::string_view::npos) return std::nullopt;
  const std::string_view prefix = path.substr(0, data + kData.size());
  std::string_view rest = path.substr(prefix.size());
  if (!rest.starts_with(kVersions)) return std::nullopt;
  rest.remove_prefix(kVersions.size());
  const std::size_t version = rest.find('/');
  if (version == std::string_view::npos || version + 1 == rest.size()) return std::nullopt;
  return std::string(prefix) + std::string(rest.substr(version + 1)) + "/raw_data";
}

}  // namespace h5zarr::transfer
