#include "zarr/read_batch.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/checked.h"
#include "base/nd_copy.h"

namespace h5zarr::zarr {

namespace {

constexpr int kAttempts = 5;
// A rough price of copying, in nanoseconds a byte.
constexpr double kCopyNsPerByte = 0.15;
// A smaller chunk that may be kept is decoded as a whole at once.
constexpr uint64_t kLeastForPartBytes = 256 << 10;
// A shard of at most so many bytes is read at once, with its index.
constexpr uint64_t kSmallShardBytes = 16 << 10;

double SinkCostNs(const ReadJob& job, uint64_t bytes) {
  const CodecChain& leaf = job.array->leaf();
  const double copy = kCopyNsPerByte * static_cast<double>(job.task.elems * job.array->elem_bytes());
  if (leaf.is_identity()) return copy + kCopyNsPerByte * static_cast<double>(bytes);
  if (job.part_bytes == 0) return copy + leaf.decode_cost_ns();
  const codec::PartialDecoding partial = leaf.partial_decoding();
  const double share = static_cast<double>((job.part_bytes + partial.unit_bytes) * partial.slowdown) /
                       static_cast<double>(leaf.decoded_bytes());
  return copy + std::min(share, 1.0) * leaf.decode_cost_ns();
}

// Whether a shard is so small that opening it once more, for what its index says, costs more than reading all
// of it.
bool IsSmallShard(const CodecChain::Sharding& sharding) {
  const auto most_bytes = sharding.inner.MaxEncodedBytes();
  const auto chunks_bytes = most_bytes ? CheckedMul(*most_bytes, sharding.entries) : std::nullopt;
  const auto bytes = chunks_bytes ? CheckedAdd(*chunks_bytes, sharding.index_bytes) : std::nullopt;
  return bytes && *bytes <= kSmallShardBytes;
}

// Makes a job of a chunk that is cached one that reads it anew.
void DropCached(ReadJob& job) {
  job.array->cache.Erase(job.task.id);
  job.cached = nullptr;
  job.keep = true;
}

// Whether ranges of a chunk are elements, any of which may be read alone (and be absent alone).
bool HasWindows(const Array::Impl& array) { return array.leaf().is_identity() && !array.leaf().fill_differs(); }

}  // namespace

Status ReadBatch::Run() {
  Status status = RunAttempts();
  // After the chunks: whoever replaces an array replaces its document first.
  Status documents = CheckDocuments();
  return documents.ok() ? status : documents;
}

Status ReadBatch::RunAttempts() {
  for (int attempt = 1;; ++attempt) {
    const Status status = RunOnce();
    if (status.ok()) return status;
    const bool stale = saw_unsettled_ || std::any_of(needs_.begin(), needs_.end(),
                                                     [](const auto& need) { return need.second.from_cache; });
    // A corrupt read through an index from an earlier call may just be a shard that was replaced in
    // a store that cannot tell; and who wrote an object a moment ago may still be at it.
    const bool retry = status.code() == StatusCode::kChanged || (status.code() == StatusCode::kCorrupt && stale);
    if (!retry || attempt == kAttempts) return status;
    ForgetIndexes();
  }
}

void ReadBatch::ForgetIndexes() {
  for (const auto& [name, need] : needs_) need.array->indexes.Erase(need.object);
  for (ReadJob& job : jobs_) {
    job.loaded = nullptr;
    job.done = false;
    if (job.cached && !job.cached->dirty && job.array->sharding()) DropCached(job);
  }
}

Status ReadBatch::RunOnce() {
  needs_.clear();
  last_need_ = nullptr;
  local_jobs_.clear();
  stores_.clear();
  saw_absent_ = saw_unsettled_ = false;
  states_ = ObjectStates();
  for (ReadJob& job : jobs_) {
    job.part_offset_bytes = job.part_bytes = 0;
    job.cut_off = job.wants_more = false;
  }
  H5ZARR_RETURN_IF_ERROR(ReadIndexes());
  DropOtherStates();
  H5ZARR_RETURN_IF_ERROR(PlanOps());
  H5ZARR_RETURN_IF_ERROR(RunLocal());
  H5ZARR_RETURN_IF_ERROR(RunStores());
  return ReadCutOffAgain();
}

Status ReadBatch::RunStores() {
  for (auto& [store, todo] : stores_) {
    auto sink = [this, &todo = todo](std::size_t index, const ReadResult& result) {
      return OnData(todo.ops[index], todo.refs[index], result);
    };
    H5ZARR_RETURN_IF_ERROR(store->ReadBatch(todo.ops, sink, executor_));
  }
  return OkStatus();
}

// Reads all of the chunks whose front was not enough.
Status ReadBatch::ReadCutOffAgain() {
  stores_.clear();
  for (uint32_t i = 0; i < jobs_.size(); ++i) {
    if (!jobs_[i].wants_more) continue;
    H5ZARR_ASSIGN_OR_RETURN(const Place place, Locate(jobs_[i]));
    AddWholeOp(i, place);
  }
  return RunStores();
}

Status ReadBatch::CheckDocuments() const {
  Array::Impl* checked = nullptr;
  for (const ReadJob& job : jobs_) {
    if (job.cached) continue;  // when it was read this was done
    if (job.array != checked) {
      checked = job.array;
      using Check = Array::Impl::Check;
      H5ZARR_RETURN_IF_ERROR(checked->CheckDocument(saw_absent_ ? Check::kAsk : Check::kCheap));
    }
    H5ZARR_RETURN_IF_ERROR(checked->CheckExtent(job.task.id));
  }
  return OkStatus();
}

ReadBatch::IndexNeed& ReadBatch::NeedIndex(Array::Impl* array, uint64_t object) {
  if (last_need_ && last_need_->array == array && last_need_->object == object) return *last_need_;
  IndexNeed& need = needs_[{array, object}];
  if (need.array == nullptr) {
    need.array = array;
    need.object = object;
    need.index = array->indexes.Find(object);
    need.from_cache = need.index != nullptr;
  }
  last_need_ = &need;
  return need;
}

Status ReadBatch::ReadIndexes() {
  if (jobs_.size() > UINT32_MAX) return InternalError("too many chunks in one slice");
  for (uint32_t i = 0; i < jobs_.size(); ++i) {
    const ReadJob& job = jobs_[i];
    if (job.cached || !job.array->sharding()) continue;
    IndexNeed& need = NeedIndex(job.array, job.array->grid.ObjectOf(job.task.id));
    if (need.job_count == 0) need.first_job = i;
    if (need.first_job + need.job_count == i) ++need.job_count;
  }
  std::vector<std::pair<Store*, std::vector<IndexNeed*>>> missing;
  for (auto& [name, need] : needs_) {
    if (need.index) continue;
    auto same = [&](const auto& group) { return group.first == need.array->store; };
    auto group = std::find_if(missing.begin(), missing.end(), same);
    if (group == missing.end()) group = missing.insert(group, {need.array->store, {}});
    group->second.push_back(&need);
  }
  for (auto& [store, needs] : missing) {
    H5ZARR_RETURN_IF_ERROR(ReadIndexesOf(store, needs));
    for (IndexNeed* need : needs) {
      if (!need->index) saw_absent_ = true;
      if (need->index && need->index->settled) need->array->indexes.Insert(need->object, need->index);
    }
  }
  return OkStatus();
}

// Cached chunks of a shard of which others are read now must be of the same state of it.
void ReadBatch::DropOtherStates() {
  if (needs_.empty()) return;
  for (ReadJob& job : jobs_) {
    if (!job.cached || job.cached->dirty || !job.array->sharding()) continue;
    const auto need = needs_.find({job.array, job.array->grid.ObjectOf(job.task.id)});
    if (need == needs_.end()) continue;
    const IndexPtr& index = need->second.index;
    const Generation& state = job.cached->state;
    const bool same = index && (!state.known() || !index->generation.known() || index->generation == state);
    if (!same) DropCached(job);
  }
}

// An index from an earlier call says that a chunk is not there, which no read of it will notice to be old.
Status ReadBatch::CheckKept(const IndexNeed& need) {
  if (!need.from_cache || states_.IsStill(*need.array, need.object, need.index->generation)) {
    return OkStatus();
  }
  return ChangedError(need.array->Describe(need.object * need.array->grid.entries()) + ": the shard has been changed");
}

Status ReadBatch::ReadIndexesOf(Store* store, std::span<IndexNeed* const> needs) {
  std::vector<ReadOp> ops(needs.size());
  std::vector<char> whole(needs.size());
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const IndexNeed& need = *needs[i];
    const CodecChain::Sharding& sharding = *need.array->sharding();
    whole[i] = !store->ranges_only() && IsSmallShard(sharding);
    ops[i].key = need.array->Key(need.object);
    ops[i].range = whole[i] ? ByteRange::Whole() : IndexRange(sharding);
    ops[i].sink_cost_ns = 2.0 * static_cast<double>(sharding.entries);
    for (uint32_t job = need.first_job; whole[i] && job < need.first_job + need.job_count; ++job) {
      ops[i].sink_cost_ns += SinkCostNs(jobs_[job], sharding.inner.decoded_bytes());
    }
  }
  auto sink = [&](std::size_t i, const ReadResult& result) { return OnIndex(*needs[i], whole[i] != 0, result); };
  return store->ReadBatch(ops, sink, executor_);
}

