#include "base/nd_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace h5zarr {
namespace {

// HDF5 has at most 32 dimensions; higher ranks peel their outer dimensions first.
constexpr std::size_t kMaxRank = 32;
// Edge, in elements, of the tiles in which two transposed layouts are copied: reads and writes of
// one tile stay in the first-level cache.
constexpr uint64_t kTileElems = 32;

struct Dim {
  uint64_t count = 0;
  int64_t source_stride_bytes = 0;
  int64_t target_stride_bytes = 0;
};

// The same elements as a caller's counts and strides, as few loops over runs as long as possible.
struct LoopNest {
  std::array<Dim, kMaxRank> dims;  // outermost first
  std::size_t rank = 0;
  uint64_t run_bytes = 0;  // contiguous on both sides
};

uint64_t Magnitude(int64_t stride_bytes) {
  return stride_bytes < 0 ? 0 - static_cast<uint64_t>(stride_bytes) : static_cast<uint64_t>(stride_bytes);
}

// True when stepping `outer` once equals stepping `inner` through all of its count.
bool Continues(int64_t outer_stride_bytes, int64_t inner_stride_bytes, uint64_t inner_count) {
  int64_t whole_bytes;
  return inner_count <= INT64_MAX &&
         !__builtin_mul_overflow(inner_stride_bytes, static_cast<int64_t>(inner_count), &whole_bytes) &&
         whole_bytes == outer_stride_bytes;
}

// Orders the dimensions by how far a step moves in the target, so that writes are as sequential as
// they can be and dimensions that are contiguous in another order (Fortran's) can be joined.
void SortByTargetStride(LoopNest& nest) {
  Dim* const first = nest.dims.data();
  Dim* const last = first + nest.rank;
  // Elements of a repeated target position depend on the order of writes: leave that alone.
  const auto repeats = [](const Dim& dim) { return dim.target_stride_bytes == 0; };
  if (std::any_of(first, last, repeats)) return;
  for (Dim* d = first; d != last; ++d) {
    const Dim dim = *d;
    Dim* place = d;
    while (place != first && Magnitude(place[-1].target_stride_bytes) < Magnitude(dim.target_stride_bytes)) {
      *place = place[-1];
      --place;
    }
    *place = dim;
  }
}

void JoinDims(LoopNest& nest) {
  std::size_t joined = 0;
  for (std::size_t d = 0; d < nest.rank; ++d) {
    const Dim dim = nest.dims[d];
    if (joined > 0) {
      Dim& outer = nest.dims[joined - 1];
      if (Continues(outer.source_stride_bytes, dim.source_stride_bytes, dim.count) &&
          Continues(outer.target_stride_bytes, dim.target_stride_bytes, dim.count)) {
        outer.count *= dim.count;
        outer.source_stride_bytes = dim.source_stride_bytes;
        outer.target_stride_bytes = dim.target_stride_bytes;
        continue;
      }
    }
    nest.dims[joined++] = dim;
  }
  nest.rank = joined;
  if (nest.rank == 0) return;
  const Dim& inner = nest.dims[nest.rank - 1];
  if (inner.source_stride_bytes == static_cast<int64_t>(nest.run_bytes) &&
      inner.target_stride_bytes == static_cast<int64_t>(nest.run_bytes)) {
    nest.run_bytes *= inner.count;
    --nest.rank;
  }
}

// False when there is no element at all. REQUIRES: counts.size() <= kMaxRank.
bool MakeLoopNest(std::span<const int64_t> source_strides_bytes, std::span<const int64_t> target_strides_bytes,
                  std::span<const uint64_t> counts, uint64_t elem_bytes, LoopNest& nest) {
  nest.run_bytes = elem_bytes;
  if (elem_bytes == 0) return false;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    if (counts[d] == 0) return false;
    if (counts[d] == 1) continue;
    nest.dims[nest.rank++] = {counts[d], source_strides_bytes[d], target_strides_bytes[d]};
  }
  if (nest.rank > 1) SortByTargetStride(nest);
  JoinDims(nest);
  return true;
}

