#include "h5/dataset_chunks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "h5/connector.h"
#include "h5/dataset_transfer.h"
#include "h5/reported_pipeline.h"
#include "host/host_api.h"
#include "shadow/hdf5_attribute.h"

namespace h5zarr {
namespace {

using zarr::Array;
using zarr::ChunkInfo;

// A stored chunk lies in no file of HDF5's, but an undefined address would say that it is not stored.
constexpr haddr_t kStoredAddress = 0;

Result<Array*> ArrayOf(Object* object) { return object->store->OpenElements(object->node); }

// The dataset's rank in HDF5; the array has elem_dims more.
std::size_t RankOf(const Object* object, const Array& array) {
  return array.shape().size() - object->node->dataset.element.elem_dims.size();
}

Result<const std::vector<ChunkInfo>*> ListChunks(Object* object) {
  shadow::DatasetState& dataset = object->node->dataset;
  H5ZARR_ASSIGN_OR_RETURN(Array* const array, ArrayOf(object));
  if (array->dirty()) {
    H5ZARR_RETURN_IF_ERROR(array->Flush());
    dataset.chunk_list.reset();
  }
  if (!dataset.chunk_list) {
    H5ZARR_ASSIGN_OR_RETURN(dataset.chunk_list, array->ListStoredChunks());
  }
  return &*dataset.chunk_list;
}

Status RequireChunked(const Object* object) {
  if (object->node->dataset.layout == H5D_CHUNKED) return OkStatus();
  return InvalidArgumentError("not a chunked dataset");
}

// Grid coordinates of the stored chunk at an element offset that HDF5 gave.
Result<std::vector<uint64_t>> CoordsAt(const Object* object, const Array& array, const hsize_t* offset) {
  std::vector<uint64_t> coords(array.shape().size(), 0);
  for (std::size_t i = 0; i < RankOf(object, array); ++i) {
    const uint64_t extent = array.unit_shape()[i];
    if (offset[i] >= std::max<uint64_t>(array.shape()[i], 1)) {
      return OutOfRangeError("chunk offset " + std::to_string(offset[i]) + " of dimension " + std::to_string(i) +
                             " is beyond the extent " + std::to_string(array.shape()[i]));
    }
    if (offset[i] % extent != 0) {
      return InvalidArgumentError("offset " + std::to_string(offset[i]) + " of dimension " + std::to_string(i) +
                                  " is not the beginning of a chunk of " + std::to_string(extent));
    }
    coords[i] = offset[i] / extent;
  }
  return coords;
}

void OffsetOf(const Object* object, const Array& array, const ChunkInfo& chunk, hsize_t* offset) {
  for (std::size_t i = 0; i < RankOf(object, array); ++i) {
    offset[i] = chunk.coords[i] * array.unit_shape()[i];
  }
}

// Whether a chunk holds selected elements. H5S_ALL selects everything.
Result<bool> Intersects(const Object* object, const Array& array, hid_t space, const ChunkInfo& chunk) {
  if (space == H5S_ALL || H5Sget_select_type(space) == H5S_SEL_ALL) return true;
  const std::size_t rank = RankOf(object, array);
  std::vector<hsize_t> first(rank), last(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    first[i] = chunk.coords[i] * array.unit_shape()[i];
    last[i] = std::min<uint64_t>(first[i] + array.unit_shape()[i], array.shape()[i]) - 1;
  }
  const htri_t answer = H5Sselect_intersect_block(space, first.data(), last.data());
  if (answer < 0) return host::AlreadyReported();
  return answer > 0;
}

Status CountChunks(Object* object, H5VL_native_dataset_get_num_chunks_t* args) {
  H5ZARR_RETURN_IF_ERROR(RequireChunked(object));
  H5ZARR_ASSIGN_OR_RETURN(Array* const array, ArrayOf(object));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ChunkInfo>* chunks, ListChunks(object));
  hsize_t count = 0;
  for (const ChunkInfo& chunk : *chunks) {
    H5ZARR_ASSIGN_OR_RETURN(const bool selected, Intersects(object, *array, args->space_id, chunk));
    if (selected) ++count;
  }
  *args->nchunks = count;
  return OkStatus();
}

Status InfoByIndex(Object* object, H5VL_native_dataset_get_chunk_info_by_idx_t* args) {
  H5ZARR_RETURN_IF_ERROR(RequireChunked(object));
  H5ZARR_ASSIGN_OR_RETURN(Array* const array, ArrayOf(object));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ChunkInfo>* chunks, ListChunks(object));
  hsize_t index = 0;
  for (const ChunkInfo& chunk : *chunks) {
    H5ZARR_ASSIGN_OR_RETURN(const bool selected, Intersects(object, *array, args->space_id, chunk));
    if (!selected || index++ != args->chk_index) continue;
    if (args->offset != nullptr) OffsetOf(object, *array, chunk, args->offset);
    if (args->filter_mask != nullptr) *args->filter_mask = 0;
    if (args->addr != nullptr) *args->addr = kStoredAddress;
    if (args->size != nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(*args->size, ReportedChunkBytes(object, *array, chunk));
    }
    return OkStatus();
  }
  return OutOfRangeError("chunk index " + std::to_string(args->chk_index) + " is out of range: there are " +
                         std::to_string(index) + " chunks");
}

