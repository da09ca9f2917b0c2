// Reading elements: requests become plans, plans become slices, slices run as ReadBatches.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/nd_copy.h"
#include "zarr/array_impl.h"
#include "zarr/object_states.h"
#include "zarr/read_batch.h"

namespace h5zarr::zarr {

namespace {

// Bounds what a slice's plan itself takes.
constexpr std::size_t kMaxSliceJobs = 32768;

// True for a read of chunks that are to be kept although it wants all of each.
bool KeepsWhole(const Array::Impl& array, const Plan& plan) {
  uint64_t left_bytes = array.options.keep_whole_bytes;
  const uint64_t chunk_bytes = array.leaf().decoded_bytes();
  for (uint64_t object = 0; object < plan.objects(); ++object) {
    const auto bytes = CheckedMul(plan.ChunkCount(object), chunk_bytes);
    if (!bytes || *bytes > left_bytes) return false;
    left_bytes -= *bytes;
  }
  return true;
}

// Walks the chunks of several plans in order.
class JobCursor {
 public:
  JobCursor(std::span<ReadRequest> requests, const std::vector<Plan>& plans, std::span<Array::Impl* const> arrays)
      : requests_(requests), plans_(plans), arrays_(arrays) {}

  // The next chunk to read, or false.
  bool Next(ReadJob* job) {
    for (; request_ < plans_.size(); ++request_, object_ = 0) {
      const Plan& plan = plans_[request_];
      if (object_ == 0 && chunk_ == 0) {
        const Array::Impl& array = *arrays_[request_];
        keep_whole_ = array.options.keep_whole_bytes > 0 && KeepsWhole(array, plan);
      }
      for (; object_ < plan.objects(); ++object_, chunk_ = 0) {
        if (chunk_ == 0) chunk_count_ = plan.ChunkCount(object_);
        if (chunk_ == chunk_count_) continue;
        job->array = arrays_[request_];
        job->plan = &plan;
        job->buffer = requests_[request_].buffer;
        job->request = &requests_[request_];
        job->keep_whole = keep_whole_;
        job->task = plan.Chunk(object_, chunk_++);
        return true;
      }
    }
    return false;
  }

 private:
  std::span<ReadRequest> requests_;
  const std::vector<Plan>& plans_;
  std::span<Array::Impl* const> arrays_;
  std::size_t request_ = 0;
  uint64_t object_ = 0, chunk_ = 0, chunk_count_ = 0;
  bool keep_whole_ = false;
};

// Whether all that is read is so little that a reader may come back to it. Several chunks only where the store tells
// when they change: who reads all of them again may be looking for that.
bool IsLittle(const Array::Impl& array, std::span<const Plan> plans) {
  constexpr uint64_t kMostBytes = 1 << 20;
  constexpr uint64_t kMostChunks = 64;
  if (plans.size() != 1) return false;
  const uint64_t chunks = plans[0].chunks();
  if (chunks > 1 && !array.document_state.known()) return false;
  return chunks <= kMostChunks && array.leaf().decoded_bytes() <= kMostBytes / std::max<uint64_t>(chunks, 1);
}

// True when the whole chunk was read before, by a reader of little that has come back to it.
bool ReturnsToChunk(const ReadJob& job) {
  constexpr double kReadNs = 10'000;
  return job.array->history.Earned(job.task.id, kReadNs, kReadNs);
}

// Puts decoded chunks that were only partly read into their caches: whoever reads a bit of a chunk
// mostly comes back for the next bit.
void KeepLoaded(std::vector<ReadJob>& jobs) {
  for (ReadJob& job : jobs) {
    if (!job.loaded || job.array->cache.Find(job.task.id)) continue;
    job.array->cache.Insert(std::move(job.loaded));
    job.array->cache.DropClean(job.array->options.cache_bytes);
  }
}

// How much each array may still keep from this call: a scan of the whole array must not push out
// everything again and again.
uint64_t& RoomOf(std::vector<std::pair<Array::Impl*, uint64_t>>& rooms, Array::Impl* array) {
  for (auto& [known, room] : rooms) {
    if (known == array) return room;
  }
  return rooms.emplace_back(array, array->options.cache_bytes).second;
}

bool ReadCached(Array::Impl& array, const GridSelection& selection, ReadRequest& request) {
  if (array.cache.size() == 0) return false;
  SingleChunk single;
  if (!FindSingleChunk(array.grid, array.layout(), selection, &single)) return false;
  ObjectStates states;
  ChunkCache::Ptr chunk = array.FindFresh(single.id, states);
  if (!chunk) return false;
  CopyStrided(chunk->data.elems.data() + single.piece.chunk_offset_bytes, single.piece.chunk_strides(), request.buffer,
              single.piece.mem_strides(), single.piece.counts_span(), array.elem_bytes());
  if (array.is_vlen()) {
    request.keep_alive.push_back(std::move(chunk));
    request.keep_alive.push_back(array.leaf().keep_fill());
  }
  return true;
}

}  // namespace

bool FindSingleChunk(const ChunkGrid& grid, const ChunkLayout& layout, const GridSelection& selection,
                     SingleChunk* single) {
  const std::size_t rank = grid.rank();
  if (selection.dims.size() != rank || selection.mem_strides_bytes.size() != rank) return false;
  single->id = 0;
  single->elems = 1;
  single->piece.dims = 0;
  single->piece.chunk_offset_bytes = 0;
  single->piece.mem_offset_bytes = 0;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const DimSelection& selected = selection.dims[dim];
    const uint64_t inner = grid.inner_shape()[dim];
    if (selected.count == 0 || selected.block == 0 || selected.start >= grid.shape()[dim]) return false;
    const uint64_t chunk = selected.start / inner;
    const uint64_t in_chunk = selected.start - chunk * inner;
    const uint64_t room = std::min(inner - in_chunk, grid.shape()[dim] - selected.start);
    if (selected.block > room) return false;
    if (selected.count > 1) {
      if (selected.stride < selected.block || selected.stride >= room) return false;
      if (selected.count - 1 > (room - selected.block) / selected.stride) return false;
    }
    const int64_t chunk_stride = layout.strides_bytes[dim];
    const int64_t mem_stride = selection.mem_strides_bytes[dim];
    single->id += grid.IdPart(dim, chunk);
    single->elems *= selected.count * selected.block;
    single->piece.chunk_offset_bytes += in_chunk * static_cast<uint64_t>(chunk_stride);
    single->piece.AddDim(selected.count, static_cast<int64_t>(selected.stride) * chunk_stride,
                         static_cast<int64_t>(selected.block) * mem_stride);
    single->piece.AddDim(selected.block, chunk_stride, mem_stride);
  }
  return true;
}

