#include <string>

#include "store/store.h"

namespace h5zarr {

Status CheckKey(std::string_view key, bool allow_root) {
  if (key.empty()) {
    return allow_root ? OkStatus() : InvalidArgumentError("an empty key names no object");
  }
  if (key.find('\0') != std::string_view::npos) {
    return InvalidArgumentError("key '" + std::string(key.substr(0, key.find('\0'))) + "…' contains a NUL character");
  }
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = key.find('/', begin);
    const std::string_view segment = key.substr(begin, end - begin);
    if (segment.empty() || segment == "." || segment == "..") {
      return InvalidArgumentError("key '" + std::string(key) + "' has the segment '" + std::string(segment) + "'");
    }
    if (end == std::string_view::npos) return OkStatus();
    begin = end + 1;
  }
}

}  // namespace h5zarr
