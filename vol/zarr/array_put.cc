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
constexpr double kChunkOfRunNs = 10;  // one of many that are taken as they lie
// A group is large enough to be worth a call of the store, and small enough to stay in the cache.
constexpr uint64_t kGroupBytes = 1 << 20;
constexpr double kMinGroupNs = 200'000;
// Objects in work at once: each costs memory before its first chunk.
constexpr std::size_t kObjectsAtOnce = 1 << 14;

}  // namespace

// The encoded chunks of a group, one after the other: where the source has them so, else in `owner`.
class Array::Impl::GroupBytes {
 public:
  explicit GroupBytes(Buffer owner) : owner_(std::move(owner)) {}

  // Where the next chunk may be put, to be added with one of the following.
  MutableByteSpan room() { return owner_.span().subspan(used_bytes_); }
  void AddEncoded(uint64_t bytes) { used_bytes_ += bytes; }

  // Adds chunks that are stored as they are. `lasts`: until the group is stored, so that they need not be
  // copied. REQUIRES: room for them.
  void AddElems(ByteSpan elems, bool lasts) {
    if (begin_ == nullptr && lasts) begin_ = elems.data();
    if (!lasts || elems.data() != begin_ + used_bytes_) {
      if (begin_ != owner_.data() && used_bytes_ != 0) {
        std::memcpy(owner_.data(), begin_, used_bytes_);
      }
      begin_ = owner_.data();
      if (elems.data() != room().data()) std::memcpy(room().data(), elems.data(), elems.size());
    }
    used_bytes_ += elems.size();
  }

  // Adds a chunk to a buffer that grows by doubling.
  Status AddGrowing(ByteSpan bytes) {
    const auto needed = CheckedAdd(used_bytes_, bytes.size());
    if (!needed) return OutOfRangeError("a shard would exceed 2^64 bytes");
    if (*needed > owner_.size_bytes()) {
      H5ZARR_ASSIGN_OR_RETURN(Buffer larger, Buffer::Allocate(std::max(*needed, used_bytes_ * 2)));
      if (used_bytes_ != 0) std::memcpy(larger.data(), owner_.data(), used_bytes_);
      owner_ = std::move(larger);
    }
    if (!bytes.empty()) std::memcpy(room().data(), bytes.data(), bytes.size());
    used_bytes_ = *needed;
    return OkStatus();
  }

  // Hands all over; a buffer that was not needed goes back to `scratch`.
  void MoveTo(EncodedGroup* encoded, ScratchPool* scratch) {
    if (begin_ != nullptr && begin_ != owner_.data()) {
      encoded->bytes = {begin_, used_bytes_};
      return scratch->Return(std::move(owner_));
    }
    encoded->owner = std::move(owner_);
    encoded->bytes = encoded->owner.span().first(used_bytes_);
  }

 private:
  Buffer owner_;
  const std::byte* begin_ = nullptr;  // null: `owner_`, or nothing yet
  uint64_t used_bytes_ = 0;
};

// Consecutive inner chunks of one object, encoded by one task.
struct Array::Impl::Group {
  std::size_t object = 0;  // which of the objects
  uint64_t ordinal = 0;    // among the object's groups
  uint64_t first_chunk = 0;
  uint64_t chunks = 0;
};

// Whether inner chunks are stored as they are given.
bool Array::Impl::TakesRuns() const { return leaf().is_identity() && !options.before_encode; }

// Room for `chunks` encoded chunks and a shard's index; none where only the data tell.
Result<Buffer> Array::Impl::RoomForGroup(uint64_t chunks) {
  const std::optional<uint64_t> most_bytes = leaf().MaxEncodedBytes();
  if (!most_bytes) return Buffer();
  const auto all_bytes = CheckedMul(*most_bytes, chunks);
  const auto room_bytes = all_bytes ? CheckedAdd(*all_bytes, sharding() ? sharding()->index_bytes : 0) : std::nullopt;
  if (!room_bytes) return OutOfRangeError("a chunk is larger than any memory");
  return scratch.Take(*room_bytes);
}

