// PlacedChunks: the chunks that an array of a snapshot has, and where they are. Within mirror/ only.
#ifndef H5ZARR_MIRROR_PLACED_CHUNKS_H_
#define H5ZARR_MIRROR_PLACED_CHUNKS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "icechunk/repository.h"
#include "icechunk/snapshot.h"
#include "transfer/slot_map.h"

namespace h5zarr::mirror {

// Where a chunk is. Packs have numbers, as long as one that is being made has no identifier.
struct Place {
  static constexpr uint32_t kUnknown = UINT32_MAX;  // of a pack: the chunk is nowhere
  uint32_t pack = kUnknown;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool operator==(const Place&) const = default;
};

struct PlacedChunks {
  transfer::ChunkIndexes indexes;  // ascending
  std::vector<Place> places;
  // At the end. REQUIRES: `index` has as many numbers as the array has dimensions.
  void Add(std::span<const uint32_t> index, const Place& place);
  // Puts them in order, whatever order they were added in.
  void Sort();
  bool operator==(const PlacedChunks&) const = default;
};

// The chunks of `array` that are in chunk objects. `number_of` gives objects their numbers. kCorrupt when a
// manifest is damaged.
Result<PlacedChunks> ReadPlaced(const icechunk::Repository& repository, const icechunk::Node& array,
                                const std::function<uint32_t(const icechunk::ObjectId&)>& number_of);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_PLACED_CHUNKS_H_
