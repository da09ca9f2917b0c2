#include "transfer/native_chunks.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "host/error_stack.h"
#include "host/native.h"

namespace h5zarr::transfer {
namespace {

// Rough times. HDF5 takes so long for a chunk whatever is in it; the engine for one, for its place in the
// index, and to begin at all.
constexpr double kHdf5ChunkNs = 8000;
constexpr double kEngineChunkNs = 1000;
constexpr double kIndexEntryNs = 400;
constexpr double kEngineStartNs = 30'000;
constexpr double kCopyNsPerByte = 0.3;
// The engine is worth it where it takes at most this share of HDF5's time.
constexpr double kWorthIt = 0.7;

constexpr uint64_t kMissing = UINT64_MAX;  // offset and length of a chunk that is not there

struct IndexEntry {
  uint64_t offset = kMissing;
  uint64_t length = kMissing;
};

Result<Handle> Ask(void* dataset, H5VL_dataset_get_t what) {
  H5VL_dataset_get_args_t args;
  args.op_type = what;
  if (H5VLdataset_get(dataset, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return UnsupportedError("HDF5 does not tell of a dataset");
  }
  if (what == H5VL_DATASET_GET_SPACE) return Handle(args.args.get_space.space_id);
  if (what == H5VL_DATASET_GET_TYPE) return Handle(args.args.get_type.type_id);
  if (what == H5VL_DATASET_GET_DAPL) return Handle(args.args.get_dapl.dapl_id);
  return Handle(args.args.get_dcpl.dcpl_id);
}

bool Optional(void* dataset, int op, H5VL_native_dataset_optional_args_t* native) {
  H5VL_optional_args_t args;
  args.op_type = op;
  args.args = native;
  return H5VLdataset_optional(dataset, host::NativeConnector(), &args, host::DefaultDxpl(),
                              nullptr) >= 0;
}

// What H5Dchunk_iter tells, as an index in C order of the grid.
struct ChunkList {
  const shadow::NativePlan* plan = nullptr;
  std::vector<IndexEntry> entries;
  uint64_t found = 0;
  std::vector<hsize_t> last;  // coordinates, in elements, of the chunk that was told last
  bool plain = true;          // no chunk is anything but what the plan says

  // The entry of the chunk at `offset`; nothing where no chunk can be.
  std::optional<uint64_t> EntryAt(const hsize_t* offset) const {
    uint64_t entry = 0;
    for (std::size_t d = 0; d < plan->chunk.size(); ++d) {
      const uint64_t coord = offset[d] / plan->chunk[d];
      if (offset[d] % plan->chunk[d] != 0 || coord >= plan->grid[d]) return std::nullopt;
      entry = entry * plan->grid[d] + coord;
    }
    return entry;
  }

  IndexEntry LastEntry() const { return entries[*EntryAt(last.data())]; }

  static int Add(const hsize_t* offset, unsigned filter_mask, haddr_t address, hsize_t bytes,
                 void* opaque) {
    auto* self = static_cast<ChunkList*>(opaque);
    const std::optional<uint64_t> entry = self->EntryAt(offset);
    if (!entry || filter_mask != 0 || address == HADDR_UNDEF ||
        self->entries[*entry].offset != kMissing) {
      self->plain = false;
      return H5_ITER_STOP;
    }
    self->entries[*entry] = {address, bytes};
    std::copy_n(offset, self->last.size(), self->last.begin());
    ++self->found;
    return H5_ITER_CONT;
  }
};

// Whether the chunk at `offset` is the same to HDF5 when it is asked for by its coordinates.
bool IsChunkAt(void* dataset, const std::vector<hsize_t>& offset, const IndexEntry& entry) {
  unsigned filter_mask = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  H5VL_native_dataset_optional_args_t native;
  native.get_chunk_info_by_coord = {offset.data(), &filter_mask, &address, &bytes};
  return Optional(dataset, H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD, &native) &&
         filter_mask == 0 && address == entry.offset && bytes == entry.length;
}

// The stored bytes of the chunk at `offset`, as HDF5 reads them.
Result<Buffer> ReadByHdf5(void* dataset, const std::vector<hsize_t>& offset, uint64_t length) {
  H5ZARR_ASSIGN_OR_RETURN(Buffer bytes, Buffer::Allocate(length));
  // HDF5 2.2 asks for the buffer's size as well, behind what earlier ones ask for.
  struct ChunkRead {
    const hsize_t* offset;
    uint32_t filters;
    void* buffer;
    std::size_t* buffer_bytes;
  };
  std::size_t buffer_bytes = length;
  const ChunkRead read = {offset.data(), 0, bytes.data(), &buffer_bytes};
  H5VL_native_dataset_optional_args_t native;
  static_assert(sizeof read <= sizeof native);
  std::memset(&native, 0, sizeof native);
  std::memcpy(&native, &read, sizeof read);
  if (!Optional(dataset, H5VL_NATIVE_DATASET_CHUNK_READ, &native)) {
    return UnsupportedError("HDF5 does not read a chunk as it is");
  }
  return bytes;
}

}  // namespace

NativeChunks::NativeChunks(shadow::NativePlan plan, const NativeSource& source)
    : plan_(std::move(plan)), source_(source) {}

Result<std::shared_ptr<NativeChunks>> NativeChunks::Describe(void* dataset,
                                                             const NativeSource& source) {
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, Ask(dataset, H5VL_DATASET_GET_DCPL));
  H5ZARR_ASSIGN_OR_RETURN(const Handle space, Ask(dataset, H5VL_DATASET_GET_SPACE));
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, Ask(dataset, H5VL_DATASET_GET_TYPE));
  H5ZARR_ASSIGN_OR_RETURN(const Handle dapl, Ask(dataset, H5VL_DATASET_GET_DAPL));
  H5ZARR_ASSIGN_OR_RETURN(shadow::NativePlan plan,
                          shadow::PlanNative(type.get(), space.get(), dcpl.get()));
  NativeSource mine = source;
  std::size_t slots = 0, cache_bytes = 0;
  double preemption = 0;
  if (H5Pget_chunk_cache(dapl.get(), &slots, &cache_bytes, &preemption) < 0) {
    return UnsupportedError("HDF5 does not tell of its chunk cache");
  }
  // What HDF5 would keep, so that reading it again costs as little.
  mine.options.keep_whole_bytes = cache_bytes;
  mine.options.cache_bytes = std::max<uint64_t>(mine.options.cache_bytes, cache_bytes);
  std::shared_ptr<NativeChunks> self(new NativeChunks(std::move(plan), mine));
  const auto elems = CheckedProduct(self->plan_.chunk);
  const auto bytes = elems ? CheckedMul(*elems, self->plan_.element.stored_bytes()) : std::nullopt;
  if (!bytes) return UnsupportedError("chunks of more than 2^64 bytes");
  self->chunk_bytes_ = *bytes;
  return self;
}

