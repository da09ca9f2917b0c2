#include "transfer/native_chunks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/trace.h"
#include "host/error_stack.h"
#include "host/host_api.h"
#include "host/native.h"
#include "store/traced_store.h"
#include "transfer/raw_header.h"
#include "transfer/slot_map.h"

namespace h5zarr::transfer {
namespace {

// Rough times, as test/bench/constants.py measures them. HDF5 takes so long for a chunk whatever is in it; the engine
// for one, for its place in the index, and to begin at all.
constexpr double kHdf5ChunkNs = 8000;
constexpr double kEngineChunkNs = 1000;
constexpr double kIndexEntryNs = 400;
constexpr double kEngineStartNs = 30'000;
constexpr double kCopyNsPerByte = 0.3;
// The engine is worth it where it takes at most this share of HDF5's time.
constexpr double kWorthIt = 0.7;

// What a mapping of a virtual dataset takes: HDF5, of those that are touched and (before 2.0, which keeps a tree) of
// all, and us to look at.
constexpr double kHdf5MappingNs = 20'000;
constexpr double kHdf5AnyMappingNs = 300;
constexpr double kMappingNs = 400;

// A request for a chunk of a remote file, beside which the chunk's decoding is little; and how many chunks a
// node of HDF5's index has.
constexpr double kRequestNs = 20e6;
constexpr double kChunksPerNode = 32;
// Of a contiguous dataset HDF5 reads more in several steps.
constexpr uint64_t kManyBytes = 256 << 10;

// The dataset at `path`, from the root of the file of `beside`.
Result<host::NativeHandle> OpenDataset(void* beside, const std::string& path) {
  const H5VL_loc_params_t loc = host::LocSelf(H5I_DATASET);
  host::NativeHandle opened(H5VLdataset_open(beside, &loc, host::NativeConnector(), path.c_str(),
                                             H5P_LST_DATASET_ACCESS_ID_g, host::DefaultDxpl(), nullptr),
                            H5I_DATASET);
  if (!opened.valid()) return UnsupportedError("no dataset '" + path + "'");
  return opened;
}

constexpr uint64_t kNoSlot = UINT64_MAX;

// The slots of all chunks of `grid`, in C order; kNoSlot where one is fill.
Result<std::vector<uint64_t>> SlotsIn(const ChunkMap& map, std::span<const uint64_t> grid) {
  const auto chunks = CheckedProduct(grid);
  if (!chunks || map.slots.size() > *chunks) return UnsupportedError("more chunks than there can be");
  std::vector<uint64_t> slots(*chunks, kNoSlot);
  for (std::size_t i = 0; i < map.slots.size(); ++i) {
    uint64_t number = 0;
    for (std::size_t d = 0; d < grid.size(); ++d) {
      const uint64_t index = map.indexes[i][d];
      if (index >= grid[d]) return UnsupportedError("a chunk beyond its extent");
      number = number * grid[d] + index;
    }
    slots[number] = map.slots[i];
  }
  return slots;
}

// Whether elements that nothing was written to are the same in both datasets.
bool SameFill(hid_t type, hid_t dcpl, hid_t other_dcpl) {
  const std::size_t bytes = H5Tget_size(type);
  std::vector<std::byte> fill(bytes), other(bytes);
  return H5Pget_fill_value(dcpl, type, fill.data()) >= 0 && H5Pget_fill_value(other_dcpl, type, other.data()) >= 0 &&
         fill == other;
}

// Which chunk of `raw` each chunk of `dataset` is, from the bytes of the file: HDF5 takes all mappings apart to be
// asked for them, which takes it as long as opening the dataset. kUnsupported where they do not say all.
Result<std::vector<uint64_t>> SlotsFromBytes(void* dataset, void* raw, const std::string& raw_path,
                                             const NativeSource& source, const shadow::NativePlan& plan) {
  if (source.file->is_remote()) return UnsupportedError("bytes that are far away");
  H5ZARR_ASSIGN_OR_RETURN(const RawHeaders headers, RawHeaders::Of(source.file));
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity version, host::Identify({dataset, H5I_DATASET}));
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity chunks, host::Identify({raw, H5I_DATASET}));
  if (version.fileno != chunks.fileno) return UnsupportedError("its chunks are in another file");
  H5ZARR_ASSIGN_OR_RETURN(const VirtualHeader header, headers.Read(host::TokenOfKey(version.token)));
  H5ZARR_ASSIGN_OR_RETURN(const RawElement element, headers.ReadElement(host::TokenOfKey(chunks.token)));
  if (header.extent != plan.extent || !element.is_known() || element != header.element) {
    return UnsupportedError("another extent, type or fill value");
  }
  H5ZARR_ASSIGN_OR_RETURN(const ChunkMap map,
                          MapFromBytes({raw_path, plan.extent, plan.chunk, plan.extent.size()}, header.mappings));
  return SlotsIn(map, plan.grid);
}

