#include "transfer/virtual_map.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "host/error_stack.h"

namespace h5zarr::transfer {
namespace {

using shadow::MappedSelection;
using zarr::DimSelection;

// Indices start, start + step, …: `count` of them.
struct Progression {
  uint64_t start = 0;
  uint64_t step = 1;
  uint64_t count = 0;
};

std::optional<Progression> AsProgression(const DimSelection& dim) {
  if (dim.count == 1 || dim.stride == dim.block) return Progression{dim.start, 1, dim.elems()};
  if (dim.block == 1) return Progression{dim.start, dim.stride, dim.count};
  return std::nullopt;
}

// What two progressions have in common, in ordinals of each: the i-th common index is number
// first_a + i * step_a of a.
struct Common {
  uint64_t count = 0;
  uint64_t first_a = 0, step_a = 1;
  uint64_t first_b = 0, step_b = 1;
};

// x with a * x ≡ 1 modulo m. REQUIRES: they have no common divisor.
uint64_t Inverse(uint64_t a, uint64_t m) {
  __int128 old_r = a, r = m, old_x = 1, x = 0;
  while (r != 0) {
    const __int128 quotient = old_r / r;
    std::tie(old_r, r) = std::pair(r, old_r - quotient * r);
    std::tie(old_x, x) = std::pair(x, old_x - quotient * x);
  }
  const __int128 modulus = m;
  return static_cast<uint64_t>((old_x % modulus + modulus) % modulus);
}

Common Intersect(const Progression& a, const Progression& b) {
  Common common;
  if (a.count == 0 || b.count == 0) return common;
  const uint64_t low = std::max(a.start, b.start);
  const uint64_t high = std::min(a.start + (a.count - 1) * a.step, b.start + (b.count - 1) * b.step);
  if (low > high) return common;
  // The first index of a that is not below `low`, then on to one that is b's, too.
  const uint64_t gcd = std::gcd(a.step, b.step);
  const uint64_t from = a.start + CeilDiv(low - a.start, a.step) * a.step;
  const uint64_t period = b.step / gcd;  // in steps of a
  const uint64_t gap = from >= b.start ? (b.step - (from - b.start) % b.step) % b.step : (b.start - from) % b.step;
  if (gap % gcd != 0) return common;
  const auto steps = static_cast<uint64_t>(static_cast<unsigned __int128>(gap / gcd) *
                                           Inverse(a.step / gcd % period, period) % period);
  const unsigned __int128 first = from + static_cast<unsigned __int128>(steps) * a.step;
  if (first > high) return common;
  const unsigned __int128 stride = static_cast<unsigned __int128>(period) * a.step;
  const auto start = static_cast<uint64_t>(first);
  common.count = static_cast<uint64_t>((high - start) / stride) + 1;
  common.first_a = (start - a.start) / a.step;
  common.first_b = (start - b.start) / b.step;
  common.step_a = period;
  common.step_b = a.step / gcd;
  return common;
}

// The next of a hyperslab's dimensions from `d` on that selects more than one index.
std::size_t NextWide(const Hyperslab& hyperslab, std::size_t d) {
  while (d < hyperslab.size() && hyperslab[d].elems() == 1) ++d;
  return d;
}

uint64_t ElemsOf(const Hyperslab& hyperslab) {
  uint64_t elems = 1;
  for (const DimSelection& dim : hyperslab) elems *= dim.elems();
  return elems;
}

// The piece of a transfer that is a grid; nothing where it needs HDF5 (a dimension is no progression,
// or source and target are not the same dimensions).
std::optional<Piece> CutGrid(const GridTransfer& transfer, const Hyperslab& target, const Hyperslab& source) {
  Piece piece;
  piece.elems = 1;
  piece.grid.emplace();
  GridTransfer& grid = *piece.grid;
  grid.mem_start_elems = transfer.mem_start_elems;
  for (const DimSelection& dim : source) grid.dims.push_back({dim.start, 1, 1, 1});
  grid.mem_strides_elems.resize(source.size(), 0);
  std::size_t s = NextWide(source, 0);
  for (std::size_t d = 0; d < target.size(); ++d) {
    const auto wanted = AsProgression(transfer.dims[d]);
    const auto mapped = AsProgression(target[d]);
    if (!wanted || !mapped) return std::nullopt;
    const Common common = Intersect(*wanted, *mapped);
    piece.elems *= common.count;
    grid.mem_start_elems += common.first_a * static_cast<uint64_t>(transfer.mem_strides_elems[d]);
    if (mapped->count == 1) continue;
    const auto from = s < source.size() ? AsProgression(source[s]) : std::nullopt;
    if (!from || from->count != mapped->count) return std::nullopt;
    grid.dims[s] = {from->start + common.first_b * from->step, common.step_b * from->step, common.count, 1};
    grid.mem_strides_elems[s] = transfer.mem_strides_elems[d] * static_cast<int64_t>(common.step_a);
    s = NextWide(source, s + 1);
  }
  if (s < source.size()) return std::nullopt;
  for (DimSelection& dim : grid.dims) {
    if (dim.count <= 1) dim.stride = 1;
  }
  return piece;
}

Status CheckSides(const MappedSide& target, const MappedSide& source) {
  uint64_t target_elems = 0, source_elems = 0;
  for (const Hyperslab& part : target.parts) target_elems += ElemsOf(part);
  for (const Hyperslab& part : source.parts) source_elems += ElemsOf(part);
  if (target_elems == source_elems) return OkStatus();
  return InvalidArgumentError("a mapping selects " + std::to_string(source_elems) + " elements of its source for " +
                              std::to_string(target_elems) + " of the virtual dataset");
}

Status Refused(const char* what) { return InternalError(std::string("HDF5 refused ") + what); }

Status AddHyperslab(hid_t space, H5S_seloper_t how, std::span<const DimSelection> hyperslab) {
  std::vector<hsize_t> start, stride, count, block;
  for (const DimSelection& dim : hyperslab) {
    start.push_back(dim.start);
    stride.push_back(dim.stride);
    count.push_back(dim.count);
    block.push_back(dim.block);
  }
  if (H5Sselect_hyperslab(space, how, start.data(), stride.data(), count.data(), block.data()) < 0) {
    return Refused("a mapping's hyperslab");
  }
  return OkStatus();
}

// An extent without dimensions is one element of one.
Result<Handle> MakeSpace(std::span<const uint64_t> extent) {
  const hsize_t one = 1;
  Handle space(extent.empty() ? H5Screate_simple(1, &one, nullptr)
                              : H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr));
  if (!space.valid()) return Refused("a mapping's extent");
  return space;
}

Result<Handle> SpaceOfSide(const MappedSide& side, std::span<const uint64_t> extent) {
  H5ZARR_ASSIGN_OR_RETURN(Handle space, MakeSpace(extent));
  if (extent.empty() && !side.parts.empty()) return space;
  if (H5Sselect_none(space.get()) < 0) return Refused("a mapping's hyperslab");
  for (const Hyperslab& part : side.parts) {
    H5ZARR_RETURN_IF_ERROR(AddHyperslab(space.get(), H5S_SELECT_OR, part));
  }
  return space;
}

// What a transfer's own space selects, H5Soffset_simple applied where it is regular.
Result<Handle> SpaceOf(const SideSelection& side) {
  if (side.kind != SideSelection::Kind::kGrid) {
    Handle copy(H5Scopy(side.space));
    if (!copy.valid()) return host::AlreadyReported();
    return copy;
  }
  return SpaceOfGrid(std::span(side.dims.data(), side.rank), side.shape());
}

// Of the elements `of` selects those that `where` does, too, as their counterparts in `onto`.
Result<Handle> Project(hid_t of, hid_t onto, hid_t where) {
  Handle projected(H5Sselect_project_intersection(of, onto, where));
  if (!projected.valid()) return host::AlreadyReported();
  return projected;
}

}  // namespace

