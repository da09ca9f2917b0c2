#include "zarr/chunk_grid.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/checked.h"

namespace h5zarr::zarr {

Result<ChunkGrid> ChunkGrid::Make(std::vector<uint64_t> shape, std::vector<uint64_t> chunk_shape,
                                  std::vector<uint64_t> inner_shape, std::vector<uint64_t> index_order) {
  const std::size_t rank = shape.size();
  if (rank > kMaxRank) {
    return UnsupportedError("an array of " + std::to_string(rank) + " dimensions");
  }
  if (chunk_shape.size() != rank || inner_shape.size() != rank) {
    return InvalidArgumentError("a chunk of another rank than its array");
  }
  if (index_order.empty()) {
    index_order.resize(rank);
    std::iota(index_order.begin(), index_order.end(), uint64_t{0});
  }
  ChunkGrid grid;
  grid.shape_ = std::move(shape);
  grid.chunk_shape_ = std::move(chunk_shape);
  grid.inner_shape_ = std::move(inner_shape);
  grid.index_order_ = std::move(index_order);
  for (std::size_t dim = 0; dim < rank; ++dim) {
    if (grid.inner_shape_[dim] == 0 || grid.chunk_shape_[dim] % grid.inner_shape_[dim] != 0) {
      return InvalidArgumentError("inner chunks that do not divide their shard");
    }
    grid.per_object_.push_back(grid.chunk_shape_[dim] / grid.inner_shape_[dim]);
    grid.object_counts_.push_back(CeilDiv(grid.shape_[dim], grid.chunk_shape_[dim]));
  }
  const auto entries = CheckedProduct(grid.per_object_);
  const auto objects = CheckedProduct(grid.object_counts_);
  const auto inner_elems = CheckedProduct(grid.inner_shape_);
  if (!CheckedProduct(grid.shape_) || !entries || !objects || !inner_elems || !CheckedMul(*objects, *entries)) {
    return UnsupportedError("an array of more than 2^64 elements or chunks");
  }
  grid.entries_ = *entries;
  grid.objects_ = *objects;
  grid.object_strides_.resize(rank);
  grid.id_strides_.resize(rank);
  grid.entry_strides_.resize(rank);
  // With no object at all the strides mean nothing; counted as at least 1 they stay small.
  uint64_t stride = 1;
  for (std::size_t dim = rank; dim-- > 0;) {
    grid.object_strides_[dim] = stride;
    grid.id_strides_[dim] = stride * grid.entries_;
    stride *= grid.objects_ == 0 ? 1 : grid.object_counts_[dim];
  }
  stride = 1;
  for (std::size_t i = rank; i-- > 0;) {
    grid.entry_strides_[grid.index_order_[i]] = stride;
    stride *= grid.per_object_[grid.index_order_[i]];
  }
  return grid;
}

uint64_t ChunkGrid::ObjectId(std::span<const uint64_t> object_coords) const {
  uint64_t id = 0;
  for (std::size_t dim = 0; dim < rank(); ++dim) id += object_coords[dim] * object_strides_[dim];
  return id;
}

void ChunkGrid::ObjectCoords(uint64_t object, uint64_t* coords) const {
  for (std::size_t dim = 0; dim < rank(); ++dim) {
    coords[dim] = object / object_strides_[dim];
    object %= object_strides_[dim];
  }
}

void ChunkGrid::InnerCoords(uint64_t id, uint64_t* coords) const {
  ObjectCoords(ObjectOf(id), coords);
  if (entries_ == 1) return;
  uint64_t entry = EntryOf(id);
  for (uint64_t dim : index_order_) {
    coords[dim] = coords[dim] * per_object_[dim] + entry / entry_strides_[dim];
    entry %= entry_strides_[dim];
  }
}

uint64_t ChunkGrid::InnerExtent(uint64_t id, uint64_t* extent) const {
  Coords coords;
  InnerCoords(id, coords.data());
  uint64_t elems = 1;
  for (std::size_t dim = 0; dim < rank(); ++dim) {
    // An object reaches beyond the array, so this product may pass the shape, but not 2^64: the
    // shape plus one chunk, whose own size in bytes was checked to fit 63 bits.
    const auto begin = CheckedMul(coords[dim], inner_shape_[dim]);
    extent[dim] = !begin || *begin >= shape_[dim] ? 0 : std::min(inner_shape_[dim], shape_[dim] - *begin);
    elems *= extent[dim];
  }
  return elems;
}

uint64_t ChunkGrid::LiveEntries(uint64_t object) const {
  Coords coords;
  ObjectCoords(object, coords.data());
  uint64_t live = 1;
  for (std::size_t dim = 0; dim < rank(); ++dim) {
    const uint64_t begin = coords[dim] * chunk_shape_[dim];
    live *= begin >= shape_[dim] ? 0 : std::min(per_object_[dim], CeilDiv(shape_[dim] - begin, inner_shape_[dim]));
  }
  return live;
}

}  // namespace h5zarr::zarr
