// Filter 480 (shard): the chain of a Zarr array whose chunks are the HDF5 chunks, run on one chunk.
#include <algorithm>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "base/config.h"
#include "exec/executor.h"
#include "filter/callback.h"
#include "filter/filters.h"
#include "filter/shard_words.h"
#include "h5zarr/filters.h"
#include "zarr/codec_chain.h"
#include "zarr/codec_specs.h"

namespace h5zarr::filter {
namespace {

// What is kept from call to call; leaked, since HDF5 writes its last chunks in an exit handler.
struct Kept {
  Executor executor{ThreadsFromEnvironment()};
  std::mutex mutex;
  // Chains by their words, the last one used first.
  std::list<std::pair<std::vector<unsigned>, zarr::CodecChain>> chains;

  // A filter has nobody to report a bad setting to: it counts as none.
  static int ThreadsFromEnvironment() {
    Config config;
    return config.ApplyEnvironment().ok() ? config.threads : 0;
  }
};

Kept& GetKept() {
  static Kept* kept = new Kept;
  return *kept;
}

Result<zarr::CodecChain> MakeChain(std::span<const unsigned> words) {
  H5ZARR_ASSIGN_OR_RETURN(const LocalWords local, ParseLocalWords(words));
  const DType dtype = DType::Raw(local.elem_bytes);
  H5ZARR_ASSIGN_OR_RETURN(const Sharding sharding, ShardingFromWords(words, dtype, local.chunk_shape));
  const zarr::FillValue fill{true, local.fill};
  return zarr::CodecChain::Make(dtype, local.chunk_shape, {ShardingToCodec(sharding, zarr::ArrayToBytesSpec(dtype))},
                                fill);
}

// Thread-safe: HDF5 2 may run filters of several files at once.
Result<zarr::CodecChain> ChainOf(std::span<const unsigned> words) {
  constexpr std::size_t kMostChains = 16;
  Kept& kept = GetKept();
  const std::lock_guard lock(kept.mutex);
  const auto found = std::find_if(kept.chains.begin(), kept.chains.end(), [&](const auto& chain) {
    return std::equal(words.begin(), words.end(), chain.first.begin(), chain.first.end());
  });
  if (found != kept.chains.end()) {
    kept.chains.splice(kept.chains.begin(), kept.chains, found);
    return found->second;
  }
  H5ZARR_ASSIGN_OR_RETURN(zarr::CodecChain chain, MakeChain(words));
  kept.chains.emplace_front(std::vector<unsigned>(words.begin(), words.end()), chain);
  if (kept.chains.size() > kMostChains) kept.chains.pop_back();
  return chain;
}

Result<size_t> Decode(const zarr::CodecChain& chain, ByteSpan shard, HostBuffer buffer) {
  H5ZARR_ASSIGN_OR_RETURN(void* elements, HostAllocate(buffer, chain.decoded_bytes()));
  const Status status =
      chain.DecodeInto(shard, {static_cast<std::byte*>(elements), chain.decoded_bytes()}, &GetKept().executor);
  if (!status.ok()) {
    H5free_memory(elements);
    return status;
  }
  return Replace(buffer, elements, chain.decoded_bytes());
}

Result<size_t> Encode(const zarr::CodecChain& chain, ByteSpan elements, HostBuffer buffer) {
  H5ZARR_ASSIGN_OR_RETURN(const Buffer shard, chain.Encode(elements, &GetKept().executor));
  return Fill(buffer, shard.span());
}

size_t Filter(unsigned flags, size_t word_count, const unsigned words[], size_t bytes, size_t* buffer_bytes,
              void** buffer) {
  return GuardFilter("shard filter", [&]() -> Result<size_t> {
    // In an exit handler thread pools may be gone already.
    if (!host::HostTellsTermination() || host::HostIsTerminating()) {
      GetKept().executor.SetSerial(true);
    }
    H5ZARR_ASSIGN_OR_RETURN(const zarr::CodecChain chain, ChainOf({words, word_count}));
    const ByteSpan input(static_cast<const std::byte*>(*buffer), bytes);
    const bool decode = (flags & H5Z_FLAG_REVERSE) != 0;
    return decode ? Decode(chain, input, {buffer_bytes, buffer}) : Encode(chain, input, {buffer_bytes, buffer});
  });
}

// The filter's entry in a property list of a dataset to be created.
struct Entry {
  unsigned flags = 0;
  std::vector<unsigned> words;
};

Result<Entry> EntryOf(hid_t dcpl) {
  constexpr std::size_t kMostAsked = 256;  // HDF5's limit; the user's words are fewer
  Entry entry;
  entry.words.resize(kMostAsked);
  std::size_t count = kMostAsked;
  if (H5Pget_filter_by_id2(dcpl, H5ZARR_FILTER_SHARD, &entry.flags, &count, entry.words.data(), 0, nullptr, nullptr) <
      0) {
    return host::AlreadyReported();
  }
  entry.words.resize(std::min(count, kMostAsked));
  return entry;
}

Result<std::vector<uint64_t>> ChunkShapeOf(hid_t dcpl) {
  hsize_t shape[H5S_MAX_RANK];
  const int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, shape);
  if (rank < 0) return host::AlreadyReported();
  return std::vector<uint64_t>(shape, shape + rank);
}

// The bytes of one element of fill as they stand in the file; zeros where the program set none, and
// for types whose elements are references into the file.
Result<std::vector<std::byte>> FillOf(hid_t dcpl, hid_t type, uint64_t elem_bytes) {
  std::vector<std::byte> fill(elem_bytes);
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  if (H5Pfill_value_defined(dcpl, &defined) < 0) return host::AlreadyReported();
  const bool refers =
      H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tdetect_class(type, H5T_REFERENCE) > 0 || H5Tis_variable_str(type) > 0;
  if (defined == H5D_FILL_VALUE_USER_DEFINED && !refers && H5Pget_fill_value(dcpl, type, fill.data()) < 0) {
    return host::AlreadyReported();
  }
  return fill;
}

// The filter's entry in `dcpl`, whose words fit its chunks. `local` gets what they tell.
Result<Entry> CheckedEntry(hid_t dcpl, hid_t type, LocalWords* local) {
  H5ZARR_ASSIGN_OR_RETURN(Entry entry, EntryOf(dcpl));
  H5ZARR_ASSIGN_OR_RETURN(local->chunk_shape, ChunkShapeOf(dcpl));
  local->elem_bytes = H5Tget_size(type);
  if (local->elem_bytes == 0) return host::AlreadyReported();
  H5ZARR_RETURN_IF_ERROR(ShardingFromWords(entry.words, DType::Raw(local->elem_bytes), local->chunk_shape).status());
  return entry;
}

// Words that make no sense are an error also where the filter is optional, as h5py sets it: nobody
// asks for shards to get none. HDF5 asks this of opened datasets too, whose property list has a fill
// value that cannot be read.
htri_t CanApply(hid_t dcpl, hid_t type, hid_t space) {
  (void)space;
  host::LoadVariables();
  LocalWords local;
  const herr_t outcome =
      host::Guard("shard filter", [&]() -> Status { return CheckedEntry(dcpl, type, &local).status(); });
  return outcome < 0 ? -1 : 1;
}

// Once, when a dataset is created: appends to the words what running the filter takes.
herr_t SetLocal(hid_t dcpl, hid_t type, hid_t space) {
  (void)space;
  host::LoadVariables();
  return host::Guard("shard filter", [&]() -> Status {
    LocalWords local;
    H5ZARR_ASSIGN_OR_RETURN(Entry entry, CheckedEntry(dcpl, type, &local));
    H5ZARR_ASSIGN_OR_RETURN(local.fill, FillOf(dcpl, type, local.elem_bytes));
    H5ZARR_ASSIGN_OR_RETURN(entry.words, WithLocalWords(entry.words, local));
    if (H5Pmodify_filter(dcpl, H5ZARR_FILTER_SHARD, entry.flags, entry.words.size(), entry.words.data()) < 0) {
      return host::AlreadyReported();
    }
    return OkStatus();
  });
}

constexpr H5Z_class2_t kClass = {
    H5Z_CLASS_T_VERS, H5ZARR_FILTER_SHARD, 1, 1, "h5zarr shard-480", CanApply, SetLocal, Filter};

}  // namespace

const H5Z_class2_t* ShardFilter() { return &kClass; }

}  // namespace h5zarr::filter
