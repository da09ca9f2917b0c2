// The filters this plugin brings, registered with the host so that property lists may name them.
// Only complete implementations are registered: registration holds for the whole process and native
// files too.

#include <cstring>

#include "codec/registry.h"
#include "h5/connector.h"
#include "h5zarr/filters.h"

namespace h5zarr {
namespace {

// HDF5's own limit.
constexpr uint64_t kLargestChunkBytes = UINT32_MAX;
constexpr int kDefaultZstdLevel = 3;

// In a store a shard is read and written by the engine; HDF5 never runs the filter there. In a native
// file it cannot be run yet, which must be an error and never unfiltered data.
size_t ShardFilter(unsigned flags, size_t word_count, const unsigned words[], size_t bytes,
                   size_t* buffer_bytes, void** buffer) {
  (void)flags, (void)word_count, (void)words, (void)bytes, (void)buffer_bytes, (void)buffer;
  host::PushStatus(UnsupportedError("filter 480 (shard) is available in Zarr stores only, not yet "
                                    "in native HDF5 files"),
                   "shard filter");
  return 0;
}

// Filter 32015 as everyone's: a chunk is one zstd frame; the one parameter is the level.
Result<Buffer> RunZstd(bool decode, int level, ByteSpan input) {
  codec::ChunkSpec spec;
  spec.dtype = DType::Raw(1);
  H5ZARR_ASSIGN_OR_RETURN(codec::AnyCodec made,
                          codec::MakeCodec("zstd", {{"level", level}, {"checksum", false}}, spec));
  const auto& zstd = std::get<std::unique_ptr<codec::BytesCodec>>(made);
  if (decode) return zstd->DecodeUnsized(input, kLargestChunkBytes);
  H5ZARR_ASSIGN_OR_RETURN(const uint64_t bound, zstd->MaxEncodedBytes(input.size()));
  H5ZARR_ASSIGN_OR_RETURN(Buffer output, Buffer::Allocate(bound));
  H5ZARR_ASSIGN_OR_RETURN(const uint64_t used, zstd->Encode(input, output.span()));
  output.Shrink(used);
  return output;
}

size_t ZstdFilter(unsigned flags, size_t word_count, const unsigned words[], size_t bytes,
                  size_t* buffer_bytes, void** buffer) {
  const int level = word_count > 0 ? static_cast<int>(words[0]) : kDefaultZstdLevel;
  const ByteSpan input(static_cast<const std::byte*>(*buffer), bytes);
  const auto output = host::CatchAll(
      [&] { return RunZstd((flags & H5Z_FLAG_REVERSE) != 0, level, input); });
  if (!output.ok()) {
    host::PushStatus(output.status(), "zstd filter");
    return 0;
  }
  void* replacement = H5allocate_memory(output->size_bytes(), false);
  if (replacement == nullptr) return 0;
  std::memcpy(replacement, output->data(), output->size_bytes());
  H5free_memory(*buffer);
  *buffer = replacement;
  *buffer_bytes = output->size_bytes();
  return output->size_bytes();
}

void Register(int id, const char* name, H5Z_func_t function) {
  if (H5Zfilter_avail(id) > 0) return;  // the program's own goes first
  H5Z_class2_t filter;
  std::memset(&filter, 0, sizeof filter);
  filter.version = H5Z_CLASS_T_VERS;
  filter.id = id;
  filter.encoder_present = 1;
  filter.decoder_present = 1;
  filter.name = name;
  filter.filter = function;
  H5Zregister(&filter);
}

}  // namespace

void RegisterFilters() {
  if (GetConnector().filters_registered) return;
  GetConnector().filters_registered = true;
  host::QuietErrors quiet;
  Register(H5ZARR_FILTER_SHARD, "h5zarr shard-480", ShardFilter);
  Register(H5ZARR_FILTER_ZSTD, "h5zarr zstd-32015", ZstdFilter);
}

}  // namespace h5zarr
