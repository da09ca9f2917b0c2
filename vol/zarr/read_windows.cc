// Chunks without codecs: which of their byte ranges to read for a selection, and whether it is
// cheaper to read all of the chunk.
#include <algorithm>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/nd_copy.h"
#include "zarr/read_batch.h"

namespace h5zarr::zarr {

namespace {

// A chunk this small is read whole, unless little of it is wanted: a range of it costs as much.
constexpr uint64_t kAlwaysWholeBytes = 64 << 10;
constexpr uint64_t kLittle = 8;  // at most one part in so many
// Elements within this distance are read together…
constexpr uint64_t kGapBytes = 16 << 10;
// …as long as the range stays below this, so that it is still in a core's cache when elements are picked
// from it, and copying overlaps with reading.
constexpr uint64_t kMaxWindowBytes = 256 << 10;
// Rows as long as this are read to their place, one by one.
constexpr uint64_t kLongRowBytes = 64 << 10;
// A chunk above this is never read whole for a part of it.
constexpr uint64_t kMaxWholeBytes = 64 << 20;
// What a read of its own costs, and one that the store will join with its neighbour, in
// nanoseconds.
constexpr double kSeparateReadNs = 1500;
constexpr double kOpenNs = 5000;  // what opening the object adds to the first
constexpr double kJoinedReadNs = 300;
constexpr double kReadNsPerByte = 0.25;
// What a chunk above kMaxWindowBytes costs beside: memory that nobody has touched yet.
constexpr double kNewMemoryNsPerByte = 0.1;

}  // namespace

// How a (simplified) piece falls into byte ranges: dimensions before `first_dim` are looped over, and so
// is that one, in steps of `block`; those behind it lie within one range of `window_bytes`.
struct ReadBatch::Split {
  std::size_t first_dim = 0;
  uint64_t block = 1;
  uint64_t window_bytes = 0;  // the last along first_dim may be shorter
  uint64_t windows = 1;
  bool direct = false;  // each range is consecutive in memory too
  double cost_ns = 0;
};

struct ReadBatch::Splits {
  double cost_ns = 0;
  uint64_t window_bytes = 0;
  bool all_direct = true;  // each piece is one direct window

