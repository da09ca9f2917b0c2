// Writing elements: whole objects are encoded and stored at once, everything else changes cached
// chunks that are stored later (array_store.cc).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/nd_copy.h"
#include "zarr/array_impl.h"
#include "zarr/object_states.h"

namespace h5zarr::zarr {

namespace {

constexpr double kCopyNsPerByte = 0.15;

}  // namespace

Status Array::Write(std::span<WriteRequest> requests) {
  for (const WriteRequest& request : requests) {
    H5ZARR_RETURN_IF_ERROR(request.array->impl_->CheckWritable());
    H5ZARR_RETURN_IF_ERROR(request.array->impl_->Settle());
  }
  return Impl::Write(requests);
}

Status Array::Impl::Write(std::span<const WriteRequest> requests) {
  for (const WriteRequest& request : requests) {
    Impl& array = *request.array->impl_;
    H5ZARR_RETURN_IF_ERROR(Guarded([&] { return array.Write(request); }));
  }
  return OkStatus();
}

Status Array::Impl::Write(const WriteRequest& request) {
  if (const auto* box = std::get_if<GridSelection>(request.selection)) {
    Status status;
    if (WriteCached(*box, request.buffer, &status)) return status;
  }
  auto made = Plan::Make(grid, layout(), *request.selection);
  if (!made.ok()) return made.status().WithContext("array '" + path + "'");
  const Plan& plan = *made;
  const uint64_t chunk_bytes = leaf().decoded_bytes();
  std::vector<uint64_t> whole;
  std::vector<ChunkTask> partial;
  uint64_t partial_bytes = 0;
  for (uint64_t object = 0; object < plan.objects(); ++object) {
    const uint64_t chunks = plan.ChunkCount(object);
    if (plan.ObjectWhole(object)) {
      whole.push_back(object);
      continue;
    }
    for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
      partial.push_back(plan.Chunk(object, chunk));
      partial_bytes += chunk_bytes;
      if (partial_bytes >= options.cache_bytes / 2) {
        H5ZARR_RETURN_IF_ERROR(WritePartial(plan, request.buffer, partial));
        partial.clear();
        partial_bytes = 0;
      }
    }
  }
  if (!whole.empty()) H5ZARR_RETURN_IF_ERROR(WriteWholeObjects(plan, request.buffer, whole));
  if (!partial.empty()) H5ZARR_RETURN_IF_ERROR(WritePartial(plan, request.buffer, partial));
  return OkStatus();
}

// Changes elements of one cached chunk, without a plan: for writers of single elements. False when
// the selection is not that simple.
bool Array::Impl::WriteCached(const GridSelection& selection, const std::byte* buffer, Status* status) {
  if (cache.size() == 0) return false;
  SingleChunk single;
  if (!FindSingleChunk(grid, layout(), selection, &single)) return false;
  ObjectStates states;
  CachedChunk* chunk = FindFresh(single.id, states).get();
  if (!chunk) return false;
  Coords extent;
  const uint64_t extent_elems = grid.InnerExtent(single.id, extent.data());
  if (single.elems == extent_elems) return false;  // wholly covered: no use for old content
  const uint64_t old_bytes = chunk->bytes();
  cache.MarkDirty(chunk);
  *status = ApplyPiece(single.piece, buffer, chunk);
  cache.Resized(chunk, old_bytes);
  if (!status->ok()) return true;
  chunk->written_elems += single.elems;
  if (chunk->wants_compaction()) {
    auto compacted = chunk->Compacted();
    *status = compacted.status();
    if (!status->ok()) return true;
    cache.Insert(std::move(compacted).value());
    chunk = cache.Find(single.id);
  }
  if (chunk->written_elems >= extent_elems) {
    const uint64_t object = grid.ObjectOf(single.id);
    *status = StoreComplete({&object, 1});
  }
  if (status->ok() && is_vlen()) *status = Evict();
  return true;
}

Status Array::Impl::ApplyPiece(const Piece& piece, const std::byte* buffer, CachedChunk* chunk) const {
  std::byte* target = chunk->data.elems.data() + piece.chunk_offset_bytes;
  const std::byte* source = buffer + piece.mem_offset_bytes;
  if (!is_vlen()) {
    CopyStrided(source, piece.mem_strides(), target, piece.chunk_strides(), piece.counts_span(), elem_bytes());
    return OkStatus();
  }
  std::vector<VlenRef> refs(piece.elems());
  int64_t packed[Piece::kMaxDims];
  const std::span<int64_t> packed_strides(packed, piece.dims);
  ContiguousStrides(piece.counts_span(), sizeof(VlenRef), packed_strides);
  auto* packed_refs = reinterpret_cast<std::byte*>(refs.data());
  CopyStrided(source, piece.mem_strides(), packed_refs, packed_strides, piece.counts_span(), sizeof(VlenRef));
  H5ZARR_RETURN_IF_ERROR(chunk->AdoptContents(refs));
  CopyStrided(packed_refs, packed_strides, target, piece.chunk_strides(), piece.counts_span(), sizeof(VlenRef));
  return OkStatus();
}

Status Array::Impl::ApplyTask(const Plan& plan, const ChunkTask& task, const std::byte* buffer,
                              CachedChunk* chunk) const {
  Status status;
  plan.ForEachPiece(task, [&](Piece& piece) {
    if (status.ok()) status = ApplyPiece(piece, buffer, chunk);
  });
  return status;
}

