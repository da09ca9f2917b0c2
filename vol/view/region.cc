#include "view/region.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "shadow/chunk_map.h"

namespace h5zarr::view {
namespace {

// Coordinates of the element (or chunk) with this ordinal in C order.
std::vector<uint64_t> Unravel(uint64_t ordinal, const std::vector<uint64_t>& shape) {
  std::vector<uint64_t> at(shape.size());
  for (std::size_t d = shape.size(); d > 0; --d) {
    at[d - 1] = ordinal % shape[d - 1];
    ordinal /= shape[d - 1];
  }
  return at;
}

}  // namespace

Result<Region> Region::Make(uint64_t begin, Geometry geometry, shadow::NodePtr node) {
  Region region;
  region.begin_ = begin;
  const bool chunked = !geometry.chunk.empty();
  region.block_shape_ = chunked ? geometry.chunk : shadow::SlabShape(geometry.extent, geometry.elem_bytes);
  std::optional<uint64_t> bytes = geometry.elem_bytes;
  const auto multiply = [&bytes](const std::vector<uint64_t>& factors) {
    const std::optional<uint64_t> product = CheckedProduct(factors);
    bytes = bytes && product ? CheckedMul(*bytes, *product) : std::nullopt;
  };
  if (chunked) {
    for (std::size_t d = 0; d < geometry.extent.size(); ++d) {
      region.grid_.push_back(CeilDiv(geometry.grid_extent[d], geometry.chunk[d]));
    }
    multiply(geometry.chunk);
    region.chunk_bytes_ = bytes.value_or(0);
    multiply(region.grid_);
  } else {
    multiply(geometry.extent);
  }
  if (!bytes) return OutOfRangeError("a dataset larger than any file");
  region.bytes_ = *bytes;
  region.geometry_ = std::move(geometry);
  region.node_ = std::move(node);
  return region;
}

Region Region::Unreadable(uint64_t begin, uint64_t bytes, Status why) {
  Region region;
  region.begin_ = begin;
  region.bytes_ = bytes;
  region.unreadable_ = std::move(why);
  return region;
}

Block Region::BlockAt(uint64_t address) const { return chunked() ? ChunkAt(address) : SlabAt(address); }

Block Region::ChunkAt(uint64_t address) const {
  const uint64_t ordinal = (address - begin_) / chunk_bytes_;
  Block block;
  block.at = begin_ + ordinal * chunk_bytes_;
  block.bytes = chunk_bytes_;
  block.origin = Unravel(ordinal, grid_);
  for (std::size_t d = 0; d < grid_.size(); ++d) {
    block.origin[d] *= geometry_.chunk[d];
    const uint64_t left = geometry_.extent[d] - std::min(geometry_.extent[d], block.origin[d]);
    block.shape.push_back(std::min(geometry_.chunk[d], left));
  }
  return block;
}

Block Region::SlabAt(uint64_t address) const {
  Block block;
  block.origin = Unravel((address - begin_) / geometry_.elem_bytes, geometry_.extent);
  uint64_t first = 0;  // its first element's ordinal
  uint64_t elems = 1;
  for (std::size_t d = 0; d < block.origin.size(); ++d) {
    block.origin[d] -= block.origin[d] % block_shape_[d];
    block.shape.push_back(std::min(block_shape_[d], geometry_.extent[d] - block.origin[d]));
    first = first * geometry_.extent[d] + block.origin[d];
    elems *= block.shape.back();
  }
  block.at = begin_ + first * geometry_.elem_bytes;
  block.bytes = elems * geometry_.elem_bytes;
  return block;
}

transfer::GridTransfer Region::Whole(const Block& block) const {
  const std::vector<uint64_t>& in_memory = chunked() ? geometry_.chunk : block.shape;
  transfer::GridTransfer grid;
  grid.mem_strides_elems.resize(block.shape.size());
  int64_t stride_elems = 1;
  for (std::size_t d = block.shape.size(); d > 0; --d) {
    grid.mem_strides_elems[d - 1] = stride_elems;
    stride_elems *= static_cast<int64_t>(in_memory[d - 1]);
  }
  for (std::size_t d = 0; d < block.shape.size(); ++d) {
    grid.dims.push_back({block.origin[d], 1, 1, block.shape[d]});
  }
  return grid;
}

}  // namespace h5zarr::view