// --- unlimited mappings ----------------------------------------------------------------------------

namespace {
bool IsOneBlock(const DimSelection& dim) { return dim.block == H5S_UNLIMITED || dim.block == dim.stride; }
}  // namespace

uint64_t SlicesWithin(const DimSelection& dim, uint64_t extent) {
  if (dim.start >= extent) return 0;
  const uint64_t room = extent - dim.start;
  if (IsOneBlock(dim)) return room;
  return room / dim.stride * dim.block + std::min(room % dim.stride, dim.block);
}

uint64_t ExtentOfSlices(const DimSelection& dim, uint64_t slices, bool trailing) {
  if (slices == 0) return trailing ? dim.start : 0;
  if (IsOneBlock(dim)) return dim.start + slices;
  const uint64_t blocks = slices / dim.block;
  const uint64_t rest = slices % dim.block;
  if (rest > 0) return dim.start + blocks * dim.stride + rest;
  return trailing ? dim.start + blocks * dim.stride : dim.start + (blocks - 1) * dim.stride + dim.block;
}

DimSelection BlockOf(const DimSelection& dim, uint64_t index) {
  return {dim.start + index * dim.stride, 1, 1, dim.block};
}

Result<MappedSide> ResolveSide(const MappedSelection& selection, std::span<const uint64_t> extent, uint64_t slices) {
  MappedSide side;
  if (selection.kind == MappedSelection::Kind::kNone) return side;
  if (selection.kind == MappedSelection::Kind::kAll) {
    Hyperslab& whole = side.parts.emplace_back();
    for (const uint64_t dim : extent) whole.push_back({0, 1, dim, 1});
    return side;
  }
  const std::size_t rank = selection.rank();
  if (rank != extent.size()) {
    return InvalidArgumentError("a mapping selects in " + std::to_string(rank) + " dimensions, the dataset has " +
                                std::to_string(extent.size()));
  }
  for (std::size_t at = 0; at < selection.corners.size(); at += 2 * rank) {
    Hyperslab& block = side.parts.emplace_back();
    for (std::size_t d = 0; d < rank; ++d) {
      const uint64_t first = selection.corners[at + d];
      block.push_back({first, 1, 1, selection.corners[at + rank + d] - first + 1});
    }
  }
  if (selection.kind == MappedSelection::Kind::kBlocks) return side;
  if (selection.unlimited_dim < 0) {
    side.parts.push_back(selection.dims);
    return side;
  }
  // Whole blocks, then the beginning of one more.
  const auto d = static_cast<std::size_t>(selection.unlimited_dim);
  const DimSelection& dim = selection.dims[d];
  const uint64_t block = IsOneBlock(dim) ? slices : dim.block;
  const uint64_t blocks = block == 0 ? 0 : slices / block;
  if (blocks > 0) {
    side.parts.push_back(selection.dims);
    side.parts.back()[d] = {dim.start, std::max(dim.stride, block), blocks, block};
  }
  if (const uint64_t rest = slices - blocks * block; rest > 0) {
    side.parts.push_back(selection.dims);
    side.parts.back()[d] = {dim.start + blocks * dim.stride, 1, 1, rest};
  }
  return side;
}

