#include "zarr/plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"

namespace h5zarr::zarr {

namespace {

Status CheckDimSelection(const DimSelection& selection, uint64_t extent, std::size_t dim) {
  if (selection.count > 1 && selection.stride < selection.block) {
    return InvalidArgumentError("selected blocks overlap in dimension " + std::to_string(dim));
  }
  const auto steps = CheckedMul(selection.count - 1, selection.count > 1 ? selection.stride : 0);
  const auto last = steps ? CheckedAdd(selection.start, *steps) : std::nullopt;
  const auto end = last ? CheckedAdd(*last, selection.block) : std::nullopt;
  if (!end || *end > extent) {
    return OutOfRangeError("selection from " + std::to_string(selection.start) + " leaves the extent " +
                           std::to_string(extent) + " of dimension " + std::to_string(dim));
  }
  return OkStatus();
}

// Splits the index of the innermost of the dimensions that `ordinal` numbers off it. There may be very many
// chunks, and divisions are slow.
uint64_t TakeIndex(uint64_t* ordinal, uint64_t count) {
  if (*ordinal < count) return std::exchange(*ordinal, 0);
  if (count == 1) return 0;
  const uint64_t index = *ordinal % count;
  *ordinal /= count;
  return index;
}

}  // namespace

void Piece::Simplify() {
  for (std::size_t i = 1; i < dims; ++i) {  // few dimensions, nearly always sorted already
    for (std::size_t j = i; j > 0 && chunk_strides_bytes[j - 1] < chunk_strides_bytes[j]; --j) {
      std::swap(counts[j - 1], counts[j]);
      std::swap(chunk_strides_bytes[j - 1], chunk_strides_bytes[j]);
      std::swap(mem_strides_bytes[j - 1], mem_strides_bytes[j]);
    }
  }
  if (dims < 2) return;
  std::size_t kept = 0;
  for (std::size_t i = 1; i < dims; ++i) {
    const auto count = static_cast<int64_t>(counts[i]);
    if (chunk_strides_bytes[kept] == chunk_strides_bytes[i] * count &&
        mem_strides_bytes[kept] == mem_strides_bytes[i] * count) {
      counts[kept] *= counts[i];
    } else {
      ++kept;
      counts[kept] = counts[i];
    }
    chunk_strides_bytes[kept] = chunk_strides_bytes[i];
    mem_strides_bytes[kept] = mem_strides_bytes[i];
  }
  dims = kept + 1;
}

Result<Plan> Plan::Make(const ChunkGrid& grid, const ChunkLayout& layout, const Selection& selection) {
  Plan plan;
  plan.grid_ = &grid;
  plan.layout_ = layout;
  if (const auto* runs = std::get_if<RunSelection>(&selection)) {
    plan.is_runs_ = true;
    H5ZARR_RETURN_IF_ERROR(plan.AddRuns(*runs));
    return plan;
  }
  const auto& box = std::get<GridSelection>(selection);
  if (box.dims.size() != grid.rank() || box.mem_strides_bytes.size() != grid.rank()) {
    return InvalidArgumentError("a selection of rank " + std::to_string(box.dims.size()) + " for an array of rank " +
                                std::to_string(grid.rank()));
  }
  for (const DimSelection& dim : box.dims) {
    if (dim.count == 0 || dim.block == 0) return plan;  // nothing selected
  }
  plan.dims_.resize(grid.rank());
  plan.objects_ = 1;
  for (std::size_t dim = 0; dim < grid.rank(); ++dim) {
    H5ZARR_RETURN_IF_ERROR(plan.AddDim(dim, box.dims[dim], box.mem_strides_bytes[dim]));
    plan.objects_ *= plan.dims_[dim].object_count;
  }
  return plan;
}

Status Plan::AddDim(std::size_t dim, const DimSelection& selection, int64_t mem_stride_bytes) {
  Dim& out = dims_[dim];
  const uint64_t extent = grid_->shape()[dim];
  H5ZARR_RETURN_IF_ERROR(CheckDimSelection(selection, extent, dim));
  out.inner = grid_->inner_shape()[dim];
  out.per_object = grid_->per_object()[dim];
  out.chunk_stride_bytes = layout_.strides_bytes[dim];
  out.mem_stride_bytes = mem_stride_bytes;
  if (selection.count == 1 || selection.stride == selection.block) {  // adjacent blocks are one
    SetRange(selection.start, selection.start + selection.count * selection.block, extent, &out);
  } else {
    ListBlocks(dim, selection);
  }
  return OkStatus();
}

void Plan::SetRange(uint64_t begin, uint64_t end, uint64_t extent, Dim* dim) {
  dim->is_range = true;
  dim->begin = begin;
  dim->end = end;
  dim->first_chunk = begin / dim->inner;
  const uint64_t last_chunk = (end - 1) / dim->inner;
  dim->chunk_count = last_chunk - dim->first_chunk + 1;
  dim->first_object = dim->first_chunk / dim->per_object;
  dim->object_count = last_chunk / dim->per_object - dim->first_object + 1;
  dim->whole_begin = CeilDiv(begin, dim->inner);
  dim->whole_end = end == extent ? last_chunk + 1 : end / dim->inner;
}

// Blocks with gaps between them.
void Plan::ListBlocks(std::size_t dim, const DimSelection& blocks) {
  Dim& out = dims_[dim];
  const uint64_t extent = grid_->shape()[dim], inner = out.inner;
  const uint64_t total = blocks.count * blocks.block;
  const uint64_t last = blocks.start + (blocks.count - 1) * blocks.stride + blocks.block - 1;
  const uint64_t most_chunks = std::min(total, last / inner - blocks.start / inner + 1);
  out.chunks.reserve(most_chunks);
  out.parts.reserve(most_chunks);
  // The next index to be selected: `in_block` into the block at `block_start`, of `blocks_left`.
  uint64_t block_start = blocks.start, in_block = 0, blocks_left = blocks.count, ordinal = 0;
  while (blocks_left > 0) {
    const uint64_t chunk = (block_start + in_block) / inner;
    const uint64_t low = chunk * inner;
    const uint64_t high = low + std::min(inner, extent - low);
    const uint64_t first_part = out.parts.size(), first_ordinal = ordinal;
    auto add = [&](uint64_t count, uint64_t block) {
      out.parts.push_back({block_start + in_block - low, count, blocks.stride, block, ordinal});
      ordinal += count * block;
      in_block += block;
      if (in_block < blocks.block) return;
      in_block = 0;
      block_start += count * blocks.stride;
      blocks_left -= count;
    };
    if (in_block != 0) {  // the rest of a block that began in an earlier chunk
      add(1, std::min(blocks.block - in_block, high - (block_start + in_block)));
    }
    if (blocks_left > 0 && in_block == 0 && block_start < high && high - block_start >= blocks.block) {
      const uint64_t fit = (high - block_start - blocks.block) / blocks.stride + 1;
      add(std::min(fit, blocks_left), blocks.block);
    }
    if (blocks_left > 0 && in_block == 0 && block_start < high) {
      add(1, high - block_start);  // a block that ends in a later chunk
    }
    AddDimChunk(dim, chunk, high - low, first_part, ordinal - first_ordinal);
  }
  out.chunk_count = out.chunks.size();
  out.object_count = out.objects.size();
}

void Plan::AddDimChunk(std::size_t dim, uint64_t inner_coord, uint64_t chunk_extent, uint64_t first_part,
                       uint64_t elems) {
  Dim& out = dims_[dim];
  const uint64_t object = inner_coord / out.per_object;
  DimChunk chunk;
  chunk.id_part = grid_->IdPart(dim, object, inner_coord - object * out.per_object);
  chunk.elems = elems;
  chunk.first_part = first_part;
  chunk.part_count = static_cast<uint32_t>(out.parts.size() - first_part);
  chunk.whole = elems == chunk_extent;
  if (out.objects.empty() || out.objects.back().coord != object) {
    out.objects.push_back({object, out.chunks.size(), 0, true});
  }
  DimObject& owner = out.objects.back();
  ++owner.chunk_count;
  // Whole when no chunk was partly selected; that none is missing shows once the last has come.
  if (!chunk.whole) owner.whole = false;
  out.chunks.push_back(chunk);
}

Plan::DimChunk Plan::ChunkAt(std::size_t dim, uint64_t chunk) const {
  const Dim& d = dims_[dim];
  if (!d.is_range) return d.chunks[chunk];
  const uint64_t coord = d.first_chunk + chunk;
  const uint64_t low = coord * d.inner;
  DimChunk found;
  found.elems = std::min(d.end - low, d.inner) - (d.begin > low ? d.begin - low : 0);
  found.whole = coord >= d.whole_begin && coord < d.whole_end;
  found.part_count = 1;
  const uint64_t object = d.object_count == 1 ? d.first_object : d.per_object == 1 ? coord : coord / d.per_object;
  found.id_part = grid_->IdPart(dim, object, coord - object * d.per_object);
  return found;
}

Plan::DimPart Plan::PartAt(std::size_t dim, uint64_t chunk, uint32_t part) const {
  const Dim& d = dims_[dim];
  if (!d.is_range) return d.parts[d.chunks[chunk].first_part + part];
  const uint64_t low = (d.first_chunk + chunk) * d.inner;
  DimPart found;
  found.in_chunk = d.begin > low ? d.begin - low : 0;
  found.count = 1;
  found.block = std::min(d.end - low, d.inner) - found.in_chunk;
  found.ordinal = low + found.in_chunk - d.begin;
  return found;
}

Plan::DimObject Plan::ObjectAt(std::size_t dim, uint64_t object) const {
  const Dim& d = dims_[dim];
  if (!d.is_range) return d.objects[object];
  DimObject found;
  found.coord = d.first_object + object;
  const uint64_t begin = found.coord * d.per_object;
  const uint64_t first = std::max(begin, d.first_chunk);
  const uint64_t end = begin + std::min(d.per_object, d.first_chunk + d.chunk_count - begin);
  found.first_chunk = first - d.first_chunk;
  found.chunk_count = end - first;
  found.whole = first >= d.whole_begin && end <= d.whole_end;
  return found;
}

uint64_t Plan::chunks() const {
  if (is_runs_) return run_chunks_.size();
  uint64_t count = objects_ == 0 ? 0 : 1;
  for (const Dim& dim : dims_) count *= dim.chunk_count;
  return count;
}

uint64_t Plan::ObjectId(uint64_t object_ordinal) const {
  if (is_runs_) return grid_->ObjectOf(run_chunks_[run_objects_[object_ordinal].first_chunk].id);
  Coords indexes;
  ObjectIndexes(object_ordinal, indexes.data());
  for (std::size_t dim = 0; dim < dims_.size(); ++dim) {
    indexes[dim] = ObjectAt(dim, indexes[dim]).coord;
  }
  return grid_->ObjectId({indexes.data(), dims_.size()});
}

void Plan::ObjectIndexes(uint64_t object_ordinal, uint64_t* indexes) const {
  for (std::size_t dim = dims_.size(); dim-- > 0;) {
    indexes[dim] = TakeIndex(&object_ordinal, dims_[dim].object_count);
  }
}

void Plan::ChunkIndexes(uint64_t object_ordinal, uint64_t chunk_ordinal, uint64_t* indexes) const {
  ObjectIndexes(object_ordinal, indexes);
  for (std::size_t dim = dims_.size(); dim-- > 0;) {
    const DimObject object = ObjectAt(dim, indexes[dim]);
    indexes[dim] = object.first_chunk + TakeIndex(&chunk_ordinal, object.chunk_count);
  }
}

uint64_t Plan::ChunkCount(uint64_t object_ordinal) const {
  if (is_runs_) return run_objects_[object_ordinal].chunk_count;
  Coords indexes;
  ObjectIndexes(object_ordinal, indexes.data());
  uint64_t count = 1;
  for (std::size_t dim = 0; dim < dims_.size(); ++dim) {
    count *= ObjectAt(dim, indexes[dim]).chunk_count;
  }
  return count;
}

bool Plan::ObjectWhole(uint64_t object_ordinal) const {
  if (is_runs_) return run_objects_[object_ordinal].whole;
  Coords indexes;
  ObjectIndexes(object_ordinal, indexes.data());
  for (std::size_t dim = 0; dim < dims_.size(); ++dim) {
    const DimObject object = ObjectAt(dim, indexes[dim]);
    const uint64_t begin = object.coord * grid_->chunk_shape()[dim];
    const uint64_t live =
        std::min(grid_->per_object()[dim], CeilDiv(grid_->shape()[dim] - begin, grid_->inner_shape()[dim]));
    if (!object.whole || object.chunk_count != live) return false;
  }
  return true;
}

ChunkTask Plan::Chunk(uint64_t object_ordinal, uint64_t chunk_ordinal) const {
  ChunkTask task;
  task.object_ordinal = object_ordinal;
  task.chunk_ordinal = chunk_ordinal;
  if (is_runs_) {
    const RunChunk& chunk = run_chunks_[run_objects_[object_ordinal].first_chunk + chunk_ordinal];
    task.id = chunk.id;
    task.elems = chunk.elems;
    task.whole = chunk.whole;
    return task;
  }
  Coords indexes;
  ChunkIndexes(object_ordinal, chunk_ordinal, indexes.data());
  task.elems = 1;
  task.whole = true;
  for (std::size_t dim = 0; dim < dims_.size(); ++dim) {
    const DimChunk chunk = ChunkAt(dim, indexes[dim]);
    task.id += chunk.id_part;
    task.elems *= chunk.elems;
    task.whole = task.whole && chunk.whole;
  }
  return task;
}

uint64_t Plan::CountBehind(const ChunkTask& task, uint64_t most) const {
  if (is_runs_ || dims_.empty()) return 0;
  Coords objects, chunks;
  ObjectIndexes(task.object_ordinal, objects.data());
  ChunkIndexes(task.object_ordinal, task.chunk_ordinal, chunks.data());
  // The dimension along which the next one lies.
  std::size_t dim = dims_.size() - 1;
  DimObject object = ObjectAt(dim, objects[dim]);
  while (dim > 0 && object.chunk_count == 1) {
    --dim;
    object = ObjectAt(dim, objects[dim]);
  }
  const Dim& along = dims_[dim];
  const auto chunk_bytes = static_cast<int64_t>(task.elems * layout_.elem_bytes);
  if (!along.is_range || static_cast<int64_t>(along.inner) * along.mem_stride_bytes != chunk_bytes ||
      grid_->IdPart(dim, 0, 1) != 1) {
    return 0;
  }
  // (The last one may reach beyond the array.)
  const uint64_t full_end = along.end / along.inner - along.first_chunk;
  const uint64_t end = std::min(object.first_chunk + object.chunk_count, full_end);
  return end > chunks[dim] + 1 ? std::min(most, end - chunks[dim] - 1) : 0;
}

void Plan::StartPiece(const uint64_t* chunk_indexes, const uint32_t* part_indexes, Piece* piece) const {
  piece->dims = 0;
  piece->chunk_offset_bytes = 0;
  piece->mem_offset_bytes = 0;
  for (std::size_t dim = 0; dim < dims_.size(); ++dim) {
    const Dim& d = dims_[dim];
    const DimPart part = PartAt(dim, chunk_indexes[dim], part_indexes[dim]);
    piece->chunk_offset_bytes += part.in_chunk * static_cast<uint64_t>(d.chunk_stride_bytes);
    piece->mem_offset_bytes += static_cast<int64_t>(part.ordinal) * d.mem_stride_bytes;
    piece->AddDim(part.count, static_cast<int64_t>(part.stride) * d.chunk_stride_bytes,
                  static_cast<int64_t>(part.block) * d.mem_stride_bytes);
    piece->AddDim(part.block, d.chunk_stride_bytes, d.mem_stride_bytes);
  }
}

}  // namespace h5zarr::zarr
