#include "mirror/version_adder.h"

#include <algorithm>
#include <utility>

#include "mirror/changes.h"
#include "mirror/manifests.h"
#include "mirror/snapshot_items.h"
#include "zarr/json.h"

namespace h5zarr::mirror {
namespace {

using icechunk::ManifestInfo;
using icechunk::ManifestRef;
using icechunk::Node;
using icechunk::ObjectId;
using icechunk::Snapshot;
using zarr::Json;

// True when chunks of the one are chunks of the other: everything but shape and attributes is the same.
bool SameEncoding(const std::string& document, const std::string& other) {
  const Result<Json> a = zarr::ParseJson(document, "a document");
  const Result<Json> b = zarr::ParseJson(other, "a document");
  if (!a.ok() || !b.ok()) return false;
  for (const char* member : {"data_type", "chunk_grid", "codecs", "fill_value"}) {
    const Json* first = zarr::FindMember(*a, member);
    const Json* second = zarr::FindMember(*b, member);
    if (first == nullptr || second == nullptr || *first != *second) return false;
  }
  return true;
}

bool SameGrid(const Node& a, const Node& b) {
  return std::ranges::equal(a.dimensions, b.dimensions, [](const auto& x, const auto& y) {
    return x.array_elems == y.array_elems && x.chunk_elems == y.chunk_elems;
  });
}

// The array at the path of `node`, if it is the same one.
const Node* SameArray(const Snapshot& snapshot, const Node& node) {
  const Node* const found = FindNode(snapshot, node.path);
  return found != nullptr && found->id == node.id ? found : nullptr;
}

}  // namespace

Result<VersionAdder::Known> VersionAdder::KnownParent(const ObjectId& id) {
  if (last_ && last_->snapshot.id == id) return std::move(*std::exchange(last_, std::nullopt));
  Known known;
  H5ZARR_ASSIGN_OR_RETURN(known.snapshot, repository_->ReadSnapshot(id));
  return known;
}

Result<const PlacedChunks*> VersionAdder::PlacedOf(Known* known, const Node& array) {
  const auto found = known->placed.find(array.path);
  if (found != known->placed.end()) return &found->second;
  H5ZARR_ASSIGN_OR_RETURN(PlacedChunks placed,
                          ReadPlaced(*repository_, array, [this](const ObjectId& id) { return packs_.NumberOf(id); }));
  return &known->placed.emplace(array.path, std::move(placed)).first->second;
}

// What `dataset` shares with the version before, known without reading it: what lay in a chunk of raw_data when
// that version was mirrored lies there still, or its mapping would lead elsewhere.
Status VersionAdder::SeedFrom(const std::string& parent_name, Known* parent, const SourceDataset& dataset) {
  if (parent_name.empty() || parent->was_added || !seeded_.emplace(parent_name, dataset.raw().name).second) {
    return OkStatus();
  }
  const Node* node = FindNode(parent->snapshot, "/" + dataset.path());
  if (node == nullptr || !node->is_array || !SameEncoding(node->document, dataset.document())) {
    return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(const auto before, OpenDataset(file_, parent_name, dataset.path(), encoding_));
  if (!before || &before->raw() != &dataset.raw() || !SameEncoding(before->document(), dataset.document()) ||
      before->metadata().shape.size() != node->dimensions.size()) {
    return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(const PlacedChunks* const placed, PlacedOf(parent, *node));
  std::vector<Place>& slots = slots_[dataset.raw().name];
  slots.resize(dataset.raw().chunks.size());
  const transfer::ChunkMap& map = before->chunks();
  std::size_t next = 0;
  for (std::size_t i = 0; i < placed->places.size(); ++i) {
    const auto index = placed->indexes[i];
    while (next < map.slots.size() && std::ranges::lexicographical_compare(map.indexes[next], index)) {
      ++next;
    }
    if (next == map.slots.size()) break;
    if (std::ranges::equal(map.indexes[next], index)) slots[map.slots[next]] = placed->places[i];
  }
  return OkStatus();
}

Result<PlacedChunks> VersionAdder::PlaceChunks(const SourceDataset& dataset) {
  const transfer::ChunkMap& map = dataset.chunks();
  std::vector<Place>& slots = slots_[dataset.raw().name];
  slots.resize(dataset.raw().chunks.size());
  std::vector<uint64_t> missing;
  std::vector<bool> is_missing(slots.size());
  for (const uint64_t slot : map.slots) {
    if (slots[slot].pack != Place::kUnknown || is_missing[slot]) continue;
    is_missing[slot] = true;
    missing.push_back(slot);
  }
  H5ZARR_RETURN_IF_ERROR(reader_.Read(
      dataset, missing, &packs_, [&](std::size_t number, const icechunk::ContentHash& hash, ByteSpan bytes) -> Status {
        H5ZARR_ASSIGN_OR_RETURN(slots[missing[number]], packs_.Add(hash, bytes));
        return OkStatus();
      }));
  PlacedChunks placed;
  placed.indexes.numbers.reserve(map.indexes.numbers.size());
  placed.places.reserve(map.slots.size());
  for (std::size_t i = 0; i < map.slots.size(); ++i) {
    const Place& place = slots[map.slots[i]];
    if (place.pack == Place::kUnknown) continue;  // never written: fill
    placed.Add(map.indexes[i], place);
  }
  return placed;
}

Status VersionAdder::SetManifests(const SourceDataset& dataset, const PlacedChunks& placed, const Known& parent,
                                  Node* node) {
  const Node* const before = SameArray(parent.snapshot, *node);
  const auto was = parent.placed.find(node->path);
  if (before != nullptr && was != parent.placed.end() && was->second == placed && SameGrid(*before, *node)) {
    node->manifests = before->manifests;
    return OkStatus();
  }
  const Status written = WriteManifests(placed, packs_, repository_, node, &manifests_, &written_);
  return written.ok() ? written : written.WithContext("dataset '" + dataset.path() + "'");
}

// A snapshot lists all of its manifests: those that were written now, and those that it shares.
Status VersionAdder::NoteManifests(const Known& parent, Snapshot* snapshot) const {
  std::map<ObjectId, ManifestInfo> infos;
  for (const ManifestInfo& info : parent.snapshot.manifests) infos[info.id] = info;
  std::map<ObjectId, ManifestInfo> used;
  for (const Node& node : snapshot->nodes) {
    for (const ManifestRef& ref : node.manifests) {
      const auto written = manifests_.find(ref.id);
      if (written != manifests_.end()) {
        used[ref.id] = written->second;
        continue;
      }
      const auto shared = infos.find(ref.id);
      if (shared == infos.end()) return InternalError("a manifest that nobody wrote");
      used[ref.id] = shared->second;
    }
  }
  for (const auto& [id, info] : used) snapshot->manifests.push_back(info);
  return OkStatus();
}

Result<ObjectId> VersionAdder::Add(const Version& version, const ObjectId& parent_id, const std::string& parent_name) {
  H5ZARR_ASSIGN_OR_RETURN(Known parent, KnownParent(parent_id));
  H5ZARR_ASSIGN_OR_RETURN(const VersionTree tree, OpenVersion(file_, version.name, encoding_));
  Known added;
  added.was_added = true;
  Snapshot& snapshot = added.snapshot;
  snapshot.parent = parent_id;
  snapshot.message = "versioned-hdf5 " + version.name;
  // Icechunk refuses commits that are older than what they follow.
  snapshot.flushed_at_us = std::max(version.timestamp_us, parent.snapshot.flushed_at_us + 1);
  snapshot.metadata = ItemsOf(version);
  for (const auto& [path, document] : tree.groups) {
    H5ZARR_ASSIGN_OR_RETURN(Node node, MakeNode(path, document, nullptr));
    snapshot.nodes.push_back(std::move(node));
  }
  for (const SourceDataset& dataset : tree.datasets) {
    H5ZARR_RETURN_IF_ERROR(SeedFrom(parent_name, &parent, dataset));
    H5ZARR_ASSIGN_OR_RETURN(added.placed["/" + dataset.path()], PlaceChunks(dataset));
  }
  H5ZARR_RETURN_IF_ERROR(packs_.Flush());
  for (const SourceDataset& dataset : tree.datasets) {
    H5ZARR_ASSIGN_OR_RETURN(Node node, MakeNode("/" + dataset.path(), dataset.document(), &dataset.metadata()));
    H5ZARR_RETURN_IF_ERROR(SetManifests(dataset, added.placed[node.path], parent, &node));
    snapshot.nodes.push_back(std::move(node));
  }
  std::sort(snapshot.nodes.begin(), snapshot.nodes.end(), [](const Node& a, const Node& b) { return a.path < b.path; });
  H5ZARR_RETURN_IF_ERROR(NoteManifests(parent, &snapshot));
  H5ZARR_ASSIGN_OR_RETURN(const icechunk::Transaction changes,
                          ChangesBetween(
                              parent.snapshot, [&](const Node& node) { return PlacedOf(&parent, node); }, snapshot,
                              [&](const Node& node) { return PlacedOf(&added, node); }));
  H5ZARR_RETURN_IF_ERROR(repository_->WriteSnapshot(&snapshot, changes, &written_));
  const ObjectId id = snapshot.id;
  last_ = std::move(added);
  return id;
}

}  // namespace h5zarr::mirror
