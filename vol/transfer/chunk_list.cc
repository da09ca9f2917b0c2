#include "transfer/chunk_list.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "host/error_stack.h"
#include "host/fresh_context.h"
#include "host/host_api.h"
#include "host/native.h"

namespace h5zarr::transfer {
namespace {

bool Optional(void* dataset, int op, H5VL_native_dataset_optional_args_t* native) {
  H5VL_optional_args_t args;
  args.op_type = op;
  args.args = native;
  return H5VLdataset_optional(dataset, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) >= 0;
}

constexpr uint64_t kMostLookups = 1 << 24;

// 0 where no chunk is stored, which some versions of HDF5 call a failure.
uint64_t LookUp(void* dataset, const hsize_t* coords) {
  hsize_t bytes = 0;
  H5VL_native_dataset_optional_args_t native;
  native.get_chunk_storage_size = {coords, &bytes};
  return Optional(dataset, H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE, &native) ? bytes : 0;
}

// What IterateChunks has to go through by itself; nothing where HDF5 tells the chunks' coordinates.
std::optional<Result<NativeGrid>> GridToLookIn(void* dataset) {
  H5D_chunk_index_t index = H5D_CHUNK_IDX_BTREE;
  H5VL_native_dataset_optional_args_t native;
  native.get_chunk_idx_type.idx_type = &index;
  if (!Optional(dataset, H5VL_NATIVE_DATASET_GET_CHUNK_INDEX_TYPE, &native) || index != H5D_CHUNK_IDX_EARRAY) {
    return std::nullopt;
  }
  const Result<Handle> space = AskDataset(dataset, H5VL_DATASET_GET_SPACE);
  const Result<Handle> dcpl = AskDataset(dataset, H5VL_DATASET_GET_DCPL);
  if (!space.ok()) return space.status();
  if (!dcpl.ok()) return dcpl.status();
  Result<NativeGrid> grid = NativeGrid::Of(space->get(), dcpl->get());
  if (grid.ok() && !TellsOtherCoords(index, *grid)) return std::nullopt;
  return grid;
}

struct Lister {
  std::span<const uint64_t> chunk, grid;
  ChunkList list;
  bool plain = true;  // no chunk is anything but what is expected

  // The number of the chunk at `coords`; nothing where no chunk can be.
  std::optional<uint64_t> NumberOf(const hsize_t* coords) const {
    uint64_t number = 0;
    for (std::size_t d = 0; d < chunk.size(); ++d) {
      const uint64_t coord = coords[d] / chunk[d];
      if (coords[d] % chunk[d] != 0 || coord >= grid[d]) return std::nullopt;
      number = number * grid[d] + coord;
    }
    return number;
  }

  static int Add(const hsize_t* coords, unsigned filter_mask, haddr_t address, hsize_t bytes, void* opaque) {
    auto* self = static_cast<Lister*>(opaque);
    const std::optional<uint64_t> number = self->NumberOf(coords);
    if (!number || filter_mask != 0 || address == HADDR_UNDEF || !self->list.places[*number].missing()) {
      self->plain = false;
      return H5_ITER_STOP;
    }
    self->list.last_place = {address, bytes};
    self->list.places[*number] = self->list.last_place;
    std::copy_n(coords, self->chunk.size(), self->list.last.begin());
    ++self->list.found;
    return H5_ITER_CONT;
  }
};

}  // namespace

Result<ChunkList> ListChunks(void* dataset, std::span<const uint64_t> chunk, std::span<const uint64_t> grid) {
  const auto chunks = CheckedProduct(grid);
  if (!chunks) return UnsupportedError("too many chunks");
  if (GridToLookIn(dataset)) return UnsupportedError("chunks that HDF5 lists as others");
  Lister lister;
  lister.chunk = chunk;
  lister.grid = grid;
  lister.list.places.resize(*chunks);
  lister.list.last.resize(chunk.size());
  H5VL_native_dataset_optional_args_t native;
  native.chunk_iter = {Lister::Add, &lister};
  if (!Optional(dataset, H5VL_NATIVE_DATASET_CHUNK_ITER, &native) || !lister.plain) {
    return UnsupportedError("chunks that are not all alike");
  }
  return std::move(lister.list);
}

Result<NativeGrid> NativeGrid::Of(hid_t space, hid_t dcpl) {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 1) return UnsupportedError("no extent");
  NativeGrid grid;
  for (auto* const dims : {&grid.extent, &grid.max_extent, &grid.chunk}) {
    dims->resize(static_cast<std::size_t>(rank));
  }
  if (H5Sget_simple_extent_dims(space, grid.extent.data(), grid.max_extent.data()) != rank ||
      H5Pget_chunk(dcpl, rank, grid.chunk.data()) != rank) {
    return UnsupportedError("the extent of a chunked dataset");
  }
  return grid;
}

