#include "h5/chunk_copy.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "shadow/dataset_map.h"
#include "shadow/filters_map.h"
#include "transfer/chunk_list.h"

namespace h5zarr {
namespace {

// What an end says of its chunks.
struct Layout {
  Handle dcpl, type;
  std::vector<uint64_t> extent, chunk;
  std::vector<shadow::Filter> filters;
};

Result<Layout> LayoutOf(const ChunkEnd& end) {
  Layout layout;
  void* const under = end.native.under;
  H5ZARR_ASSIGN_OR_RETURN(layout.dcpl, transfer::AskDataset(under, H5VL_DATASET_GET_DCPL));
  H5ZARR_ASSIGN_OR_RETURN(layout.type, transfer::AskDataset(under, H5VL_DATASET_GET_TYPE));
  H5ZARR_ASSIGN_OR_RETURN(const Handle space,
                          transfer::AskDataset(under, H5VL_DATASET_GET_SPACE));
  hsize_t dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
  unsigned options = 0;
  const int rank = H5Sget_simple_extent_dims(space.get(), dims, nullptr);
  if (rank < 1 || H5Pget_layout(layout.dcpl.get()) != H5D_CHUNKED ||
      H5Pget_chunk(layout.dcpl.get(), H5S_MAX_RANK, chunk) != rank ||
      H5Pget_chunk_opts(layout.dcpl.get(), &options) < 0 || options != 0) {
    return UnsupportedError("not in chunks that are all alike");
  }
  layout.extent.assign(dims, dims + rank);
  layout.chunk.assign(chunk, chunk + rank);
  H5ZARR_ASSIGN_OR_RETURN(layout.filters, shadow::FiltersOfDcpl(layout.dcpl.get()));
  return layout;
}

// Whether an array's objects are the chunks that its header reports, byte for byte.
bool IsVerbatim(const zarr::Array& array, const Layout& layout) {
  const std::span<const uint64_t> unit = array.unit_shape(), object = array.chunk_shape();
  return std::equal(unit.begin(), unit.end(), object.begin(), object.end()) &&
         unit.size() == layout.chunk.size() &&
         std::equal(unit.begin(), unit.end(), layout.chunk.begin()) &&
         shadow::StoredChunksAreVerbatim(array.metadata(), layout.dcpl.get());
}

struct StoredChunk {
  std::vector<uint64_t> coords;  // in the grid
  uint64_t length = 0;
};

Result<std::vector<StoredChunk>> StoredChunks(const ChunkEnd& end, const Layout& layout) {
  std::vector<StoredChunk> chunks;
  if (end.array != nullptr) {
    if (end.array->dirty()) H5ZARR_RETURN_IF_ERROR(end.array->Flush());
    H5ZARR_ASSIGN_OR_RETURN(std::vector<zarr::ChunkInfo> stored, end.array->ListStoredChunks());
    for (zarr::ChunkInfo& chunk : stored) {
      chunks.push_back({std::move(chunk.coords), chunk.stored_bytes});
    }
    return chunks;
  }
  std::vector<uint64_t> grid;
  for (std::size_t d = 0; d < layout.extent.size(); ++d) {
    grid.push_back(layout.extent[d] / layout.chunk[d] + (layout.extent[d] % layout.chunk[d] != 0));
  }
  H5ZARR_ASSIGN_OR_RETURN(const transfer::ChunkList list,
                          transfer::ListChunks(end.native.under, layout.chunk, grid));
  for (std::size_t i = 0; i < list.places.size(); ++i) {
    if (list.places[i].missing()) continue;
    StoredChunk chunk{std::vector<uint64_t>(grid.size()), list.places[i].length};
    uint64_t rest = i;
    for (std::size_t d = grid.size(); d-- > 0; rest /= grid[d]) chunk.coords[d] = rest % grid[d];
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

Status CopyChunk(const ChunkEnd& from, const ChunkEnd& to, const Layout& layout,
                 const StoredChunk& chunk) {
  std::vector<hsize_t> first(chunk.coords.size());  // its first element
  for (std::size_t d = 0; d < first.size(); ++d) first[d] = chunk.coords[d] * layout.chunk[d];
  Buffer bytes;
  if (from.array != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(std::optional<Buffer> stored,
                            from.array->ReadStoredChunk(chunk.coords));
    if (!stored) return Status(StatusCode::kChanged, "a chunk vanished while it was copied");
    bytes = std::move(*stored);
  } else {
    H5ZARR_ASSIGN_OR_RETURN(bytes,
                            transfer::ReadByHdf5(from.native.under, first, chunk.length));
  }
  return to.array != nullptr ? to.array->WriteStoredChunk(chunk.coords, bytes)
                             : transfer::WriteByHdf5(to.native.under, first, bytes);
}

}  // namespace

Result<bool> CopyEncodedChunks(const ChunkEnd& from, const ChunkEnd& to) {
  const Result<Layout> source = LayoutOf(from), target = LayoutOf(to);
  if (!source.ok() || !target.ok()) return false;
  if (source->extent != target->extent || source->chunk != target->chunk ||
      H5Tequal(source->type.get(), target->type.get()) <= 0 ||
      !shadow::SamePipeline(source->filters, target->filters) ||
      (from.array != nullptr && !IsVerbatim(*from.array, *source)) ||
      (to.array != nullptr && !IsVerbatim(*to.array, *target))) {
    return false;
  }
  const Result<std::vector<StoredChunk>> chunks = StoredChunks(from, *source);
  if (chunks.status().code() == StatusCode::kUnsupported) return false;
  H5ZARR_RETURN_IF_ERROR(chunks.status());
  for (const StoredChunk& chunk : *chunks) {
    H5ZARR_RETURN_IF_ERROR(CopyChunk(from, to, *source, chunk));
  }
  return true;
}

}  // namespace h5zarr