  void Add(const Split& split) {
    cost_ns += split.cost_ns;
    window_bytes += split.windows * split.window_bytes;
    all_direct = all_direct && split.direct && split.windows == 1;
  }
};

ReadBatch::Split ReadBatch::SplitPiece(const Piece& piece, uint64_t elem_bytes) {
  Split split;
  split.window_bytes = elem_bytes;
  split.first_dim = piece.dims;
  split.direct = true;
  if (piece.IsContiguous(elem_bytes)) {
    split.first_dim = 0;
    split.block = piece.elems();
    split.window_bytes = split.block * elem_bytes;
  } else if (piece.dims > 0 && piece.chunk_strides_bytes[piece.dims - 1] == static_cast<int64_t>(elem_bytes) &&
             piece.mem_strides_bytes[piece.dims - 1] == static_cast<int64_t>(elem_bytes)) {
    --split.first_dim;
    split.block = piece.counts[split.first_dim];
    split.window_bytes = split.block * elem_bytes;
  }
  bool joined = false;
  while (split.first_dim > 0) {
    const std::size_t dim = split.first_dim - 1;
    const auto stride = static_cast<uint64_t>(piece.chunk_strides_bytes[dim]);
    if (stride - split.window_bytes > kGapBytes) break;
    if (split.direct && split.window_bytes >= kLongRowBytes) break;
    const uint64_t fit = split.window_bytes < kMaxWindowBytes ? (kMaxWindowBytes - split.window_bytes) / stride + 1 : 1;
    joined = fit < piece.counts[dim];
    if (fit == 1) break;
    split.first_dim = dim;
    split.block = std::min(fit, piece.counts[dim]);
    split.window_bytes += stride * (split.block - 1);
    split.direct = false;
    if (joined) break;
  }
  for (std::size_t dim = 0; dim < split.first_dim; ++dim) split.windows *= piece.counts[dim];
  if (split.first_dim < piece.dims) {
    split.windows *= CeilDiv(piece.counts[split.first_dim], split.block);
  }
  split.cost_ns = static_cast<double>(split.windows) * ((joined ? kJoinedReadNs : kSeparateReadNs) +
                                                        kReadNsPerByte * static_cast<double>(split.window_bytes));
  return split;
}

// Whether the chunk is better read whole. REQUIRES: the job has a plan.
bool ReadBatch::PrefersWhole(const ReadJob& job, const Splits& splits) {
  const uint64_t chunk_bytes = job.array->leaf().decoded_bytes();
  const double byte_ns = kReadNsPerByte + (chunk_bytes > kMaxWindowBytes ? kNewMemoryNsPerByte : 0);
  const double whole_ns = kSeparateReadNs + byte_ns * static_cast<double>(chunk_bytes);
  const bool may_read_whole = chunk_bytes <= kMaxWholeBytes;
  const bool is_little = splits.window_bytes <= chunk_bytes / kLittle && splits.cost_ns < whole_ns;
  const bool is_small = chunk_bytes <= kAlwaysWholeBytes && !is_little;
  if (!splits.all_direct && may_read_whole && (is_small || (!job.task.whole && splits.cost_ns > whole_ns))) {
    return true;
  }
  return job.keep && may_read_whole &&
         job.array->history.Earned(job.task.id, kOpenNs + splits.cost_ns, kOpenNs + whole_ns);
}

// False when the chunk is better read whole.
bool ReadBatch::AddWindows(uint32_t job_index, const Place& place) {
  ReadJob& job = jobs_[job_index];
  const uint64_t elem_bytes = job.array->elem_bytes();
  if (!job.plan) return false;
  if (job.keep && (job.task.whole || job.array->leaf().decoded_bytes() <= kAlwaysWholeBytes)) {
    return false;
  }
  Splits splits;
  bool decided = false, added = false;
  job.plan->ForEachPiece(job.task, [&](Piece& piece) {
    piece.Simplify();
    const Split split = SplitPiece(piece, elem_bytes);
    splits.Add(split);
    if (piece.elems() != job.task.elems) return;
    decided = true;  // there is but this one
    if (PrefersWhole(job, splits)) return;
    AddPieceWindows(job_index, place, piece, 0, split);
    added = true;
  });
  if (decided ? !added : PrefersWhole(job, splits)) return false;
  job.keep = false;  // parts of a chunk are not kept
  if (decided) return true;
  uint32_t piece_ordinal = 0;
  job.plan->ForEachPiece(job.task, [&](Piece& piece) {
    piece.Simplify();
    AddPieceWindows(job_index, place, piece, piece_ordinal++, SplitPiece(piece, elem_bytes));
  });
  return true;
}

// Whether `op`, of `job`, goes on where the newest op ends, in the object and in memory: small inner chunks
// that lie as the program wants them are one read.
bool ReadBatch::ExtendsLast(const StoreOps& out, const ReadJob& job, const ReadOp& op) const {
  if (out.ops.empty() || op.target.empty()) return false;
  const ReadOp& last = out.ops.back();
  const ReadJob& last_job = jobs_[out.refs.back().job];
  return !last.target.empty() && last.range.kind == ByteRange::Kind::kSpan &&
         last.range.offset + last.range.length == op.range.offset &&
         last.target.data() + last.target.size() == op.target.data() && last_job.array == job.array &&
         job.array->grid.ObjectOf(last_job.task.id) == job.array->grid.ObjectOf(job.task.id);
}

// One op for each range that the piece falls into.
void ReadBatch::AddPieceWindows(uint32_t job_index, const Place& place, const Piece& piece, uint32_t piece_ordinal,
                                const Split& split) {
  const bool has_dim = split.first_dim < piece.dims;  // else windows are single elements
  uint64_t at[Piece::kMaxDims + 1];
  std::fill_n(at, split.first_dim + 1, uint64_t{0});
  for (uint64_t i = 0; i < split.windows; ++i) {
    DataOp ref{job_index, true, {}};
    Window& window = ref.window;
    window.piece_ordinal = piece_ordinal;
    window.first_dim = static_cast<uint32_t>(split.first_dim);
    window.direct = split.direct;
    window.chunk_offset_bytes = piece.chunk_offset_bytes;
    window.mem_offset_bytes = piece.mem_offset_bytes;
    for (std::size_t dim = 0; dim < split.first_dim + (has_dim ? 1 : 0); ++dim) {
      window.chunk_offset_bytes += at[dim] * static_cast<uint64_t>(piece.chunk_strides_bytes[dim]);
      window.mem_offset_bytes += static_cast<int64_t>(at[dim]) * piece.mem_strides_bytes[dim];
    }
    uint64_t window_bytes = split.window_bytes;
    if (has_dim) {
      window.steps = std::min(split.block, piece.counts[split.first_dim] - at[split.first_dim]);
      window_bytes -= (split.block - window.steps) * static_cast<uint64_t>(piece.chunk_strides_bytes[split.first_dim]);
      at[split.first_dim] += split.block;
    }
    AddWindowOp(ref, place, window_bytes);
    if (has_dim && at[split.first_dim] < piece.counts[split.first_dim]) continue;
    at[split.first_dim] = 0;
    for (std::size_t dim = split.first_dim; dim-- > 0;) {
      if (++at[dim] < piece.counts[dim]) break;
      at[dim] = 0;
    }
  }
}

void ReadBatch::AddWindowOp(const DataOp& ref, const Place& place, uint64_t window_bytes) {
  const ReadJob& job = jobs_[ref.job];
  StoreOps& out = OpsOf(job.array->store);
  ReadOp op;
  op.range = ByteRange::Span(place.offset + ref.window.chunk_offset_bytes, window_bytes);
  op.expected = place.generation;
  if (ref.window.direct) {
    op.target = {job.buffer + ref.window.mem_offset_bytes, window_bytes};
  } else {
    op.sink_cost_ns = kReadNsPerByte * static_cast<double>(window_bytes);
  }
  if (ExtendsLast(out, job, op)) {
    ReadOp& last = out.ops.back();
    last.range.length += op.range.length;
    last.target = {last.target.data(), last.range.length};
    return;
  }
  op.key = KeyOf(job);
  out.ops.push_back(std::move(op));
  out.refs.push_back(ref);
}

Status ReadBatch::OnWindow(ReadJob& job, const ReadOp& op, const Window& window, const ReadResult& result) {
  if (result.bytes && !job.array->sharding() && result.object_bytes != job.array->leaf().decoded_bytes() &&
      !IsCutOffEdge(job, result.object_bytes)) {
    return CorruptError(std::to_string(result.object_bytes) + " bytes stored, expected " +
                        std::to_string(job.array->leaf().decoded_bytes()));
  }
  if (window.direct) {
    if (!result.bytes) FillContiguous(op.target, job.array->leaf().fill_elem());
    return OkStatus();
  }
  uint32_t piece_ordinal = 0;
  job.plan->ForEachPiece(job.task, [&](Piece& piece) {
    if (piece_ordinal++ != window.piece_ordinal) return;
    piece.Simplify();
    std::span<uint64_t> counts(piece.counts + window.first_dim, piece.dims - window.first_dim);
    if (!counts.empty()) counts[0] = window.steps;
    const auto mem_strides = piece.mem_strides().subspan(window.first_dim);
    std::byte* target = job.buffer + window.mem_offset_bytes;
    if (result.bytes) {
      CopyStrided(result.bytes->data(), piece.chunk_strides().subspan(window.first_dim), target, mem_strides, counts,
                  job.array->elem_bytes());
    } else {
      FillStrided(target, mem_strides, counts, job.array->leaf().fill_elem());
    }
  });
  return OkStatus();
}

}  // namespace h5zarr::zarr
