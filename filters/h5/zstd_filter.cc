// Filter 32015 (zstd).
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "codec/registry.h"
#include "filter/callback.h"
#include "filter/filters.h"
#include "h5zarr/filters.h"

namespace h5zarr::filter {
namespace {

// HDF5 1.14's limit.
constexpr uint64_t kLargestChunkBytes = UINT32_MAX;
constexpr int kDefaultLevel = 3;

using Codec = std::shared_ptr<const codec::BytesCodec>;

// The codec of a level, kept from call to call. Thread-safe: HDF5 2 may run filters of several files at once.
Result<Codec> CodecOf(int level) {
  constexpr std::size_t kMostLevels = 32;
  struct Kept {
    std::mutex mutex;
    std::map<int, Codec> codecs;
  };
  static Kept* const kept = new Kept;  // leaked, since HDF5 writes its last chunks in an exit handler
  const std::lock_guard lock(kept->mutex);
  const auto found = kept->codecs.find(level);
  if (found != kept->codecs.end()) return found->second;
  codec::ChunkSpec spec;
  spec.dtype = DType::Raw(1);
  H5ZARR_ASSIGN_OR_RETURN(codec::AnyCodec made,
                          codec::MakeCodec("zstd", {{"level", level}, {"checksum", false}}, spec));
  Codec zstd = std::move(std::get<std::unique_ptr<codec::BytesCodec>>(made));
  if (kept->codecs.size() < kMostLevels) kept->codecs.emplace(level, zstd);
  return zstd;
}

Result<size_t> Decode(const codec::BytesCodec& zstd, ByteSpan input, HostBuffer buffer) {
  H5ZARR_ASSIGN_OR_RETURN(const Buffer output, zstd.DecodeUnsized(input, kLargestChunkBytes));
  return Fill(buffer, output.span());
}

// Into memory for the worst case: HDF5 frees it as soon as the chunk is written.
Result<size_t> Encode(const codec::BytesCodec& zstd, ByteSpan input, HostBuffer buffer) {
  H5ZARR_ASSIGN_OR_RETURN(const uint64_t most_bytes, zstd.MaxEncodedBytes(input.size()));
  H5ZARR_ASSIGN_OR_RETURN(void* output, HostAllocate(buffer, most_bytes));
  const Result<uint64_t> used = zstd.Encode(input, {static_cast<std::byte*>(output), most_bytes});
  if (!used.ok()) {
    H5free_memory(output);
    return used.status();
  }
  return Replace(buffer, output, *used);
}

size_t Filter(unsigned flags, size_t word_count, const unsigned words[], size_t bytes, size_t* buffer_bytes,
              void** buffer) {
  return GuardFilter("zstd filter", [&]() -> Result<size_t> {
    const int level = word_count > 0 ? static_cast<int>(words[0]) : kDefaultLevel;
    const ByteSpan input(static_cast<const std::byte*>(*buffer), bytes);
    H5ZARR_ASSIGN_OR_RETURN(const Codec zstd, CodecOf(level));
    const HostBuffer host{buffer_bytes, buffer};
    return (flags & H5Z_FLAG_REVERSE) != 0 ? Decode(*zstd, input, host) : Encode(*zstd, input, host);
  });
}

constexpr H5Z_class2_t kClass = {
    H5Z_CLASS_T_VERS, H5ZARR_FILTER_ZSTD, 1, 1, "h5zarr zstd-32015", nullptr, nullptr, Filter};

}  // namespace

const H5Z_class2_t* ZstdFilter() { return &kClass; }

}  // namespace h5zarr::filter