// The chunks of a group that are stored as they are: those that lie together are added together.
Status Array::Impl::AddPlain(const WholeObject& object, const Group& group, const ChunkSource& source,
                             GroupBytes* bytes, EncodedGroup* encoded) {
  const uint64_t chunk_bytes = leaf().decoded_bytes();
  const std::byte fill = leaf().fill_elem()[0];
  Buffer changed;
  for (uint64_t i = 0; i < group.chunks;) {
    const uint64_t most = TakesRuns() ? group.chunks - i : 1;
    SourceChunks run = source(object, group.first_chunk + i, most, bytes->room().first(chunk_bytes));
    H5ZARR_ASSIGN_OR_RETURN(run.elems, BeforeEncode(run.elems, &changed));
    const uint64_t first_entry = grid.EntryOf(run.first_id);
    uint64_t begin = 0;  // of those that come next
    for (uint64_t k = 0; k <= run.count; ++k) {
      const ByteSpan rest = run.elems.subspan(k * chunk_bytes);
      if (k < run.count && (rest[0] != fill || !Omits(rest.first(chunk_bytes)))) continue;
      if (k > begin) {
        bytes->AddElems(run.elems.subspan(begin * chunk_bytes, (k - begin) * chunk_bytes), changed.empty());
        encoded->chunks.push_back({first_entry + begin, chunk_bytes, k - begin});
      }
      begin = k + 1;
    }
    i += run.count;
  }
  return OkStatus();
}

// The other chunks of a group, one by one.
Status Array::Impl::AddEncoded(const WholeObject& object, const Group& group, const ChunkSource& source,
                               GroupBytes* bytes, EncodedGroup* encoded) {
  const CodecChain& chain = leaf();
  const bool sized = chain.MaxEncodedBytes().has_value();
  H5ZARR_ASSIGN_OR_RETURN(Buffer gathered, scratch.Take(chain.decoded_bytes()));
  Buffer changed;
  encoded->chunks.reserve(group.chunks);
  for (uint64_t i = 0; i < group.chunks; ++i) {
    SourceChunks chunk = source(object, group.first_chunk + i, 1, gathered.span());
    H5ZARR_ASSIGN_OR_RETURN(chunk.elems, BeforeEncode(chunk.elems, &changed));
    if (Omits(chunk.elems)) continue;
    uint64_t stored_bytes = 0;
    if (sized) {
      auto used = chain.EncodeInto(chunk.elems, bytes->room());
      if (!used.ok()) return used.status().WithContext(Describe(chunk.first_id));
      stored_bytes = *used;
      bytes->AddEncoded(stored_bytes);
    } else {
      auto made = chain.Encode(chunk.elems);
      if (!made.ok()) return made.status().WithContext(Describe(chunk.first_id));
      stored_bytes = made->size_bytes();
      H5ZARR_RETURN_IF_ERROR(bytes->AddGrowing(made->span()));
    }
    encoded->chunks.push_back({grid.EntryOf(chunk.first_id), stored_bytes, 1});
  }
  if (!gathered.empty()) scratch.Return(std::move(gathered));
  return OkStatus();
}

// Encodes a group's chunks behind one another.
Result<EncodedGroup> Array::Impl::EncodeGroup(const WholeObject& object, const Group& group,
                                              const ChunkSource& source) {
  H5ZARR_ASSIGN_OR_RETURN(Buffer room, RoomForGroup(group.chunks));
  GroupBytes bytes(std::move(room));
  EncodedGroup encoded;
  H5ZARR_RETURN_IF_ERROR(leaf().is_identity() ? AddPlain(object, group, source, &bytes, &encoded)
                                              : AddEncoded(object, group, source, &bytes, &encoded));
  bytes.MoveTo(&encoded, &scratch);
  return encoded;
}