// The same as HDF5 tells it.
Result<std::vector<uint64_t>> SlotsByHdf5(void* dataset, void* raw, const std::string& raw_path,
                                          const shadow::NativePlan& plan) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, AskDataset(dataset, H5VL_DATASET_GET_TYPE));
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, AskDataset(dataset, H5VL_DATASET_GET_DCPL));
  H5ZARR_ASSIGN_OR_RETURN(const Handle raw_dcpl, AskDataset(raw, H5VL_DATASET_GET_DCPL));
  if (!SameFill(type.get(), dcpl.get(), raw_dcpl.get())) return UnsupportedError("another fill value");
  H5ZARR_ASSIGN_OR_RETURN(const ChunkMap map,
                          MapByHdf5({raw_path, plan.extent, plan.chunk, plan.extent.size()}, dcpl.get()));
  return SlotsIn(map, plan.grid);
}

}  // namespace

NativeChunks::NativeChunks(shadow::NativePlan plan, const NativeSource& source)
    : plan_(std::move(plan)), source_(source) {}

Result<std::shared_ptr<NativeChunks>> NativeChunks::Make(shadow::NativePlan plan, void* dataset,
                                                         const NativeSource& source) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle dapl, AskDataset(dataset, H5VL_DATASET_GET_DAPL));
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

Result<std::shared_ptr<NativeChunks>> NativeChunks::Describe(void* dataset, const NativeSource& source) {
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, AskDataset(dataset, H5VL_DATASET_GET_DCPL));
  H5ZARR_ASSIGN_OR_RETURN(const Handle space, AskDataset(dataset, H5VL_DATASET_GET_SPACE));
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, AskDataset(dataset, H5VL_DATASET_GET_TYPE));
  H5ZARR_ASSIGN_OR_RETURN(shadow::NativePlan plan, shadow::PlanNative(type.get(), space.get(), dcpl.get(),
                                                                      source.file->is_remote() || source.always));
  return Make(std::move(plan), dataset, source);
}

Result<std::shared_ptr<NativeChunks>> NativeChunks::DescribeVersioned(void* dataset, const std::string& raw_path,
                                                                      const NativeSource& source) {
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle raw, OpenDataset(dataset, raw_path));
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, AskDataset(raw.get(), H5VL_DATASET_GET_DCPL));
  H5ZARR_ASSIGN_OR_RETURN(const Handle raw_type, AskDataset(raw.get(), H5VL_DATASET_GET_TYPE));
  H5ZARR_ASSIGN_OR_RETURN(const Handle space, AskDataset(dataset, H5VL_DATASET_GET_SPACE));
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, AskDataset(dataset, H5VL_DATASET_GET_TYPE));
  if (H5Tequal(type.get(), raw_type.get()) <= 0) return UnsupportedError("another type");
  H5ZARR_ASSIGN_OR_RETURN(shadow::NativePlan plan, shadow::PlanNative(type.get(), space.get(), dcpl.get()));
  H5ZARR_ASSIGN_OR_RETURN(std::shared_ptr<NativeChunks> self, Make(std::move(plan), dataset, source));
  self->raw_path_ = raw_path;
  return self;
}

// Whether HDF5 would read what is selected of a contiguous dataset in more than one request.
bool NativeChunks::IsFarApart(hid_t file_space, uint64_t elems) const {
  if (elems * plan_.element.stored_bytes() >= kManyBytes) return true;
  hsize_t low[H5S_MAX_RANK], high[H5S_MAX_RANK];
  const host::QuietErrors quiet;
  if (file_space == H5S_ALL || H5Sget_select_bounds(file_space, low, high) < 0) return false;
  const uint64_t row_bytes = chunk_bytes_ / plan_.extent[0];
  return high[0] < plan_.extent[0] && (high[0] - low[0]) * row_bytes >= kManyBytes;
}