template <std::size_t kBytes>
struct FixedMove {
  void operator()(std::byte* target, const std::byte* source) const {
    std::array<std::byte, kBytes> element;
    std::memcpy(element.data(), source, kBytes);
    std::memcpy(target, element.data(), kBytes);
  }
};

// Runs of kBytes to twice as many: their first kBytes and their last, which may overlap.
template <std::size_t kBytes>
struct ShortRunMove {
  std::size_t run_bytes;
  void operator()(std::byte* target, const std::byte* source) const {
    std::array<std::byte, kBytes> first;
    std::array<std::byte, kBytes> last;
    const std::size_t last_at = run_bytes - kBytes;
    std::memcpy(first.data(), source, kBytes);
    std::memcpy(last.data(), source + last_at, kBytes);
    std::memcpy(target, first.data(), kBytes);
    std::memcpy(target + last_at, last.data(), kBytes);
  }
};

struct RunMove {
  std::size_t run_bytes;
  void operator()(std::byte* target, const std::byte* source) const { std::memcpy(target, source, run_bytes); }
};

template <typename Move>
void MoveRow(const std::byte* source, std::byte* target, const Dim& dim, uint64_t count, const Move& move) {
  for (uint64_t i = 0; i < count; ++i) {
    move(target, source);
    source += dim.source_stride_bytes;
    target += dim.target_stride_bytes;
  }
}

template <typename Move>
void MovePlane(const std::byte* source, std::byte* target, const Dim& outer, const Dim& inner, const Move& move) {
  const bool transposed =
      Magnitude(inner.source_stride_bytes) > Magnitude(outer.source_stride_bytes) && outer.source_stride_bytes != 0;
  const uint64_t tile_rows = transposed ? kTileElems : outer.count;
  const uint64_t tile_columns = transposed ? kTileElems : inner.count;
  for (uint64_t row = 0; row < outer.count; row += tile_rows) {
    const uint64_t rows = std::min(tile_rows, outer.count - row);
    for (uint64_t column = 0; column < inner.count; column += tile_columns) {
      const uint64_t columns = std::min(tile_columns, inner.count - column);
      for (uint64_t r = row; r < row + rows; ++r) {
        const int64_t i = static_cast<int64_t>(r);
        const int64_t j = static_cast<int64_t>(column);
        MoveRow(source + i * outer.source_stride_bytes + j * inner.source_stride_bytes,
                target + i * outer.target_stride_bytes + j * inner.target_stride_bytes, inner, columns, move);
      }
    }
  }
}

// Moves every run of `nest`: planes of the two innermost loops, under a counter over the others.
template <typename Move>
void MoveAll(const LoopNest& nest, const std::byte* source, std::byte* target, const Move& move) {
  if (nest.rank == 0) return move(target, source);
  const Dim& inner = nest.dims[nest.rank - 1];
  if (nest.rank == 1) return MoveRow(source, target, inner, inner.count, move);
  const std::size_t outer_rank = nest.rank - 2;
  std::array<uint64_t, kMaxRank> at;
  std::fill_n(at.begin(), outer_rank, 0);
  while (true) {
    MovePlane(source, target, nest.dims[outer_rank], inner, move);
    std::size_t d = outer_rank;
    while (true) {
      if (d == 0) return;
      const Dim& dim = nest.dims[--d];
      if (++at[d] < dim.count) {
        source += dim.source_stride_bytes;
        target += dim.target_stride_bytes;
        break;
      }
      at[d] = 0;
      source -= static_cast<int64_t>(dim.count - 1) * dim.source_stride_bytes;
      target -= static_cast<int64_t>(dim.count - 1) * dim.target_stride_bytes;
    }
  }
}

void MoveRuns(const LoopNest& nest, const std::byte* source, std::byte* target) {
  switch (nest.run_bytes) {
    case 1: return MoveAll(nest, source, target, FixedMove<1>());
    case 2: return MoveAll(nest, source, target, FixedMove<2>());
    case 4: return MoveAll(nest, source, target, FixedMove<4>());
    case 8: return MoveAll(nest, source, target, FixedMove<8>());
    case 16: return MoveAll(nest, source, target, FixedMove<16>());
    default: break;
  }
  const std::size_t bytes = nest.run_bytes;
  if (bytes < 4) return MoveAll(nest, source, target, ShortRunMove<2>{bytes});
  if (bytes < 8) return MoveAll(nest, source, target, ShortRunMove<4>{bytes});
  if (bytes < 16) return MoveAll(nest, source, target, ShortRunMove<8>{bytes});
  if (bytes <= 32) return MoveAll(nest, source, target, ShortRunMove<16>{bytes});
  return MoveAll(nest, source, target, RunMove{bytes});
}

}  // namespace

