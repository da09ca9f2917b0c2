#include "h5/element_copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "h5/chunk_copy.h"
#include "h5/connector.h"
#include "h5/dataset_transfer.h"
#include "h5/native_reads.h"
#include "shadow/h5_types.h"
#include "transfer/chunk_list.h"
#include "transfer/dataset_io.h"
#include "transfer/vlen.h"

namespace h5zarr {
namespace {

// Data is moved in pieces of about this size.
constexpr uint64_t kPieceBytes = 16 << 20;

Status Transfer(const DataEnd& end, bool write, hid_t type, hid_t mem_space, hid_t file_space,
                void* buffer) {
  if (end.engine != nullptr && !write) {
    const DatasetPart part{end.engine, type, mem_space, file_space, buffer};
    if (EngineFor(part) != nullptr && ReadByEngine({&part, 1}, host::DefaultDxpl()).ok()) {
      return OkStatus();
    }
  }
  if (end.store == nullptr) {
    void* under = end.native.under;
    const void* source = buffer;
    const herr_t result =
        write ? H5VLdataset_write(1, &under, host::NativeConnector(), &type, &mem_space,
                                  &file_space, host::DefaultDxpl(), &source, nullptr)
              : H5VLdataset_read(1, &under, host::NativeConnector(), &type, &mem_space,
                                 &file_space, host::DefaultDxpl(), &buffer, nullptr);
    return NativeStatus(result);
  }
  H5ZARR_ASSIGN_OR_RETURN(zarr::Array* const array, end.store->OpenElements(end.node));
  transfer::DatasetTransfer one;
  one.array = array;
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

}  // namespace

Result<bool> CopyAsStored(const DataEnd& from, const DataEnd& to) {
  const auto end_of = [](const DataEnd& end) -> Result<ChunkEnd> {
    ChunkEnd chunks{end.native};
    if (end.store == nullptr) return chunks;
    H5ZARR_ASSIGN_OR_RETURN(chunks.array, end.store->OpenArray(end.node, 0));
    return chunks;
  };
  const auto in_chunks = [](const DataEnd& end) {
    return end.store == nullptr || (end.node->dataset.layout == H5D_CHUNKED &&
                                    !end.node->dataset.external && !end.node->dataset.null_space);
  };
  if (!in_chunks(from) || !in_chunks(to)) return false;
  H5ZARR_ASSIGN_OR_RETURN(const ChunkEnd source, end_of(from));
  H5ZARR_ASSIGN_OR_RETURN(const ChunkEnd target, end_of(to));
  return CopyEncodedChunks(source, target);
}

Status CopyElements(const DataEnd& from, const DataEnd& to, const Translate& translate) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle space,
                          transfer::AskDataset(from.native.under, H5VL_DATASET_GET_SPACE));
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  if (points <= 0) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const Handle file_type,
                          transfer::AskDataset(from.native.under, H5VL_DATASET_GET_TYPE));
  // In memory: the same type, described afresh, free of the file it came from.
  H5ZARR_ASSIGN_OR_RETURN(const shadow::Json description, shadow::TypeToJson(file_type.get()));
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, shadow::TypeFromJson(description));
  const uint64_t elem_bytes = H5Tget_size(type.get());
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> extent(std::max(rank, 1), 1), start(std::max(rank, 1), 0);
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr);
  const uint64_t row_bytes = static_cast<uint64_t>(points) / extent[0] * elem_bytes;
  const hsize_t rows = std::clamp<uint64_t>(kPieceBytes / std::max<uint64_t>(row_bytes, 1), 1,
                                            extent[0]);
  H5ZARR_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(rows * row_bytes));
  for (hsize_t row = 0; row < extent[0]; row += rows) {
    std::vector<hsize_t> count = extent;
    count[0] = std::min(rows, extent[0] - row);
    start[0] = row;
    Handle mem_space(rank > 0 ? H5Screate_simple(rank, count.data(), nullptr)
                              : H5Screate(H5S_SCALAR));
    const Handle file_space(H5Scopy(space.get()));
    if (rank > 0 && H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr,
                                        count.data(), nullptr) < 0) {
      return host::AlreadyReported();
    }
    std::memset(buffer.data(), 0, buffer.size_bytes());
    H5ZARR_RETURN_IF_ERROR(Transfer(from, false, type.get(), mem_space.get(), file_space.get(),
                                    buffer.data()));
    Status written;
    const uint64_t elems = H5Sget_simple_extent_npoints(mem_space.get());
    if (translate) {
      written = TranslateReferences(type.get(), static_cast<std::byte*>(buffer.data()), elems,
                                    elem_bytes, translate);
    }
    if (written.ok()) written = Transfer(to, true, type.get(), mem_space.get(), file_space.get(),
                                    buffer.data());
    if (shadow::HoldsVlenOrReference(type.get())) {
      transfer::ReclaimElements(static_cast<std::byte*>(buffer.data()), elems, type.get());
    }
    H5ZARR_RETURN_IF_ERROR(written);
  }
  return OkStatus();
}

}  // namespace h5zarr
