#include "mirror/placed_chunks.h"

#include <algorithm>

namespace h5zarr::mirror {

Result<PlacedChunks> ReadPlaced(const icechunk::Repository& repository, const icechunk::Node& array,
                                const std::function<uint32_t(const icechunk::ObjectId&)>& number_of) {
  PlacedChunks placed;
  placed.indexes.rank = std::max<std::size_t>(array.dimensions.size(), 1);
  for (const icechunk::ManifestRef& ref : array.manifests) {
    H5ZARR_ASSIGN_OR_RETURN(const icechunk::Manifest manifest, repository.ReadManifest(ref.id));
    H5ZARR_RETURN_IF_ERROR(manifest.ForEach(
        array.id, [&](std::span<const uint32_t> index, const icechunk::ChunkPlace& place) -> Status {
          if (place.kind != icechunk::ChunkPlace::Kind::kObject) return OkStatus();
          if (index.size() != placed.indexes.rank) {
            return CorruptError("'" + icechunk::ManifestKey(ref.id) + "': a chunk of another rank");
          }
          placed.indexes.numbers.insert(placed.indexes.numbers.end(), index.begin(), index.end());
          placed.places.push_back({number_of(place.object), place.offset, place.length});
          return OkStatus();
        }));
  }
  return placed;
}

}  // namespace h5zarr::mirror