Status InfoByOffset(Object* object, H5VL_native_dataset_get_chunk_info_by_coord_t* args) {
  H5ZARR_RETURN_IF_ERROR(RequireChunked(object));
  H5ZARR_ASSIGN_OR_RETURN(Array* const array, ArrayOf(object));
  if (args->filter_mask != nullptr) *args->filter_mask = 0;
  if (args->addr != nullptr) *args->addr = HADDR_UNDEF;
  if (args->size != nullptr) *args->size = 0;
  ChunkInfo chunk;
  H5ZARR_ASSIGN_OR_RETURN(chunk.coords, CoordsAt(object, *array, args->offset));
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<uint64_t> bytes, array->StoredChunkBytes(chunk.coords));
  if (!bytes) return OkStatus();
  chunk.stored_bytes = *bytes;
  if (args->addr != nullptr) *args->addr = kStoredAddress;
  if (args->size != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(*args->size, ReportedChunkBytes(object, *array, chunk));
  }
  return OkStatus();
}

// HDF5 has no chunk to give, either; nothing is missing that a program could look for.
Status NotStored(const hsize_t* offset) {
  return OutOfRangeError("no chunk is stored at offset " + std::to_string(offset[0]));
}

Status ChunkStorageBytes(Object* object, H5VL_native_dataset_get_chunk_storage_size_t* args) {
  H5ZARR_ASSIGN_OR_RETURN(const Array* const array, ArrayOf(object));
  // Any offset within the chunk names it here.
  std::vector<hsize_t> offset(args->offset, args->offset + RankOf(object, *array));
  for (std::size_t i = 0; i < offset.size(); ++i) offset[i] -= offset[i] % array->unit_shape()[i];
  haddr_t address = HADDR_UNDEF;
  H5VL_native_dataset_get_chunk_info_by_coord_t info = {offset.data(), nullptr, &address, args->size};
  H5ZARR_RETURN_IF_ERROR(InfoByOffset(object, &info));
  if (address != HADDR_UNDEF) return OkStatus();
  // As HDF5 has it: without filters, and as soon as there is any chunk, each has its full size.
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<uint64_t> plain, PlainChunkBytes(object, *array));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ChunkInfo>* chunks, ListChunks(object));
  if (!plain || chunks->empty()) return NotStored(args->offset);
  *args->size = *plain;
  return OkStatus();
}

