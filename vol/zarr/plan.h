// Plan: what a selection means for the chunks of one array — which objects and inner chunks it
// touches, which of their elements, and where these lie in the caller's memory. Pure: no I/O.
//
// A regular selection is kept by dimension and its chunks are numbered, never listed, so that a plan
// costs the sum, not the product, of what it touches along each dimension; and nothing where that is one range.
#ifndef H5ZARR_ZARR_PLAN_H_
#define H5ZARR_ZARR_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "zarr/array.h"
#include "zarr/chunk_grid.h"

namespace h5zarr::zarr {

// A regular block of elements of one inner chunk and its place in memory.
struct Piece {
  static constexpr std::size_t kMaxDims = 2 * kMaxRank;
  std::size_t dims = 0;
  uint64_t counts[kMaxDims];
  int64_t chunk_strides_bytes[kMaxDims];
  int64_t mem_strides_bytes[kMaxDims];
  uint64_t chunk_offset_bytes = 0;
  int64_t mem_offset_bytes = 0;

  std::span<const uint64_t> counts_span() const { return {counts, dims}; }
  std::span<const int64_t> chunk_strides() const { return {chunk_strides_bytes, dims}; }
  std::span<const int64_t> mem_strides() const { return {mem_strides_bytes, dims}; }
  void AddDim(uint64_t count, int64_t chunk_stride_bytes, int64_t mem_stride_bytes) {
    if (count == 1) return;
    counts[dims] = count;
    chunk_strides_bytes[dims] = chunk_stride_bytes;
    mem_strides_bytes[dims] = mem_stride_bytes;
    ++dims;
  }
  // Sorts dimensions by falling stride within the chunk and joins those that are one in both
  // layouts.
  void Simplify();
  // After Simplify: true when the elements are consecutive in both layouts.
  bool IsContiguous(uint64_t elem_bytes) const {
    return dims == 0 || (dims == 1 && chunk_strides_bytes[0] == static_cast<int64_t>(elem_bytes) &&
                         mem_strides_bytes[0] == static_cast<int64_t>(elem_bytes));
  }
  uint64_t elems() const {
    uint64_t product = 1;
    for (std::size_t i = 0; i < dims; ++i) product *= counts[i];
    return product;
  }
};

// One inner chunk that a plan touches.
struct ChunkTask {
  uint64_t id = 0;              // see ChunkGrid
  uint64_t elems = 0;           // selected ones (with repetitions, for runs)
  bool whole = false;           // all of the chunk that lies within the array is selected
  uint64_t object_ordinal = 0;  // for the plan that made it
  uint64_t chunk_ordinal = 0;
};

// How elements lie in a decoded inner chunk.
struct ChunkLayout {
  std::span<const int64_t> strides_bytes;  // by array dimension; must outlive the plan
  uint64_t elem_bytes = 0;
};

class Plan {
 public:
  // kOutOfRange when the selection leaves the shape, kInvalidArgument when it makes no sense.
  // `grid` and what `layout` refers to must outlive the plan, `selection` too.
  static Result<Plan> Make(const ChunkGrid& grid, const ChunkLayout& layout, const Selection& selection);

  // Objects are numbered 0 … objects() - 1 in C order, the chunks of one as well.
  uint64_t objects() const { return objects_; }
  uint64_t chunks() const;  // of all objects
  uint64_t ObjectId(uint64_t object_ordinal) const;
  uint64_t ChunkCount(uint64_t object_ordinal) const;
  // Every inner chunk of the object that lies within the array is selected whole.
  bool ObjectWhole(uint64_t object_ordinal) const;
  ChunkTask Chunk(uint64_t object_ordinal, uint64_t chunk_ordinal) const;
  // How many of the chunks that come next in the task's object, at most `most`, have the ids that come next and lie
  // in memory behind it, each wholly selected. REQUIRES: the task's chunk is wholly selected, does not reach beyond
  // the array, and is contiguous in memory.
  uint64_t CountBehind(const ChunkTask& task, uint64_t most) const;

  // Calls visit(Piece&) for every block of the task's elements, for runs in the order given.
  template <typename Visit>
  void ForEachPiece(const ChunkTask& task, Visit&& visit) const;