bool NativeChunks::Pays(hid_t file_space, uint64_t elems) const {
  uint64_t touched = plan_.entries;
  if (file_space != H5S_ALL) {
    hsize_t low[H5S_MAX_RANK], high[H5S_MAX_RANK];
    const host::QuietErrors quiet;
    if (H5Sget_simple_extent_ndims(file_space) != static_cast<int>(plan_.chunk.size()) ||
        H5Sget_select_bounds(file_space, low, high) < 0) {
      return false;
    }
    touched = 1;
    for (std::size_t d = 0; d < plan_.chunk.size(); ++d) {
      if (high[d] >= plan_.extent[d]) return false;
      touched *= high[d] / plan_.chunk[d] - low[d] / plan_.chunk[d] + 1;
    }
  }
  touched = std::min(touched, elems);
  const auto chunks = static_cast<double>(touched);
  const auto wanted_bytes = static_cast<double>(elems * plan_.element.stored_bytes());
  const double whole_bytes = chunks * static_cast<double>(chunk_bytes_);
  const bool in_parts = !plan_.has_filters && chunk_bytes_ > source_.options.keep_whole_bytes;
  const double hdf5_ns = chunks * kHdf5ChunkNs + kCopyNsPerByte * wanted_bytes +
                         plan_.hdf5_ns_per_byte * (in_parts ? wanted_bytes : whole_bytes);
  const auto threads = static_cast<double>(source_.options.executor->threads());
  double engine_ns = kCopyNsPerByte * (plan_.has_filters ? whole_bytes : 2 * wanted_bytes);
  if (plan_.has_filters) engine_ns += plan_.hdf5_ns_per_byte / 2 * whole_bytes;
  engine_ns = engine_ns / std::min(threads, chunks) + chunks * kEngineChunkNs + kEngineStartNs;
  if (array_ == nullptr) engine_ns += kIndexEntryNs * static_cast<double>(plan_.entries);
  return engine_ns < kWorthIt * hdf5_ns;
}

