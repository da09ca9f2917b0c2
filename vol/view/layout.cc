#include "view/layout.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "host/error_stack.h"
#include "shadow/chunk_map.h"
#include "shadow/h5_types.h"
#include "view/build.h"
#include "view/by_connector.h"

namespace h5zarr::view {
namespace {

// A million visits cost a tenth of a second.
constexpr uint64_t kMostChunks = 1 << 20;
// HDF5 takes some 5 µs for each chunk of a read, as long as it takes to read one of a few kB: without chunks so many so
// small ones are read in half the time.
constexpr uint64_t kManyChunks = 4096;
constexpr uint64_t kTinyChunkBytes = 4 << 10;
// Chunks of all datasets without a last extent, of which HDF5 writes an index while the image is made: a tenth of a
// second.
constexpr uint64_t kMostIndexed = 1 << 18;
// Of one dataset, so that an image may have many.
constexpr uint64_t kMostBytes = uint64_t{1} << 56;

std::optional<uint64_t> Times(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  return a && b ? CheckedMul(*a, *b) : std::nullopt;
}

// The chunks that HDF5 counts: those that there may be along the dimensions whose end is known.
std::optional<uint64_t> ChunksCounted(const std::vector<hsize_t>& dims, const std::vector<hsize_t>& maxdims,
                                      const std::vector<uint64_t>& chunk) {
  std::vector<uint64_t> grid;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    grid.push_back(CeilDiv(maxdims[d] == H5S_UNLIMITED ? dims[d] : maxdims[d], chunk[d]));
  }
  return CheckedProduct(grid);
}

// Gives an undefined fill value the bytes of empty parts.
Status DefineFill(hid_t type, uint64_t elem_bytes, hid_t dcpl) {
  H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
  if (H5Pfill_value_defined(dcpl, &defined) < 0) return host::AlreadyReported();
  if (defined != H5D_FILL_VALUE_UNDEFINED) return OkStatus();
  const std::vector<std::byte> empty(elem_bytes);
  return H5Pset_fill_value(dcpl, type, empty.data()) < 0 ? host::AlreadyReported() : OkStatus();
}

}  // namespace

std::optional<std::vector<hsize_t>> Layout::LimitOf(const std::vector<hsize_t>& dims,
                                                    const std::vector<hsize_t>& maxdims,
                                                    const std::vector<uint64_t>& chunk, uint64_t elem_bytes) {
  const std::optional<uint64_t> chunks = ChunksCounted(dims, dims, chunk);
  const std::optional<uint64_t> chunk_bytes = Times(CheckedProduct(chunk), elem_bytes);
  const std::optional<uint64_t> bytes = chunk_bytes ? Times(chunks, *chunk_bytes) : std::nullopt;
  if (!bytes || *bytes > kMostBytes || *chunks > kMostChunks - chunks_) return std::nullopt;
  if (*chunks > kManyChunks && *chunk_bytes < kTinyChunkBytes) return std::nullopt;
  chunks_ += *chunks;
  const std::optional<uint64_t> counted = ChunksCounted(dims, maxdims, chunk);
  if (std::find(maxdims.begin(), maxdims.end(), H5S_UNLIMITED) == maxdims.end()) {
    if (Times(counted, *chunk_bytes).value_or(UINT64_MAX) <= kMostBytes) return maxdims;
  } else if (counted && *counted <= kMostIndexed - indexed_) {
    indexed_ += *counted;
    image_->ExpectChunks(*chunks);
    return maxdims;
  }
  std::vector<hsize_t> limit;  // HDF5 knows no chunk larger than what its dataset can become
  for (std::size_t d = 0; d < dims.size(); ++d) limit.push_back(std::max<hsize_t>(dims[d], chunk[d]));
  return limit;
}

Status Layout::Adapt(const std::string& path, hid_t type, Handle* space, Handle* dcpl) {
  image_->ExpectChunks(0);
  if (H5Pget_layout(dcpl->get()) == H5D_VIRTUAL) {
    Result<Handle> now = SpaceByConnector(*store_, path);
    if (!now.ok() || shadow::ReferenceKinds(type) != 0) {
      return UnsupportedError("a virtual dataset that can't be opened so; " + std::string(kAdvice));
    }
    *space = std::move(*now);
    if (H5Pset_layout(dcpl->get(), H5D_CONTIGUOUS) < 0) return host::AlreadyReported();
  }
  if (H5Sget_simple_extent_npoints(space->get()) == 0 || H5Pget_external_count(dcpl->get()) > 0) {
    return OkStatus();  // no elements, or HDF5 finds them elsewhere
  }
  const int rank = H5Sget_simple_extent_ndims(space->get());
  if (rank < 0) return host::AlreadyReported();
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank)), maxdims(dims);
  if (rank > 0 && H5Sget_simple_extent_dims(space->get(), dims.data(), maxdims.data()) < 0) {
    return host::AlreadyReported();
  }
  const uint64_t elem_bytes = H5Tget_size(type);
  const std::optional<uint64_t> plain_bytes = Times(CheckedProduct(dims), elem_bytes);
  const bool holds = shadow::HoldsVlenOrReference(type);
  if (!plain_bytes || *plain_bytes > (holds ? held_bytes_ : kMostBytes)) {
    return UnsupportedError("too many elements for a store that opens by itself; " + std::string(kAdvice));
  }
  std::optional<std::vector<hsize_t>> limit;
  if (H5Pget_layout(dcpl->get()) == H5D_CHUNKED) {
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> chunk, shadow::ChunkOfDcpl(dcpl->get(), dims.size()));
    limit = LimitOf(dims, maxdims, chunk, elem_bytes);
  }
  if (H5Premove_filter(dcpl->get(), H5Z_FILTER_ALL) < 0) return host::AlreadyReported();
  if (!limit && H5Pset_layout(dcpl->get(), H5D_CONTIGUOUS) < 0) return host::AlreadyReported();
  if (rank > 0) *space = Handle(H5Screate_simple(rank, dims.data(), limit.value_or(dims).data()));
  // What is never filled is never written; but HDF5 wants parts of variable length to be something: where their fill
  // value is none that it can hold, they are empty until Hold gives them.
  if (holds) H5ZARR_RETURN_IF_ERROR(DefineFill(type, elem_bytes, dcpl->get()));
  const H5D_fill_time_t fill = holds ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER;
  if (!space->valid() || H5Pset_alloc_time(dcpl->get(), H5D_ALLOC_TIME_EARLY) < 0 ||
      H5Pset_fill_time(dcpl->get(), fill) < 0) {
    return host::AlreadyReported();
  }
  return OkStatus();
}

}  // namespace h5zarr::view
