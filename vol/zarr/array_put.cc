// Storing whole objects: inner chunks are encoded in parallel, group by group, each group into one
// buffer that goes to the store as it is.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "zarr/array_impl.h"

namespace h5zarr::zarr {

namespace {

// What storing one object costs beside encoding it: a file made and renamed.
constexpr double kPutNs = 100'000;
constexpr double kCopyNsPerByte = 0.15;
constexpr double kChunkNs = 200;
// A group is large enough to be worth a call of the store, and small enough to stay in the cache.
constexpr uint64_t kGroupBytes = 1 << 20;
constexpr double kMinGroupNs = 200'000;
// Objects in work at once: each costs memory before its first chunk.
constexpr std::size_t kObjectsAtOnce = 1 << 14;

// `used` bytes of a buffer that grows by doubling.
Status AppendGrowing(ByteSpan bytes, uint64_t* used, Buffer* buffer) {
  const auto needed = CheckedAdd(*used, bytes.size());
  if (!needed) return OutOfRangeError("a shard would exceed 2^64 bytes");
  if (*needed > buffer->size_bytes()) {
    H5ZARR_ASSIGN_OR_RETURN(Buffer larger, Buffer::Allocate(std::max(*needed, *used * 2)));
    if (*used != 0) std::memcpy(larger.data(), buffer->data(), *used);
    *buffer = std::move(larger);
  }
  if (!bytes.empty()) std::memcpy(buffer->data() + *used, bytes.data(), bytes.size());
  *used = *needed;
  return OkStatus();
}

}  // namespace

// Consecutive inner chunks of one object, encoded by one task.
struct Array::Impl::Group {
  std::size_t object = 0;  // which of the objects
  uint64_t ordinal = 0;    // among the object's groups
  uint64_t first_chunk = 0;
  uint64_t chunks = 0;
};

// Encodes a group's chunks behind one another into a buffer with room for a shard's index.
Result<EncodedGroup> Array::Impl::EncodeGroup(const WholeObject& object, const Group& group,
                                              const ChunkSource& source) {
  const std::optional<uint64_t> most_bytes = leaf().MaxEncodedBytes();
  const uint64_t chunk_bytes = leaf().decoded_bytes();
  const uint64_t index_bytes = sharding() ? sharding()->index_bytes : 0;
  const bool identity = leaf().is_identity();
  EncodedGroup encoded;
  encoded.chunks.reserve(group.chunks);
  std::optional<uint64_t> room_bytes;
  if (most_bytes) {
    const auto all_bytes = CheckedMul(*most_bytes, group.chunks);
    room_bytes = all_bytes ? CheckedAdd(*all_bytes, index_bytes) : std::nullopt;
    if (!room_bytes) return OutOfRangeError("a chunk is larger than any memory");
    H5ZARR_ASSIGN_OR_RETURN(encoded.owner, scratch.Take(*room_bytes));
  }
  Buffer gathered, changed;
  if (!identity) {
    H5ZARR_ASSIGN_OR_RETURN(gathered, scratch.Take(chunk_bytes));
  }
  const bool changes = options.before_encode && !is_vlen();
  if (changes) {
    H5ZARR_ASSIGN_OR_RETURN(changed, scratch.Take(chunk_bytes));
  }
  uint64_t used_bytes = 0;
  for (uint64_t i = 0; i < group.chunks; ++i) {
    const MutableByteSpan room =
        most_bytes ? encoded.owner.span().subspan(used_bytes) : MutableByteSpan();
    H5ZARR_ASSIGN_OR_RETURN(SourceChunk chunk,
                            source(object, group.first_chunk + i,
                                   identity ? room.first(chunk_bytes) : gathered.span()));
    if (changes) {
      std::copy_n(chunk.elems.data(), chunk_bytes, changed.data());
      chunk.elems = changed.span().first(chunk_bytes);
      options.before_encode(changed.span().first(chunk_bytes));
    }
    if (omits_fill() && leaf().IsFill(chunk.elems)) continue;
    uint64_t stored_bytes = 0;
    if (identity && group.chunks == 1 && !changes) {
      encoded.bytes = chunk.elems;  // stored from where it lies
      stored_bytes = chunk_bytes;
    } else if (identity) {
      if (chunk.elems.data() != room.data()) std::copy_n(chunk.elems.data(), chunk_bytes, room.data());
      stored_bytes = chunk_bytes;
    } else if (most_bytes) {
      auto used = leaf().EncodeInto(chunk.elems, room);
      if (!used.ok()) return used.status().WithContext(Describe(chunk.id));
      stored_bytes = *used;
    } else {
      auto bytes = leaf().Encode(chunk.elems);
      if (!bytes.ok()) return bytes.status().WithContext(Describe(chunk.id));
      stored_bytes = bytes->size_bytes();
      H5ZARR_RETURN_IF_ERROR(AppendGrowing(bytes->span(), &used_bytes, &encoded.owner));
      used_bytes -= stored_bytes;
    }
    used_bytes += stored_bytes;
    encoded.chunks.push_back({grid.EntryOf(chunk.id), stored_bytes});
  }
  if (!gathered.empty()) scratch.Return(std::move(gathered));
  if (!changed.empty()) scratch.Return(std::move(changed));
  if (encoded.bytes.empty()) {
    encoded.bytes = encoded.owner.span().first(used_bytes);
  } else if (encoded.bytes.data() != encoded.owner.data()) {
    scratch.Return(std::exchange(encoded.owner, Buffer()));
  }
  return encoded;
}

Status Array::Impl::PutPlain(uint64_t object, EncodedGroup encoded) {
  const bool present = !encoded.chunks.empty();
  const Status status =
      PutObject(object, present ? std::optional<ByteSpan>(encoded.bytes) : std::nullopt);
  if (!encoded.owner.empty()) scratch.Return(std::move(encoded.owner));
  return status;
}

std::vector<Array::Impl::Group> Array::Impl::MakeGroups(std::span<const WholeObject> objects,
                                                        double* cost_ns) {
  const double chunk_ns = kChunkNs + leaf().encode_cost_ns() +
                          kCopyNsPerByte * static_cast<double>(leaf().decoded_bytes());
  uint64_t chunks = 0;
  for (const WholeObject& object : objects) chunks += object.chunks;
  const double encode_ns = chunk_ns * static_cast<double>(chunks);
  *cost_ns = encode_ns + kPutNs * static_cast<double>(objects.size());
  const double group_ns = std::max(kMinGroupNs, encode_ns / (4.0 * executor().threads()));
  const uint64_t by_cost = static_cast<uint64_t>(std::min(group_ns / chunk_ns, 1e9));
  const uint64_t by_size = kGroupBytes / std::max<uint64_t>(leaf().decoded_bytes(), 1);
  const uint64_t group_chunks = std::max<uint64_t>(std::min(by_cost, by_size), 1);
  std::vector<Group> groups;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    for (uint64_t first = 0; first < objects[i].chunks; first += group_chunks) {
      groups.push_back({i, first / group_chunks, first,
                        std::min(group_chunks, objects[i].chunks - first)});
    }
  }
  return groups;
}