Status Array::Read(std::span<ReadRequest> requests) {
  for (const ReadRequest& request : requests) {
    H5ZARR_RETURN_IF_ERROR(request.array->impl_->Settle());
  }
  return Guarded([&] { return Impl::Read(requests); });
}

Status Array::Impl::Read(std::span<ReadRequest> requests) {
  if (requests.size() == 1) {
    const auto* box = std::get_if<GridSelection>(requests[0].selection);
    if (box && ReadCached(*requests[0].array->impl_, *box, requests[0])) return OkStatus();
  }
  std::vector<Impl*> arrays;
  std::vector<Plan> plans;
  plans.reserve(requests.size());
  for (ReadRequest& request : requests) {
    Impl& array = *request.array->impl_;
    auto plan = Plan::Make(array.grid, array.layout(), *request.selection);
    if (!plan.ok()) return plan.status().WithContext("array '" + array.path + "'");
    plans.push_back(std::move(plan).value());
    arrays.push_back(&array);
    if (array.is_vlen()) request.keep_alive.push_back(array.leaf().keep_fill());
  }
  ObjectStates states;
  std::vector<std::pair<Impl*, uint64_t>> rooms;
  JobCursor cursor(requests, plans, arrays);
  ReadJob job;
  uint64_t chunks = 0;
  for (const Plan& plan : plans) chunks += plan.chunks();
  const bool little = IsLittle(*arrays[0], plans);
  bool more = cursor.Next(&job);
  while (more) {
    ReadBatch batch(arrays[0]->executor());
    batch.Reserve(std::min<uint64_t>(chunks, kMaxSliceJobs));
    uint64_t kept_bytes = 0;  // decoded and not in the caller's buffers, by the end of the slice
    while (more && batch.jobs().size() < kMaxSliceJobs && kept_bytes < job.array->options.memory_bytes) {
      const uint64_t chunk_bytes = job.array->leaf().decoded_bytes();
      job.cached = job.array->FindFresh(job.task.id, states);
      job.keep = false;
      if (!job.cached && (!job.task.whole || job.keep_whole || (little && ReturnsToChunk(job)))) {
        uint64_t& room = RoomOf(rooms, job.array);
        job.keep = chunk_bytes <= room;
        if (job.keep) room -= chunk_bytes;
      }
      if (job.keep || job.array->is_vlen()) kept_bytes += chunk_bytes;
      batch.Add(job);
      more = cursor.Next(&job);
    }
    H5ZARR_RETURN_IF_ERROR(batch.Run());
    KeepLoaded(batch.jobs());
  }
  return OkStatus();
}

ChunkCache::Ptr Array::Impl::FindFresh(uint64_t id, ObjectStates& states) {
  ChunkCache::Ptr chunk = cache.FindShared(id);
  const uint64_t object = grid.ObjectOf(id);
  if (!chunk || chunk->dirty || states.IsStill(*this, object, chunk->state)) return chunk;
  cache.Erase(id);
  indexes.Erase(object);
  return nullptr;
}

Result<std::vector<ChunkCache::Ptr>> Array::Impl::LoadChunks(std::span<const uint64_t> ids) {
  ReadBatch batch(executor());
  for (uint64_t id : ids) {
    ReadJob job;
    job.array = this;
    job.task.id = id;
    job.keep = true;
    batch.Add(std::move(job));
  }
  H5ZARR_RETURN_IF_ERROR(batch.Run());
  std::vector<ChunkCache::Ptr> chunks;
  chunks.reserve(ids.size());
  for (ReadJob& job : batch.jobs()) chunks.push_back(std::move(job.loaded));
  return chunks;
}

Result<ChunkCache::Ptr> Array::Impl::NewChunk(uint64_t id) const {
  auto chunk = std::make_shared<CachedChunk>();
  chunk->id = id;
  H5ZARR_ASSIGN_OR_RETURN(chunk->data.elems, Buffer::Allocate(leaf().decoded_bytes()));
  FillContiguous(chunk->data.elems.span(), leaf().fill_elem());
  return chunk;
}

}  // namespace h5zarr::zarr