Status ReadBatch::OnIndex(IndexNeed& need, bool whole_shard, const ReadResult& result) {
  if (!result.bytes) return OkStatus();
  const CodecChain::Sharding& sharding = *need.array->sharding();
  auto loaded = std::make_shared<LoadedIndex>();
  loaded->generation = result.generation;
  loaded->settled = result.settled;
  if (!result.settled) saw_unsettled_ = true;
  auto index = whole_shard ? sharding.IndexOf(*result.bytes) : sharding.DecodeIndex(*result.bytes, result.object_bytes);
  if (!index.ok()) {
    return index.status().WithContext(need.array->Describe(need.object * need.array->grid.entries()));
  }
  loaded->index = std::move(index).value();
  need.index = std::move(loaded);
  return whole_shard ? FinishFromShard(need, *result.bytes) : OkStatus();
}

// Does the jobs of a shard that was read along with its index.
Status ReadBatch::FinishFromShard(const IndexNeed& need, ByteSpan shard) {
  for (uint32_t i = need.first_job; i < need.first_job + need.job_count; ++i) {
    ReadJob& job = jobs_[i];
    H5ZARR_ASSIGN_OR_RETURN(const Place place, PlaceIn(*need.index, job));
    if (place.absent) continue;
    const ByteSpan bytes = shard.subspan(place.offset, place.length);
    const Status status = job.array->leaf().is_identity() ? OnWholeIdentity(job, bytes) : OnEncoded(job, bytes);
    if (!status.ok()) return status.WithContext(job.array->Describe(job.task.id));
    if (job.loaded && need.index->settled) job.loaded->state = need.index->generation;
    job.done = true;
  }
  return OkStatus();
}