// --- pieces ----------------------------------------------------------------------------------------

namespace {

Bounds BoundsOf(std::span<const DimSelection> hyperslab) {
  Bounds bounds;
  for (const DimSelection& dim : hyperslab) {
    bounds.low.push_back(dim.start);
    bounds.high.push_back(dim.start + (dim.count - 1) * dim.stride + dim.block - 1);
  }
  return bounds;
}

bool Overlap(const Bounds& a, const Bounds& b) {
  for (std::size_t d = 0; d < a.low.size(); ++d) {
    if (a.high[d] < b.low[d] || b.high[d] < a.low[d]) return false;
  }
  return true;
}

// The dimension in which most of them begin at an index of their own.
std::size_t MostVariedDimension(std::span<const Bounds> all) {
  std::size_t best = 0, most = 0;
  for (std::size_t d = 0; d < all[0].low.size(); ++d) {
    std::set<uint64_t> lows;
    for (const Bounds& bounds : all) lows.insert(bounds.low[d]);
    if (lows.size() > most) std::tie(best, most) = std::pair(d, lows.size());
  }
  return best;
}

}  // namespace

void AppendBounds(const MappedSelection& selection, std::size_t rank, std::vector<uint64_t>* bounds) {
  for (std::size_t d = 0; d < rank; ++d) {
    uint64_t low = 0, high = UINT64_MAX;
    if (selection.kind == MappedSelection::Kind::kNone) std::swap(low, high);
    if (selection.kind == MappedSelection::Kind::kRegular) {
      const DimSelection& dim = selection.dims[d];
      low = dim.start;
      if (static_cast<int>(d) != selection.unlimited_dim) {
        high = dim.start + (dim.count - 1) * dim.stride + dim.block - 1;
      }
    }
    if (selection.kind == MappedSelection::Kind::kBlocks) {
      std::swap(low, high);
      for (std::size_t at = 0; at < selection.corners.size(); at += 2 * rank) {
        low = std::min(low, selection.corners[at + d]);
        high = std::max(high, selection.corners[at + rank + d]);
      }
    }
    bounds->push_back(low);
    bounds->push_back(high);
  }
}

