#include "zarr/shard.h"

#include <algorithm>
#include <utility>

namespace h5zarr::zarr {

namespace {

// How often a shard that somebody else replaces meanwhile is read anew before giving up.
constexpr int kAttempts = 5;

uint64_t IndexBytes(const LoadedIndex& index) {
  return index.index.size() * sizeof(codec::ShardEntry) + sizeof(LoadedIndex);
}

// A shard's buffer with the index written and the changed inner chunks in place.
struct Assembly {
  CodecChain::Sharding::Layout layout;
  Buffer shard;
};

Result<Assembly> Begin(const CodecChain::Sharding& sharding, std::span<const std::optional<uint64_t>> sizes,
                       const std::vector<ShardChange>& changes) {
  Assembly assembly;
  H5ZARR_ASSIGN_OR_RETURN(assembly.layout, sharding.Place(sizes));
  if (assembly.layout.empty) return assembly;
  H5ZARR_ASSIGN_OR_RETURN(assembly.shard, Buffer::Allocate(assembly.layout.shard_bytes));
  H5ZARR_RETURN_IF_ERROR(sharding.EncodeIndex(
      assembly.layout.index, assembly.shard.span().subspan(assembly.layout.index_offset, sharding.index_bytes)));
  for (const ShardChange& change : changes) {
    if (!change.encoded.bytes) continue;
    std::copy_n(change.encoded.bytes->data(), change.encoded.bytes->size(),
                assembly.shard.data() + assembly.layout.index[change.entry].offset);
  }
  return assembly;
}

Result<Assembly> Merge(Store* store, const std::string& key, const CodecChain::Sharding& sharding,
                       const std::vector<ShardChange>& changes, Executor& executor) {
  H5ZARR_ASSIGN_OR_RETURN(IndexPtr old, ReadShardIndex(store, key, sharding, executor));
  std::vector<std::optional<uint64_t>> sizes(sharding.entries);
  if (old != nullptr) {
    for (uint64_t entry = 0; entry < sharding.entries; ++entry) {
      if (!old->index[entry].missing()) sizes[entry] = old->index[entry].length;
    }
  }
  std::vector<bool> changed(sharding.entries, false);
  for (const ShardChange& change : changes) {
    changed[change.entry] = true;
    sizes[change.entry] = std::nullopt;
    if (change.encoded.bytes) sizes[change.entry] = change.encoded.bytes->size();
  }
  H5ZARR_ASSIGN_OR_RETURN(Assembly assembly, Begin(sharding, sizes, changes));
  if (assembly.layout.empty || old == nullptr) return assembly;
  std::vector<ReadOp> ops;
  for (uint64_t entry = 0; entry < sharding.entries; ++entry) {
    const codec::ShardEntry& from = old->index[entry];
    if (changed[entry] || from.missing() || from.length == 0) continue;
    ReadOp op;
    op.key = key;
    op.range = ByteRange::Span(from.offset, from.length);
    op.target = assembly.shard.span().subspan(assembly.layout.index[entry].offset, from.length);
    op.expected = old->generation;
    ops.push_back(std::move(op));
  }
  auto sink = [&](std::size_t, const ReadResult& result) -> Status {
    return result.bytes ? OkStatus() : ChangedError("shard " + key + " has gone");
  };
  if (!ops.empty()) H5ZARR_RETURN_IF_ERROR(store->ReadBatch(ops, sink, executor));
  return assembly;
}

}  // namespace

IndexPtr ShardIndexCache::Find(uint64_t object) {
  const auto found = index_.find(object);
  if (found == index_.end()) return nullptr;
  lru_.splice(lru_.begin(), lru_, found->second);
  return found->second->second;
}

void ShardIndexCache::Insert(uint64_t object, IndexPtr index) {
  Erase(object);
  bytes_ += IndexBytes(*index);
  lru_.emplace_front(object, std::move(index));
  index_[object] = lru_.begin();
  while (bytes_ > budget_bytes_ && lru_.size() > 1) Erase(lru_.back().first);
}

void ShardIndexCache::Erase(uint64_t object) {
  const auto found = index_.find(object);
  if (found == index_.end()) return;
  bytes_ -= IndexBytes(*found->second->second);
  lru_.erase(found->second);
  index_.erase(found);
}

void ShardIndexCache::Clear() {
  lru_.clear();
  index_.clear();
  bytes_ = 0;
}

ByteRange IndexRange(const CodecChain::Sharding& sharding) {
  return sharding.format.at_start ? ByteRange::Span(0, sharding.index_bytes) : ByteRange::Suffix(sharding.index_bytes);
}

Result<std::optional<Buffer>> AssembleShard(const CodecChain::Sharding& sharding,
                                            const std::vector<ShardChange>& changes) {
  std::vector<std::optional<uint64_t>> sizes(sharding.entries);
  for (const ShardChange& change : changes) {
    if (change.encoded.bytes) sizes[change.entry] = change.encoded.bytes->size();
  }
  H5ZARR_ASSIGN_OR_RETURN(Assembly assembly, Begin(sharding, sizes, changes));
  if (assembly.layout.empty) return std::optional<Buffer>();
  return std::optional<Buffer>(std::move(assembly.shard));
}

Result<IndexPtr> ReadShardIndex(Store* store, const std::string& key, const CodecChain::Sharding& sharding,
                                Executor& executor) {
  auto loaded = std::make_shared<LoadedIndex>();
  bool present = false;
  ReadOp op;
  op.key = key;
  op.range = IndexRange(sharding);
  const Status status = store->ReadBatch(
      {&op, 1},
      [&](std::size_t, const ReadResult& result) -> Status {
        if (!result.bytes) return OkStatus();
        present = true;
        loaded->generation = result.generation;
        loaded->settled = result.settled;
        H5ZARR_ASSIGN_OR_RETURN(loaded->index, sharding.DecodeIndex(*result.bytes, result.object_bytes));
        return OkStatus();
      },
      executor);
  H5ZARR_RETURN_IF_ERROR(status.WithContext("index of shard " + key));
  return present ? IndexPtr(std::move(loaded)) : IndexPtr();
}

Status UpdateShard(Store* store, const std::string& key, const CodecChain::Sharding& sharding,
                   const std::vector<ShardChange>& changes, Executor& executor) {
  for (int attempt = 1;; ++attempt) {
    auto assembly = Merge(store, key, sharding, changes, executor);
    if (!assembly.ok() && assembly.status().code() == StatusCode::kChanged && attempt < kAttempts) {
      continue;
    }
    H5ZARR_RETURN_IF_ERROR(assembly.status());
    if (!assembly->layout.empty) return store->Write(key, assembly->shard.span());
    auto deleted = store->Delete(key);
    return deleted.status();
  }
}

}  // namespace h5zarr::zarr
