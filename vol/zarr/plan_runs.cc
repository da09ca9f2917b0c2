// Plans of irregular selections: runs of elements, cut at the rows of chunks and grouped by chunk.
#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "zarr/plan.h"

namespace h5zarr::zarr {

Status Plan::AddRuns(const RunSelection& runs) {
  const std::span<const uint64_t> shape = grid_->shape();
  const uint64_t total_elems = CheckedProduct(shape).value_or(0);
  for (const Run& run : runs) {
    const auto end = CheckedAdd(run.array_offset, run.elems);
    if (!end || *end > total_elems) {
      return OutOfRangeError("a run of " + std::to_string(run.elems) + " elements from " +
                             std::to_string(run.array_offset) + " leaves the array of " + std::to_string(total_elems));
    }
  }
  // Trailing dimensions that every chunk spans whole, laid out as in the array, need no cutting:
  // `row_dims` leading ones remain, the last of which is the row.
  std::size_t row_dims = grid_->rank();
  uint64_t row_stride = 1;
  auto joins_row_above = [&](std::size_t dim) {
    const auto row_bytes = static_cast<int64_t>(row_stride * layout_.elem_bytes);
    return grid_->inner_shape()[dim] == shape[dim] && layout_.strides_bytes[dim] == row_bytes &&
           layout_.strides_bytes[dim - 1] == row_bytes * static_cast<int64_t>(shape[dim]);
  };
  while (row_dims > 1 && joins_row_above(row_dims - 1)) row_stride *= shape[--row_dims];
  Coords strides;  // in elements of the array, of the leading dimensions
  uint64_t stride = row_stride;
  for (std::size_t dim = row_dims; dim-- > 0;) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  run_chunk_stride_bytes_ = row_dims < grid_->rank() || row_dims == 0 ? static_cast<int64_t>(layout_.elem_bytes)
                                                                      : layout_.strides_bytes[row_dims - 1];
  segments_.reserve(runs.size());
  for (const Run& run : runs) AddRun(run, row_dims, {strides.data(), row_dims});
  GroupSegments();
  objects_ = run_objects_.size();
  return OkStatus();
}

void Plan::AddRun(const Run& run, std::size_t row_dims, std::span<const uint64_t> row_strides) {
  const std::span<const uint64_t> inner = grid_->inner_shape();
  uint64_t offset = run.array_offset, left = run.elems, mem = run.mem_offset_bytes;
  while (left > 0) {
    Segment segment;
    segment.mem_offset_bytes = mem;
    uint64_t rest = offset, fits = left;
    for (std::size_t dim = 0; dim < row_dims; ++dim) {
      const uint64_t coord = rest / row_strides[dim];
      rest %= row_strides[dim];
      const uint64_t chunk = coord / inner[dim];
      const uint64_t in_chunk = coord % inner[dim];
      segment.id += grid_->IdPart(dim, chunk);
      segment.chunk_offset_bytes += in_chunk * static_cast<uint64_t>(layout_.strides_bytes[dim]);
      if (dim + 1 == row_dims) {
        const uint64_t row_left = std::min(inner[dim] - in_chunk, grid_->shape()[dim] - coord);
        fits = std::min(left, row_left * row_strides[dim] - rest);
      }
    }
    segment.chunk_offset_bytes += rest * layout_.elem_bytes;  // within the trailing dimensions
    segment.elems = fits;
    segments_.push_back(segment);
    offset += fits;
    left -= fits;
    mem += fits * layout_.elem_bytes;
  }
}

void Plan::GroupSegments() {
  auto by_chunk = [](const Segment& a, const Segment& b) { return a.id < b.id; };
  // Stable: of overlapping runs the last must win.
  if (!std::is_sorted(segments_.begin(), segments_.end(), by_chunk)) {
    std::stable_sort(segments_.begin(), segments_.end(), by_chunk);
  }
  for (uint64_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    if (run_chunks_.empty() || run_chunks_.back().id != segment.id) {
      run_chunks_.push_back({segment.id, i, 0, 0, false});
    }
    ++run_chunks_.back().segment_count;
    run_chunks_.back().elems += segment.elems;
  }
  for (uint64_t i = 0; i < run_chunks_.size(); ++i) {
    RunChunk& chunk = run_chunks_[i];
    chunk.whole = SegmentsCover(chunk);
    const uint64_t object = grid_->ObjectOf(chunk.id);
    if (run_objects_.empty() || grid_->ObjectOf(run_chunks_[run_objects_.back().first_chunk].id) != object) {
      run_objects_.push_back({i, 0, true});
    }
    ++run_objects_.back().chunk_count;
    if (!chunk.whole) run_objects_.back().whole = false;
  }
  for (RunObject& object : run_objects_) {
    const uint64_t id = grid_->ObjectOf(run_chunks_[object.first_chunk].id);
    object.whole = object.whole && object.chunk_count == grid_->LiveEntries(id);
  }
}

// True when the chunk's segments are disjoint and as many elements as it has within the array.
// Overlapping runs may cover it too; then it is only written the longer way.
bool Plan::SegmentsCover(const RunChunk& chunk) const {
  Coords extent;
  if (chunk.elems != grid_->InnerExtent(chunk.id, extent.data())) return false;
  std::vector<std::pair<uint64_t, uint64_t>> spans;  // first and last byte of each segment
  spans.reserve(chunk.segment_count);
  const auto stride = static_cast<uint64_t>(run_chunk_stride_bytes_);
  // With a permuted layout rows interleave: compare elements, not spans.
  if (stride != layout_.elem_bytes) {
    std::vector<uint64_t> elements;
    for (uint64_t i = 0; i < chunk.segment_count; ++i) {
      const Segment& segment = segments_[chunk.first_segment + i];
      for (uint64_t k = 0; k < segment.elems; ++k) {
        elements.push_back(segment.chunk_offset_bytes + k * stride);
      }
    }
    std::sort(elements.begin(), elements.end());
    return std::adjacent_find(elements.begin(), elements.end()) == elements.end();
  }
  for (uint64_t i = 0; i < chunk.segment_count; ++i) {
    const Segment& segment = segments_[chunk.first_segment + i];
    spans.emplace_back(segment.chunk_offset_bytes, segment.chunk_offset_bytes + segment.elems * stride);
  }
  std::sort(spans.begin(), spans.end());
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].first < spans[i - 1].second) return false;
  }
  return true;
}

}  // namespace h5zarr::zarr
