#include "shadow/chunk_map.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "filter/shard_words.h"
#include "shadow/h5_types.h"
#include "zarr/codec_specs.h"

namespace h5zarr::shadow {
namespace {

using filter::Sharding;
using filter::ShardingFromCodec;
using filter::ShardingToCodec;
using zarr::ArrayToBytesSpec;
using zarr::CodecSpec;

constexpr uint64_t kSlabBytes = 4ull << 20;
// An index entry is 16 bytes: a shard's index stays below 256 KiB.
constexpr uint64_t kMaxInnerChunks = 16384;
// What HDF5 1.14 can describe: sizes of chunks are 32 bits.
constexpr uint64_t kMaxChunkBytes = UINT32_MAX;

bool CanDescribe(std::span<const uint64_t> chunk, uint64_t type_bytes) {
  if (std::any_of(chunk.begin(), chunk.end(), [](uint64_t dim) { return dim > UINT32_MAX; })) {
    return false;
  }
  const std::optional<uint64_t> elems = CheckedProduct(chunk);
  const std::optional<uint64_t> bytes = elems ? CheckedMul(*elems, type_bytes) : std::nullopt;
  return bytes && *bytes <= kMaxChunkBytes;
}

// Cuts the first axes of `shape` until one piece has at most `max_bytes` (or one element).
void CutFirstAxes(uint64_t elem_bytes, uint64_t max_bytes, std::vector<uint64_t>* shape) {
  for (std::size_t d = 0; d < shape->size(); ++d) {
    const std::span<const uint64_t> behind(shape->data() + d + 1, shape->size() - d - 1);
    const std::optional<uint64_t> elems = CheckedProduct(behind);
    const std::optional<uint64_t> row_bytes =
        elems ? CheckedMul(*elems, std::max<uint64_t>(elem_bytes, 1)) : std::nullopt;
    const uint64_t rows = row_bytes ? std::max<uint64_t>(max_bytes / *row_bytes, 1) : 1;
    if ((*shape)[d] <= rows) {
      if (rows > 1) return;  // the whole of the rest fits
      continue;
    }
    (*shape)[d] = rows;
    if (rows > 1) return;
  }
}

const CodecSpec* ShardingCodec(const std::vector<CodecSpec>& codecs) {
  const auto found = std::find_if(codecs.begin(), codecs.end(),
                                  [](const CodecSpec& codec) { return codec.name == "sharding_indexed"; });
  return found == codecs.end() ? nullptr : &*found;
}

}  // namespace

Result<std::vector<uint64_t>> ChunkOfDcpl(hid_t dcpl, std::size_t rank) {
  std::vector<hsize_t> chunk(H5S_MAX_RANK);
  const int chunk_rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk.data());
  if (chunk_rank < 0) return Hdf5Failure("the chunk of a property list");
  if (static_cast<std::size_t>(chunk_rank) != rank) {
    return InvalidArgumentError("a chunk of rank " + std::to_string(chunk_rank) + " for a dataspace of rank " +
                                std::to_string(rank));
  }
  return std::vector<uint64_t>(chunk.begin(), chunk.begin() + chunk_rank);
}

std::vector<uint64_t> SlabShape(std::span<const uint64_t> dims, uint64_t elem_bytes) {
  std::vector<uint64_t> slab(dims.begin(), dims.end());
  for (uint64_t& extent : slab) extent = std::max<uint64_t>(extent, 1);
  CutFirstAxes(elem_bytes, kSlabBytes, &slab);
  return slab;
}

