// Chunks without codecs: which of their byte ranges to read for a selection, and whether it is
// cheaper to read all of the chunk.
#include <algorithm>
#include <string>
#include <vector>

#include "base/nd_copy.h"
#include "zarr/read_batch.h"

namespace h5zarr::zarr {

namespace {

// A chunk this small is read whole, unless little of it is wanted: a range of it costs as much.
constexpr uint64_t kAlwaysWholeBytes = 64 << 10;
constexpr uint64_t kLittle = 8;  // at most one part in so many
// Elements within this distance are read together…
constexpr uint64_t kGapBytes = 16 << 10;
// …as long as the range stays below this, so that copying overlaps with reading.
constexpr uint64_t kMaxWindowBytes = 2 << 20;
// A chunk above this is never read whole for a part of it.
constexpr uint64_t kMaxWholeBytes = 64 << 20;
// What a read of its own costs, and one that the store will join with its neighbour, in
// nanoseconds.
constexpr double kSeparateReadNs = 1500;
constexpr double kOpenNs = 5000;  // what opening the object adds to the first
constexpr double kJoinedReadNs = 300;
constexpr double kReadNsPerByte = 0.25;

// How a (simplified) piece falls into byte ranges: dimensions before `first_dim` are looped over,
// those from it on lie within one range of `window_bytes`.
struct Split {
  std::size_t first_dim = 0;
  uint64_t window_bytes = 0;
  uint64_t windows = 1;
  bool direct = false;  // each range is consecutive in memory too
  double cost_ns = 0;
};

Split SplitPiece(const Piece& piece, uint64_t elem_bytes) {
  Split split;
  split.window_bytes = elem_bytes;
  split.first_dim = piece.dims;
  split.direct = true;
  if (piece.IsContiguous(elem_bytes)) {
    split.first_dim = 0;
    split.window_bytes = piece.elems() * elem_bytes;
  } else if (piece.dims > 0 &&
             piece.chunk_strides_bytes[piece.dims - 1] == static_cast<int64_t>(elem_bytes) &&
             piece.mem_strides_bytes[piece.dims - 1] == static_cast<int64_t>(elem_bytes)) {
    --split.first_dim;
    split.window_bytes = piece.counts[split.first_dim] * elem_bytes;
  }
  bool joined = false;
  while (split.first_dim > 0) {
    const std::size_t dim = split.first_dim - 1;
    const auto stride = static_cast<uint64_t>(piece.chunk_strides_bytes[dim]);
    const uint64_t span = stride * (piece.counts[dim] - 1) + split.window_bytes;
    if (stride - split.window_bytes > kGapBytes) break;
    joined = true;
    if (span > kMaxWindowBytes) break;
    split.first_dim = dim;
    split.window_bytes = span;
    split.direct = false;
    joined = false;
  }
  for (std::size_t dim = 0; dim < split.first_dim; ++dim) split.windows *= piece.counts[dim];
  split.cost_ns = static_cast<double>(split.windows) *
                  ((joined ? kJoinedReadNs : kSeparateReadNs) +
                   kReadNsPerByte * static_cast<double>(split.window_bytes));
  return split;
}

}  // namespace

// False when the chunk is better read whole.
bool ReadBatch::AddWindows(uint32_t job_index, const Place& place) {
  ReadJob& job = jobs_[job_index];
  const CodecChain& leaf = job.array->leaf();
  const uint64_t elem_bytes = job.array->elem_bytes();
  if (!job.plan) return false;
  if (job.keep && (job.task.whole || leaf.decoded_bytes() <= kAlwaysWholeBytes)) return false;
  double cost_ns = 0;
  bool all_direct = true;
  uint64_t window_bytes = 0;
  job.plan->ForEachPiece(job.task, [&](Piece& piece) {
    piece.Simplify();
    const Split split = SplitPiece(piece, elem_bytes);
    cost_ns += split.cost_ns;
    window_bytes += split.windows * split.window_bytes;
    all_direct = all_direct && split.direct && split.windows == 1;
  });
  const double whole_ns =
      kSeparateReadNs + kReadNsPerByte * static_cast<double>(leaf.decoded_bytes());
  const bool may_read_whole = leaf.decoded_bytes() <= kMaxWholeBytes;
  const bool is_little = window_bytes <= leaf.decoded_bytes() / kLittle && cost_ns < whole_ns;
  const bool is_small = leaf.decoded_bytes() <= kAlwaysWholeBytes && !is_little;
  if (!all_direct && may_read_whole &&
      (is_small || (!job.task.whole && cost_ns > whole_ns))) {
    return false;
  }
  if (job.keep && may_read_whole &&
      job.array->history.Earned(job.task.id, kOpenNs + cost_ns, kOpenNs + whole_ns)) {
    return false;
  }
  job.keep = false;  // parts of a chunk are not kept
  uint32_t piece_ordinal = 0;
  job.plan->ForEachPiece(job.task, [&](Piece& piece) {
    piece.Simplify();
    AddPieceWindows(job_index, place, piece, piece_ordinal++);
  });
  return true;
}

// One op for each range that the piece falls into.
void ReadBatch::AddPieceWindows(uint32_t job_index, const Place& place, const Piece& piece,
                                uint32_t piece_ordinal) {
  const ReadJob& job = jobs_[job_index];
  const Split split = SplitPiece(piece, job.array->elem_bytes());
  StoreOps& out = OpsOf(job.array->store);
  const std::string key = job.array->Key(job.array->grid.ObjectOf(job.task.id));
  std::vector<uint64_t> at(split.first_dim, 0);
  for (uint64_t i = 0; i < split.windows; ++i) {
    DataOp ref{job_index, true, {}};
    ref.window.piece_ordinal = piece_ordinal;
    ref.window.first_dim = static_cast<uint32_t>(split.first_dim);
    ref.window.direct = split.direct;
    ref.window.chunk_offset_bytes = piece.chunk_offset_bytes;
    ref.window.mem_offset_bytes = piece.mem_offset_bytes;
    for (std::size_t dim = 0; dim < split.first_dim; ++dim) {
      ref.window.chunk_offset_bytes +=
          at[dim] * static_cast<uint64_t>(piece.chunk_strides_bytes[dim]);
      ref.window.mem_offset_bytes += static_cast<int64_t>(at[dim]) * piece.mem_strides_bytes[dim];
    }
    ReadOp op;
    op.key = key;
    op.range = ByteRange::Span(place.offset + ref.window.chunk_offset_bytes, split.window_bytes);
    op.expected = place.generation;
    if (split.direct) {
      op.target = {job.buffer + ref.window.mem_offset_bytes, split.window_bytes};
    } else {
      op.sink_cost_ns = kReadNsPerByte * static_cast<double>(split.window_bytes);
    }
    out.ops.push_back(std::move(op));
    out.refs.push_back(ref);
    for (std::size_t dim = split.first_dim; dim-- > 0;) {
      if (++at[dim] < piece.counts[dim]) break;
      at[dim] = 0;
    }
  }
}

Status ReadBatch::OnWindow(ReadJob& job, const ReadOp& op, const Window& window,
                           const ReadResult& result) {
  if (result.bytes && !job.array->sharding() &&
      result.object_bytes != job.array->leaf().decoded_bytes() &&
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
    const auto counts = piece.counts_span().subspan(window.first_dim);
    const auto mem_strides = piece.mem_strides().subspan(window.first_dim);
    std::byte* target = job.buffer + window.mem_offset_bytes;
    if (result.bytes) {
      CopyStrided(result.bytes->data(), piece.chunk_strides().subspan(window.first_dim), target,
                  mem_strides, counts, job.array->elem_bytes());
    } else {
      FillStrided(target, mem_strides, counts, job.array->leaf().fill_elem());
    }
  });
  return OkStatus();
}

}  // namespace h5zarr::zarr