Result<ReadBatch::Place> ReadBatch::Locate(const ReadJob& job) {
  Place place;
  if (!job.array->sharding()) {
    place.length = job.array->leaf().is_identity() ? job.array->leaf().decoded_bytes() : 0;
    return place;
  }
  const IndexNeed& need = NeedIndex(job.array, job.array->grid.ObjectOf(job.task.id));
  if (need.index) return PlaceIn(*need.index, job);
  place.whole_object = false;
  place.absent = true;
  return place;
}

Result<ReadBatch::Place> ReadBatch::PlaceIn(const LoadedIndex& index, const ReadJob& job) {
  const codec::ShardEntry& entry = index.index[job.array->grid.EntryOf(job.task.id)];
  Place place;
  place.whole_object = false;
  place.absent = entry.missing();
  place.offset = entry.offset;
  place.length = entry.length;
  place.generation = index.generation;
  const auto expected = job.array->leaf().EncodedBytes();
  if (!place.absent && expected && place.length != *expected) {
    return CorruptError(job.array->Describe(job.task.id) + ": " + std::to_string(place.length) +
                        " bytes in the shard's index, expected " + std::to_string(*expected));
  }
  return place;
}

Status ReadBatch::PlanOps() {
  for (uint32_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].done) continue;
    if (jobs_[i].cached) {
      local_jobs_.push_back(i);
      continue;
    }
    H5ZARR_ASSIGN_OR_RETURN(Place place, Locate(jobs_[i]));
    if (place.absent) {
      const IndexNeed& need = NeedIndex(jobs_[i].array, jobs_[i].array->grid.ObjectOf(jobs_[i].task.id));
      H5ZARR_RETURN_IF_ERROR(CheckKept(need));
      local_jobs_.push_back(i);
    } else if (!HasWindows(*jobs_[i].array) || !AddWindows(i, place)) {
      ChoosePart(jobs_[i]);
      AddWholeOp(i, place);
    }
  }
  return OkStatus();
}

