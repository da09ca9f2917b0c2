#include "transfer/slab.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/nd_copy.h"

namespace h5zarr::transfer {
namespace {

constexpr uint64_t kMaxRunsPerSlab = 1 << 20;

// One dimension's selected indices with ordinals [first, end). REQUIRES: they are whole blocks, or
// all in one block (SliceEnd makes them so).
zarr::DimSelection Slice(const zarr::DimSelection& dim, uint64_t first, uint64_t end) {
  const uint64_t start = dim.start + first / dim.block * dim.stride + first % dim.block;
  if (dim.block == 1) return {start, dim.stride, end - first, 1};
  if (end - first < dim.block) return {start, 1, end - first, 1};
  return {start, dim.stride, (end - first) / dim.block, dim.block};
}

// Where a slice of about `step` ordinals from `first` on ends: at a chunk's end where the indices
// are consecutive.
uint64_t SliceEnd(const zarr::DimSelection& dim, uint64_t first, uint64_t step, uint64_t chunk) {
  const uint64_t elems = dim.elems();
  if (step >= elems - first) {
    if (dim.block == 1 || first % dim.block == 0) return elems;
    return std::min(elems, (first / dim.block + 1) * dim.block);
  }
  if (dim.block > 1 && step >= dim.block) return first + step / dim.block * dim.block;
  if (dim.block == 1 && dim.stride > 1) return first + step;
  const uint64_t run_end = dim.block > 1 ? (first / dim.block + 1) * dim.block : elems;
  const uint64_t start = dim.start + first / dim.block * dim.stride + first % dim.block;
  const uint64_t chunk_end = (start + step) / chunk * chunk;
  return std::min(run_end, chunk_end > start ? first + (chunk_end - start) : first + step);
}

// About how many of the dimension's selected indices lie in one chunk; at least 1.
uint64_t ElemsPerChunk(const zarr::DimSelection& dim, uint64_t chunk) {
  uint64_t elems = chunk;
  if (dim.block == 1) {
    elems = chunk / dim.stride;
  } else {
    elems = chunk >= dim.stride ? chunk / dim.stride * dim.block : std::min(dim.block, chunk);
  }
  return std::clamp<uint64_t>(elems, 1, dim.elems());
}

// A box of one chunk, grown from the last dimension on while it stays within the budget.
std::vector<uint64_t> BoxSteps(std::span<const zarr::DimSelection> dims, std::span<const uint64_t> chunk_shape,
                               uint64_t budget_elems) {
  std::vector<uint64_t> steps(dims.size());
  uint64_t box_elems = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    steps[d] = ElemsPerChunk(dims[d], chunk_shape[d]);
    box_elems *= steps[d];
  }
  for (std::size_t d = dims.size(); d-- > 0 && box_elems < budget_elems;) {
    box_elems /= steps[d];
    const uint64_t factor = budget_elems / box_elems / steps[d];
    steps[d] = std::min(dims[d].elems(), steps[d] * std::max<uint64_t>(factor, 1));
    box_elems *= steps[d];
  }
  return steps;
}

}  // namespace

zarr::Selection MakeSelection(const GridTransfer& grid, const ArrayLayout& layout, uint64_t mem_bytes) {
  zarr::GridSelection selection;
  const std::size_t rank = grid.dims.size() + layout.elem_dims.size();
  selection.dims.reserve(rank);
  selection.mem_strides_bytes.reserve(rank);
  selection.dims = grid.dims;
  for (const int64_t stride_elems : grid.mem_strides_elems) {
    selection.mem_strides_bytes.push_back(stride_elems * static_cast<int64_t>(mem_bytes));
  }
  uint64_t stride_bytes = layout.stored_bytes();
  for (const uint64_t count : layout.elem_dims) {
    stride_bytes /= count;
    selection.dims.push_back({0, 1, count, 1});
    selection.mem_strides_bytes.push_back(static_cast<int64_t>(stride_bytes));
  }
  return selection;
}

zarr::Selection MakeSelection(std::span<const ElementRun> runs, const ArrayLayout& layout, uint64_t mem_bytes) {
  zarr::RunSelection selection;
  selection.reserve(runs.size());
  for (const ElementRun& run : runs) {
    selection.push_back(
        {run.array_offset * layout.elem_items, run.mem_offset * mem_bytes, run.elems * layout.elem_items});
  }
  return selection;
}

void Slab::Scatter(const std::byte* packed_elems, std::byte* buffer, uint64_t mem_bytes) const {
  for (const ElementRun& run : runs) {
    std::memcpy(buffer + run.mem_offset * mem_bytes, packed_elems, run.elems * mem_bytes);
    packed_elems += run.elems * mem_bytes;
  }
  if (!runs.empty()) return;
  std::vector<int64_t> strides_bytes(mem_strides_elems);
  for (int64_t& stride : strides_bytes) stride *= static_cast<int64_t>(mem_bytes);
  std::vector<int64_t> packed_strides_bytes(counts.size());
  ContiguousStrides(counts, mem_bytes, packed_strides_bytes);
  CopyStrided(packed_elems, packed_strides_bytes, buffer + mem_start_elems * mem_bytes, strides_bytes, counts,
              mem_bytes);
}

