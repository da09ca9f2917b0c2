#include <charconv>

#include "zarr/metadata.h"

namespace h5zarr::zarr {

std::string ChunkKeyEncoding::Key(std::span<const uint64_t> chunk_coords) const {
  std::string key;
  if (kind == Kind::kDefault) {
    key = "c";
  } else if (chunk_coords.empty()) {
    return "0";
  }
  for (uint64_t coord : chunk_coords) {
    if (!key.empty()) key.push_back(separator);
    char digits[20];
    key.append(digits, std::to_chars(digits, digits + sizeof(digits), coord).ptr);
  }
  return key;
}

std::optional<std::vector<uint64_t>> ChunkKeyEncoding::Parse(std::string_view key, std::size_t rank) const {
  std::vector<uint64_t> coords;
  if (kind == Kind::kDefault) {
    if (!key.starts_with('c')) return std::nullopt;
    key.remove_prefix(1);
    if (rank == 0) return key.empty() ? std::optional(coords) : std::nullopt;
    if (!key.starts_with(separator)) return std::nullopt;
    key.remove_prefix(1);
  } else if (rank == 0) {
    return key == "0" ? std::optional(coords) : std::nullopt;
  }
  while (true) {
    uint64_t coord = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), coord);
    const auto digits = static_cast<std::size_t>(end - key.data());
    if (error != std::errc() || digits == 0) return std::nullopt;
    if (digits > 1 && key.front() == '0') return std::nullopt;
    coords.push_back(coord);
    key.remove_prefix(digits);
    if (coords.size() == rank) return key.empty() ? std::optional(coords) : std::nullopt;
    if (!key.starts_with(separator)) return std::nullopt;
    key.remove_prefix(1);
  }
}

}  // namespace h5zarr::zarr