// Sees to it that only a part of the chunk is decoded, where that is clearly less and enough. Such a chunk is not
// kept; one that is returned to is decoded as a whole, and kept.
void ReadBatch::ChoosePart(ReadJob& job) {
  const CodecChain& leaf = job.array->leaf();
  const codec::PartialDecoding partial = leaf.partial_decoding();
  if (!job.plan || partial.slowdown == 0) return;
  if (job.keep && leaf.decoded_bytes() < kLeastForPartBytes) return;
  uint64_t begin = leaf.decoded_bytes(), end = 0;
  job.plan->ForEachPiece(job.task, [&](const Piece& piece) {
    uint64_t piece_end = piece.chunk_offset_bytes + job.array->elem_bytes();
    for (std::size_t dim = 0; dim < piece.dims; ++dim) {
      piece_end += (piece.counts[dim] - 1) * static_cast<uint64_t>(piece.chunk_strides_bytes[dim]);
    }
    begin = std::min(begin, piece.chunk_offset_bytes);
    end = std::max(end, piece_end);
  });
  if (partial.from_front) begin = 0;
  if (end <= begin || end - begin + partial.unit_bytes > leaf.decoded_bytes() / partial.slowdown) return;
  if (job.keep && job.array->history.Earned(job.task.id, leaf.decode_cost_ns(), leaf.decode_cost_ns())) {
    return;
  }
  job.keep = false;
  job.part_offset_bytes = begin;
  job.part_bytes = end - begin;
}

ReadBatch::StoreOps& ReadBatch::OpsOf(Store* store) {
  for (auto& [known, ops] : stores_) {
    if (known == store) return ops;
  }
  return stores_.emplace_back(store, StoreOps()).second;
}

const std::string& ReadBatch::KeyOf(const ReadJob& job) {
  const uint64_t object = job.array->grid.ObjectOf(job.task.id);
  if (last_key_array_ != job.array || last_key_object_ != object) {
    last_key_ = job.array->Key(object);
    last_key_array_ = job.array;
    last_key_object_ = object;
  }
  return last_key_;
}

// How many of the stored bytes are likely to hold the part, were it to compress as all of the chunk does; all, where
// that is not clearly less.
uint64_t ReadBatch::FrontBytes(const ReadJob& job, uint64_t stored_bytes) {
  constexpr double kMargin = 1.5;
  constexpr uint64_t kHeadersBytes = 4 << 10;
  const CodecChain& leaf = job.array->leaf();
  if (job.part_bytes == 0 || job.wants_more || !leaf.decodes_cut_off()) return stored_bytes;
  const uint64_t decoded_bytes = job.part_bytes + leaf.partial_decoding().unit_bytes;
  const double share = static_cast<double>(decoded_bytes) / static_cast<double>(leaf.decoded_bytes());
  const double guess = kMargin * share * static_cast<double>(stored_bytes) + kHeadersBytes;
  return guess < static_cast<double>(stored_bytes) / 2 ? static_cast<uint64_t>(guess) : stored_bytes;
}

