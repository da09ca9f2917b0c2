// Filter 32015 (zstd).
#include <algorithm>
#include <string>

#include "codec/registry.h"
#include "filter/callback.h"
#include "filter/filters.h"
#include "h5zarr/filters.h"

namespace h5zarr::filter {
namespace {

// HDF5 1.14's limit.
constexpr uint64_t kLargestChunkBytes = UINT32_MAX;
constexpr int kDefaultLevel = 3;

Result<Buffer> Run(bool decode, int level, ByteSpan input) {
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

size_t Filter(unsigned flags, size_t word_count, const unsigned words[], size_t bytes,
              size_t* buffer_bytes, void** buffer) {
  return GuardFilter("zstd filter", [&]() -> Result<size_t> {
    const int level = word_count > 0 ? static_cast<int>(words[0]) : kDefaultLevel;
    const ByteSpan input(static_cast<const std::byte*>(*buffer), bytes);
    H5ZARR_ASSIGN_OR_RETURN(const Buffer output,
                            Run((flags & H5Z_FLAG_REVERSE) != 0, level, input));
    H5ZARR_ASSIGN_OR_RETURN(void* replacement, HostCopy(output.span()));
    return Replace({buffer_bytes, buffer}, replacement, output.size_bytes());
  });
}

constexpr H5Z_class2_t kClass = {
    H5Z_CLASS_T_VERS, H5ZARR_FILTER_ZSTD, 1, 1, "h5zarr zstd-32015", nullptr, nullptr, Filter};

}  // namespace

const H5Z_class2_t* ZstdFilter() { return &kClass; }

}  // namespace h5zarr::filter
