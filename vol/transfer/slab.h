// slab: a transfer cut into pieces of bounded size, each of which goes through a packed temporary
// between the array and the caller's memory.
//
// For transfers that convert; those that don't are not cut. It converts nothing itself.
#ifndef H5ZARR_TRANSFER_SLAB_H_
#define H5ZARR_TRANSFER_SLAB_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "transfer/selection.h"
#include "zarr/array.h"

namespace h5zarr::transfer {

// How an HDF5 dataset lies in a Zarr array. Borrowed.
struct ArrayLayout {
  std::span<const uint64_t> extent;     // of the dataset
  std::span<const uint64_t> elem_dims;  // trailing dimensions of the array: one HDF5 element
  uint64_t item_bytes = 0;              // of one array element
  uint64_t elem_items = 1;              // prod(elem_dims)
  uint64_t stored_bytes() const { return item_bytes * elem_items; }
};

// `grid` and `runs` as selections of array elements whose memory elements are `mem_bytes` apart.
// A selection's addresses are relative to the caller's buffer (for a grid: plus mem_start_elems).
zarr::Selection MakeSelection(const GridTransfer& grid, const ArrayLayout& layout, uint64_t mem_bytes);
zarr::Selection MakeSelection(std::span<const ElementRun> runs, const ArrayLayout& layout, uint64_t mem_bytes);

// One piece: `elems` elements, packed in the order of HDF5's transfer.
struct Slab {
  uint64_t elems = 0;
  zarr::Selection packed;  // the array's side, memory being the packed temporary

  // The caller's side: a strided block, or else runs.
  uint64_t mem_start_elems = 0;
  std::vector<uint64_t> counts;
  std::vector<int64_t> mem_strides_elems;
  std::vector<ElementRun> runs;

  // Between the packed temporary and the caller's buffer of elements of `mem_bytes`.
  void Scatter(const std::byte* packed_elems, std::byte* buffer, uint64_t mem_bytes) const;
  void Gather(const std::byte* buffer, std::byte* packed_elems, uint64_t mem_bytes) const;
};

// Cuts a transfer: grids into boxes that end where chunks end, so that no chunk is decoded or
// encoded twice, runs in their order.
class SlabSource {
 public:
  // Boxes are about `budget_elems` large; one that holds a single chunk may exceed it. `chunk_shape` is
  // that of the array. All spans must outlive the source.
  static SlabSource OfGrid(GridTransfer grid, const ArrayLayout& layout, std::span<const uint64_t> chunk_shape,
                           uint64_t budget_elems);
  // For what is no grid. Runs are cut within the budget. `pair` must outlive the source.
  static Result<SlabSource> OfRuns(const SelectionPair& pair, const ArrayLayout& layout, uint64_t budget_elems);
  SlabSource(SlabSource&&) noexcept;
  SlabSource& operator=(SlabSource&&) noexcept;
  ~SlabSource();

  // False when everything has been given.
  Result<bool> Next(Slab& slab);
  // No slab has more elements than this.
  uint64_t max_elems() const;

 private:
  struct State;
  explicit SlabSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_SLAB_H_
