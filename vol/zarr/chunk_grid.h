// ChunkGrid: the regular grid of an array's stored objects and of the inner chunks within them, and
// the numbers that name both. Pure arithmetic.
//
// An *object* is what is stored under a key: a shard, or the chunk of an unsharded array. An *inner
// chunk* is the unit of compression; an unsharded object is its own only inner chunk. Inner chunks
// are named by id = object id * entries + entry, so the ids of an object are consecutive, and
// `entry` is the position in the shard's index. Ids depend on the array's shape: a resize renames
// everything.
#ifndef H5ZARR_ZARR_CHUNK_GRID_H_
#define H5ZARR_ZARR_CHUNK_GRID_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace h5zarr::zarr {

inline constexpr std::size_t kMaxRank = 32;
using Coords = std::array<uint64_t, kMaxRank>;  // the first rank() are used

class ChunkGrid {
 public:
  // `index_order`: the array dimensions in which a shard's index is C-ordered; empty for identity.
  // REQUIRES: inner_shape divides chunk_shape, no extent of either is 0. kUnsupported when the
  // array has more elements, or chunks, than 64 bits can number.
  static Result<ChunkGrid> Make(std::vector<uint64_t> shape, std::vector<uint64_t> chunk_shape,
                                std::vector<uint64_t> inner_shape, std::vector<uint64_t> index_order = {});

  std::size_t rank() const { return shape_.size(); }
  std::span<const uint64_t> shape() const { return shape_; }
  std::span<const uint64_t> chunk_shape() const { return chunk_shape_; }
  std::span<const uint64_t> inner_shape() const { return inner_shape_; }
  // Inner chunks an object: along each dimension, and in all (1 unsharded).
  std::span<const uint64_t> per_object() const { return per_object_; }
  uint64_t entries() const { return entries_; }
  // Objects within the extent: along each dimension, and in all.
  std::span<const uint64_t> object_counts() const { return object_counts_; }
  uint64_t objects() const { return objects_; }

  // What dimension `dim` adds to the id of an inner chunk whose coordinate in the grid of *all*
  // inner chunks is `inner_coord`; an id is the sum over the dimensions.
  uint64_t IdPart(std::size_t dim, uint64_t inner_coord) const {
    return IdPart(dim, inner_coord / per_object_[dim], inner_coord % per_object_[dim]);
  }
  // The same where the object's coordinate and the one within the object are known.
  uint64_t IdPart(std::size_t dim, uint64_t object_coord, uint64_t coord_in_object) const {
    return object_coord * id_strides_[dim] + coord_in_object * entry_strides_[dim];
  }
  uint64_t ObjectOf(uint64_t id) const { return id / entries_; }
  uint64_t EntryOf(uint64_t id) const { return id % entries_; }
  uint64_t ObjectId(std::span<const uint64_t> object_coords) const;
  void ObjectCoords(uint64_t object, uint64_t* coords) const;
  // Coordinates of inner chunk `id` in the grid of all inner chunks.
  void InnerCoords(uint64_t id, uint64_t* coords) const;

  // The part of inner chunk `id` that lies within the array: its extents go to `extent`; returns
  // its number of elements (0: wholly outside).
  uint64_t InnerExtent(uint64_t id, uint64_t* extent) const;
  // The inner chunks of `object` that have elements within the array.
  uint64_t LiveEntries(uint64_t object) const;

 private:
  std::vector<uint64_t> shape_, chunk_shape_, inner_shape_, index_order_;
  std::vector<uint64_t> per_object_, object_counts_;
  std::vector<uint64_t> object_strides_, id_strides_, entry_strides_;
  uint64_t entries_ = 1;
  uint64_t objects_ = 1;
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_CHUNK_GRID_H_