void ReadBatch::AddWholeOp(uint32_t job_index, const Place& place) {
  ReadJob& job = jobs_[job_index];
  StoreOps& out = OpsOf(job.array->store);
  ReadOp op;
  op.key = KeyOf(job);
  if (!place.whole_object) {
    const uint64_t bytes = FrontBytes(job, place.length);
    job.cut_off = bytes < place.length;
    op.range = ByteRange::Span(place.offset, bytes);
  }
  op.expected = place.generation;
  op.sink_cost_ns = SinkCostNs(job, job.array->leaf().decoded_bytes());
  out.ops.push_back(std::move(op));
  out.refs.push_back({job_index, false, {}});
}

Status ReadBatch::RunLocal() {
  double cost_ns = 0;
  for (uint32_t i : local_jobs_) {
    cost_ns += kCopyNsPerByte * static_cast<double>(jobs_[i].task.elems * jobs_[i].array->elem_bytes());
  }
  return executor_.ParallelFor(local_jobs_.size(), cost_ns, [this](std::size_t i) -> Status {
    ReadJob& job = jobs_[local_jobs_[i]];
    if (job.cached) {
      KeepAlive(job, job.cached);
      return Scatter(job, job.cached->data.elems.data());
    }
    FillJob(job);
    return OkStatus();
  });
}

Status ReadBatch::Scatter(ReadJob& job, const std::byte* elems, uint64_t first_byte) const {
  if (!job.plan) return OkStatus();
  const uint64_t elem_bytes = job.array->elem_bytes();
  job.plan->ForEachPiece(job.task, [&](Piece& piece) {
    CopyStrided(elems + (piece.chunk_offset_bytes - first_byte), piece.chunk_strides(),
                job.buffer + piece.mem_offset_bytes, piece.mem_strides(), piece.counts_span(), elem_bytes);
  });
  return OkStatus();
}

void ReadBatch::FillJob(ReadJob& job) const {
  if (!job.plan) return;  // a load: its owner makes the fill
  job.plan->ForEachPiece(job.task, [&](Piece& piece) {
    job.array->leaf().Fill(job.buffer + piece.mem_offset_bytes, piece.mem_strides(), piece.counts_span(),
                           piece.chunk_offset_bytes, piece.chunk_strides());
  });
}

void ReadBatch::KeepAlive(ReadJob& job, std::shared_ptr<const void> owner) {
  if (!job.request || !job.array->is_vlen()) return;
  std::lock_guard<std::mutex> lock(keep_mutex_);
  job.request->keep_alive.push_back(std::move(owner));
}

Status ReadBatch::OnData(const ReadOp& op, const DataOp& ref, const ReadResult& result) {
  ReadJob& job = jobs_[ref.job];
  if (!result.bytes && job.array->sharding()) {
    return ChangedError(job.array->Describe(job.task.id) + ": the shard has gone");
  }
  if (!result.bytes) saw_absent_ = true;
  if (!result.settled) saw_unsettled_ = true;
  Status status;
  if (ref.has_window) {
    status = OnWindow(job, op, ref.window, result);
  } else if (!result.bytes) {
    FillJob(job);
  } else {
    status = job.array->leaf().is_identity() ? OnWholeIdentity(job, *result.bytes) : OnEncoded(job, *result.bytes);
  }
  if (job.loaded && result.settled) job.loaded->state = result.generation;
  if (status.ok()) return status;
  return status.WithContext(job.array->Describe(job.task.id));
}

