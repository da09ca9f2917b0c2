#include "mirror/placed_chunks.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace h5zarr::mirror {

void PlacedChunks::Add(std::span<const uint32_t> index, const Place& place) {
  indexes.rank = index.size();
  indexes.numbers.insert(indexes.numbers.end(), index.begin(), index.end());
  places.push_back(place);
}

void PlacedChunks::Sort() {
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [this](std::size_t a, std::size_t b) {
    return std::ranges::lexicographical_compare(indexes[a], indexes[b]);
  });
  PlacedChunks sorted;
  sorted.indexes.numbers.reserve(indexes.numbers.size());
  sorted.places.reserve(places.size());
  for (const std::size_t i : order) sorted.Add(indexes[i], places[i]);
  *this = std::move(sorted);
}

Result<PlacedChunks> ReadPlaced(const icechunk::Repository& repository, const icechunk::Node& array,
                                const std::function<uint32_t(const icechunk::ObjectId&)>& number_of) {
  PlacedChunks placed;
  for (const icechunk::ManifestRef& ref : array.manifests) {
    H5ZARR_ASSIGN_OR_RETURN(const icechunk::Manifest manifest, repository.ReadManifest(ref.id));
    H5ZARR_RETURN_IF_ERROR(
        manifest.ForEach(array.id, [&](std::span<const uint32_t> index, const icechunk::ChunkPlace& place) -> Status {
          if (place.kind != icechunk::ChunkPlace::Kind::kObject) return OkStatus();
          if (index.size() != array.dimensions.size()) {
            return CorruptError("'" + icechunk::ManifestKey(ref.id) + "': a chunk of another rank");
          }
          placed.Add(index, {number_of(place.object), place.offset, place.length});
          return OkStatus();
        }));
  }
  return placed;
}

}  // namespace h5zarr::mirror
