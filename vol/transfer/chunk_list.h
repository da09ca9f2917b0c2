// chunk_list: where the chunks of a native dataset are in its file, as HDF5 tells it. For datasets whose file
// is open for reading only.
#ifndef H5ZARR_TRANSFER_CHUNK_LIST_H_
#define H5ZARR_TRANSFER_CHUNK_LIST_H_

#include <hdf5.h>
// The VOL's developer interface.
#include <H5VLconnector.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "host/handle.h"

namespace h5zarr::transfer {

struct ChunkPlace {
  static constexpr uint64_t kMissing = UINT64_MAX;
  uint64_t offset = kMissing;
  uint64_t length = kMissing;
  bool missing() const { return offset == kMissing; }
};

struct ChunkList {
  std::vector<ChunkPlace> places;  // in C order of the grid
  uint64_t found = 0;
  std::vector<hsize_t> last;  // coordinates, in elements, of the chunk that was told last
  ChunkPlace last_place;
};

// The chunks, of shape `chunk`, of the native object `dataset`. kUnsupported where one lacks some of its
// filters or lies outside of `grid`, or where HDF5 does not tell, or tells other coordinates.
Result<ChunkList> ListChunks(void* dataset, std::span<const uint64_t> chunk, std::span<const uint64_t> grid);

// A chunked dataset's extent and its chunk's.
struct NativeGrid {
  std::vector<hsize_t> extent, max_extent, chunk;

  static Result<NativeGrid> Of(hid_t space, hid_t dcpl);
};

// Whether HDF5, up to 2.0 at least, tells other coordinates than those of the chunks, both when it lists them and when
// it is asked for the one at some coordinates: of an extensible array whose dimension without an end is not the first.
// What it reads and writes there, and the size of a chunk, it finds all the same.
bool TellsOtherCoords(H5D_chunk_index_t index, const NativeGrid& grid);

// Calls `op` as H5Dchunk_iter does, for every chunk of which `stored_bytes_at` says that it has any, but tells it
// neither addresses nor which filters a chunk lacks. kUnsupported, perhaps after some calls, where these are not
// `stored_chunks`, or there may be too many.
using StoredBytesAt = std::function<uint64_t(const hsize_t* coords)>;
Status IterateGrid(const NativeGrid& grid, uint64_t stored_chunks, const StoredBytesAt& stored_bytes_at,
                   H5D_chunk_iter_op_t op, void* opaque);

// Calls `op` as H5Dchunk_iter does, with the true coordinates: where HDF5 tells others, as IterateGrid.
Status IterateChunks(void* dataset, H5D_chunk_iter_op_t op, void* opaque);

// A chunk that is stored, beginning with the element `first`.
struct StoredChunk {
  std::vector<hsize_t> first;
  uint64_t length = 0;
  unsigned filter_mask = 0;  // of filters that it lacks, as IterateChunks tells it
};
// All of them, of a dataset of `rank` dimensions, in the order of IterateChunks, and with its failures.
Result<std::vector<StoredChunk>> ListStoredChunks(void* dataset, std::size_t rank);

// Where the elements of a contiguous dataset are, `length` bytes. kUnsupported where there are none yet.
Result<ChunkPlace> FindContiguous(void* dataset, uint64_t length);

// Whether HDF5 says the same of the chunk at `coords` when it is asked for that one.
bool IsChunkAt(void* dataset, std::span<const hsize_t> coords, const ChunkPlace& place);

// The stored bytes of the chunk at `coords`, as HDF5 reads them. kUnsupported where they are not `length`, or it lacks
// some of its filters.
Result<Buffer> ReadByHdf5(void* dataset, std::span<const hsize_t> coords, uint64_t length);

// Stores `bytes` as they are as the chunk at `coords`. On failure HDF5's error stack says it.
Status WriteByHdf5(void* dataset, std::span<const hsize_t> coords, ByteSpan bytes);

// An identifier of one of the dataset's properties: space, type or property list.
Result<Handle> AskDataset(void* dataset, H5VL_dataset_get_t what);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_CHUNK_LIST_H_