Result<herr_t> IterateChunks(Object* object, H5D_chunk_iter_op_t op, void* op_data) {
  H5ZARR_RETURN_IF_ERROR(RequireChunked(object));
  H5ZARR_ASSIGN_OR_RETURN(Array* const array, ArrayOf(object));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ChunkInfo>* listed, ListChunks(object));
  const std::vector<ChunkInfo> chunks = *listed;  // the operator may write
  std::vector<hsize_t> offset(std::max<std::size_t>(RankOf(object, *array), 1));
  for (const ChunkInfo& chunk : chunks) {
    OffsetOf(object, *array, chunk, offset.data());
    H5ZARR_ASSIGN_OR_RETURN(const hsize_t bytes, ReportedChunkBytes(object, *array, chunk));
    const int answer = op(offset.data(), 0, kStoredAddress, bytes, op_data);
    if (answer < 0) return -1;
    if (answer > 0) break;
  }
  return 0;
}

// HDF5 2 gave chunks of 4 GiB and more their sizes: what its callers pass differs from 1.14's.
struct ChunkReadOfHdf5Version2 {
  const hsize_t* offset;
  uint32_t filters;
  void* buf;
  size_t* buf_size;  // in: of buf; out: of the chunk; may be null
};
struct ChunkWriteOfHdf5Version2 {
  const hsize_t* offset;
  uint32_t filters;
  size_t size;
  const void* buf;
};

Status ReadChunk(Object* object, H5VL_native_dataset_chunk_read_t* args) {
  H5ZARR_RETURN_IF_ERROR(RequireChunked(object));
  H5ZARR_ASSIGN_OR_RETURN(Array* const array, ArrayOf(object));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> coords, CoordsAt(object, *array, args->offset));
  H5ZARR_ASSIGN_OR_RETURN(std::optional<Buffer> stored, array->ReadStoredChunk(coords));
  if (!stored) return NotStored(args->offset);
  H5ZARR_ASSIGN_OR_RETURN(const Buffer reported, ToReported(object, *array, std::move(*stored)));
  args->filters = 0;
  if (host::HostVersion().major >= 2) {
    size_t* const buffer_bytes = reinterpret_cast<ChunkReadOfHdf5Version2*>(args)->buf_size;
    if (buffer_bytes != nullptr) {
      const size_t given = *buffer_bytes;
      *buffer_bytes = reported.size_bytes();
      if (args->buf == nullptr) return OkStatus();
      if (given < reported.size_bytes()) {
        return InvalidArgumentError("the chunk has " + std::to_string(reported.size_bytes()) + " bytes, the buffer " +
                                    std::to_string(given));
      }
    }
  }
  std::memcpy(args->buf, reported.data(), reported.size_bytes());
  return OkStatus();
}

Status WriteChunk(Object* object, const ChunkWriteOfHdf5Version2* args) {
  H5ZARR_RETURN_IF_ERROR(RequireWritable(object));
  H5ZARR_RETURN_IF_ERROR(RequireChunked(object));
  H5ZARR_ASSIGN_OR_RETURN(Array* const array, ArrayOf(object));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> coords, CoordsAt(object, *array, args->offset));
  const ByteSpan given(static_cast<const std::byte*>(args->buf), args->size);
  H5ZARR_ASSIGN_OR_RETURN(const Buffer stored, FromReported(object, *array, given, args->filters));
  object->store->NoteWritten(object->node);
  return array->WriteStoredChunk(coords, stored);
}

// Whether HDF5 would have space for the dataset, from the beginning or because it was written; a store has no
// chunk of nothing but fill.
bool HasSpaceWithoutChunks(const Object* object, const Array& array) {
  const shadow::DatasetState& dataset = object->node->dataset;
  return dataset.alloc_time == H5D_ALLOC_TIME_EARLY || dataset.layout == H5D_COMPACT || array.omitted_fill() ||
         shadow::WrittenAsFill(object->node->node.attributes());
}

}  // namespace