void CopyStrided(const std::byte* source, std::span<const int64_t> source_strides_bytes, std::byte* target,
                 std::span<const int64_t> target_strides_bytes, std::span<const uint64_t> counts, uint64_t elem_bytes) {
  if (counts.size() > kMaxRank) {
    for (uint64_t i = 0; i < counts[0]; ++i) {
      const int64_t step = static_cast<int64_t>(i);
      CopyStrided(source + step * source_strides_bytes[0], source_strides_bytes.subspan(1),
                  target + step * target_strides_bytes[0], target_strides_bytes.subspan(1), counts.subspan(1),
                  elem_bytes);
    }
    return;
  }
  LoopNest nest;
  if (!MakeLoopNest(source_strides_bytes, target_strides_bytes, counts, elem_bytes, nest)) return;
  MoveRuns(nest, source, target);
}

void FillStrided(std::byte* target, std::span<const int64_t> target_strides_bytes, std::span<const uint64_t> counts,
                 ByteSpan value) {
  if (counts.size() > kMaxRank) {
    for (uint64_t i = 0; i < counts[0]; ++i) {
      FillStrided(target + static_cast<int64_t>(i) * target_strides_bytes[0], target_strides_bytes.subspan(1),
                  counts.subspan(1), value);
    }
    return;
  }
  LoopNest nest;
  if (!MakeLoopNest(target_strides_bytes, target_strides_bytes, counts, value.size(), nest)) return;
  if (nest.run_bytes > value.size() || nest.rank == 0) {
    const auto fill_run = [&](std::byte* run, const std::byte*) {
      FillContiguous(MutableByteSpan(run, nest.run_bytes), value);
    };
    return MoveAll(nest, target, target, fill_run);
  }
  // Single elements: a copy whose source stands still.
  for (std::size_t d = 0; d < nest.rank; ++d) nest.dims[d].source_stride_bytes = 0;
  MoveRuns(nest, value.data(), target);
}

void FillContiguous(MutableByteSpan target, ByteSpan value) {
  if (target.empty() || value.empty()) return;
  if (IsAll(value, value.first(1))) {
    std::memset(target.data(), std::to_integer<int>(value[0]), target.size());
    return;
  }
  // Doubling what is there, but copying from a block that stays in the first-level cache.
  constexpr std::size_t kBlockBytes = 8 << 10;
  std::memcpy(target.data(), value.data(), value.size());
  std::size_t filled_bytes = value.size();
  std::size_t block_bytes = filled_bytes;
  while (filled_bytes < target.size()) {
    if (block_bytes < kBlockBytes) block_bytes = filled_bytes;
    const std::size_t copied_bytes = std::min(block_bytes, target.size() - filled_bytes);
    std::memcpy(target.data() + filled_bytes, target.data(), copied_bytes);
    filled_bytes += copied_bytes;
  }
}

bool IsAll(ByteSpan bytes, ByteSpan value) {
  if (bytes.empty()) return true;
  if (value.empty() || bytes[0] != value[0]) return false;  // mostly so
  if (bytes.size() % value.size() != 0) return false;
  // Each element equals the value if the first does and every other equals its predecessor.
  return std::memcmp(bytes.data(), value.data(), value.size()) == 0 &&
         std::memcmp(bytes.data(), bytes.data() + value.size(), bytes.size() - value.size()) == 0;
}

void ContiguousStrides(std::span<const uint64_t> shape, uint64_t elem_bytes, std::span<int64_t> strides_bytes) {
  uint64_t stride_bytes = elem_bytes;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides_bytes[d] = static_cast<int64_t>(stride_bytes);
    stride_bytes *= shape[d];
  }
}

}  // namespace h5zarr
