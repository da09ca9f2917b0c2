#include "h5/chunk_copy.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "codec/reframe.h"
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
  H5ZARR_ASSIGN_OR_RETURN(const Handle space, transfer::AskDataset(under, H5VL_DATASET_GET_SPACE));
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

// What the chunks of an end are beside those that its header reports.
shadow::ChunkForm FormOf(const ChunkEnd& end, const Layout& layout) {
  if (end.array == nullptr) return shadow::ChunkForm::kVerbatim;
  const zarr::Array& array = *end.array;
  const std::span<const uint64_t> unit = array.unit_shape(), object = array.chunk_shape();
  if (std::equal(unit.begin(), unit.end(), object.begin(), object.end()) && unit.size() == layout.chunk.size() &&
      std::equal(unit.begin(), unit.end(), layout.chunk.begin())) {
    return shadow::FormOfStoredChunks(array.metadata(), layout.dcpl.get());
  }
  return shadow::ChunkForm::kOther;
}

// From the framing of the one end into that of the other; the DEFLATE stream stays as it is. `decoded`: see
// codec/reframe.h.
class Reframer {
 public:
  Reframer(shadow::ChunkForm from, shadow::ChunkForm to, uint64_t chunk_bytes)
      : from_(from), to_(to), chunk_bytes_(chunk_bytes) {}

  Result<Buffer> operator()(Buffer bytes) {
    if (from_ == to_) return bytes;
    if (decoded_.empty()) {
      H5ZARR_ASSIGN_OR_RETURN(decoded_, Buffer::Allocate(chunk_bytes_));
    }
    return from_ == shadow::ChunkForm::kGzip ? codec::GzipToZlib(bytes, decoded_.span())
                                             : codec::ZlibToGzip(bytes, decoded_.span());
  }

 private:
  const shadow::ChunkForm from_, to_;
  const uint64_t chunk_bytes_;
  Buffer decoded_;
};

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
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<transfer::StoredChunk> stored,
                          transfer::ListStoredChunks(end.native.under, layout.chunk.size()));
  for (const transfer::StoredChunk& one : stored) {
    if (one.filter_mask != 0) return UnsupportedError("a chunk lacks some of its filters");
    StoredChunk chunk{std::vector<uint64_t>(one.first.size()), one.length};
    for (std::size_t d = 0; d < one.first.size(); ++d) chunk.coords[d] = one.first[d] / layout.chunk[d];
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

Status CopyChunk(const ChunkEnd& from, const ChunkEnd& to, const Layout& layout, const StoredChunk& chunk,
                 Reframer& reframe) {
  std::vector<hsize_t> first(chunk.coords.size());  // its first element
  for (std::size_t d = 0; d < first.size(); ++d) first[d] = chunk.coords[d] * layout.chunk[d];
  Buffer bytes;
  if (from.array != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(std::optional<Buffer> stored, from.array->ReadStoredChunk(chunk.coords));
    if (!stored) return Status(StatusCode::kChanged, "a chunk vanished while it was copied");
    bytes = std::move(*stored);
  } else {
    H5ZARR_ASSIGN_OR_RETURN(bytes, transfer::ReadByHdf5(from.native.under, first, chunk.length));
  }
  H5ZARR_ASSIGN_OR_RETURN(bytes, reframe(std::move(bytes)));
  return to.array != nullptr ? to.array->WriteStoredChunk(chunk.coords, bytes)
                             : transfer::WriteByHdf5(to.native.under, first, bytes);
}

}  // namespace

Result<bool> CopyEncodedChunks(const ChunkEnd& from, const ChunkEnd& to) {
  const Result<Layout> source = LayoutOf(from), target = LayoutOf(to);
  if (!source.ok() || !target.ok()) return false;
  if (source->extent != target->extent || source->chunk != target->chunk ||
      H5Tequal(source->type.get(), target->type.get()) <= 0 ||
      !shadow::SamePipeline(source->filters, target->filters)) {
    return false;
  }
  const shadow::ChunkForm from_form = FormOf(from, *source), to_form = FormOf(to, *target);
  if (from_form == shadow::ChunkForm::kOther || to_form == shadow::ChunkForm::kOther) return false;
  const auto elems = CheckedProduct(source->chunk);
  const auto chunk_bytes = elems ? CheckedMul(*elems, H5Tget_size(source->type.get())) : std::optional<uint64_t>();
  if (!chunk_bytes) return false;
  const Result<std::vector<StoredChunk>> chunks = StoredChunks(from, *source);
  if (chunks.status().code() == StatusCode::kUnsupported) return false;
  H5ZARR_RETURN_IF_ERROR(chunks.status());
  if (chunks->empty()) return false;  // it may have been written all the same
  Reframer reframe(from_form, to_form, *chunk_bytes);
  for (const StoredChunk& chunk : *chunks) {
    const Status copied = CopyChunk(from, to, *source, chunk, reframe);
    // (Such a chunk can be decoded; what was copied so far is overwritten.)
    if (copied.code() == StatusCode::kUnsupported) return false;
    H5ZARR_RETURN_IF_ERROR(copied);
  }
  return true;
}

}  // namespace h5zarr