bool HideShards(const HiddenShardRequest& request, std::span<const uint64_t> elem_dims, zarr::ArrayMetadata* metadata) {
  if (ShardingCodec(metadata->codecs) != nullptr) return false;
  const std::optional<uint64_t> elems = CheckedProduct(request.chunk_shape);
  const std::optional<uint64_t> chunk_bytes = elems ? CheckedMul(*elems, request.elem_bytes) : std::nullopt;
  if (!chunk_bytes || *chunk_bytes == 0) return false;
  uint64_t budget = std::min(request.shard_bytes / *chunk_bytes, kMaxInnerChunks);
  std::vector<uint64_t> shard = metadata->chunk_shape;
  bool grown = false;
  for (std::size_t d = request.chunk_shape.size(); d > 0 && budget > 1; --d) {
    const std::size_t axis = d - 1;
    const uint64_t extent = std::max(request.dims[axis], request.maxdims[axis]);
    const uint64_t wanted = extent == H5S_UNLIMITED ? budget : CeilDiv(extent, request.chunk_shape[axis]);
    const uint64_t factor = std::clamp<uint64_t>(wanted, 1, budget);
    const std::optional<uint64_t> longer = CheckedMul(shard[axis], factor);
    if (!longer) break;
    shard[axis] = *longer;
    budget /= factor;
    grown = grown || factor > 1;
  }
  if (!grown) return false;
  Sharding sharding;
  sharding.inner_shape.assign(request.chunk_shape.begin(), request.chunk_shape.end());
  sharding.inner_shape.insert(sharding.inner_shape.end(), elem_dims.begin(), elem_dims.end());
  for (const CodecSpec& codec : metadata->codecs) {
    if (codec != ArrayToBytesSpec(metadata->dtype)) sharding.inner_codecs.push_back(codec);
  }
  metadata->chunk_shape = std::move(shard);
  metadata->codecs = {ShardingToCodec(sharding, ArrayToBytesSpec(metadata->dtype))};
  return true;
}

ReportedChunk ChunkToReport(const zarr::ArrayMetadata& metadata, std::size_t rank, uint64_t type_bytes,
                            bool shard_hidden) {
  ReportedChunk reported;
  reported.shape.assign(metadata.chunk_shape.begin(), metadata.chunk_shape.begin() + static_cast<std::ptrdiff_t>(rank));
  reported.codecs = metadata.codecs;
  const CodecSpec* codec = ShardingCodec(metadata.codecs);
  const std::optional<Sharding> sharding = codec != nullptr ? ShardingFromCodec(*codec) : std::nullopt;
  if (sharding && sharding->inner_shape.size() >= rank && (shard_hidden || !CanDescribe(reported.shape, type_bytes))) {
    reported.shape.assign(sharding->inner_shape.begin(),
                          sharding->inner_shape.begin() + static_cast<std::ptrdiff_t>(rank));
    reported.codecs = sharding->inner_codecs;
    reported.unit = zarr::ChunkUnit::kInner;
  }
  if (CanDescribe(reported.shape, type_bytes)) return reported;
  for (uint64_t& extent : reported.shape) extent = std::min<uint64_t>(extent, UINT32_MAX);
  CutFirstAxes(type_bytes, kMaxChunkBytes, &reported.shape);
  return reported;
}

Result<H5D_alloc_time_t> AllocTimeOfDcpl(hid_t dcpl, hid_t copy) {
  // HDF5 answers the time it chose itself as if the program had; only comparing lists tells.
  H5D_alloc_time_t time = H5D_ALLOC_TIME_ERROR;
  if (H5Pset_alloc_time(copy, H5D_ALLOC_TIME_DEFAULT) < 0 || H5Pget_alloc_time(dcpl, &time) < 0) {
    return Hdf5Failure("an allocation time");
  }
  return H5Pequal(copy, dcpl) > 0 ? H5D_ALLOC_TIME_DEFAULT : time;
}

std::string_view AllocTimeName(H5D_alloc_time_t time) {
  switch (time) {
    case H5D_ALLOC_TIME_EARLY: return "early";
    case H5D_ALLOC_TIME_LATE: return "late";
    default: return "incr";
  }
}

std::optional<H5D_alloc_time_t> AllocTimeFromName(std::string_view name) {
  if (name == "early") return H5D_ALLOC_TIME_EARLY;
  if (name == "late") return H5D_ALLOC_TIME_LATE;
  if (name == "incr") return H5D_ALLOC_TIME_INCR;
  return std::nullopt;
}

}  // namespace h5zarr::shadow
