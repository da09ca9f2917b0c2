#include "transfer/versioned_map.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "host/handle.h"

namespace h5zarr::transfer {
namespace {

constexpr std::string_view kData = "/_version_data/";
constexpr std::string_view kVersions = "versions/";

Status NotVersioned() { return UnsupportedError("a mapping that is not of versioned-hdf5"); }

using Extents = std::array<hsize_t, H5S_MAX_RANK>;

// The one block that a regular hyperslab selects.
struct Block {
  Extents start, size;
};

bool BlockOf(const Handle& space, Block* block) {
  Extents stride, count;
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (!space.valid() || rank < 1 ||
      H5Sget_regular_hyperslab(space.get(), block->start.data(), stride.data(), count.data(),
                               block->size.data()) < 0) {
    return false;
  }
  for (int d = 0; d < rank; ++d) {
    // A range may be blocks that touch.
    if (count[d] != 1 && (count[d] == 0 || stride[d] != block->size[d])) return false;
    block->size[d] *= count[d];
  }
  return true;
}

bool NamesRawData(hid_t dcpl, std::size_t index, const std::string& raw_path) {
  std::array<char, 1024> name;
  const ssize_t file = H5Pget_virtual_filename(dcpl, index, name.data(), name.size());
  if (file != 1 || name[0] != '.') return false;
  const ssize_t dataset = H5Pget_virtual_dsetname(dcpl, index, name.data(), name.size());
  return dataset > 0 && static_cast<std::size_t>(dataset) < name.size() &&
         raw_path == std::string_view(name.data(), static_cast<std::size_t>(dataset));
}

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

Result<std::vector<uint64_t>> SlotsOf(hid_t dcpl, const std::string& raw_path,
                                      std::span<const uint64_t> extent,
                                      std::span<const uint64_t> chunk) {
  std::size_t mappings = 0;
  if (H5Pget_virtual_count(dcpl, &mappings) < 0) return NotVersioned();
  uint64_t chunks = 1;
  std::vector<uint64_t> grid;
  for (std::size_t d = 0; d < extent.size(); ++d) {
    grid.push_back(extent[d] / chunk[d] + (extent[d] % chunk[d] != 0 ? 1 : 0));
    const auto product = CheckedMul(chunks, grid[d]);
    if (!product) return NotVersioned();
    chunks = *product;
  }
  if (mappings > chunks) return NotVersioned();
  std::vector<uint64_t> slots(chunks, kNoSlot);
  for (std::size_t i = 0; i < mappings; ++i) {
    Block target, source;
    if (!NamesRawData(dcpl, i, raw_path) ||
        !BlockOf(Handle(H5Pget_virtual_vspace(dcpl, i)), &target) ||
        !BlockOf(Handle(H5Pget_virtual_srcspace(dcpl, i)), &source)) {
      return NotVersioned();
    }
    uint64_t number = 0;
    for (std::size_t d = 0; d < extent.size(); ++d) {
      const uint64_t coord = target.start[d] / chunk[d];
      if (target.start[d] % chunk[d] != 0 || coord >= grid[d]) return NotVersioned();
      const uint64_t wanted = std::min(chunk[d], extent[d] - target.start[d]);
      const uint64_t from = d == 0 ? source.start[0] % chunk[0] : source.start[d];
      if (target.size[d] != wanted || source.size[d] != wanted || from != 0) return NotVersioned();
      number = number * grid[d] + coord;
    }
    if (slots[number] != kNoSlot) return NotVersioned();
    slots[number] = source.start[0] / chunk[0];
  }
  return slots;
}

}  // namespace h5zarr::transfer
