#include "mirror/manifests.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checked.h"

namespace h5zarr::mirror {
namespace {

using icechunk::ManifestRef;
using icechunk::Node;

// Chunks in a manifest, about: one that has changed is written anew as a whole.
constexpr uint64_t kManifestChunks = 32 << 10;

// Chunks along each axis of an array.
Result<std::vector<uint32_t>> GridOf(const Node& node) {
  std::vector<uint32_t> grid;
  for (const icechunk::Dimension& dimension : node.dimensions) {
    const uint64_t chunks = CeilDiv(dimension.array_elems, dimension.chunk_elems);
    if (chunks > UINT32_MAX) return UnsupportedError("more than 2^32 chunks along one axis");
    grid.push_back(static_cast<uint32_t>(chunks));
  }
  return grid;
}

// Rows of chunks along the first axis that one manifest has: the same in every version of about the same shape.
uint64_t BandRows(const std::vector<uint32_t>& grid) {
  uint64_t row_chunks = 1;
  for (std::size_t i = 1; i < grid.size(); ++i) {
    row_chunks = CheckedMul(row_chunks, std::max<uint64_t>(grid[i], 1)).value_or(UINT64_MAX);
  }
  return std::max<uint64_t>(1, kManifestChunks / row_chunks);
}

// The chunks [first, last) as a manifest is given them.
std::vector<icechunk::NewChunk> ChunksOf(const PlacedChunks& placed, std::size_t first, std::size_t last,
                                         const PackWriter& packs) {
  std::vector<icechunk::NewChunk> chunks;
  chunks.reserve(last - first);
  for (std::size_t i = first; i < last; ++i) {
    const auto index = placed.indexes[i];
    const Place& place = placed.places[i];
    chunks.push_back({{index.begin(), index.end()}, packs.IdOf(place), place.offset, place.length});
  }
  return chunks;
}

}  // namespace

Status WriteManifests(const PlacedChunks& placed, const PackWriter& packs, icechunk::Repository* repository, Node* node,
                      std::map<icechunk::ObjectId, icechunk::ManifestInfo>* manifests, icechunk::Written* written) {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint32_t> grid, GridOf(*node));
  const uint64_t band_rows = BandRows(grid);
  // (A scalar's one chunk has no row.)
  const auto row_of = [&](std::size_t i) -> uint64_t { return grid.empty() ? 0 : placed.indexes[i][0]; };
  for (std::size_t next = 0; next < placed.places.size();) {
    const std::size_t first = next;
    const uint64_t first_row = row_of(first) / band_rows * band_rows;
    const uint64_t last_row = std::min<uint64_t>(first_row + band_rows, grid.empty() ? 1 : grid[0]);
    while (next < placed.places.size() && row_of(next) < last_row) ++next;
    if (next == first) return CorruptError("a chunk beyond its extent");
    H5ZARR_ASSIGN_OR_RETURN(const auto encoded,
                            icechunk::EncodeManifest(node->id, ChunksOf(placed, first, next, packs)));
    H5ZARR_ASSIGN_OR_RETURN(const auto info, repository->WriteManifest(encoded, next - first, written));
    manifests->emplace(info.id, info);
    ManifestRef ref{info.id, {}};
    for (const uint32_t extent : grid) ref.extents.push_back({0, extent});
    if (!grid.empty()) {
      ref.extents[0] = {static_cast<uint32_t>(first_row), static_cast<uint32_t>(last_row)};
    }
    node->manifests.push_back(std::move(ref));
  }
  return OkStatus();
}

}  // namespace h5zarr::mirror