// A wholly covered inner chunk: where it lies in `buffer`, else gathered into `target`.
ByteSpan Array::Impl::GatherTask(const Plan& plan, const ChunkTask& task, const std::byte* buffer,
                                 MutableByteSpan target) const {
  const bool full = task.elems == leaf().elems();
  if (!full) FillContiguous(target, leaf().fill_elem());
  const std::byte* in_place = nullptr;
  plan.ForEachPiece(task, [&](Piece& piece) {
    const std::byte* from = buffer + piece.mem_offset_bytes;
    piece.Simplify();
    if (full && piece.elems() == task.elems && piece.IsContiguous(elem_bytes())) {
      in_place = from;  // the only piece
      return;
    }
    CopyStrided(from, piece.mem_strides(), target.data() + piece.chunk_offset_bytes, piece.chunk_strides(),
                piece.counts_span(), elem_bytes());
  });
  return in_place ? ByteSpan(in_place, leaf().decoded_bytes()) : ByteSpan(target);
}

// Whether the chunk behind a wholly covered one lies behind it in memory.
bool Array::Impl::LiesInRun(const Plan& plan, const ChunkTask& task) const {
  if (task.elems != leaf().elems()) return false;
  bool is_contiguous = false;
  plan.ForEachPiece(task, [&](Piece& piece) {
    piece.Simplify();
    is_contiguous = piece.elems() == task.elems && piece.IsContiguous(elem_bytes());
  });
  return is_contiguous && plan.CountBehind(task, 1) > 0;
}

Status Array::Impl::WriteWholeObjects(const Plan& plan, const std::byte* buffer,
                                      std::span<const uint64_t> object_ordinals) {
  H5ZARR_RETURN_IF_ERROR(BeforeWrite());
  std::vector<WholeObject> objects;
  objects.reserve(object_ordinals.size());
  for (const uint64_t ordinal : object_ordinals) {
    objects.push_back({plan.ObjectId(ordinal), plan.ChunkCount(ordinal), {}});
  }
  const WholeObject* const all = objects.data();
  auto source = [&](const WholeObject& object, uint64_t chunk, uint64_t most, MutableByteSpan target) {
    const ChunkTask task = plan.Chunk(object_ordinals[&object - all], chunk);
    const ByteSpan elems = GatherTask(plan, task, buffer, target);
    const bool in_place = elems.data() != target.data();
    const uint64_t count = 1 + (in_place && most > 1 ? plan.CountBehind(task, most - 1) : 0);
    return SourceChunks{task.id, {elems.data(), elems.size() * count}, count};
  };
  const bool in_runs = LiesInRun(plan, plan.Chunk(object_ordinals[0], 0));
  const Status status = PutWhole(objects, in_runs, source);
  for (const WholeObject& object : objects) {
    if (object.status.ok()) ForgetObject(object.id);
  }
  return status;
}

// The chunks to change, cached or read; null where one is to be made.
Result<std::vector<ChunkCache::Ptr>> Array::Impl::FindTargets(std::span<const ChunkTask> tasks) {
  std::vector<ChunkCache::Ptr> chunks(tasks.size());
  std::vector<uint64_t> missing_ids;
  std::vector<std::size_t> missing;
  ObjectStates states;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    chunks[i] = FindFresh(tasks[i].id, states);
    if (chunks[i] || tasks[i].whole) continue;
    missing.push_back(i);
    missing_ids.push_back(tasks[i].id);
  }
  if (!missing.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(std::vector<ChunkCache::Ptr> loaded, LoadChunks(missing_ids));
    for (std::size_t k = 0; k < missing.size(); ++k) chunks[missing[k]] = std::move(loaded[k]);
  }
  return chunks;
}

Status Array::Impl::WritePartial(const Plan& plan, const std::byte* buffer, std::span<const ChunkTask> tasks) {
  H5ZARR_ASSIGN_OR_RETURN(std::vector<ChunkCache::Ptr> chunks, FindTargets(tasks));
  std::vector<uint64_t> old_bytes(tasks.size(), 0);  // 0: not in the cache yet
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!cache.Find(tasks[i].id)) continue;
    old_bytes[i] = chunks[i]->bytes();
    cache.MarkDirty(chunks[i].get());
  }
  const double cost_ns =
      static_cast<double>(tasks.size()) * kCopyNsPerByte * static_cast<double>(leaf().decoded_bytes());
  const Status applied = executor().ParallelFor(tasks.size(), cost_ns, [&](std::size_t i) -> Status {
    if (!chunks[i]) {
      H5ZARR_ASSIGN_OR_RETURN(chunks[i], NewChunk(tasks[i].id));
    }
    return ApplyTask(plan, tasks[i], buffer, chunks[i].get());
  });
  std::vector<uint64_t> touched;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (old_bytes[i] != 0) {
      cache.Resized(chunks[i].get(), old_bytes[i]);
    } else if (!applied.ok()) {
      continue;  // never seen by anyone
    }
    chunks[i]->dirty = true;
    chunks[i]->written_elems += tasks[i].elems;
    if (chunks[i]->wants_compaction()) {
      if (auto compacted = chunks[i]->Compacted(); compacted.ok()) {
        chunks[i] = std::move(compacted).value();
        old_bytes[i] = 0;
      }
    }
    if (old_bytes[i] == 0) cache.Insert(std::move(chunks[i]));
    const uint64_t object = grid.ObjectOf(tasks[i].id);
    if (touched.empty() || touched.back() != object) touched.push_back(object);
  }
  H5ZARR_RETURN_IF_ERROR(applied);
  H5ZARR_RETURN_IF_ERROR(StoreComplete(touched));
  return Evict();
}

}  // namespace h5zarr::zarr