Result<std::optional<herr_t>> AnswerChunkOperation(Object* object, H5VL_optional_args_t* args) {
  auto* native = static_cast<H5VL_native_dataset_optional_args_t*>(args->args);
  std::optional<herr_t> answer = 0;
  switch (args->op_type) {
    case H5VL_NATIVE_DATASET_GET_NUM_CHUNKS:
      H5ZARR_RETURN_IF_ERROR(CountChunks(object, &native->get_num_chunks));
      return answer;
    case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_IDX:
      H5ZARR_RETURN_IF_ERROR(InfoByIndex(object, &native->get_chunk_info_by_idx));
      return answer;
    case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD:
      H5ZARR_RETURN_IF_ERROR(InfoByOffset(object, &native->get_chunk_info_by_coord));
      return answer;
    case H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE:
      H5ZARR_RETURN_IF_ERROR(ChunkStorageBytes(object, &native->get_chunk_storage_size));
      return answer;
    case H5VL_NATIVE_DATASET_CHUNK_ITER: {
      H5ZARR_ASSIGN_OR_RETURN(answer, IterateChunks(object, native->chunk_iter.op, native->chunk_iter.op_data));
      return answer;
    }
    case H5VL_NATIVE_DATASET_CHUNK_READ: H5ZARR_RETURN_IF_ERROR(ReadChunk(object, &native->chunk_read)); return answer;
    case H5VL_NATIVE_DATASET_CHUNK_WRITE: {
      const H5VL_native_dataset_chunk_write_t& old = native->chunk_write;
      ChunkWriteOfHdf5Version2 write{old.offset, old.filters, old.size, old.buf};
      if (host::HostVersion().major >= 2) std::memcpy(&write, args->args, sizeof write);
      H5ZARR_RETURN_IF_ERROR(WriteChunk(object, &write));
      return answer;
    }
    case H5VL_NATIVE_DATASET_GET_OFFSET: *native->get_offset.offset = HADDR_UNDEF; return answer;
    case H5VL_NATIVE_DATASET_GET_VLEN_BUF_SIZE: {
      H5ZARR_ASSIGN_OR_RETURN(*native->get_vlen_buf_size.size,
                              VlenBytes(object, native->get_vlen_buf_size.type_id, native->get_vlen_buf_size.space_id));
      return answer;
    }
    default: return std::optional<herr_t>();
  }
}

Result<hsize_t> StorageBytes(Object* object) {
  H5ZARR_ASSIGN_OR_RETURN(Array* const array, ArrayOf(object));
  if (array->dirty()) H5ZARR_RETURN_IF_ERROR(array->Flush());
  H5ZARR_ASSIGN_OR_RETURN(const hsize_t stored_bytes, array->StoredBytes());
  const shadow::DatasetState& dataset = object->node->dataset;
  if (stored_bytes > 0 && dataset.alloc_time != H5D_ALLOC_TIME_EARLY && dataset.layout != H5D_COMPACT) {
    return stored_bytes;
  }
  if (!HasSpaceWithoutChunks(object, *array)) return stored_bytes;
  const auto elems = CheckedProduct(array->shape());
  const auto all_bytes = elems ? CheckedMul(*elems, dataset.element.dtype.item_bytes) : std::optional<uint64_t>();
  return std::max<hsize_t>(stored_bytes, all_bytes.value_or(0));
}

Result<H5D_space_status_t> SpaceStatus(Object* object) {
  const shadow::DatasetState& dataset = object->node->dataset;
  if (dataset.alloc_time == H5D_ALLOC_TIME_EARLY || dataset.layout == H5D_COMPACT) {
    return H5D_SPACE_STATUS_ALLOCATED;
  }
  H5ZARR_ASSIGN_OR_RETURN(Array* const array, ArrayOf(object));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ChunkInfo>* chunks, ListChunks(object));
  if (chunks->empty()) {
    return HasSpaceWithoutChunks(object, *array) ? H5D_SPACE_STATUS_ALLOCATED : H5D_SPACE_STATUS_NOT_ALLOCATED;
  }
  if (dataset.layout != H5D_CHUNKED) return H5D_SPACE_STATUS_ALLOCATED;
  uint64_t grid = 1;
  for (std::size_t i = 0; i < array->shape().size(); ++i) {
    grid = CheckedMul(grid, CeilDiv(array->shape()[i], array->unit_shape()[i])).value_or(UINT64_MAX);
  }
  return chunks->size() >= grid ? H5D_SPACE_STATUS_ALLOCATED : H5D_SPACE_STATUS_PART_ALLOCATED;
}

}  // namespace h5zarr
