// Storing dirty chunks: object by object, encoded in parallel, a shard's untouched inner chunks
// carried over.
#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "zarr/array_impl.h"

namespace h5zarr::zarr {

namespace {

constexpr double kPutNs = 100'000;

// FNV-1a: the same in every process and build that locks the same shard.
uint64_t HashKey(std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace

Status Array::Impl::BeforeWrite() {
  H5ZARR_RETURN_IF_ERROR(CheckDocument(Check::kAsk));
  if (!before_first_write) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(before_first_write());
  before_first_write = nullptr;
  return OkStatus();
}

Result<ByteSpan> Array::Impl::BeforeEncode(ByteSpan elems, Buffer* changed) const {
  if (!options.before_encode || is_vlen()) return elems;
  if (changed->size_bytes() != elems.size()) {
    H5ZARR_ASSIGN_OR_RETURN(*changed, Buffer::Allocate(elems.size()));
  }
  std::copy(elems.begin(), elems.end(), changed->data());
  options.before_encode(changed->span());
  return ByteSpan(changed->span());
}

bool Array::Impl::Omits(ByteSpan elems) const {
  if (!metadata.fill.defined && metadata.zarr_format == 2) return false;
  if (!leaf().IsFill(elems)) return false;
  omitted_fill.store(true, std::memory_order_relaxed);
  return true;
}

Result<EncodedChunk> Array::Impl::EncodeElems(ByteSpan elems) const {
  EncodedChunk encoded;
  Buffer changed;
  H5ZARR_ASSIGN_OR_RETURN(elems, BeforeEncode(elems, &changed));
  if (Omits(elems)) return encoded;
  if (leaf().is_identity()) {
    encoded.bytes = elems;
    encoded.owner = std::move(changed);  // empty where the elements are the caller's
    return encoded;
  }
  H5ZARR_ASSIGN_OR_RETURN(encoded.owner, leaf().Encode(elems));
  encoded.bytes = encoded.owner.span();
  return encoded;
}

Status Array::Impl::PutObject(uint64_t object, const std::optional<ByteSpan>& bytes) {
  const std::string key = Key(object);
  if (bytes) return store->Write(key, *bytes).WithContext("array '" + path + "'");
  const auto deleted = store->Delete(key);
  return deleted.status().WithContext("array '" + path + "'");
}

Result<std::shared_ptr<void>> Array::Impl::LockObject(uint64_t object) {
  return store->Lock(DocumentKey(), HashKey(Key(object)));
}

Status Array::Impl::PutShard(uint64_t object, const std::vector<ShardChange>& changes, bool whole) {
  if (whole) {
    H5ZARR_ASSIGN_OR_RETURN(std::optional<Buffer> shard, AssembleShard(*sharding(), changes));
    return PutObject(object, shard ? std::optional<ByteSpan>(shard->span()) : std::nullopt);
  }
  const std::string key = Key(object);
  H5ZARR_ASSIGN_OR_RETURN(const std::shared_ptr<void> lock, LockObject(object));
  return UpdateShard(store, key, *sharding(), changes, executor()).WithContext("array '" + path + "'");
}

void Array::Impl::ForgetObject(uint64_t object) {
  cache.EraseRange(object * grid.entries(), (object + 1) * grid.entries());
  indexes.Erase(object);
}

bool Array::Impl::IsComplete(uint64_t object) {
  if (cache.DirtyCount(object) != grid.LiveEntries(object)) return false;
  Coords extent;
  for (const auto& chunk : cache.Dirty(object * grid.entries(), (object + 1) * grid.entries())) {
    if (chunk->written_elems < grid.InnerExtent(chunk->id, extent.data())) return false;
  }
  return true;
}

Status Array::Impl::StoreComplete(std::span<const uint64_t> objects) {
  std::vector<uint64_t> complete;
  for (uint64_t object : objects) {
    if (IsComplete(object)) complete.push_back(object);
  }
  return StoreObjects(complete);
}

Status Array::Impl::StoreObjects(std::span<const uint64_t> objects) {
  if (objects.empty()) return OkStatus();  // (an array that is only looked at gets no document)
  H5ZARR_RETURN_IF_ERROR(BeforeWrite());
  std::vector<uint64_t> whole, partial;
  for (const uint64_t object : objects) {
    const uint64_t dirty = cache.DirtyCount(object);
    if (dirty == 0) continue;
    const bool is_whole = !sharding() || dirty == grid.LiveEntries(object);
    (is_whole ? whole : partial).push_back(object);
  }
  const Status status = StoreWhole(whole);
  const Status others = StorePartial(partial);
  return status.ok() ? others : status;
}

void Array::Impl::MarkStored(uint64_t object) {
  for (const auto& chunk : cache.Dirty(object * grid.entries(), (object + 1) * grid.entries())) {
    cache.MarkClean(chunk.get());
  }
  indexes.Erase(object);
}

// Objects of which every inner chunk is dirty.
Status Array::Impl::StoreWhole(std::span<const uint64_t> ids) {
  std::vector<WholeObject> objects;
  std::vector<std::vector<ChunkCache::Ptr>> chunks;
  for (const uint64_t id : ids) {
    chunks.push_back(cache.Dirty(id * grid.entries(), (id + 1) * grid.entries()));
    objects.push_back({id, chunks.back().size(), {}});
  }
  const WholeObject* const all = objects.data();
  auto source = [&](const WholeObject& object, uint64_t chunk, uint64_t, MutableByteSpan) {
    const CachedChunk& cached = *chunks[static_cast<std::size_t>(&object - all)][chunk];
    return SourceChunks{cached.id, cached.data.elems.span()};
  };
  const Status status = PutWhole(objects, /*in_runs=*/false, source);
  for (const WholeObject& object : objects) {
    if (object.status.ok()) MarkStored(object.id);
  }
  return status;
}

// Shards whose other inner chunks are carried over.
Status Array::Impl::StorePartial(std::span<const uint64_t> objects) {
  Status first;
  while (!objects.empty()) {
    uint64_t slice_bytes = 0;
    std::size_t count = 0;
    while (count < objects.size() && (count == 0 || slice_bytes < options.memory_bytes / 2)) {
      slice_bytes += cache.DirtyCount(objects[count]) * leaf().decoded_bytes();
      ++count;
    }
    const Status status = StorePartialSlice(objects.first(count));
    if (first.ok()) first = status;
    objects = objects.subspan(count);
  }
  return first;
}

Status Array::Impl::StorePartialSlice(std::span<const uint64_t> objects) {
  struct Object {
    std::vector<ChunkCache::Ptr> chunks;
    std::vector<ShardChange> changes;
    Status status;
  };
  std::vector<Object> todo(objects.size());
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    todo[i].chunks = cache.Dirty(objects[i] * grid.entries(), (objects[i] + 1) * grid.entries());
    todo[i].changes.resize(todo[i].chunks.size());
    for (std::size_t k = 0; k < todo[i].chunks.size(); ++k) parts.emplace_back(i, k);
  }
  auto encode = [&](std::size_t part) -> Status {
    const auto [i, k] = parts[part];
    const CachedChunk& chunk = *todo[i].chunks[k];
    auto encoded = EncodeElems(chunk.data.elems.span());
    if (!encoded.ok()) return encoded.status().WithContext(Describe(chunk.id));
    todo[i].changes[k] = {grid.EntryOf(chunk.id), std::move(encoded).value()};
    return OkStatus();
  };
  auto put = [&](std::size_t i) -> Status {
    todo[i].status = PutShard(objects[i], todo[i].changes, /*whole=*/false);
    todo[i].changes.clear();
    return OkStatus();  // the others are still tried
  };
  const double encode_ns = static_cast<double>(parts.size()) * leaf().encode_cost_ns();
  const double put_ns = static_cast<double>(objects.size()) * kPutNs;
  H5ZARR_RETURN_IF_ERROR(executor().ParallelFor(parts.size(), encode_ns, encode));
  // One shard alone reads what it carries over in parallel.
  H5ZARR_RETURN_IF_ERROR(todo.size() == 1 ? put(0) : executor().ParallelFor(todo.size(), put_ns, put));
  Status first;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (todo[i].status.ok()) MarkStored(objects[i]);
    if (first.ok()) first = todo[i].status;
  }
  return first;
}

Status Array::Impl::Evict() {
  // Dirty chunks of a shard are worth waiting for each other: it is rewritten as a whole.
  uint64_t budget = options.cache_bytes;
  if (sharding()) {
    const uint64_t shard_bytes = CheckedMul(grid.entries(), leaf().decoded_bytes()).value_or(UINT64_MAX);
    budget = std::max(budget, std::min(options.memory_bytes, shard_bytes));
  }
  if (cache.bytes() > options.cache_bytes) cache.DropClean(options.cache_bytes);
  if (cache.bytes() <= budget) return OkStatus();
  // Store more than needed, so that not every small write has to.
  const uint64_t excess_bytes = cache.bytes() - budget / 4 * 3;
  std::vector<uint64_t> victims;
  std::unordered_set<uint64_t> chosen;
  uint64_t freed_bytes = 0;
  cache.ForEachOldest([&](const CachedChunk& chunk) {
    const uint64_t object = grid.ObjectOf(chunk.id);
    if (chunk.dirty && chosen.insert(object).second) {
      victims.push_back(object);
      freed_bytes += cache.DirtyCount(object) * chunk.bytes();
    }
    return freed_bytes < excess_bytes;
  });
  H5ZARR_RETURN_IF_ERROR(StoreObjects(victims));
  cache.DropClean(options.cache_bytes);
  return OkStatus();
}

Status Array::Impl::FlushObject(uint64_t object) {
  if (cache.DirtyCount(object) == 0) return OkStatus();
  return StoreObjects({&object, 1});
}

Status Array::Impl::FlushAll() {
  std::vector<uint64_t> objects;
  for (auto id = cache.NextDirty(0); id; id = cache.NextDirty((objects.back() + 1) * grid.entries())) {
    objects.push_back(grid.ObjectOf(*id));
  }
  return StoreObjects(objects);
}

}  // namespace h5zarr::zarr
