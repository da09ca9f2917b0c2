#include "mirror/manifests.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/checked.h"
#include "mirror/version_tree.h"

namespace h5zarr::mirror {
namespace {

using icechunk::ManifestRef;
using icechunk::Node;
using icechunk::Snapshot;
using icechunk::Transaction;

// Chunks in a manifest, about: one that has changed is written anew as a whole.
constexpr uint64_t kManifestChunks = 32 << 10;

// How many chunks there may be along each axis.
Result<std::vector<uint64_t>> GridOf(const zarr::ArrayMetadata& metadata) {
  std::vector<uint64_t> grid;
  for (std::size_t i = 0; i < metadata.rank(); ++i) {
    grid.push_back(CeilDiv(metadata.shape[i], metadata.chunk_shape[i]));
    if (grid.back() > UINT32_MAX) return UnsupportedError("more than 2^32 chunks along one axis");
  }
  return grid;
}

// Rows of chunks that go into one manifest.
uint64_t BandRows(const std::vector<uint64_t>& grid) {
  uint64_t row_chunks = 1;
  for (std::size_t i = 1; i < grid.size(); ++i) {
    row_chunks = CheckedMul(row_chunks, std::max<uint64_t>(grid[i], 1)).value_or(UINT64_MAX);
  }
  return std::max<uint64_t>(1, kManifestChunks / row_chunks);
}

std::set<std::vector<uint32_t>> Differences(const Placed& old, const Placed& now) {
  std::set<std::vector<uint32_t>> changed;
  for (const auto& [index, place] : now) {
    const auto was = old.find(index);
    if (was == old.end() || was->second != place) changed.insert(index);
  }
  for (const auto& [index, place] : old) {
    if (!now.contains(index)) changed.insert(index);
  }
  return changed;
}

// What `now` is in place of `before`, which may be null.
Status NoteNode(const icechunk::Repository& repository, const Node* before, const Node& now,
                PackWriter* packs, Transaction* changes) {
  if (before == nullptr) {
    (now.is_array ? changes->new_arrays : changes->new_groups).insert(now.id);
  } else if (before->document != now.document) {
    (now.is_array ? changes->updated_arrays : changes->updated_groups).insert(now.id);
  }
  if (!now.is_array || (before != nullptr && SameManifests(*before, now))) return OkStatus();
  Placed old;
  if (before != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(old, ReadPlaced(repository, *before, packs));
  }
  H5ZARR_ASSIGN_OR_RETURN(const Placed placed, ReadPlaced(repository, now, packs));
  std::set<std::vector<uint32_t>> changed = Differences(old, placed);
  if (!changed.empty()) changes->updated_chunks.emplace(now.id, std::move(changed));
  return OkStatus();
}

}  // namespace

Result<Placed> ReadPlaced(const icechunk::Repository& repository, const Node& array,
                          PackWriter* packs) {
  Placed placed;
  for (const ManifestRef& ref : array.manifests) {
    H5ZARR_ASSIGN_OR_RETURN(const icechunk::Manifest manifest, repository.ReadManifest(ref.id));
    H5ZARR_RETURN_IF_ERROR(manifest.ForEach(
        array.id, [&](std::span<const uint32_t> index, const icechunk::ChunkPlace& place) {
          if (place.kind == icechunk::ChunkPlace::Kind::kObject) {
            placed.emplace(std::vector<uint32_t>(index.begin(), index.end()),
                           Place{packs->NumberOf(place.object), place.offset, place.length});
          }
          return OkStatus();
        }));
  }
  return placed;
}

Status WriteManifests(const zarr::ArrayMetadata& metadata, const Placed& placed, const PackWriter& packs,
                      icechunk::Repository* repository, Node* node,
                      std::map<icechunk::ObjectId, icechunk::ManifestInfo>* manifests,
                      icechunk::Written* written) {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> grid, GridOf(metadata));
  const uint64_t band_rows = BandRows(grid);
  auto next = placed.begin();
  while (next != placed.end()) {
    // (A scalar's one chunk has no row.)
    const uint64_t first_row = grid.empty() ? 0 : next->first[0] / band_rows * band_rows;
    const uint64_t last_row = grid.empty() ? 1 : std::min<uint64_t>(first_row + band_rows, grid[0]);
    std::vector<icechunk::NewChunk> chunks;
    for (; next != placed.end() && (grid.empty() || next->first[0] < last_row); ++next) {
      const Place& place = next->second;
      chunks.push_back({next->first, packs.IdOf(place), place.offset, place.length});
    }
    if (chunks.empty()) return CorruptError("a chunk outside of the array");
    H5ZARR_ASSIGN_OR_RETURN(const auto encoded, icechunk::EncodeManifest(node->id, chunks));
    H5ZARR_ASSIGN_OR_RETURN(const auto info,
                            repository->WriteManifest(encoded, chunks.size(), written));
    manifests->emplace(info.id, info);
    ManifestRef ref{info.id, {}};
    for (const uint64_t extent : grid) ref.extents.push_back({0, static_cast<uint32_t>(extent)});
    if (!grid.empty()) {
      ref.extents[0] = {static_cast<uint32_t>(first_row), static_cast<uint32_t>(last_row)};
    }
    node->manifests.push_back(std::move(ref));
  }
  return OkStatus();
}

Result<Transaction> ChangesBetween(const icechunk::Repository& repository, const Snapshot& parent,
                                   const Snapshot& snapshot, PackWriter* packs) {
  Transaction changes;
  for (const Node& node : parent.nodes) {
    const Node* now = FindNode(snapshot, node.path);
    if (now != nullptr && now->id == node.id) continue;
    (node.is_array ? changes.deleted_arrays : changes.deleted_groups).insert(node.id);
  }
  for (const Node& node : snapshot.nodes) {
    const Node* before = FindNode(parent, node.path);
    if (before != nullptr && before->id != node.id) before = nullptr;
    H5ZARR_RETURN_IF_ERROR(NoteNode(repository, before, node, packs, &changes));
  }
  return changes;
}

}  // namespace h5zarr::mirror
