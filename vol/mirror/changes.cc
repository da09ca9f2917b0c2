#include "mirror/changes.h"

#include <algorithm>
#include <compare>
#include <set>
#include <span>
#include <vector>

#include "mirror/version_tree.h"

namespace h5zarr::mirror {
namespace {

using icechunk::Node;

using ChangedChunks = std::set<std::vector<uint32_t>>;

// Chunks that only one has, or that are elsewhere.
ChangedChunks Difference(const PlacedChunks& a, const PlacedChunks& b) {
  ChangedChunks changed;
  const auto note = [&changed](std::span<const uint32_t> index) {
    changed.emplace_hint(changed.end(), index.begin(), index.end());
  };
  std::size_t i = 0, j = 0;
  while (i < a.places.size() || j < b.places.size()) {
    const bool a_is_left = i < a.places.size(), b_is_left = j < b.places.size();
    const auto order = !a_is_left   ? std::strong_ordering::greater
                       : !b_is_left ? std::strong_ordering::less
                                    : std::lexicographical_compare_three_way(a.indexes[i].begin(), a.indexes[i].end(),
                                                                             b.indexes[j].begin(), b.indexes[j].end());
    if (order < 0) {
      note(a.indexes[i++]);
    } else if (order > 0) {
      note(b.indexes[j++]);
    } else {
      if (a.places[i] != b.places[j]) note(a.indexes[i]);
      ++i;
      ++j;
    }
  }
  return changed;
}

}  // namespace

Result<icechunk::Transaction> ChangesBetween(const icechunk::Snapshot& parent, const FindPlaced& before,
                                             const icechunk::Snapshot& snapshot, const FindPlaced& after) {
  icechunk::Transaction changes;
  for (const Node& node : parent.nodes) {
    const Node* now = FindNode(snapshot, node.path);
    if (now != nullptr && now->id == node.id) continue;
    (node.is_array ? changes.deleted_arrays : changes.deleted_groups).insert(node.id);
  }
  const PlacedChunks none;
  for (const Node& node : snapshot.nodes) {
    const Node* was = FindNode(parent, node.path);
    if (was != nullptr && was->id != node.id) was = nullptr;
    if (was == nullptr) {
      (node.is_array ? changes.new_arrays : changes.new_groups).insert(node.id);
    } else if (was->document != node.document) {
      (node.is_array ? changes.updated_arrays : changes.updated_groups).insert(node.id);
    }
    if (!node.is_array || (was != nullptr && SameManifests(*was, node))) continue;
    const PlacedChunks* old = &none;
    if (was != nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(old, before(*was));
    }
    H5ZARR_ASSIGN_OR_RETURN(const PlacedChunks* const now, after(node));
    ChangedChunks changed = Difference(*old, *now);
    if (!changed.empty()) changes.updated_chunks.emplace(node.id, std::move(changed));
  }
  return changes;
}

}  // namespace h5zarr::mirror