void Slab::Gather(const std::byte* buffer, std::byte* packed_elems, uint64_t mem_bytes) const {
  for (const ElementRun& run : runs) {
    std::memcpy(packed_elems, buffer + run.mem_offset * mem_bytes, run.elems * mem_bytes);
    packed_elems += run.elems * mem_bytes;
  }
  if (!runs.empty()) return;
  std::vector<int64_t> strides_bytes(mem_strides_elems);
  for (int64_t& stride : strides_bytes) stride *= static_cast<int64_t>(mem_bytes);
  std::vector<int64_t> packed_strides_bytes(counts.size());
  ContiguousStrides(counts, mem_bytes, packed_strides_bytes);
  CopyStrided(buffer + mem_start_elems * mem_bytes, strides_bytes, packed_elems, packed_strides_bytes, counts,
              mem_bytes);
}

struct SlabSource::State {
  ArrayLayout layout;
  uint64_t max_elems = 0;
  // A grid: the next box begins at the ordinals `first`.
  std::optional<GridTransfer> grid;
  std::span<const uint64_t> chunk_shape;
  std::vector<uint64_t> steps;
  std::vector<uint64_t> first;
  bool done = false;
  // Anything else.
  std::optional<RunStream> stream;

  void NextBox(Slab& slab);
  Status NextRuns(Slab& slab);
};

SlabSource::SlabSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
SlabSource::SlabSource(SlabSource&&) noexcept = default;
SlabSource& SlabSource::operator=(SlabSource&&) noexcept = default;
SlabSource::~SlabSource() = default;

uint64_t SlabSource::max_elems() const { return state_->max_elems; }

SlabSource SlabSource::OfGrid(GridTransfer grid, const ArrayLayout& layout, std::span<const uint64_t> chunk_shape,
                              uint64_t budget_elems) {
  auto state = std::make_unique<State>();
  state->layout = layout;
  state->chunk_shape = chunk_shape.first(grid.dims.size());
  state->steps = BoxSteps(grid.dims, state->chunk_shape, std::max<uint64_t>(budget_elems, 1));
  state->first.resize(state->steps.size(), 0);
  state->max_elems = 1;
  for (const uint64_t step : state->steps) state->max_elems *= step;
  state->grid = std::move(grid);
  return SlabSource(std::move(state));
}

Result<SlabSource> SlabSource::OfRuns(const SelectionPair& pair, const ArrayLayout& layout, uint64_t budget_elems) {
  auto state = std::make_unique<State>();
  state->layout = layout;
  H5ZARR_ASSIGN_OR_RETURN(state->stream, RunStream::Open(pair, layout.extent));
  state->max_elems = std::min(std::max<uint64_t>(budget_elems, 1), pair.elems());
  return SlabSource(std::move(state));
}

Result<bool> SlabSource::Next(Slab& slab) {
  if (state_->grid) {
    if (state_->done) return false;
    state_->NextBox(slab);
    return true;
  }
  if (state_->stream->done()) return false;
  H5ZARR_RETURN_IF_ERROR(state_->NextRuns(slab));
  return true;
}

void SlabSource::State::NextBox(Slab& slab) {
  const std::size_t rank = steps.size();
  GridTransfer box;
  slab.elems = 1;
  slab.mem_start_elems = grid->mem_start_elems;
  slab.counts.resize(rank);
  slab.mem_strides_elems = grid->mem_strides_elems;
  slab.runs.clear();
  std::vector<uint64_t> end(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    end[d] = SliceEnd(grid->dims[d], first[d], steps[d], chunk_shape[d]);
    box.dims.push_back(Slice(grid->dims[d], first[d], end[d]));
    slab.counts[d] = end[d] - first[d];
    slab.elems *= slab.counts[d];
    slab.mem_start_elems += first[d] * static_cast<uint64_t>(grid->mem_strides_elems[d]);
  }
  box.mem_strides_elems.resize(rank);
  ContiguousStrides(slab.counts, 1, box.mem_strides_elems);
  slab.packed = MakeSelection(box, layout, layout.stored_bytes());
  for (std::size_t d = rank; d-- > 0;) {
    first[d] = end[d];
    if (first[d] < grid->dims[d].elems()) return;
    first[d] = 0;
  }
  done = true;
}

Status SlabSource::State::NextRuns(Slab& slab) {
  H5ZARR_RETURN_IF_ERROR(stream->Next(kMaxRunsPerSlab, max_elems, slab.runs));
  slab.elems = 0;
  std::vector<ElementRun> packed(slab.runs);
  for (ElementRun& run : packed) {
    run.mem_offset = slab.elems;
    slab.elems += run.elems;
  }
  slab.packed = MakeSelection(packed, layout, layout.stored_bytes());
  return OkStatus();
}

}  // namespace h5zarr::transfer