Bounds BoundsOf(const MappedSide& side) {
  Bounds bounds = BoundsOf(side.parts[0]);
  for (const Hyperslab& part : side.parts) {
    const Bounds more = BoundsOf(part);
    for (std::size_t d = 0; d < more.low.size(); ++d) {
      bounds.low[d] = std::min(bounds.low[d], more.low[d]);
      bounds.high[d] = std::max(bounds.high[d], more.high[d]);
    }
  }
  return bounds;
}

bool MayOverlap(std::span<const Bounds> all) {
  if (all.size() < 2) return false;
  if (all[0].low.empty()) return true;
  // A sweep: those that reach into the current one's beginning are compared in the other dimensions.
  const std::size_t sweep = MostVariedDimension(all);
  std::vector<const Bounds*> sorted;
  for (const Bounds& bounds : all) sorted.push_back(&bounds);
  std::sort(sorted.begin(), sorted.end(),
            [&](const Bounds* a, const Bounds* b) { return a->low[sweep] < b->low[sweep]; });
  uint64_t budget = 1'000'000 + 64 * all.size();
  std::vector<const Bounds*> active;
  for (const Bounds* current : sorted) {
    std::erase_if(active, [&](const Bounds* other) { return other->high[sweep] < current->low[sweep]; });
    if (active.size() > budget) return true;
    budget -= active.size();
    for (const Bounds* other : active) {
      if (Overlap(*current, *other)) return true;
    }
    active.push_back(current);
  }
  return false;
}

Result<VirtualCutter> VirtualCutter::Make(hid_t file_space, hid_t mem_space, std::span<const uint64_t> extent,
                                          uint64_t mem_bytes) {
  VirtualCutter cutter;
  H5ZARR_ASSIGN_OR_RETURN(cutter.pair_, ResolveSelections(file_space, mem_space, extent));
  if (cutter.elems() == 0) return cutter;
  H5ZARR_RETURN_IF_ERROR(CheckMemoryBytes(cutter.pair_.mem, mem_bytes));
  cutter.grid_ = MatchGrid(cutter.pair_);
  const SideSelection& file = cutter.pair_.file;
  if (file.kind == SideSelection::Kind::kGrid) {
    cutter.bounds_ = BoundsOf(std::span(file.dims.data(), file.rank));
    return cutter;
  }
  cutter.bounds_.low.resize(file.rank);
  cutter.bounds_.high.resize(file.rank);
  if (H5Sget_select_bounds(file.space, cutter.bounds_.low.data(), cutter.bounds_.high.data()) < 0) {
    return host::AlreadyReported();
  }
  return cutter;
}

