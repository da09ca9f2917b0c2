#include "transfer/selection.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"

namespace h5zarr::transfer {
namespace {

// Values of H5Spublic.h that 1.14's and 2.x's headers agree on; H5S_BLOCK and H5S_PLIST are no
// identifiers, so they are compared before anything is asked about them.
constexpr hid_t kBlock = H5S_BLOCK;
constexpr hid_t kPlist = H5S_PLIST;

std::string Side(bool is_file) { return is_file ? "file" : "memory"; }

Status OutsideExtent(bool is_file) {
  return OutOfRangeError("selection + offset not within extent for " + Side(is_file) + " dataspace");
}

Status SelectWhole(std::span<const uint64_t> extent, SideSelection& side) {
  side.kind = SideSelection::Kind::kGrid;
  side.rank = extent.size();
  for (std::size_t d = 0; d < extent.size(); ++d) {
    side.extent[d] = extent[d];
    side.dims[d] = {0, 1, extent[d], 1};
  }
  const auto elems = CheckedProduct(extent);
  if (!elems) return OutOfRangeError("the dataspace has more than 2^64 elements");
  side.elems = *elems;
  return OkStatus();
}

// One contiguous range whatever HDF5 was told it is made of, so that all later steps see one form.
zarr::DimSelection Simplify(zarr::DimSelection dim) {
  if (dim.count == 1 || dim.stride == dim.block) return {dim.start, 1, dim.count * dim.block, 1};
  return dim;
}

Status SelectHyperslab(hid_t space, SideSelection& side) {
  const htri_t regular = H5Sis_regular_hyperslab(space);
  if (regular < 0) return InvalidArgumentError("can't query a hyperslab selection");
  if (regular == 0) {
    side.kind = SideSelection::Kind::kIrregular;
    side.space = space;
    return OkStatus();
  }
  std::array<hsize_t, H5S_MAX_RANK> start, stride, count, block, low, high;
  if (H5Sget_regular_hyperslab(space, start.data(), stride.data(), count.data(), block.data()) < 0 ||
      H5Sget_select_bounds(space, low.data(), high.data()) < 0) {
    return InvalidArgumentError("can't query a hyperslab selection");
  }
  side.kind = SideSelection::Kind::kGrid;
  for (std::size_t d = 0; d < side.rank; ++d) {
    // The bounds include the offset of H5Soffset_simple, the hyperslab's own start does not.
    side.dims[d] = Simplify({low[d], stride[d], count[d], block[d]});
  }
  return OkStatus();
}

Status SelectPoints(hid_t space, bool is_file, SideSelection& side) {
  side.kind = SideSelection::Kind::kPoints;
  side.space = space;
  // H5Sselect_valid lets points pass that an offset moves just behind the extent.
  std::array<hsize_t, H5S_MAX_RANK> low, high;
  if (H5Sget_select_bounds(space, low.data(), high.data()) < 0) {
    return InvalidArgumentError("can't query a point selection");
  }
  for (std::size_t d = 0; d < side.rank; ++d) {
    if (high[d] >= side.extent[d]) return OutsideExtent(is_file);
  }
  return OkStatus();
}

Status SelectSpace(hid_t space, bool is_file, SideSelection& side) {
  const htri_t valid = H5Sselect_valid(space);
  if (valid < 0) return InvalidArgumentError(Side(is_file) + " space is not a dataspace");
  if (valid == 0) return OutsideExtent(is_file);
  const hssize_t elems = H5Sget_select_npoints(space);
  const int rank = H5Sget_simple_extent_dims(space, side.extent.data(), nullptr);
  if (elems < 0 || rank < 0) return InvalidArgumentError("can't query a dataspace");
  side.rank = static_cast<std::size_t>(rank);
  side.elems = static_cast<uint64_t>(elems);
  if (elems == 0) {
    if (rank == 0 && H5Sget_simple_extent_type(space) != H5S_NULL && H5Sget_simple_extent_npoints(space) == 0) {
      return InvalidArgumentError(Side(is_file) + " dataspace does not have extent set");
    }
    for (std::size_t d = 0; d < side.rank; ++d) side.dims[d] = {0, 1, 0, 1};
    return OkStatus();
  }
  switch (H5Sget_select_type(space)) {
    case H5S_SEL_ALL: return SelectWhole(side.shape(), side);
    case H5S_SEL_HYPERSLABS: return SelectHyperslab(space, side);
    case H5S_SEL_POINTS: return SelectPoints(space, is_file, side);
    case H5S_SEL_NONE:  // has no elements
    case H5S_SEL_ERROR:
    case H5S_SEL_N: break;
  }
  return InvalidArgumentError("unknown kind of selection in the " + Side(is_file) + " dataspace");
}

// That a selection which is valid in the file space's own extent also lies in the dataset's.
Status CheckWithin(const SideSelection& file, std::span<const uint64_t> extent) {
  if (file.rank != extent.size()) {
    return InvalidArgumentError("file dataspace has rank " + std::to_string(file.rank) + ", the dataset has rank " +
                                std::to_string(extent.size()));
  }
  std::array<hsize_t, H5S_MAX_RANK> low, high;
  if (file.kind != SideSelection::Kind::kGrid && H5Sget_select_bounds(file.space, low.data(), high.data()) < 0) {
    return InvalidArgumentError("can't query the bounds of the file selection");
  }
  for (std::size_t d = 0; d < file.rank; ++d) {
    uint64_t last = high[d];
    if (file.kind == SideSelection::Kind::kGrid) {
      const zarr::DimSelection& dim = file.dims[d];
      last = dim.start + (dim.count - 1) * dim.stride + dim.block - 1;
    }
    if (last >= extent[d]) {
      return OutOfRangeError("file selection reaches index " + std::to_string(last) + " of dimension " +
                             std::to_string(d) + ", where the dataset's extent is " + std::to_string(extent[d]));
    }
  }
  return OkStatus();
}

}  // namespace

Result<SelectionPair> ResolveSelections(hid_t file_space, hid_t mem_space, std::span<const uint64_t> extent) {
  Result<SelectionPair> result{SelectionPair{}};
  SelectionPair& pair = *result;
  if (extent.size() > H5S_MAX_RANK) {
    return OutOfRangeError("HDF5 has no dataspace of rank " + std::to_string(extent.size()));
  }
  if (file_space == kBlock) {
    return InvalidArgumentError("H5S_BLOCK is not allowed for file dataspace");
  }
  if (file_space == kPlist) {
    return UnsupportedError(
        "H5S_PLIST: selections set with H5Pset_dataset_io_hyperslab_selection can't be used with "
        "a Zarr dataset");
  }
  if (mem_space == kPlist) {
    return InvalidArgumentError("H5S_PLIST is not allowed for memory dataspace");
  }
  H5ZARR_RETURN_IF_ERROR(file_space == H5S_ALL ? SelectWhole(extent, pair.file)
                                               : SelectSpace(file_space, true, pair.file));
  if (mem_space == H5S_ALL) {
    pair.mem = pair.file;
  } else if (mem_space == kBlock) {
    H5ZARR_RETURN_IF_ERROR(SelectWhole(std::span(&pair.file.elems, 1), pair.mem));
  } else {
    H5ZARR_RETURN_IF_ERROR(SelectSpace(mem_space, false, pair.mem));
  }
  if (pair.file.elems != pair.mem.elems) {
    return InvalidArgumentError(
        "src and dest dataspaces have different number of elements selected: " + std::to_string(pair.file.elems) +
        " in the file, " + std::to_string(pair.mem.elems) + " in memory");
  }
  if (pair.file.elems > 0 && file_space != H5S_ALL) {
    H5ZARR_RETURN_IF_ERROR(CheckWithin(pair.file, extent));
  }
  return result;
}

Status CheckMemoryBytes(const SideSelection& mem, uint64_t elem_bytes) {
  const auto elems = CheckedProduct(mem.shape());
  const auto bytes = elems ? CheckedMul(*elems, elem_bytes) : std::nullopt;
  if (bytes && *bytes <= static_cast<uint64_t>(INT64_MAX)) return OkStatus();
  return OutOfRangeError("memory dataspace of elements of " + std::to_string(elem_bytes) +
                         " bytes is larger than any memory");
}

namespace {

// One loop over memory: `count` steps of `stride_elems`.
struct MemLoop {
  uint64_t count = 0;
  uint64_t stride_elems = 0;
};

// The memory side as loops, outermost first, without loops of one step and with loops joined that
// continue each other; so a selection that is contiguous is one loop, however it was described.
struct MemLoops {
  std::array<MemLoop, 2 * H5S_MAX_RANK> loops;
  std::size_t size = 0;
  uint64_t start_elems = 0;

