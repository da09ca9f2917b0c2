// Region: a range of addresses in an image whose bytes nobody holds: the elements of one dataset.
//
// It knows where which element lies, and moves nothing. HDF5 finds a dataset's chunks one behind the
// other, whole ones, in C order of their grid, or all elements in C order (contiguous layout, of which a block is a
// slab here). The grid is that of what the dataset may become, where that has an end (the implicit chunk index).
#ifndef H5ZARR_VIEW_REGION_H_
#define H5ZARR_VIEW_REGION_H_

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "shadow/node_table.h"
#include "shadow/type_map.h"
#include "transfer/selection.h"

namespace h5zarr::view {

// Elements that lie together in the array and in the image.
struct Block {
  uint64_t at = 0;  // address
  uint64_t bytes = 0;
  std::vector<uint64_t> origin;
  std::vector<uint64_t> shape;  // within the array's extent; of a chunk that is outside, one is 0
};

struct Geometry {
  std::vector<uint64_t> extent;       // empty: one element
  std::vector<uint64_t> chunk;        // empty: contiguous
  std::vector<uint64_t> grid_extent;  // what the grid of chunks covers
  uint64_t elem_bytes = 1;
  shadow::Json type;  // of a virtual dataset, whose elements no array describes
};

class Region {
 public:
  // kOutOfRange where its addresses would not fit.
  static Result<Region> Make(uint64_t begin, Geometry geometry, shadow::NodePtr node);
  // A dataset that is listed, and can't be read for the reason `why`.
  static Region Unreadable(uint64_t begin, uint64_t bytes, Status why);

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return begin_ + bytes_; }
  const Status& unreadable() const { return unreadable_; }
  const shadow::NodePtr& node() const { return node_; }
  const Geometry& geometry() const { return geometry_; }
  bool chunked() const { return !geometry_.chunk.empty(); }

  // The block that holds the byte at `address`, which is one of the region's. Where the dataset has not grown to
  // there is none of its elements in it.
  Block BlockAt(uint64_t address) const;
  // All elements of a block, in memory as in the image.
  transfer::GridTransfer Whole(const Block& block) const;

 private:
  Block ChunkAt(uint64_t address) const;
  Block SlabAt(uint64_t address) const;

  uint64_t begin_ = 0;
  uint64_t bytes_ = 0;
  Geometry geometry_;
  std::vector<uint64_t> block_shape_;  // of a chunk, or of a slab that ends nowhere early
  std::vector<uint64_t> grid_;         // chunks in each dimension
  uint64_t chunk_bytes_ = 0;
  shadow::NodePtr node_;
  Status unreadable_;
};

}  // namespace h5zarr::view

#endif  // H5ZARR_VIEW_REGION_H_
