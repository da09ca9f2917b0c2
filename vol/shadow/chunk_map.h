// chunk_map: HDF5's chunk, layout and allocation time ↔ Zarr's chunk and shards. Internal to
// shadow/.
#ifndef H5ZARR_SHADOW_CHUNK_MAP_H_
#define H5ZARR_SHADOW_CHUNK_MAP_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "zarr/array.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {

inline constexpr uint64_t kAutoShardBytes = 64ull << 20;

// The chunk of a chunked property list; kInvalidArgument where its rank is not `rank`.
Result<std::vector<uint64_t>> ChunkOfDcpl(hid_t dcpl, std::size_t rank);

// The chunk of a dataset that HDF5 does not chunk: about 4 MiB along the first axes.
std::vector<uint64_t> SlabShape(std::span<const uint64_t> dims, uint64_t elem_bytes);

// A hidden shard: whole HDF5 chunks, about `shard_bytes` of them, that fill the last axes first.
struct HiddenShardRequest {
  std::span<const uint64_t> dims;
  std::span<const uint64_t> maxdims;
  std::span<const uint64_t> chunk_shape;
  uint64_t elem_bytes = 1;
  uint64_t shard_bytes = kAutoShardBytes;
};
// Makes `metadata`'s chunks the inner chunks of such shards. False where nothing changed: a chunk
// is as large as a shard already, or the array is sharded.
bool HideShards(const HiddenShardRequest& request, std::span<const uint64_t> elem_dims, zarr::ArrayMetadata* metadata);

// The chunk HDF5 is told of, and the codecs that make its bytes.
struct ReportedChunk {
  std::vector<uint64_t> shape;  // without the dimensions of an element
  std::vector<zarr::CodecSpec> codecs;
  zarr::ChunkUnit unit = zarr::ChunkUnit::kObject;
};
// Inner chunks of a hidden shard and of shards that HDF5 1.14 cannot describe; split ones where it
// cannot describe an unsharded chunk (4 GiB and more).
ReportedChunk ChunkToReport(const zarr::ArrayMetadata& metadata, std::size_t rank, uint64_t type_bytes,
                            bool shard_hidden);

// H5D_ALLOC_TIME_DEFAULT where the program set none. `copy` of the list is left with that.
Result<H5D_alloc_time_t> AllocTimeOfDcpl(hid_t dcpl, hid_t copy);
std::string_view AllocTimeName(H5D_alloc_time_t time);
std::optional<H5D_alloc_time_t> AllocTimeFromName(std::string_view name);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_CHUNK_MAP_H_