 private:
  // `count` blocks of `block` elements along one dimension within one chunk.
  struct DimPart {
    uint64_t in_chunk = 0;  // index within the chunk of the first
    uint64_t count = 0;
    uint64_t stride = 0;
    uint64_t block = 0;
    uint64_t ordinal = 0;  // of the first among the dimension's selected indices
  };
  struct DimChunk {
    uint64_t id_part = 0;
    uint64_t elems = 0;
    uint32_t part_count = 0;
    uint64_t first_part = 0;
    bool whole = false;
  };
  struct DimObject {
    uint64_t coord = 0;
    uint64_t first_chunk = 0;
    uint64_t chunk_count = 0;
    bool whole = false;
  };
  // What a selection is along one dimension.
  struct Dim {
    uint64_t inner = 0;       // the extent of an inner chunk
    uint64_t per_object = 0;  // inner chunks
    int64_t chunk_stride_bytes = 0;
    int64_t mem_stride_bytes = 0;
    uint64_t chunk_count = 0;
    uint64_t object_count = 0;
    // One range [begin, end), whose chunks and objects follow each other from these on: there may be very many.
    // All that the array has of the chunks [whole_begin, whole_end) is in the range.
    bool is_range = false;
    uint64_t begin = 0, end = 0;
    uint64_t first_chunk = 0, first_object = 0;
    uint64_t whole_begin = 0, whole_end = 0;
    // Anything else, as lists.
    std::vector<DimPart> parts;
    std::vector<DimChunk> chunks;
    std::vector<DimObject> objects;
  };
  // Part of a run within one row of one chunk.
  struct Segment {
    uint64_t id = 0;
    uint64_t chunk_offset_bytes = 0;
    uint64_t mem_offset_bytes = 0;
    uint64_t elems = 0;
  };
  struct RunChunk {
    uint64_t id = 0;
    uint64_t first_segment = 0;
    uint64_t segment_count = 0;
    uint64_t elems = 0;
    bool whole = false;
  };
  struct RunObject {
    uint64_t first_chunk = 0;
    uint64_t chunk_count = 0;
    bool whole = false;
  };

  Status AddDim(std::size_t dim, const DimSelection& selection, int64_t mem_stride_bytes);
  static void SetRange(uint64_t begin, uint64_t end, uint64_t extent, Dim* dim);
  void ListBlocks(std::size_t dim, const DimSelection& blocks);
  DimChunk ChunkAt(std::size_t dim, uint64_t chunk) const;
  DimPart PartAt(std::size_t dim, uint64_t chunk, uint32_t part) const;
  uint32_t PartCount(std::size_t dim, uint64_t chunk) const {
    return dims_[dim].is_range ? 1 : dims_[dim].chunks[chunk].part_count;
  }
  DimObject ObjectAt(std::size_t dim, uint64_t object) const;
  void AddDimChunk(std::size_t dim, uint64_t inner_coord, uint64_t chunk_extent, uint64_t first_part, uint64_t elems);
  Status AddRuns(const RunSelection& runs);
  void AddRun(const Run& run, std::size_t row_dims, std::span<const uint64_t> row_strides);
  void GroupSegments();
  bool SegmentsCover(const RunChunk& chunk) const;
  // Splits ordinals into one index a dimension.
  void ObjectIndexes(uint64_t object_ordinal, uint64_t* indexes) const;
  void ChunkIndexes(uint64_t object_ordinal, uint64_t chunk_ordinal, uint64_t* indexes) const;
  void StartPiece(const uint64_t* chunk_indexes, const uint32_t* part_indexes, Piece* piece) const;

  const ChunkGrid* grid_ = nullptr;
  ChunkLayout layout_;
  uint64_t objects_ = 0;
  bool is_runs_ = false;
  std::vector<Dim> dims_;
  std::vector<Segment> segments_;
  std::vector<RunChunk> run_chunks_;
  std::vector<RunObject> run_objects_;
  int64_t run_chunk_stride_bytes_ = 0;
};

template <typename Visit>
void Plan::ForEachPiece(const ChunkTask& task, Visit&& visit) const {
  Piece piece;
  if (is_runs_) {
    const RunChunk& chunk = run_chunks_[run_objects_[task.object_ordinal].first_chunk + task.chunk_ordinal];
    for (uint64_t i = 0; i < chunk.segment_count; ++i) {
      const Segment& segment = segments_[chunk.first_segment + i];
      piece.dims = 0;
      piece.AddDim(segment.elems, run_chunk_stride_bytes_, static_cast<int64_t>(layout_.elem_bytes));
      piece.chunk_offset_bytes = segment.chunk_offset_bytes;
      piece.mem_offset_bytes = static_cast<int64_t>(segment.mem_offset_bytes);
      visit(piece);
    }
    return;
  }
  Coords chunk_indexes;
  ChunkIndexes(task.object_ordinal, task.chunk_ordinal, chunk_indexes.data());
  uint32_t part_indexes[kMaxRank] = {};
  for (;;) {
    StartPiece(chunk_indexes.data(), part_indexes, &piece);
    visit(piece);
    std::size_t dim = dims_.size();
    while (dim-- > 0) {  // the next combination of parts
      if (++part_indexes[dim] < PartCount(dim, chunk_indexes[dim])) break;
      part_indexes[dim] = 0;
    }
    if (dim == SIZE_MAX) return;
  }
}

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_PLAN_H_