Status VirtualCutter::MakeSpaces() {
  if (file_space_.valid()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(mem_space_, SpaceOf(pair_.mem));
  H5ZARR_ASSIGN_OR_RETURN(file_space_, SpaceOf(pair_.file));
  return OkStatus();
}

Result<std::optional<Piece>> VirtualCutter::Cut(const MappedSide& target, const MappedSide& source,
                                                std::span<const uint64_t> source_extent) {
  H5ZARR_RETURN_IF_ERROR(CheckSides(target, source));
  if (grid_ && target.parts.size() == 1 && source.parts.size() == 1) {
    std::optional<Piece> piece = CutGrid(*grid_, target.parts[0], source.parts[0]);
    if (piece && piece->elems == 0) return std::optional<Piece>();
    if (piece) return piece;
  }
  return CutSpaces(target, source, source_extent);
}

Result<std::optional<Piece>> VirtualCutter::CutSpaces(const MappedSide& target, const MappedSide& source,
                                                      std::span<const uint64_t> source_extent) {
  H5ZARR_RETURN_IF_ERROR(CheckSides(target, source));
  if (target.parts.empty()) return std::optional<Piece>();
  H5ZARR_RETURN_IF_ERROR(MakeSpaces());
  H5ZARR_ASSIGN_OR_RETURN(const Handle target_space, SpaceOfSide(target, pair_.file.shape()));
  H5ZARR_ASSIGN_OR_RETURN(const Handle source_space, SpaceOfSide(source, source_extent));
  Piece piece;
  H5ZARR_ASSIGN_OR_RETURN(piece.mem_space, Project(file_space_.get(), mem_space_.get(), target_space.get()));
  const hssize_t elems = H5Sget_select_npoints(piece.mem_space.get());
  if (elems <= 0) return std::optional<Piece>();
  piece.elems = static_cast<uint64_t>(elems);
  H5ZARR_ASSIGN_OR_RETURN(piece.source_space, Project(target_space.get(), source_space.get(), file_space_.get()));
  return std::optional<Piece>(std::move(piece));
}

Result<Piece> VirtualCutter::Uncovered(std::span<const MappedSide> targets) {
  H5ZARR_RETURN_IF_ERROR(MakeSpaces());
  Piece piece;
  H5ZARR_ASSIGN_OR_RETURN(piece.source_space, MakeSpace(pair_.file.shape()));
  for (const MappedSide& target : targets) {
    for (const Hyperslab& part : target.parts) {
      H5ZARR_RETURN_IF_ERROR(AddHyperslab(piece.source_space.get(), H5S_SELECT_NOTB, part));
    }
  }
  H5ZARR_ASSIGN_OR_RETURN(piece.mem_space, Project(file_space_.get(), mem_space_.get(), piece.source_space.get()));
  H5ZARR_ASSIGN_OR_RETURN(piece.source_space, Project(file_space_.get(), file_space_.get(), piece.source_space.get()));
  const hssize_t elems = H5Sget_select_npoints(piece.mem_space.get());
  if (elems < 0) return host::AlreadyReported();
  piece.elems = static_cast<uint64_t>(elems);
  return piece;
}

Result<hid_t> VirtualCutter::MemorySpace() {
  H5ZARR_RETURN_IF_ERROR(MakeSpaces());
  return mem_space_.get();
}

Result<Handle> SpaceOfGrid(std::span<const DimSelection> dims, std::span<const uint64_t> extent) {
  H5ZARR_ASSIGN_OR_RETURN(Handle space, MakeSpace(extent));
  if (!extent.empty()) H5ZARR_RETURN_IF_ERROR(AddHyperslab(space.get(), H5S_SELECT_SET, dims));
  return space;
}

Result<Handle> MemorySpaceOfGrid(const GridTransfer& grid) {
  // Row-major extents whose strides are the grid's: possible where each stride is a multiple of the
  // next. The last dimension takes a stride above 1 as a step.
  std::vector<uint64_t> extent;
  Hyperslab selection;
  uint64_t outer_stride = 0;
  for (std::size_t d = 0; d < grid.dims.size(); ++d) {
    const uint64_t count = grid.dims[d].elems();
    const auto stride = static_cast<uint64_t>(grid.mem_strides_elems[d]);
    if (count == 1) continue;
    if (!extent.empty()) {
      if (stride == 0 || outer_stride % stride != 0 || outer_stride / stride < count) {
        return Handle();
      }
      extent.push_back(outer_stride / stride);
    } else {
      extent.push_back(count);
    }
    selection.push_back({0, 1, count, 1});
    outer_stride = stride;
  }
  if (outer_stride > 1) {
    extent.push_back(outer_stride);
    selection.push_back({0, 1, 1, 1});
  }
  return SpaceOfGrid(selection, extent);
}

}  // namespace h5zarr::transfer
