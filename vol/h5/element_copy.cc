#include "h5/element_copy.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "h5/chunk_copy.h"
#include "h5/connector.h"
#include "h5/dataset_transfer.h"
#include "h5/native_reads.h"
#include "shadow/h5_types.h"
#include "shadow/hdf5_attribute.h"
#include "transfer/chunk_list.h"
#include "transfer/dataset_io.h"
#include "transfer/vlen.h"

namespace h5zarr {
namespace {

// Data is moved in pieces of about this size.
constexpr uint64_t kPieceBytes = 16 << 20;

Status Transfer(const DataEnd& end, bool write, hid_t type, hid_t mem_space, hid_t file_space, void* buffer) {
  if (end.engine != nullptr && !write) {
    const DatasetPart part{end.engine, type, mem_space, file_space, buffer};
    if (EngineFor(part) != nullptr && ReadByEngine({&part, 1}, host::DefaultDxpl()).ok()) {
      return OkStatus();
    }
  }
  if (end.store == nullptr) {
    void* under = end.native.under;
    const void* source = buffer;
    const herr_t result = write ? H5VLdataset_write(1, &under, host::NativeConnector(), &type, &mem_space, &file_space,
                                                    host::DefaultDxpl(), &source, nullptr)
                                : H5VLdataset_read(1, &under, host::NativeConnector(), &type, &mem_space, &file_space,
                                                   host::DefaultDxpl(), &buffer, nullptr);
    return NativeStatus(result);
  }
  H5ZARR_ASSIGN_OR_RETURN(zarr::Array* const array, end.store->OpenElements(end.node));
  transfer::DatasetTransfer one;
  one.array = array;
  one.path = end.node->path;
  one.element = &end.node->dataset.element;
  one.extent = array->shape().first(array->shape().size() - one.element->elem_dims.size());
  one.mem_type = type;
  one.mem_space = mem_space;
  one.file_space = file_space;
  one.read_buffer = write ? nullptr : buffer;
  one.write_buffer = write ? buffer : nullptr;
  const shadow::ReferenceResolver references = end.store->References();
  one.references = &references;
  return write ? transfer::WriteDatasets({&one, 1}, host::DefaultDxpl())
               : transfer::ReadDatasets({&one, 1}, host::DefaultDxpl());
}

// A part of a dataset, in elements.
struct Box {
  std::vector<hsize_t> start, count;
};

// The chunk that begins at `start`, as far as it lies within the dataset.
Box ChunkBox(std::vector<hsize_t> start, std::span<const uint64_t> chunk, std::span<const hsize_t> extent) {
  Box box{std::move(start), std::vector<hsize_t>(extent.size())};
  for (std::size_t d = 0; d < extent.size(); ++d) {
    box.count[d] = std::min<uint64_t>(chunk[d], extent[d] - box.start[d]);
  }
  return box;
}

// Whether so few of the chunks there can be are stored that these are better copied one by one.
bool AreFew(std::size_t stored, std::span<const uint64_t> chunk, std::span<const hsize_t> extent) {
  std::optional<uint64_t> grid = 1;
  for (std::size_t d = 0; d < extent.size() && grid; ++d) {
    grid = CheckedMul(*grid, CeilDiv(extent[d], chunk[d]));
  }
  return !grid || stored == 0 || stored < *grid / 2;
}

using Boxes = std::optional<std::vector<Box>>;  // nothing: all of the dataset

// Where elements are stored; elsewhere both ends have the same fill.
Result<Boxes> StoredInStore(const DataEnd& from, std::span<const hsize_t> extent) {
  if (from.node->dataset.external) return Boxes();
  H5ZARR_ASSIGN_OR_RETURN(zarr::Array* const array, from.store->OpenElements(from.node));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<zarr::ChunkInfo> chunks, array->ListStoredChunks());
  const std::span<const uint64_t> unit = array->unit_shape();
  const bool written = array->omitted_fill() || shadow::WrittenAsFill(from.node->node.attributes());
  std::vector<Box> boxes;
  if (chunks.empty() && written) {
    // A copy has storage as well.
    boxes.push_back(ChunkBox(std::vector<hsize_t>(extent.size(), 0), unit, extent));
    return Boxes(std::move(boxes));
  }
  if (!AreFew(chunks.size(), unit, extent)) return Boxes();
  for (const zarr::ChunkInfo& chunk : chunks) {
    std::vector<hsize_t> start(extent.size());
    for (std::size_t d = 0; d < start.size(); ++d) start[d] = chunk.coords[d] * unit[d];
    boxes.push_back(ChunkBox(std::move(start), unit, extent));
  }
  return Boxes(std::move(boxes));
}

Result<Boxes> StoredInFile(const DataEnd& from, std::span<const hsize_t> extent) {
  hsize_t stored_bytes = 0;
  H5VL_dataset_get_args_t args;
  args.op_type = H5VL_DATASET_GET_STORAGE_SIZE;
  args.args.get_storage_size.storage_size = &stored_bytes;
  H5ZARR_RETURN_IF_ERROR(
      NativeStatus(H5VLdataset_get(from.native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
  if (stored_bytes == 0) return Boxes(std::vector<Box>());
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, transfer::AskDataset(from.native.under, H5VL_DATASET_GET_DCPL));
  if (H5Pget_layout(dcpl.get()) != H5D_CHUNKED) return Boxes();
  hsize_t dims[H5S_MAX_RANK];
  const int rank = H5Pget_chunk(dcpl.get(), H5S_MAX_RANK, dims);
  if (rank != static_cast<int>(extent.size())) return Boxes();
  const std::vector<uint64_t> chunk(dims, dims + rank);
  const auto stored = transfer::ListStoredChunks(from.native.under, chunk.size());
  if (!stored.ok() || !AreFew(stored->size(), chunk, extent)) return Boxes();
  std::vector<Box> boxes;
  for (const transfer::StoredChunk& one : *stored) {
    boxes.push_back(ChunkBox(one.first, chunk, extent));
  }
  return Boxes(std::move(boxes));
}

// All of a dataset, in slabs along the first dimension.
std::vector<Box> Slabs(std::span<const hsize_t> extent, uint64_t row_bytes) {
  const hsize_t rows = std::clamp<uint64_t>(kPieceBytes / std::max<uint64_t>(row_bytes, 1), 1, extent[0]);
  std::vector<Box> boxes;
  for (hsize_t row = 0; row < extent[0]; row += rows) {
    Box box{std::vector<hsize_t>(extent.size(), 0), {extent.begin(), extent.end()}};
    box.start[0] = row;
    box.count[0] = std::min(rows, extent[0] - row);
    boxes.push_back(std::move(box));
  }
  return boxes;
}

// Moves parts of a dataset from end to end.
class BoxCopy {
 public:
  // `type`: in memory. All must outlive it.
  BoxCopy(const DataEnd& from, const DataEnd& to, const Translate& translate, hid_t type, hid_t space)
      : from_(from), to_(to), translate_(translate), type_(type), space_(space), elem_bytes_(H5Tget_size(type)) {}

  Status Move(const Box& box) {
    const bool scalar = H5Sget_simple_extent_ndims(space_) == 0;
    const Handle mem_space(scalar ? H5Screate(H5S_SCALAR)
                                  : H5Screate_simple(static_cast<int>(box.count.size()), box.count.data(), nullptr));
    const Handle file_space(H5Scopy(space_));
    if (!mem_space.valid() || (!scalar && H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, box.start.data(),
                                                              nullptr, box.count.data(), nullptr) < 0)) {
      return host::AlreadyReported();
    }
    const uint64_t elems = H5Sget_simple_extent_npoints(mem_space.get());
    const std::optional<uint64_t> bytes = CheckedMul(elems, elem_bytes_);
    if (!bytes) return OutOfRangeError("a chunk of more than 2^64 bytes");
    if (buffer_.size_bytes() < *bytes) {
      H5ZARR_ASSIGN_OR_RETURN(buffer_, Buffer::Allocate(*bytes));
    }
    std::memset(buffer_.data(), 0, buffer_.size_bytes());
    auto* const first = static_cast<std::byte*>(buffer_.data());
    H5ZARR_RETURN_IF_ERROR(Transfer(from_, false, type_, mem_space.get(), file_space.get(), first));
    Status written;
    if (translate_) written = TranslateReferences(type_, first, elems, elem_bytes_, translate_);
    if (written.ok()) {
      written = Transfer(to_, true, type_, mem_space.get(), file_space.get(), first);
    }
    if (shadow::HoldsVlenOrReference(type_)) transfer::ReclaimElements(first, elems, type_);
    return written;
  }

 private:
  const DataEnd& from_;
  const DataEnd& to_;
  const Translate& translate_;
  const hid_t type_, space_;
  const uint64_t elem_bytes_;
  Buffer buffer_;
};

}  // namespace

Result<bool> CopyAsStored(const DataEnd& from, const DataEnd& to) {
  const auto end_of = [](const DataEnd& end) -> Result<ChunkEnd> {
    ChunkEnd chunks{end.native};
    if (end.store == nullptr) return chunks;
    H5ZARR_ASSIGN_OR_RETURN(chunks.array, end.store->OpenArray(end.node, 0));
    return chunks;
  };
  const auto in_chunks = [](const DataEnd& end) {
    return end.store == nullptr ||
           (end.node->dataset.layout == H5D_CHUNKED && !end.node->dataset.external && !end.node->dataset.null_space);
  };
  if (!in_chunks(from) || !in_chunks(to)) return false;
  H5ZARR_ASSIGN_OR_RETURN(const ChunkEnd source, end_of(from));
  H5ZARR_ASSIGN_OR_RETURN(const ChunkEnd target, end_of(to));
  return CopyEncodedChunks(source, target);
}

Status CopyElements(const DataEnd& from, const DataEnd& to, const Translate& translate) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle space, transfer::AskDataset(from.native.under, H5VL_DATASET_GET_SPACE));
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  if (points <= 0) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const Handle file_type, transfer::AskDataset(from.native.under, H5VL_DATASET_GET_TYPE));
  // In memory: the same type, described afresh, free of the file it came from.
  H5ZARR_ASSIGN_OR_RETURN(const shadow::Json description, shadow::TypeToJson(file_type.get()));
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, shadow::TypeFromJson(description));
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> extent(std::max(rank, 1), 1);
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr);
  Boxes boxes;
  if (rank > 0) {
    H5ZARR_ASSIGN_OR_RETURN(boxes, from.store != nullptr ? StoredInStore(from, extent) : StoredInFile(from, extent));
  }
  const uint64_t row_elems = static_cast<uint64_t>(points) / extent[0];
  if (!boxes) boxes = Slabs(extent, row_elems * H5Tget_size(type.get()));
  BoxCopy copy(from, to, translate, type.get(), space.get());
  for (const Box& box : *boxes) H5ZARR_RETURN_IF_ERROR(copy.Move(box));
  return OkStatus();
}

}  // namespace h5zarr
