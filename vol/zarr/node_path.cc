#include "zarr/node_path.h"

#include <algorithm>

#include "store/temp_name.h"
#include "zarr/hierarchy.h"

namespace h5zarr::zarr {
namespace {

constexpr std::size_t kMaxNameBytes = 255;  // of a file name on common file systems

}  // namespace

std::string JoinPath(std::string_view path, std::string_view name) {
  std::string joined;
  joined.reserve(path.size() + 1 + name.size());
  joined.append(path);
  if (!path.empty()) joined.push_back('/');
  joined.append(name);
  return joined;
}

std::string ParentPath(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
}

bool CanNameNode(std::string_view name) {
  if (name.empty() || name == "." || name == "..") return false;
  if (name.find('\0') != std::string_view::npos) return false;
  return name != kDocumentV3 && name != kArrayV2 && name != kGroupV2 && name != kAttributesV2 &&
         name != kConsolidatedV2;
}

bool CanBePath(std::string_view path) {
  if (path.empty()) return true;
  while (true) {
    const std::size_t slash = path.find('/');
    if (!CanNameNode(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

Status CheckNodeName(std::string_view name) {
  const auto refuse = [name](std::string_view rule) {
    std::string shown(name.substr(0, std::min<std::size_t>(name.find('\0'), 80)));
    return InvalidArgumentError("'" + shown + "' cannot name a Zarr node: " + std::string(rule));
  };
  if (name.empty()) return refuse("it is empty");
  if (name.find('/') != std::string_view::npos) return refuse("it contains '/'");
  if (name.find('\0') != std::string_view::npos) return refuse("it contains a NUL character");
  if (name.find_first_not_of('.') == std::string_view::npos) return refuse("it has only dots");
  if (name == kDocumentV3) return refuse("Zarr keeps its metadata there");
  if (name.starts_with(".z")) return refuse("names starting with .z are Zarr's own");
  if (IsTempName(name)) return refuse("unfinished writes have such names");
  if (name.size() > kMaxNameBytes) return refuse("it is longer than 255 bytes");
  return OkStatus();
}

}  // namespace h5zarr::zarr
