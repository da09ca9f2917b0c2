#include "zarr/chunk_cache.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace h5zarr::zarr {

namespace {

constexpr uint64_t kMinArenaBytes = 4096;
constexpr uint64_t kMaxArenaBytes = 1 << 20;

}  // namespace

Status CachedChunk::AdoptContents(std::span<VlenRef> refs) {
  uint64_t needed = 0;
  for (const VlenRef& ref : refs) {
    if (__builtin_add_overflow(needed, ref.size_bytes, &needed)) {
      return OutOfRangeError("elements of more than 2^64 bytes");
    }
  }
  if (needed > arena_left_bytes) {
    const uint64_t room = std::max(needed, std::clamp(heap_bytes / 4, kMinArenaBytes, kMaxArenaBytes));
    H5ZARR_ASSIGN_OR_RETURN(Buffer arena, Buffer::Allocate(room));
    data.heaps.push_back(std::move(arena));
    heap_bytes += room;
    arena_left_bytes = room;
  }
  for (VlenRef& ref : refs) {
    if (ref.size_bytes == 0) {
      ref.data = nullptr;
      continue;
    }
    Buffer& arena = data.heaps.back();
    std::byte* to = arena.data() + (arena.size_bytes() - arena_left_bytes);
    std::memcpy(to, ref.data, ref.size_bytes);
    ref.data = to;
    arena_left_bytes -= ref.size_bytes;
  }
  return OkStatus();
}

Result<std::shared_ptr<CachedChunk>> CachedChunk::Compacted() const {
  auto copy = std::make_shared<CachedChunk>();
  copy->id = id;
  copy->dirty = dirty;
  copy->written_elems = written_elems;
  H5ZARR_ASSIGN_OR_RETURN(copy->data.elems, Buffer::CopyOf(data.elems.span()));
  std::span<VlenRef> refs(reinterpret_cast<VlenRef*>(copy->data.elems.data()),
                          copy->data.elems.size_bytes() / sizeof(VlenRef));
  H5ZARR_RETURN_IF_ERROR(copy->AdoptContents(refs));
  copy->compact_above_bytes = 2 * copy->heap_bytes + (1 << 16);
  return copy;
}

CachedChunk* ChunkCache::Find(uint64_t id) {
  const auto found = index_.find(id);
  if (found == index_.end()) return nullptr;
  if (found->second != lru_.begin()) lru_.splice(lru_.begin(), lru_, found->second);
  return found->second->get();
}

ChunkCache::Ptr ChunkCache::FindShared(uint64_t id) { return Find(id) == nullptr ? nullptr : lru_.front(); }

void ChunkCache::Insert(Ptr chunk) {
  Erase(chunk->id);
  bytes_ += chunk->bytes();
  if (chunk->dirty) AddDirty(chunk->id);
  lru_.push_front(std::move(chunk));
  index_[lru_.front()->id] = lru_.begin();
}

void ChunkCache::MarkDirty(CachedChunk* chunk) {
  if (chunk->dirty) return;
  chunk->dirty = true;
  AddDirty(chunk->id);
}

void ChunkCache::MarkClean(CachedChunk* chunk) {
  if (!chunk->dirty) return;
  chunk->dirty = false;
  chunk->written_elems = 0;
  chunk->state = Generation();
  RemoveDirty(chunk->id);
}

void ChunkCache::Resized(const CachedChunk* chunk, uint64_t old_bytes) { bytes_ = bytes_ - old_bytes + chunk->bytes(); }

void ChunkCache::Erase(uint64_t id) {
  const auto found = index_.find(id);
  if (found == index_.end()) return;
  bytes_ -= (*found->second)->bytes();
  RemoveDirty(id);
  lru_.erase(found->second);
  index_.erase(found);
}

void ChunkCache::EraseRange(uint64_t first_id, uint64_t end_id) {
  if (end_id - first_id <= index_.size()) {
    for (uint64_t id = first_id; id < end_id; ++id) Erase(id);
    return;
  }
  std::vector<uint64_t> doomed;
  for (const auto& [id, position] : index_) {
    if (id >= first_id && id < end_id) doomed.push_back(id);
  }
  for (uint64_t id : doomed) Erase(id);
}

void ChunkCache::Clear() {
  lru_.clear();
  index_.clear();
  dirty_.clear();
  dirty_of_object_.clear();
  bytes_ = 0;
}

std::vector<ChunkCache::Ptr> ChunkCache::Dirty(uint64_t first_id, uint64_t end_id) {
  std::vector<Ptr> chunks;
  for (auto it = dirty_.lower_bound(first_id); it != dirty_.end() && *it < end_id; ++it) {
    chunks.push_back(*index_.at(*it));
  }
  return chunks;
}

void ChunkCache::AddDirty(uint64_t id) {
  if (dirty_.insert(id).second) ++dirty_of_object_[id / entries_];
}

void ChunkCache::RemoveDirty(uint64_t id) {
  if (dirty_.erase(id) == 0) return;
  const auto count = dirty_of_object_.find(id / entries_);
  if (--count->second == 0) dirty_of_object_.erase(count);
}

uint64_t ChunkCache::DirtyCount(uint64_t object) const {
  const auto count = dirty_of_object_.find(object);
  return count == dirty_of_object_.end() ? 0 : count->second;
}

std::optional<uint64_t> ChunkCache::NextDirty(uint64_t from) const {
  const auto it = dirty_.lower_bound(from);
  if (it == dirty_.end()) return std::nullopt;
  return *it;
}

void ChunkCache::DropClean(uint64_t budget_bytes) {
  for (auto it = lru_.end(); bytes_ > budget_bytes && it != lru_.begin();) {
    --it;
    if ((*it)->dirty) continue;
    bytes_ -= (*it)->bytes();
    index_.erase((*it)->id);
    it = lru_.erase(it);
  }
}

void ChunkCache::ForEachOldest(const std::function<bool(const CachedChunk&)>& visit) const {
  for (auto it = lru_.rbegin(); it != lru_.rend(); ++it) {
    if (!visit(**it)) return;
  }
}

void ChunkCache::Rename(const std::function<std::optional<uint64_t>(uint64_t id)>& renamed) {
  std::list<Ptr> old = std::move(lru_);
  Clear();
  for (auto it = old.rbegin(); it != old.rend(); ++it) {  // oldest first keeps the order
    const std::optional<uint64_t> id = renamed((*it)->id);
    if (!id) continue;
    (*it)->id = *id;
    Insert(std::move(*it));
  }
}

}  // namespace h5zarr::zarr
