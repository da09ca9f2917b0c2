#include "zarr/array.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/nd_copy.h"
#include "zarr/array_impl.h"

namespace h5zarr::zarr {

// --- opening ----------------------------------------------------------------------------------

Result<std::unique_ptr<Array>> Array::Open(Store* store, std::string path, ArrayMetadata metadata,
                                           const ArrayOptions& options) {
  return Guarded([&] { return Impl::Open(store, std::move(path), std::move(metadata), options); });
}

Result<std::unique_ptr<Array>> Array::Impl::Open(Store* store, std::string path,
                                                 ArrayMetadata metadata,
                                                 const ArrayOptions& options) {
  const std::string context = "array '" + path + "'";
  if (!options.executor) return InternalError(context + ": no executor");
  auto chain =
      CodecChain::Make(metadata.dtype, metadata.chunk_shape, metadata.codecs, metadata.fill);
  if (!chain.ok()) return chain.status().WithContext(context);
  std::vector<uint64_t> inner_shape = metadata.chunk_shape, index_order;
  if (const CodecChain::Sharding* sharding = chain->sharding()) {
    const auto inner = sharding->inner.shape();
    inner_shape.assign(inner.begin(), inner.end());
    index_order = sharding->index_order;
  }
  auto grid = ChunkGrid::Make(metadata.shape, metadata.chunk_shape, std::move(inner_shape),
                              std::move(index_order));
  if (!grid.ok()) return grid.status().WithContext(context);
  auto impl = std::make_unique<Impl>(std::move(chain).value(), std::move(grid).value());
  impl->store = store;
  impl->path = std::move(path);
  impl->beyond_is_fill.assign(metadata.rank(), false);
  impl->metadata = std::move(metadata);
  impl->options = options;
  return std::unique_ptr<Array>(new Array(std::move(impl)));
}

Array::Array(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Array::~Array() = default;

const ArrayMetadata& Array::metadata() const { return impl_->metadata; }
std::span<const uint64_t> Array::shape() const { return impl_->metadata.shape; }
uint64_t Array::elem_bytes() const { return impl_->elem_bytes(); }
bool Array::is_vlen() const { return impl_->is_vlen(); }
std::span<const uint64_t> Array::chunk_shape() const { return impl_->metadata.chunk_shape; }
std::span<const uint64_t> Array::inner_chunk_shape() const { return impl_->grid.inner_shape(); }

void Array::SetBeforeFirstWrite(std::function<Status()> hook) {
  impl_->before_first_write = std::move(hook);
}

Status Array::Flush() {
  return Guarded([&] { return impl_->FlushAll(); });
}
bool Array::dirty() const { return impl_->cache.dirty_count() > 0; }

void Array::DropCache() {
  impl_->cache.Clear();
  impl_->indexes.Clear();
  std::fill(impl_->beyond_is_fill.begin(), impl_->beyond_is_fill.end(), false);
}

Status Array::Resize(std::span<const uint64_t> new_shape) {
  return Guarded([&] { return impl_->Resize(new_shape); });
}

void Array::MovedTo(Store* store, std::string path) {
  impl_->store = store;
  impl_->path = std::move(path);
  impl_->indexes.Clear();
}

// --- keys and messages ------------------------------------------------------------------------

std::string Array::Impl::Prefix() const { return path.empty() ? std::string() : path + "/"; }

std::string Array::Impl::KeyOf(std::span<const uint64_t> object_coords) const {
  return Prefix() + metadata.key_encoding.Key(object_coords);
}

std::string Array::Impl::Key(uint64_t object) const {
  Coords coords;
  grid.ObjectCoords(object, coords.data());
  return KeyOf({coords.data(), grid.rank()});
}

std::string Array::Impl::DocumentKey() const {
  return Prefix() + (metadata.zarr_format == 2 ? ".zarray" : "zarr.json");
}

std::string Array::Impl::Describe(uint64_t id) const {
  std::string text = "array '" + path + "', chunk " + Key(grid.ObjectOf(id));
  if (grid.entries() > 1) text += ", inner chunk " + std::to_string(grid.EntryOf(id));
  return text;
}

// --- stored chunks as objects -----------------------------------------------------------------

namespace {

Status CheckObjectCoords(const ChunkGrid& grid, std::span<const uint64_t> coords) {
  bool within = coords.size() == grid.rank();
  for (std::size_t dim = 0; within && dim < coords.size(); ++dim) {
    within = coords[dim] < grid.object_counts()[dim];
  }
  return within ? OkStatus() : OutOfRangeError("chunk coordinates outside the array");
}

}  // namespace

Result<std::optional<Buffer>> Array::ReadStoredChunk(std::span<const uint64_t> coords) {
  return Guarded([&]() -> Result<std::optional<Buffer>> {
    H5ZARR_RETURN_IF_ERROR(CheckObjectCoords(impl_->grid, coords));
    H5ZARR_RETURN_IF_ERROR(impl_->FlushObject(impl_->grid.ObjectId(coords)));
    return impl_->store->Read(impl_->KeyOf(coords));
  });
}

Status Array::WriteStoredChunk(std::span<const uint64_t> coords, ByteSpan stored) {
  if (impl_->options.read_only) {
    return PermissionDeniedError("array '" + impl_->path + "' is open for reading only");
  }
  return Guarded([&]() -> Status {
    H5ZARR_RETURN_IF_ERROR(CheckObjectCoords(impl_->grid, coords));
    H5ZARR_RETURN_IF_ERROR(impl_->BeforeWrite());
    const uint64_t object = impl_->grid.ObjectId(coords);
    H5ZARR_RETURN_IF_ERROR(impl_->PutObject(object, stored));
    impl_->ForgetObject(object);
    for (std::size_t dim = 0; dim < coords.size(); ++dim) {
      // Whoever made these bytes may have left anything beyond the extent.
      if (coords[dim] + 1 == impl_->grid.object_counts()[dim]) impl_->beyond_is_fill[dim] = false;
    }
    return OkStatus();
  });
}

Result<std::optional<uint64_t>> Array::StoredChunkBytes(std::span<const uint64_t> coords) {
  return Guarded([&]() -> Result<std::optional<uint64_t>> {
    H5ZARR_RETURN_IF_ERROR(CheckObjectCoords(impl_->grid, coords));
    H5ZARR_RETURN_IF_ERROR(impl_->FlushObject(impl_->grid.ObjectId(coords)));
    return impl_->store->ObjectBytes(impl_->KeyOf(coords));
  });
}

Result<Buffer> Array::DecodeStoredChunk(ByteSpan stored) {
  return Guarded([&] { return impl_->DecodeStoredChunk(stored); });
}

Result<Buffer> Array::Impl::DecodeStoredChunk(ByteSpan stored) const {
  if (is_vlen()) return UnsupportedError("stored chunks of variable-length elements");
  H5ZARR_ASSIGN_OR_RETURN(DecodedChunk chunk, chain.Decode(stored));
  if (std::is_sorted(chain.order().begin(), chain.order().end())) return std::move(chunk.elems);
  H5ZARR_ASSIGN_OR_RETURN(Buffer elems, Buffer::Allocate(chain.decoded_bytes()));
  std::vector<int64_t> strides(chain.shape().size());
  ContiguousStrides(chain.shape(), elem_bytes(), strides);
  CopyStrided(chunk.elems.data(), chain.strides_bytes(), elems.data(), strides, chain.shape(),
              elem_bytes());
  return elems;
}

Result<Buffer> Array::EncodeStoredChunk(ByteSpan decoded) {
  return Guarded([&] { return impl_->EncodeStoredChunk(decoded); });
}

Result<Buffer> Array::Impl::EncodeStoredChunk(ByteSpan decoded) const {
  if (is_vlen()) return UnsupportedError("stored chunks of variable-length elements");
  if (decoded.size() != chain.decoded_bytes()) {
    return InvalidArgumentError("a chunk of " + std::to_string(decoded.size()) +
                                " bytes, expected " + std::to_string(chain.decoded_bytes()));
  }
  if (std::is_sorted(chain.order().begin(), chain.order().end())) return chain.Encode(decoded);
  H5ZARR_ASSIGN_OR_RETURN(Buffer elems, Buffer::Allocate(chain.decoded_bytes()));
  std::vector<int64_t> strides(chain.shape().size());
  ContiguousStrides(chain.shape(), elem_bytes(), strides);
  CopyStrided(decoded.data(), strides, elems.data(), chain.strides_bytes(), chain.shape(),
              elem_bytes());
  return chain.Encode(elems.span());
}

Result<std::vector<ChunkInfo>> Array::ListStoredChunks() {
  return Guarded([&] { return impl_->ListStoredChunks(); });
}

Result<std::vector<ChunkInfo>> Array::Impl::ListStoredChunks() {
  H5ZARR_RETURN_IF_ERROR(FlushAll());
  std::vector<ChunkInfo> chunks;
  const std::string prefix = Prefix();
  const auto visit = [&](std::string_view key, uint64_t bytes) -> Status {
    if (!key.starts_with(prefix)) return OkStatus();
    auto coords = metadata.key_encoding.Parse(key.substr(prefix.size()), grid.rank());
    if (coords && CheckObjectCoords(grid, *coords).ok()) {
      chunks.push_back({std::move(*coords), bytes});
    }
    return OkStatus();
  };
  H5ZARR_RETURN_IF_ERROR(store->Walk(path, visit));
  std::sort(chunks.begin(), chunks.end(),
            [](const ChunkInfo& a, const ChunkInfo& b) { return a.coords < b.coords; });
  return chunks;
}

Result<uint64_t> Array::StoredBytes() {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ChunkInfo> chunks, ListStoredChunks());
  uint64_t total = 0;
  for (const ChunkInfo& chunk : chunks) total += chunk.stored_bytes;
  return total;
}

}  // namespace h5zarr::zarr
