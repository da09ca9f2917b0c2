#include "zarr/array.h"

#include <algorithm>
#include <string>
#include <utility>

#include "zarr/array_impl.h"

namespace h5zarr::zarr {

// --- opening ----------------------------------------------------------------------------------

Status Array::CheckCodecs(const ArrayMetadata& metadata) {
  return Guarded(
      [&] { return CodecChain::Make(metadata.dtype, metadata.chunk_shape, metadata.codecs, metadata.fill).status(); });
}

Result<std::unique_ptr<Array>> Array::Open(Store* store, std::string path, ArrayMetadata metadata,
                                           const ArrayOptions& options) {
  return Guarded([&] { return Impl::Open(store, std::move(path), std::move(metadata), options); });
}

Result<std::unique_ptr<Array>> Array::Impl::Open(Store* store, std::string path, ArrayMetadata metadata,
                                                 const ArrayOptions& options) {
  const std::string context = "array '" + path + "' of " + store->Describe();
  if (!options.executor) return InternalError(context + ": no executor");
  auto chain = CodecChain::Make(metadata.dtype, metadata.chunk_shape, metadata.codecs, metadata.fill);
  if (!chain.ok()) return chain.status().WithContext(context);
  std::vector<uint64_t> inner_shape = metadata.chunk_shape, index_order;
  if (const CodecChain::Sharding* sharding = chain->sharding()) {
    const auto inner = sharding->inner.shape();
    inner_shape.assign(inner.begin(), inner.end());
    index_order = sharding->index_order;
  }
  auto grid = ChunkGrid::Make(metadata.shape, metadata.chunk_shape, std::move(inner_shape), std::move(index_order));
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
Array::~Array() {
  if (impl_ != nullptr) impl_->WaitForJobs();
}

const ArrayMetadata& Array::metadata() const { return impl_->metadata; }
std::span<const uint64_t> Array::shape() const { return impl_->metadata.shape; }
uint64_t Array::elem_bytes() const { return impl_->elem_bytes(); }
Background* Array::background() const { return impl_->options.background; }
Executor& Array::executor() const { return impl_->executor(); }
bool Array::is_vlen() const { return impl_->is_vlen(); }
std::span<const uint64_t> Array::chunk_shape() const { return impl_->metadata.chunk_shape; }
std::span<const uint64_t> Array::inner_chunk_shape() const { return impl_->grid.inner_shape(); }

void Array::SetBeforeFirstWrite(std::function<Status()> hook) { impl_->before_first_write = std::move(hook); }

void Array::DocumentStored(const Generation& state) {
  impl_->document_stored = true;
  impl_->document_state = state;
  impl_->document_shape = impl_->metadata.shape;
  impl_->shrunk = false;
}

Status Array::Flush() {
  const Status settled = impl_->Settle();
  const Status flushed = Guarded([&] { return impl_->FlushAll(); });
  return settled.ok() ? flushed : settled;
}

bool Array::dirty() const { return impl_->HasJobs() || !impl_->unreported.ok() || impl_->cache.dirty_count() > 0; }

void Array::DropCache() {
  impl_->WaitForJobs();
  impl_->cache.Clear();
  impl_->indexes.Clear();
  std::fill(impl_->beyond_is_fill.begin(), impl_->beyond_is_fill.end(), false);
}

Status Array::Resize(std::span<const uint64_t> new_shape) {
  H5ZARR_RETURN_IF_ERROR(impl_->Settle());
  return Guarded([&] { return impl_->Resize(new_shape); });
}

void Array::MovedTo(Store* store, std::string path) {
  impl_->WaitForJobs();
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
  std::string text = "array '" + path + "' of " + store->Describe() + ", chunk " + Key(grid.ObjectOf(id));
  if (grid.entries() > 1) text += ", inner chunk " + std::to_string(grid.EntryOf(id));
  return text;
}

}  // namespace h5zarr::zarr