bool TellsOtherCoords(H5D_chunk_index_t index, const NativeGrid& grid) {
  return index == H5D_CHUNK_IDX_EARRAY && grid.max_extent[0] != H5S_UNLIMITED;
}

Status IterateGrid(const NativeGrid& grid, uint64_t stored_chunks, const StoredBytesAt& stored_bytes_at,
                   H5D_chunk_iter_op_t op, void* opaque) {
  uint64_t chunks = 1;
  for (std::size_t d = 0; d < grid.extent.size(); ++d) {
    const auto product = CheckedMul(chunks, CeilDiv(grid.extent[d], grid.chunk[d]));
    if (!product || *product > kMostLookups) return UnsupportedError("too many chunks");
    chunks = *product;
  }
  std::vector<hsize_t> coords(grid.extent.size(), 0);
  for (; chunks > 0; --chunks) {
    if (const uint64_t bytes = stored_bytes_at(coords.data()); bytes > 0) {
      if (stored_chunks == 0) return UnsupportedError("more chunks than HDF5 counts");
      --stored_chunks;
      if (op(coords.data(), 0, HADDR_UNDEF, bytes, opaque) != H5_ITER_CONT) return OkStatus();
    }
    for (std::size_t d = coords.size(); d-- > 0;) {
      coords[d] += grid.chunk[d];
      if (coords[d] < grid.extent[d]) break;
      coords[d] = 0;
    }
  }
  return stored_chunks == 0 ? OkStatus() : UnsupportedError("fewer chunks than HDF5 counts");
}

Status IterateChunks(void* dataset, H5D_chunk_iter_op_t op, void* opaque) {
  H5VL_native_dataset_optional_args_t native;
  if (const std::optional<Result<NativeGrid>> grid = GridToLookIn(dataset)) {
    H5ZARR_RETURN_IF_ERROR(grid->status());
    const host::KeepErrors keep;
    const host::QuietErrors quiet;
    hsize_t stored_chunks = 0;
    native.get_num_chunks = {H5S_ALL, &stored_chunks};
    if (!Optional(dataset, H5VL_NATIVE_DATASET_GET_NUM_CHUNKS, &native)) {
      return UnsupportedError("HDF5 does not count the chunks");
    }
    return IterateGrid(
        **grid, stored_chunks, [&](const hsize_t* coords) { return LookUp(dataset, coords); }, op, opaque);
  }
  native.chunk_iter = {op, opaque};
  return Optional(dataset, H5VL_NATIVE_DATASET_CHUNK_ITER, &native) ? OkStatus()
                                                                    : UnsupportedError("HDF5 does not list the chunks");
}

Result<std::vector<StoredChunk>> ListStoredChunks(void* dataset, std::size_t rank) {
  struct List {
    std::size_t rank;
    std::vector<StoredChunk> chunks;
    bool complete = true;
  } list{rank, {}};
  const auto add = [](const hsize_t* coords, unsigned filter_mask, haddr_t, hsize_t bytes, void* opaque) -> int {
    auto* self = static_cast<List*>(opaque);
    try {
      self->chunks.push_back({{coords, coords + self->rank}, bytes, filter_mask});
    } catch (const std::bad_alloc&) {
      self->complete = false;
      return H5_ITER_STOP;
    }
    return H5_ITER_CONT;
  };
  H5ZARR_RETURN_IF_ERROR(IterateChunks(dataset, add, &list));
  if (!list.complete) return UnsupportedError("no memory for the list of chunks");
  return std::move(list.chunks);
}