bool NativeChunks::Pays(hid_t file_space, uint64_t elems) {
  if (plan_.is_contiguous) return source_.always || IsFarApart(file_space, elems);
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
  if (source_.always) return true;
  touched = std::min(touched, elems);
  if (source_.file->is_remote()) return PaysRemotely(touched);
  const bool versioned = !raw_path_.empty();
  const auto chunks = static_cast<double>(touched);
  const auto entries = static_cast<double>(plan_.entries);
  const auto wanted_bytes = static_cast<double>(elems * plan_.element.stored_bytes());
  const double whole_bytes = chunks * static_cast<double>(chunk_bytes_);
  const bool in_parts = !plan_.has_filters && chunk_bytes_ > source_.options.keep_whole_bytes;
  double hdf5_ns = chunks * kHdf5ChunkNs + kCopyNsPerByte * wanted_bytes +
                   plan_.hdf5_ns_per_byte * (in_parts ? wanted_bytes : whole_bytes);
  if (versioned) hdf5_ns += chunks * kHdf5MappingNs;
  if (versioned && host::HostVersion().major < 2) hdf5_ns += entries * kHdf5AnyMappingNs;
  const auto threads = static_cast<double>(source_.options.executor->threads());
  double engine_ns = kCopyNsPerByte * (plan_.has_filters ? whole_bytes : 2 * wanted_bytes);
  if (plan_.has_filters) engine_ns += plan_.hdf5_ns_per_byte / 2 * whole_bytes;
  engine_ns = engine_ns / std::min(threads, chunks) + chunks * kEngineChunkNs + kEngineStartNs;
  if (array_ == nullptr) {
    const double find_ns = entries * (versioned ? kMappingNs : kIndexEntryNs);
    engine_ns += std::max(0.0, find_ns - left_to_hdf5_ns_);
  }
  const bool pays = engine_ns < kWorthIt * hdf5_ns;
  if (!pays) left_to_hdf5_ns_ += hdf5_ns;
  return pays;
}

// HDF5 waits for one chunk after the other.
bool NativeChunks::PaysRemotely(uint64_t touched) {
  const double requests = source_.requests;
  const double hdf5_ns = static_cast<double>(touched) * kRequestNs;
  double engine_ns = std::ceil(static_cast<double>(touched) / requests) * kRequestNs;
  if (array_ == nullptr) {
    const double find_ns = static_cast<double>(plan_.entries) / kChunksPerNode / requests * kRequestNs;
    engine_ns += std::max(0.0, find_ns - left_to_hdf5_ns_);
  }
  const bool pays = engine_ns < kWorthIt * hdf5_ns;
  if (!pays) left_to_hdf5_ns_ += hdf5_ns;
  return pays;
}

Result<Buffer> NativeChunks::ReadRange(uint64_t offset, uint64_t length) {
  H5ZARR_ASSIGN_OR_RETURN(Buffer bytes, Buffer::Allocate(length));
  ReadOp op;
  op.key = "file";  // any does
  op.range = ByteRange::Span(offset, length);
  op.target = bytes.span();
  const ReadSink sink = [](std::size_t, const ReadResult&) { return OkStatus(); };
  const std::unique_ptr<Store> store = MakeNativeFileStore(source_.file, {});
  H5ZARR_RETURN_IF_ERROR(store->ReadBatch({&op, 1}, sink, *source_.options.executor));
  return bytes;
}

// Versions of HDF5 have told other coordinates, or addresses that leave out what stands before HDF5's
// part of the file (a user block): one chunk is looked at in other ways as well.
Status NativeChunks::CheckList(void* dataset, const ChunkList& list) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  const Status differs = UnsupportedError("an HDF5 that tells of chunks in a way of its own");
  if (list.found == 0) return OkStatus();
  if (!IsChunkAt(dataset, list.last, list.last_place)) return differs;
  H5ZARR_ASSIGN_OR_RETURN(const Buffer head, ReadRange(0, kSignature.size()));
  if (AsText(head.span()) == kSignature) return OkStatus();
  const ChunkPlace& place = list.last_place;
  H5ZARR_ASSIGN_OR_RETURN(const Buffer mine, ReadRange(place.offset, place.length));
  H5ZARR_ASSIGN_OR_RETURN(const Buffer theirs, ReadByHdf5(dataset, list.last, place.length));
  return std::memcmp(mine.data(), theirs.data(), place.length) == 0 ? OkStatus() : differs;
}