Result<Buffer> NativeChunks::ReadRange(uint64_t offset, uint64_t length) {
  H5ZARR_ASSIGN_OR_RETURN(Buffer bytes, Buffer::Allocate(length));
  ReadOp op;
  op.key = "file";  // any does
  op.range = ByteRange::Span(offset, length);
  op.target = bytes.span();
  const ReadSink sink = [](std::size_t, const ReadResult&) { return OkStatus(); };
  H5ZARR_RETURN_IF_ERROR(store_->ReadBatch({&op, 1}, sink, *source_.options.executor));
  return bytes;
}

// Versions of HDF5 have told other coordinates, or addresses that leave out what stands before HDF5's
// part of the file (a user block): one chunk is looked at in other ways as well.
Result<bool> NativeChunks::Agrees(void* dataset, const std::vector<hsize_t>& at, uint64_t offset,
                                  uint64_t length) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  if (!IsChunkAt(dataset, at, {offset, length})) return false;
  H5ZARR_ASSIGN_OR_RETURN(const Buffer head, ReadRange(0, kSignature.size()));
  if (AsText(head.span()) == kSignature) return true;
  H5ZARR_ASSIGN_OR_RETURN(const Buffer mine, ReadRange(offset, length));
  H5ZARR_ASSIGN_OR_RETURN(const Buffer theirs, ReadByHdf5(dataset, at, length));
  return std::memcmp(mine.data(), theirs.data(), length) == 0;
}

Status NativeChunks::FindChunks(void* dataset) {
  if (array_ != nullptr) return OkStatus();
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  ChunkList list;
  list.plan = &plan_;
  list.entries.resize(plan_.entries);
  list.last.resize(plan_.chunk.size());
  H5VL_native_dataset_optional_args_t native;
  native.chunk_iter = {ChunkList::Add, &list};
  if (!Optional(dataset, H5VL_NATIVE_DATASET_CHUNK_ITER, &native) || !list.plain) {
    return UnsupportedError("chunks that are not all alike");
  }
  if (list.found < plan_.entries && !plan_.fill_defined) {
    return UnsupportedError("elements without a value");
  }
  index_bytes_ = plan_.entries * sizeof(IndexEntry);
  H5ZARR_ASSIGN_OR_RETURN(Buffer index, Buffer::CopyOf(std::as_bytes(std::span(list.entries))));
  store_ = MakeNativeFileStore(source_.file, std::move(index));
  if (list.found > 0) {
    const IndexEntry last = list.LastEntry();
    H5ZARR_ASSIGN_OR_RETURN(const bool agrees, Agrees(dataset, list.last, last.offset, last.length));
    if (!agrees) return UnsupportedError("an HDF5 that tells of chunks in a way of its own");
  }
  H5ZARR_ASSIGN_OR_RETURN(
      array_, zarr::Array::Open(store_.get(), "", plan_.metadata, source_.options));
  return OkStatus();
}

void NativeChunks::SetTransfer(DatasetTransfer* transfer) const {
  transfer->array = array_.get();
  transfer->element = &plan_.element;
  transfer->extent = plan_.extent;
}

void NativeChunks::DropCache() {
  if (array_ != nullptr) array_->DropCache();
}

}  // namespace h5zarr::transfer