  void Push(uint64_t count, uint64_t stride_elems) {
    if (count == 1) return;
    if (size > 0 && loops[size - 1].stride_elems == count * stride_elems) {
      loops[size - 1] = {loops[size - 1].count * count, stride_elems};
      return;
    }
    loops[size++] = {count, stride_elems};
  }
};

MemLoops LoopsOf(const SideSelection& mem) {
  std::array<uint64_t, H5S_MAX_RANK> strides_elems;
  uint64_t stride_elems = 1;
  for (std::size_t d = mem.rank; d-- > 0;) {
    strides_elems[d] = stride_elems;
    stride_elems *= mem.extent[d];
  }
  MemLoops loops;
  for (std::size_t d = 0; d < mem.rank; ++d) {
    const zarr::DimSelection& dim = mem.dims[d];
    loops.start_elems += dim.start * strides_elems[d];
    loops.Push(dim.count, dim.stride * strides_elems[d]);
    loops.Push(dim.block, strides_elems[d]);
  }
  return loops;
}

}  // namespace

std::optional<GridTransfer> MatchGrid(const SelectionPair& pair) {
  if (pair.file.kind != SideSelection::Kind::kGrid || pair.mem.kind != SideSelection::Kind::kGrid) {
    return std::nullopt;
  }
  MemLoops mem = LoopsOf(pair.mem);
  GridTransfer grid;
  grid.mem_start_elems = mem.start_elems;
  grid.dims.assign(pair.file.dims.begin(), pair.file.dims.begin() + pair.file.rank);
  grid.mem_strides_elems.resize(pair.file.rank, 0);
  // From the innermost out, each file dimension takes its steps from the innermost loop that is
  // left.
  for (std::size_t d = pair.file.rank; d-- > 0;) {
    const uint64_t elems = grid.dims[d].elems();
    if (elems == 1) continue;
    MemLoop& loop = mem.loops[mem.size - 1];
    if (loop.count % elems != 0) return std::nullopt;
    grid.mem_strides_elems[d] = static_cast<int64_t>(loop.stride_elems);
    loop.count /= elems;
    loop.stride_elems *= elems;
    if (loop.count == 1) --mem.size;
  }
  return grid;
}

namespace {

bool MatchFileBox(hid_t file_space, std::span<const uint64_t> extent, BoxTransfer* box) {
  if (file_space == H5S_ALL) {
    std::fill_n(box->start.begin(), extent.size(), hsize_t{0});
    std::copy(extent.begin(), extent.end(), box->counts.begin());
    box->elems = CheckedProduct(extent).value_or(0);
    return box->elems > 0;
  }
  std::array<hsize_t, H5S_MAX_RANK> own, high;
  if (file_space == kBlock || file_space == kPlist ||
      H5Sget_simple_extent_dims(file_space, own.data(), nullptr) != static_cast<int>(extent.size())) {
    return false;
  }
  const hssize_t selected = H5Sget_select_npoints(file_space);
  if (selected <= 0 || H5Sget_select_bounds(file_space, box->start.data(), high.data()) < 0) return false;
  box->elems = 1;
  for (std::size_t d = 0; d < extent.size(); ++d) {
    // (Whatever H5Sselect_valid refuses has bounds outside, or none.)
    if (high[d] >= extent[d] || high[d] >= own[d]) return false;
    box->counts[d] = high[d] - box->start[d] + 1;
    const auto product = CheckedMul(box->elems, box->counts[d]);
    if (!product) return false;
    box->elems = *product;
  }
  // It has as many elements as its bounds: all of them, unless it names some twice.
  if (box->elems != static_cast<uint64_t>(selected)) return false;
  return box->elems == 1 || H5Sget_select_type(file_space) != H5S_SEL_POINTS;
}

}  // namespace

bool MatchBox(hid_t file_space, hid_t mem_space, std::span<const uint64_t> extent, BoxTransfer* box) {
  box->rank = extent.size();
  if (box->rank == 0 || box->rank > H5S_MAX_RANK || mem_space == kPlist) return false;
  if (!MatchFileBox(file_space, extent, box)) return false;
  if (mem_space == kBlock) return true;
  if (mem_space == H5S_ALL) return file_space == H5S_ALL;  // memory is laid out as the file
  if (H5Sget_select_type(mem_space) != H5S_SEL_ALL) return false;
  const hssize_t room = H5Sget_select_npoints(mem_space);
  return room >= 0 && static_cast<uint64_t>(room) == box->elems;
}

}  // namespace h5zarr::transfer