bool ReadBatch::IsCutOffEdge(const ReadJob& job, uint64_t bytes) {
  const ChunkGrid& grid = job.array->grid;
  if (job.array->sharding() || bytes >= job.array->leaf().decoded_bytes()) return false;
  Coords extent;
  if (grid.InnerExtent(job.task.id, extent.data()) == 0) return false;
  uint64_t last_elem = 0;
  for (std::size_t dim = 0; dim < grid.rank(); ++dim) {
    last_elem = last_elem * grid.inner_shape()[dim] + extent[dim] - 1;
  }
  return bytes >= (last_elem + 1) * job.array->elem_bytes();
}

Status ReadBatch::OnWholeIdentity(ReadJob& job, ByteSpan bytes) {
  Buffer completed;
  if (IsCutOffEdge(job, bytes.size())) {
    H5ZARR_ASSIGN_OR_RETURN(completed, Buffer::Allocate(job.array->leaf().decoded_bytes()));
    std::memcpy(completed.data(), bytes.data(), bytes.size());
    std::memset(completed.data() + bytes.size(), 0, completed.size_bytes() - bytes.size());
    bytes = completed.span();
  }
  if (bytes.size() != job.array->leaf().decoded_bytes()) {
    return CorruptError(std::to_string(bytes.size()) + " bytes stored, expected " +
                        std::to_string(job.array->leaf().decoded_bytes()));
  }
  if (job.keep) {
    auto chunk = std::make_shared<CachedChunk>();
    chunk->id = job.task.id;
    H5ZARR_ASSIGN_OR_RETURN(chunk->data.elems, Buffer::CopyOf(bytes));
    job.loaded = std::move(chunk);
  }
  return Scatter(job, bytes.data());
}

// Decodes to the caller's memory itself where the whole chunk is wanted as it lies.
Status ReadBatch::DecodeDirect(ReadJob& job, ByteSpan bytes, bool* done) {
  const CodecChain& leaf = job.array->leaf();
  if (job.keep || !job.plan || job.task.elems != leaf.elems() || !job.task.whole) return OkStatus();
  Status status;
  job.plan->ForEachPiece(job.task, [&](Piece& piece) {
    piece.Simplify();
    if (*done || piece.elems() != leaf.elems() || !piece.IsContiguous(job.array->elem_bytes())) {
      return;
    }
    *done = true;
    status = leaf.DecodeInto(bytes, {job.buffer + piece.mem_offset_bytes, leaf.decoded_bytes()});
  });
  return status;
}

Status ReadBatch::OnEncoded(ReadJob& job, ByteSpan bytes) {
  const CodecChain& leaf = job.array->leaf();
  if (job.keep || job.array->is_vlen()) {
    auto chunk = std::make_shared<CachedChunk>();
    chunk->id = job.task.id;
    H5ZARR_ASSIGN_OR_RETURN(chunk->data, leaf.Decode(bytes));
    chunk->heap_bytes = chunk->data.heap_bytes();
    chunk->compact_above_bytes = 2 * chunk->heap_bytes + (1 << 16);
    if (job.keep) job.loaded = chunk;
    KeepAlive(job, chunk);
    return Scatter(job, chunk->data.elems.data());
  }
  bool done = false;
  H5ZARR_RETURN_IF_ERROR(DecodeDirect(job, bytes, &done));
  if (done) return OkStatus();
  const bool in_part = job.part_bytes > 0;
  H5ZARR_ASSIGN_OR_RETURN(Buffer scratch, scratch_.Take(in_part ? job.part_bytes : leaf.decoded_bytes()));
  const Status status =
      in_part ? leaf.DecodePart(bytes, job.part_offset_bytes, scratch.span()) : leaf.DecodeInto(bytes, scratch.span());
  if (job.cut_off && status.code() == StatusCode::kCorrupt) {
    job.wants_more = true;
    return OkStatus();
  }
  if (status.ok()) H5ZARR_RETURN_IF_ERROR(Scatter(job, scratch.data(), job.part_offset_bytes));
  scratch_.Return(std::move(scratch));
  return status;
}

}  // namespace h5zarr::zarr