Result<ChunkPlace> FindContiguous(void* dataset, uint64_t length) {
  // (HDF5 tells an address of what is not allocated, too.)
  H5D_space_status_t allocated = H5D_SPACE_STATUS_ERROR;
  H5VL_dataset_get_args_t args;
  args.op_type = H5VL_DATASET_GET_SPACE_STATUS;
  args.args.get_space_status.status = &allocated;
  haddr_t offset = HADDR_UNDEF;
  H5VL_native_dataset_optional_args_t native;
  native.get_offset.offset = &offset;
  if (H5VLdataset_get(dataset, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0 ||
      allocated != H5D_SPACE_STATUS_ALLOCATED || !Optional(dataset, H5VL_NATIVE_DATASET_GET_OFFSET, &native) ||
      offset == HADDR_UNDEF) {
    return UnsupportedError("no elements are stored");
  }
  return ChunkPlace{offset, length};
}

bool IsChunkAt(void* dataset, std::span<const hsize_t> coords, const ChunkPlace& place) {
  unsigned filter_mask = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  H5VL_native_dataset_optional_args_t native;
  native.get_chunk_info_by_coord = {coords.data(), &filter_mask, &address, &bytes};
  return Optional(dataset, H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD, &native) && filter_mask == 0 &&
         address == place.offset && bytes == place.length;
}

Result<Buffer> ReadByHdf5(void* dataset, std::span<const hsize_t> coords, uint64_t length) {
  // (Earlier versions of HDF5 write as much as there is.)
  if (LookUp(dataset, coords.data()) != length) return UnsupportedError("a chunk of another size");
  H5ZARR_ASSIGN_OR_RETURN(Buffer bytes, Buffer::Allocate(length));
  // HDF5 2.2 asks for the buffer's size as well, behind what earlier ones ask for.
  struct ChunkRead {
    const hsize_t* coords;
    uint32_t filters;
    void* buffer;
    std::size_t* buffer_bytes;
  };
  std::size_t buffer_bytes = length;
  ChunkRead read = {coords.data(), 0, bytes.data(), &buffer_bytes};
  H5VL_native_dataset_optional_args_t native;
  static_assert(sizeof read <= sizeof native);
  std::memset(&native, 0, sizeof native);
  std::memcpy(&native, &read, sizeof read);
  if (!Optional(dataset, H5VL_NATIVE_DATASET_CHUNK_READ, &native)) {
    return UnsupportedError("HDF5 does not read a chunk as it is");
  }
  std::memcpy(&read, &native, sizeof read);
  if (read.filters != 0) return UnsupportedError("a chunk lacks some of its filters");
  return bytes;
}

Status WriteByHdf5(void* dataset, std::span<const hsize_t> coords, ByteSpan bytes) {
  H5VL_native_dataset_optional_args_t native;
  std::memset(&native, 0, sizeof native);
  if (host::HostVersion().major >= 2) {
    // Since it has chunks of 4 GiB and more.
    struct ChunkWrite {
      const hsize_t* coords;
      uint32_t filters;
      std::size_t bytes;
      const void* buffer;
    };
    const ChunkWrite write = {coords.data(), 0, bytes.size(), bytes.data()};
    static_assert(sizeof write <= sizeof native);
    std::memcpy(&native, &write, sizeof write);
  } else {
    if (bytes.size() > UINT32_MAX) return UnsupportedError("a chunk of 4 GiB and more");
    native.chunk_write = {coords.data(), 0, static_cast<uint32_t>(bytes.size()), bytes.data()};
  }
  return Optional(dataset, H5VL_NATIVE_DATASET_CHUNK_WRITE, &native) ? OkStatus() : host::AlreadyReported();
}

Result<Handle> AskDataset(void* dataset, H5VL_dataset_get_t what) {
  H5VL_dataset_get_args_t args;
  args.op_type = what;
  std::optional<host::FreshContext> context;
  if (what == H5VL_DATASET_GET_DCPL) context.emplace();  // HDF5 converts the fill value
  if (H5VLdataset_get(dataset, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return UnsupportedError("HDF5 does not tell of a dataset");
  }
  if (what == H5VL_DATASET_GET_SPACE) return Handle(args.args.get_space.space_id);
  if (what == H5VL_DATASET_GET_TYPE) return Handle(args.args.get_type.type_id);
  if (what == H5VL_DATASET_GET_DAPL) return Handle(args.args.get_dapl.dapl_id);
  return Handle(args.args.get_dcpl.dcpl_id);
}

}  // namespace h5zarr::transfer