Status Array::Impl::PutWholeSlice(std::span<WholeObject> objects, const ChunkSource& source) {
  double cost_ns = 0;
  const std::vector<Group> groups = MakeGroups(objects, &cost_ns);
  std::vector<std::unique_ptr<ShardWriter>> writers(sharding() ? objects.size() : 0);
  for (std::size_t i = groups.size(); sharding() && i-- > 0;) {
    const std::size_t object = groups[i].object;
    if (writers[object]) continue;  // its last group is seen first
    writers[object] =
        std::make_unique<ShardWriter>(store, Key(objects[object].id), *sharding(),
                                      groups[i].ordinal + 1, options.memory_bytes / 4, &scratch);
  }
  auto put = [&](const Group& group) -> Status {
    H5ZARR_ASSIGN_OR_RETURN(EncodedGroup encoded, EncodeGroup(objects[group.object], group, source));
    if (!sharding()) return PutPlain(objects[group.object].id, std::move(encoded));
    return writers[group.object]->Put(group.ordinal, std::move(encoded));
  };
  // Never fails itself: one object's failure is no other's.
  auto task = [&](std::size_t k) -> Status {
    const Group& group = groups[k];
    if (sharding() && writers[group.object]->failed()) return OkStatus();
    const Status status = Guarded([&] { return put(group); });
    if (status.ok()) return status;
    if (sharding()) {
      writers[group.object]->Fail(status);
    } else {
      objects[group.object].status = status;
    }
    return OkStatus();
  };
  H5ZARR_RETURN_IF_ERROR(executor().ParallelFor(groups.size(), cost_ns, task));
  Status first;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (sharding()) {
      objects[i].status = writers[i]->outcome().WithContext("array '" + path + "'");
    }
    if (first.ok()) first = objects[i].status;
  }
  return first;
}

Status Array::Impl::PutWhole(std::span<WholeObject> objects, const ChunkSource& source) {
  Status first;
  while (!objects.empty()) {
    const auto slice = objects.first(std::min(objects.size(), kObjectsAtOnce));
    const Status status = PutWholeSlice(slice, source);
    if (first.ok()) first = status;
    objects = objects.subspan(slice.size());
  }
  scratch.Clear();
  return first;
}

}  // namespace h5zarr::zarr
