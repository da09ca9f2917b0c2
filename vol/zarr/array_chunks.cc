// Chunks as they are stored, listed, read and written past the codecs: whole objects, or the inner
// chunks of shards that nobody is to notice.
#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/nd_copy.h"
#include "zarr/array_impl.h"

namespace h5zarr::zarr {

namespace {

// How often a shard that somebody else replaces meanwhile is read anew before giving up.
constexpr int kAttempts = 5;

}  // namespace

bool Array::Impl::deals_in_inner_chunks() const {
  return options.chunk_unit == ChunkUnit::kInner && sharding() != nullptr;
}

const CodecChain& Array::Impl::unit_chain() const { return deals_in_inner_chunks() ? leaf() : chain; }

std::span<const uint64_t> Array::unit_shape() const {
  return impl_->deals_in_inner_chunks() ? inner_chunk_shape() : chunk_shape();
}

Status Array::Impl::CheckUnitCoords(std::span<const uint64_t> coords) const {
  const std::span<const uint64_t> unit = deals_in_inner_chunks() ? grid.inner_shape() : grid.chunk_shape();
  bool within = coords.size() == grid.rank();
  for (std::size_t dim = 0; within && dim < coords.size(); ++dim) {
    within = coords[dim] < CeilDiv(grid.shape()[dim], unit[dim]);
  }
  return within ? OkStatus() : OutOfRangeError("chunk coordinates outside the array");
}

uint64_t Array::Impl::InnerId(std::span<const uint64_t> coords) const {
  uint64_t id = 0;
  for (std::size_t dim = 0; dim < coords.size(); ++dim) id += grid.IdPart(dim, coords[dim]);
  return id;
}

// Of an inner chunk: where it lies in its shard, and in which state that was; a missing entry where
// there is no shard.
Result<std::pair<codec::ShardEntry, Generation>> Array::Impl::FindInner(uint64_t id) {
  H5ZARR_RETURN_IF_ERROR(FlushObject(grid.ObjectOf(id)));
  H5ZARR_ASSIGN_OR_RETURN(const IndexPtr index, ReadShardIndex(store, Key(grid.ObjectOf(id)), *sharding(), executor()));
  if (index == nullptr) return std::pair(codec::ShardEntry{}, Generation{});
  return std::pair(index->index[grid.EntryOf(id)], index->generation);
}

Result<std::optional<Buffer>> Array::Impl::ReadInner(uint64_t id) {
  for (int attempt = 1;; ++attempt) {
    H5ZARR_ASSIGN_OR_RETURN(const auto found, FindInner(id));
    const auto& [entry, generation] = found;
    if (entry.missing()) return std::optional<Buffer>();
    H5ZARR_ASSIGN_OR_RETURN(Buffer bytes, Buffer::Allocate(entry.length));
    ReadOp op;
    op.key = Key(grid.ObjectOf(id));
    op.range = ByteRange::Span(entry.offset, entry.length);
    op.target = bytes.span();
    op.expected = generation;
    const auto sink = [&](std::size_t, const ReadResult& result) -> Status {
      return result.bytes ? OkStatus() : ChangedError(Describe(id) + ": the shard has gone");
    };
    if (entry.length == 0) return std::optional<Buffer>(std::move(bytes));
    const Status status = store->ReadBatch({&op, 1}, sink, executor());
    if (status.ok()) return std::optional<Buffer>(std::move(bytes));
    if (status.code() != StatusCode::kChanged || attempt == kAttempts) return status;
  }
}

Status Array::Impl::WriteInner(uint64_t id, ByteSpan stored) {
  const uint64_t object = grid.ObjectOf(id);
  H5ZARR_RETURN_IF_ERROR(FlushObject(object));
  std::vector<ShardChange> changes(1);
  changes[0].entry = grid.EntryOf(id);
  changes[0].encoded.bytes = stored;
  H5ZARR_RETURN_IF_ERROR(PutShard(object, changes, false));
  ForgetObject(object);
  return OkStatus();
}

Result<std::optional<Buffer>> Array::Impl::ReadStoredChunk(std::span<const uint64_t> coords) {
  Result<std::optional<Buffer>> stored = std::optional<Buffer>();
  if (deals_in_inner_chunks()) {
    stored = ReadInner(InnerId(coords));
  } else {
    H5ZARR_RETURN_IF_ERROR(FlushObject(grid.ObjectId(coords)));
    stored = store->Read(KeyOf(coords));
  }
  H5ZARR_RETURN_IF_ERROR(CheckDocument(Check::kCheap));
  return stored;
}

Result<std::optional<Buffer>> Array::ReadStoredChunk(std::span<const uint64_t> coords) {
  return Guarded([&]() -> Result<std::optional<Buffer>> {
    H5ZARR_RETURN_IF_ERROR(impl_->CheckUnitCoords(coords));
    H5ZARR_RETURN_IF_ERROR(impl_->Settle());
    return impl_->ReadStoredChunk(coords);
  });
}

Status Array::WriteStoredChunk(std::span<const uint64_t> coords, ByteSpan stored) {
  H5ZARR_RETURN_IF_ERROR(impl_->CheckWritable());
  return Guarded([&]() -> Status {
    H5ZARR_RETURN_IF_ERROR(impl_->CheckUnitCoords(coords));
    H5ZARR_RETURN_IF_ERROR(impl_->Settle());
    H5ZARR_RETURN_IF_ERROR(impl_->BeforeWrite());
    if (impl_->deals_in_inner_chunks()) {
      H5ZARR_RETURN_IF_ERROR(impl_->WriteInner(impl_->InnerId(coords), stored));
    } else {
      const uint64_t object = impl_->grid.ObjectId(coords);
      H5ZARR_RETURN_IF_ERROR(impl_->PutObject(object, stored));
      impl_->ForgetObject(object);
    }
    const std::span<const uint64_t> unit = unit_shape();
    for (std::size_t dim = 0; dim < coords.size(); ++dim) {
      // Whoever made these bytes may have left anything beyond the extent.
      if (coords[dim] + 1 == CeilDiv(shape()[dim], unit[dim])) impl_->beyond_is_fill[dim] = false;
    }
    return OkStatus();
  });
}

Result<std::optional<uint64_t>> Array::StoredChunkBytes(std::span<const uint64_t> coords) {
  return Guarded([&]() -> Result<std::optional<uint64_t>> {
    H5ZARR_RETURN_IF_ERROR(impl_->CheckUnitCoords(coords));
    H5ZARR_RETURN_IF_ERROR(impl_->Settle());
    if (impl_->deals_in_inner_chunks()) {
      H5ZARR_ASSIGN_OR_RETURN(const auto found, impl_->FindInner(impl_->InnerId(coords)));
      if (found.first.missing()) return std::optional<uint64_t>();
      return std::optional<uint64_t>(found.first.length);
    }
    H5ZARR_RETURN_IF_ERROR(impl_->FlushObject(impl_->grid.ObjectId(coords)));
    return impl_->store->ObjectBytes(impl_->KeyOf(coords));
  });
}

Result<Buffer> Array::DecodeStoredChunk(ByteSpan stored) {
  return Guarded([&] { return impl_->DecodeStoredChunk(stored); });
}

Result<Buffer> Array::Impl::DecodeStoredChunk(ByteSpan stored) const {
  if (is_vlen()) return UnsupportedError("stored chunks of variable-length elements");
  const CodecChain& codecs = unit_chain();
  H5ZARR_ASSIGN_OR_RETURN(DecodedChunk chunk, codecs.Decode(stored));
  if (std::is_sorted(codecs.order().begin(), codecs.order().end())) return std::move(chunk.elems);
  H5ZARR_ASSIGN_OR_RETURN(Buffer elems, Buffer::Allocate(codecs.decoded_bytes()));
  std::vector<int64_t> strides(codecs.shape().size());
  ContiguousStrides(codecs.shape(), elem_bytes(), strides);
  CopyStrided(chunk.elems.data(), codecs.strides_bytes(), elems.data(), strides, codecs.shape(), elem_bytes());
  return elems;
}

Result<Buffer> Array::EncodeStoredChunk(ByteSpan decoded) {
  return Guarded([&] { return impl_->EncodeStoredChunk(decoded); });
}

Result<Buffer> Array::Impl::EncodeStoredChunk(ByteSpan decoded) const {
  if (is_vlen()) return UnsupportedError("stored chunks of variable-length elements");
  const CodecChain& codecs = unit_chain();
  if (decoded.size() != codecs.decoded_bytes()) {
    return InvalidArgumentError("a chunk of " + std::to_string(decoded.size()) + " bytes, expected " +
                                std::to_string(codecs.decoded_bytes()));
  }
  if (std::is_sorted(codecs.order().begin(), codecs.order().end())) return codecs.Encode(decoded);
  H5ZARR_ASSIGN_OR_RETURN(Buffer elems, Buffer::Allocate(codecs.decoded_bytes()));
  std::vector<int64_t> strides(codecs.shape().size());
  ContiguousStrides(codecs.shape(), elem_bytes(), strides);
  CopyStrided(decoded.data(), strides, elems.data(), codecs.strides_bytes(), codecs.shape(), elem_bytes());
  return codecs.Encode(elems.span());
}

Result<std::vector<ChunkInfo>> Array::ListStoredChunks() {
  H5ZARR_RETURN_IF_ERROR(impl_->Settle());
  return Guarded([&] { return impl_->ListStoredChunks(); });
}

Result<std::vector<ChunkInfo>> Array::Impl::ListStoredChunks() {
  H5ZARR_RETURN_IF_ERROR(FlushAll());
  H5ZARR_ASSIGN_OR_RETURN(std::vector<ChunkInfo> chunks, ListObjects());
  if (deals_in_inner_chunks()) {
    H5ZARR_ASSIGN_OR_RETURN(chunks, ListInner(chunks));
  }
  std::sort(chunks.begin(), chunks.end(), [](const ChunkInfo& a, const ChunkInfo& b) { return a.coords < b.coords; });
  return chunks;
}

Result<std::vector<ChunkInfo>> Array::Impl::ListObjects() {
  std::vector<ChunkInfo> chunks;
  const std::string prefix = Prefix();
  const ChunkKeyEncoding& encoding = metadata.key_encoding;
  const auto visit = [&](std::string_view key, uint64_t bytes) -> Status {
    if (!key.starts_with(prefix)) return OkStatus();
    const std::string_view name = key.substr(prefix.size());
    if (auto coords = encoding.Parse(name, grid.rank())) {
      bool within = true;
      for (std::size_t dim = 0; dim < grid.rank(); ++dim) {
        within = within && (*coords)[dim] < grid.object_counts()[dim];
      }
      if (within) chunks.push_back({std::move(*coords), bytes});
      return OkStatus();
    }
    // An object named like what leads to chunks keeps them from being there.
    for (std::size_t rank = 0; encoding.separator == '/' && rank < grid.rank(); ++rank) {
      if (!encoding.Parse(name, rank)) continue;
      return CorruptError("array '" + path + "': an object is at " + std::string(key) +
                          ", below which chunks are expected");
    }
    return OkStatus();
  };
  H5ZARR_RETURN_IF_ERROR(store->Walk(path, visit));
  return chunks;
}

Result<std::vector<ChunkInfo>> Array::Impl::ListInner(const std::vector<ChunkInfo>& objects) {
  std::vector<ChunkInfo> chunks;
  for (const ChunkInfo& info : objects) {
    const uint64_t object = grid.ObjectId(info.coords);
    H5ZARR_ASSIGN_OR_RETURN(const IndexPtr index, ReadShardIndex(store, Key(object), *sharding(), executor()));
    if (index == nullptr) continue;
    for (uint64_t entry = 0; entry < grid.entries(); ++entry) {
      if (index->index[entry].missing()) continue;
      ChunkInfo chunk{std::vector<uint64_t>(grid.rank()), index->index[entry].length};
      grid.InnerCoords(object * grid.entries() + entry, chunk.coords.data());
      if (CheckUnitCoords(chunk.coords).ok()) chunks.push_back(std::move(chunk));
    }
  }
  return chunks;
}

Result<bool> Array::HasStoredChunks() {
  H5ZARR_RETURN_IF_ERROR(impl_->Settle());
  return Guarded([&]() -> Result<bool> {
    H5ZARR_RETURN_IF_ERROR(impl_->FlushAll());
    const std::string prefix = impl_->Prefix();
    const std::size_t rank = impl_->grid.rank();
    bool found = false;
    const auto visit = [&](std::string_view key, uint64_t) -> Status {
      found =
          key.starts_with(prefix) && impl_->metadata.key_encoding.Parse(key.substr(prefix.size()), rank).has_value();
      return found ? OutOfRangeError("enough was seen") : OkStatus();
    };
    const Status walked = impl_->store->Walk(impl_->path, visit);
    return found || walked.ok() ? Result<bool>(found) : walked;
  });
}

bool Array::omitted_fill() const { return impl_->omitted_fill.load(std::memory_order_relaxed); }
void Array::ForgetOmittedFill() { impl_->omitted_fill.store(false, std::memory_order_relaxed); }

Result<Buffer> Array::Impl::EncodedFill() const {
  H5ZARR_ASSIGN_OR_RETURN(Buffer elems, Buffer::Allocate(unit_chain().decoded_bytes()));
  FillContiguous(elems.span(), leaf().fill_elem());
  return EncodeStoredChunk(elems.span());
}

Status Array::StoreFill() {
  if (!impl_->leaf().fill_differs()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ChunkInfo> stored, ListStoredChunks());
  const std::span<const uint64_t> unit = unit_shape();
  const std::size_t rank = shape().size();
  if (std::find(shape().begin(), shape().end(), 0u) != shape().end()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const Buffer fill, Guarded([&] { return impl_->EncodedFill(); }));
  auto known = stored.begin();
  std::vector<uint64_t> coords(rank, 0);
  for (bool more = true; more;) {
    if (known != stored.end() && known->coords == coords) {
      ++known;
    } else {
      H5ZARR_RETURN_IF_ERROR(WriteStoredChunk(coords, fill.span()));
    }
    more = false;
    for (std::size_t dim = rank; dim-- > 0 && !more;) {
      more = ++coords[dim] < CeilDiv(shape()[dim], unit[dim]);
      if (!more) coords[dim] = 0;
    }
  }
  return OkStatus();
}

Result<uint64_t> Array::StoredBytes() {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ChunkInfo> chunks, ListStoredChunks());
  uint64_t total = 0;
  for (const ChunkInfo& chunk : chunks) total += chunk.stored_bytes;
  return total;
}

}  // namespace h5zarr::zarr
