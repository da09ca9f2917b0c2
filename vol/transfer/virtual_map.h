// virtual_map: from a selection in a virtual dataset and one of its mappings to what is to be read of,
// or written to, the mapping's source; and the arithmetic of unlimited mappings.
//
// Two progressions are intersected in each dimension where all selections are regular, which costs
// the same however many elements there are; any other selections HDF5 projects onto each other. It
// opens no source.
#ifndef H5ZARR_TRANSFER_VIRTUAL_MAP_H_
#define H5ZARR_TRANSFER_VIRTUAL_MAP_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "host/handle.h"
#include "shadow/virtual_layout.h"
#include "transfer/selection.h"

namespace h5zarr::transfer {

using Hyperslab = std::vector<zarr::DimSelection>;

// --- unlimited mappings ----------------------------------------------------------------------------
// `dim` is a MappedSelection's unlimited dimension. Its slices are the indices selected in it.

// How many slices lie below `extent`.
uint64_t SlicesWithin(const zarr::DimSelection& dim, uint64_t extent);
// The smallest extent that `slices` slices need; with `trailing`, what is not selected behind them counts.
uint64_t ExtentOfSlices(const zarr::DimSelection& dim, uint64_t slices, bool trailing);
// Block `index` of an unlimited number of blocks.
zarr::DimSelection BlockOf(const zarr::DimSelection& dim, uint64_t index);

// One side of a mapping with all its numbers: the union of hyperslabs (more than one only where the
// selection is irregular, none where nothing is selected).
struct MappedSide {
  std::vector<Hyperslab> parts;
};
// `selection` in a dataset of `extent`; of an unlimited one the first `slices` slices. kInvalidArgument
// where the dataset has another rank.
Result<MappedSide> ResolveSide(const shadow::MappedSelection& selection, std::span<const uint64_t> extent,
                               uint64_t slices);

// --- pieces ----------------------------------------------------------------------------------------

// The first and the last index in each dimension: of what is selected, or of what may be.
struct Bounds {
  std::vector<uint64_t> low, high;
};
// Adds a mapping's, low and high of one dimension after the other, whatever the extent is.
void AppendBounds(const shadow::MappedSelection& selection, std::size_t rank, std::vector<uint64_t>* bounds);
// Of all parts of a side. REQUIRES: it has one.
Bounds BoundsOf(const MappedSide& side);
// False only where no two of them have an index in common.
bool MayOverlap(std::span<const Bounds> all);

// What one mapping covers of a transfer. Either a grid in the source's dimensions, whose addresses are
// those of the whole transfer's memory, or two dataspaces.
struct Piece {
  uint64_t elems = 0;
  std::optional<GridTransfer> grid;
  Handle source_space;
  Handle mem_space;
};

// One H5Dread or H5Dwrite of a virtual dataset, to be cut into pieces.
class VirtualCutter {
 public:
  // Arguments as for ResolveSelections, whose errors it has; `mem_bytes`: of one element in memory.
  // The spaces must outlive the cutter.
  static Result<VirtualCutter> Make(hid_t file_space, hid_t mem_space, std::span<const uint64_t> extent,
                                    uint64_t mem_bytes);

  uint64_t elems() const { return pair_.elems(); }
  const Bounds& bounds() const { return bounds_; }  // REQUIRES: elements are selected
  // Nothing where the mapping from `source`, in a dataset of `source_extent`, to `target` covers nothing
  // of the transfer. kInvalidArgument where the two sides have different numbers of elements.
  Result<std::optional<Piece>> Cut(const MappedSide& target, const MappedSide& source,
                                   std::span<const uint64_t> source_extent);
  // The same, always as two dataspaces.
  Result<std::optional<Piece>> CutSpaces(const MappedSide& target, const MappedSide& source,
                                         std::span<const uint64_t> source_extent);
  // What of the transfer none of `targets` covers, as two dataspaces (Piece::grid is not set).
  Result<Piece> Uncovered(std::span<const MappedSide> targets);
  // The memory of the transfer as a dataspace; borrowed.
  Result<hid_t> MemorySpace();

 private:
  VirtualCutter() = default;
  Status MakeSpaces();

  SelectionPair pair_;
  Bounds bounds_;
  std::optional<GridTransfer> grid_;
  // Made when first needed: the transfer's own spaces.
  Handle file_space_;
  Handle mem_space_;
};

// `dims` of a dataset of `extent` as a dataspace.
Result<Handle> SpaceOfGrid(std::span<const zarr::DimSelection> dims, std::span<const uint64_t> extent);
// The memory side of `grid` as a dataspace, relative to its first element (mem_start_elems); invalid
// where no dataspace has such addresses.
Result<Handle> MemorySpaceOfGrid(const GridTransfer& grid);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_VIRTUAL_MAP_H_