Result<ChunkList> NativeChunks::List(void* dataset, std::span<const uint64_t> grid) {
  source_.file->SetReadsIndex(true);
  Result<ChunkList> list = ListChunks(dataset, plan_.chunk, grid);
  source_.file->SetReadsIndex(false);
  return list;
}

Status NativeChunks::FindChunks(void* dataset) {
  if (array_ != nullptr) return OkStatus();
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  std::vector<ChunkPlace> places;
  if (!raw_path_.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(places, FindVersioned(dataset));
  } else if (plan_.is_contiguous) {
    H5ZARR_ASSIGN_OR_RETURN(const ChunkPlace place, FindContiguous(dataset, chunk_bytes_));
    places.push_back(place);
  } else {
    H5ZARR_ASSIGN_OR_RETURN(ChunkList list, List(dataset, plan_.grid));
    // HDF5 fills what it has not allocated in its own way: its default is zero in memory, whatever zero converts to.
    if (list.found == 0) return UnsupportedError("no chunk is stored");
    H5ZARR_RETURN_IF_ERROR(CheckList(dataset, list));
    if (list.found < plan_.entries && !plan_.fill_defined) {
      return UnsupportedError("elements without a value");
    }
    places = std::move(list.places);
  }
  H5ZARR_ASSIGN_OR_RETURN(Buffer index, Buffer::CopyOf(std::as_bytes(std::span(places))));
  index_bytes_ = index.size_bytes();
  store_ = MakeNativeFileStore(source_.file, std::move(index));
  if (Tracing(TraceLevel::kRequests)) store_ = MakeTracedStore(std::move(store_));
  H5ZARR_ASSIGN_OR_RETURN(array_, zarr::Array::Open(store_.get(), "", plan_.metadata, source_.options));
  return OkStatus();
}

// Each mapping of the dataset is one chunk of `raw_data`, in whose place that chunk is then read.
Result<std::vector<ChunkPlace>> NativeChunks::FindVersioned(void* dataset) {
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle raw, OpenDataset(dataset, raw_path_));
  if (!plan_.fill_defined) return UnsupportedError("elements without a value");
  Result<std::vector<uint64_t>> slots = SlotsFromBytes(dataset, raw.get(), raw_path_, source_, plan_);
  if (!slots.ok()) slots = SlotsByHdf5(dataset, raw.get(), raw_path_, plan_);
  if (!slots.ok()) return slots.status();
  H5ZARR_ASSIGN_OR_RETURN(const Handle space, AskDataset(raw.get(), H5VL_DATASET_GET_SPACE));
  std::vector<hsize_t> raw_extent(plan_.chunk.size());
  if (H5Sget_simple_extent_ndims(space.get()) != static_cast<int>(raw_extent.size()) ||
      H5Sget_simple_extent_dims(space.get(), raw_extent.data(), nullptr) < 0 || raw_extent[0] % plan_.chunk[0] != 0 ||
      !std::equal(raw_extent.begin() + 1, raw_extent.end(), plan_.chunk.begin() + 1)) {
    return UnsupportedError("chunks that do not stand one below the other");
  }
  std::vector<uint64_t> raw_grid(raw_extent.size(), 1);
  raw_grid[0] = raw_extent[0] / plan_.chunk[0];
  H5ZARR_ASSIGN_OR_RETURN(const ChunkList list, List(raw.get(), raw_grid));
  H5ZARR_RETURN_IF_ERROR(CheckList(raw.get(), list));
  std::vector<ChunkPlace> places(slots->size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const uint64_t slot = (*slots)[i];
    if (slot == kNoSlot) continue;
    if (slot >= list.places.size() || list.places[slot].missing()) {
      return UnsupportedError("a chunk that is not there");
    }
    places[i] = list.places[slot];
  }
  return places;
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