// Stores the chunk of an array without shards; the object's status is set before `writes` is done with it.
void Array::Impl::PutPlain(WholeObject* object, EncodedGroup encoded, WritesUnderWay* writes) {
  if (encoded.chunks.empty()) {
    object->status = PutObject(object->id, std::nullopt);
    if (!encoded.owner.empty()) scratch.Return(std::move(encoded.owner));
    return;
  }
  const uint64_t size_bytes = encoded.bytes.size();
  const ByteSpan bytes = encoded.bytes;
  auto owner = std::make_shared<Buffer>(std::move(encoded.owner));
  writes->Begin(size_bytes);
  store->StartWrite(Key(object->id), bytes, [this, object, owner, writes, size_bytes](Status status) {
    object->status = status.WithContext("array '" + path + "'");
    if (!owner->empty()) scratch.Return(std::move(*owner));
    writes->End(size_bytes);
  });
}

std::vector<Array::Impl::Group> Array::Impl::MakeGroups(std::span<const WholeObject> objects, bool in_runs,
                                                        double* cost_ns) {
  const double copied_ns =
      kChunkNs + leaf().encode_cost_ns() + kCopyNsPerByte * static_cast<double>(leaf().decoded_bytes());
  const double chunk_ns = in_runs && TakesRuns() ? kChunkOfRunNs : copied_ns;
  uint64_t chunks = 0;
  for (const WholeObject& object : objects) chunks += object.chunks;
  const double encode_ns = chunk_ns * static_cast<double>(chunks);
  // (One object's groups are stored one after the other.)
  *cost_ns = encode_ns + kPutNs * static_cast<double>(objects.size() - 1);
  const double group_ns = std::max(kMinGroupNs, encode_ns / (4.0 * executor().threads()));
  const uint64_t by_cost = static_cast<uint64_t>(std::min(group_ns / chunk_ns, 1e9));
  const uint64_t by_size = kGroupBytes / std::max<uint64_t>(leaf().decoded_bytes(), 1);
  const uint64_t group_chunks = std::max<uint64_t>(std::min(by_cost, by_size), 1);
  std::vector<Group> groups;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    for (uint64_t first = 0; first < objects[i].chunks; first += group_chunks) {
      groups.push_back({i, first / group_chunks, first, std::min(group_chunks, objects[i].chunks - first)});
    }
  }
  return groups;
}

Status Array::Impl::PutWholeSlice(std::span<WholeObject> objects, bool in_runs, const ChunkSource& source) {
  double cost_ns = 0;
  const std::vector<Group> groups = MakeGroups(objects, in_runs, &cost_ns);
  std::vector<std::unique_ptr<ShardWriter>> writers(sharding() ? objects.size() : 0);
  for (std::size_t i = groups.size(); sharding() && i-- > 0;) {
    const std::size_t object = groups[i].object;
    if (writers[object]) continue;  // its last group is seen first
    writers[object] = std::make_unique<ShardWriter>(store, Key(objects[object].id), *sharding(), groups[i].ordinal + 1,
                                                    options.memory_bytes / 4, &scratch);
  }
  WritesUnderWay writes(options.memory_bytes / 4);
  auto put = [&](const Group& group) -> Status {
    H5ZARR_ASSIGN_OR_RETURN(EncodedGroup encoded, EncodeGroup(objects[group.object], group, source));
    if (!sharding()) {
      PutPlain(&objects[group.object], std::move(encoded), &writes);
      return OkStatus();
    }
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
  writes.Wait();
  Status first;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (sharding()) {
      objects[i].status = writers[i]->outcome().WithContext("array '" + path + "'");
    }
    if (first.ok()) first = objects[i].status;
  }
  return first;
}

Status Array::Impl::PutWhole(std::span<WholeObject> objects, bool in_runs, const ChunkSource& source) {
  Status first;
  while (!objects.empty()) {
    const auto slice = objects.first(std::min(objects.size(), kObjectsAtOnce));
    const Status status = PutWholeSlice(slice, in_runs, source);
    if (first.ok()) first = status;
    objects = objects.subspan(slice.size());
  }
  scratch.Clear();
  return first;
}

}  // namespace h5zarr::zarr
