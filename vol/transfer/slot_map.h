// slot_map: which chunk of `raw_data` each chunk of one version of a dataset is; and where it is found, in
// the mappings of a virtual dataset as they lie in the file, or as HDF5 tells them.
//
// Pure values but for MapByHdf5.
#ifndef H5ZARR_TRANSFER_SLOT_MAP_H_
#define H5ZARR_TRANSFER_SLOT_MAP_H_

#include <hdf5.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr::transfer {

// Indexes of chunks, each of `rank` numbers (none for the one chunk of a scalar), one after the other.
struct ChunkIndexes {
  std::size_t rank = 1;
  std::vector<uint32_t> numbers;

  std::span<const uint32_t> operator[](std::size_t i) const { return {numbers.data() + i * rank, rank}; }
  bool operator==(const ChunkIndexes&) const = default;
};

struct ChunkMap {
  ChunkIndexes indexes;         // ascending
  std::vector<uint64_t> slots;  // of each, its number along the first axis of raw_data
};

// What a dataset's mappings must agree with.
struct MappedDataset {
  std::string raw_name;
  std::vector<uint64_t> shape;  // of the version's dataset
  std::vector<uint64_t> chunk_shape;
  std::size_t index_rank = 0;  // that of `shape`, or more: further numbers are 0
};

// From the block in the file's heap. kUnsupported for one that HDF5 should look at: of a later format, with
// selections that are no single block, or damaged.
Result<ChunkMap> MapFromBytes(const MappedDataset& dataset, ByteSpan block);

// From a property list. kUnsupported, naming the mapping, for one that is not of one chunk to one; kCorrupt
// for two of the same chunk.
Result<ChunkMap> MapByHdf5(const MappedDataset& dataset, hid_t dcpl);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_SLOT_MAP_H_
