#include "mirror/mirror.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/checked.h"
#include "host/handle.h"
#include "mirror/hdf5_read.h"
#include "mirror/pack_writer.h"
#include "mirror/version_tree.h"
#include "zarr/json.h"

namespace h5zarr::mirror {
namespace {

using icechunk::ManifestRef;
using icechunk::Node;
using icechunk::ObjectId;
using icechunk::Snapshot;
using icechunk::Transaction;
using zarr::Json;

// What a snapshot says of its version.
constexpr char kNameItem[] = "versioned_hdf5_version";
constexpr char kTimestampItem[] = "versioned_hdf5_timestamp";
constexpr char kPreviousItem[] = "versioned_hdf5_previous";

// Chunks in a manifest, about: one that has changed is written anew as a whole.
constexpr uint64_t kManifestChunks = 32 << 10;

// Of a manifest's chunks, where they are.
using Placed = std::map<std::vector<uint32_t>, Place>;
// Which of the chunks in raw_data are where.
using Slots = std::unordered_map<uint64_t, Place>;

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

// Something else in the folder is not ours to build upon. What a run that was killed at once leaves
// behind is.
Status CheckFolder(Store& store) {
  const std::set<std::string> ours = {"chunks", "manifests", "refs", "snapshots", "transactions"};
  H5ZARR_ASSIGN_OR_RETURN(const bool found, icechunk::IsRepository(store));
  if (found) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const auto entries, store.List(""));
  for (const ListEntry& entry : entries) {
    if (ours.contains(entry.name)) continue;
    return AlreadyExistsError(store.Describe() + " has '" + entry.name +
                              "' in it, and is no Icechunk repository");
  }
  return OkStatus();
}

class Run {
 public:
  Run(hid_t file, icechunk::Repository repository, const MirrorOptions& options)
      : file_(file),
        repository_(std::move(repository)),
        options_(options),
        packs_(&repository_.store(), &report_.written) {}

  Result<MirrorReport> Do(const Versions& versions);

 private:
  Result<std::optional<ObjectId>> FindMirrored(const Version& version);
  Status AddVersion(const Version& version);
  ObjectId ParentOf(const Version& version) const;
  Status SeedFromParent(const Version& version, const Snapshot& parent,
                        const SourceDataset& dataset);
  Result<Node> AddArray(const Version& version, const Snapshot& parent, const SourceDataset& dataset,
                        Placed* placed);
  Status WriteManifests(const SourceDataset& dataset, const Placed& placed, Node* node,
                        std::map<ObjectId, icechunk::ManifestInfo>* manifests);
  Status NoteChanges(const Snapshot& parent, const Snapshot& snapshot, Transaction* changes);
  Result<Placed> ReadPlaced(const Node& array);
  Status SetMain(const Versions& versions);

  const hid_t file_;
  icechunk::Repository repository_;
  const MirrorOptions& options_;
  MirrorReport report_;
  PackWriter packs_;
  std::map<std::string, Version> known_;         // of the file, by name
  std::map<std::string, ObjectId> snapshot_of_;  // of versions in the repository, by name
  std::map<std::string, Slots> slots_;           // by the name of raw_data
  std::set<std::pair<std::string, std::string>> seeded_;  // version and raw_data
};

Result<std::optional<ObjectId>> Run::FindMirrored(const Version& version) {
  H5ZARR_ASSIGN_OR_RETURN(const auto id, repository_.FindTag(TagOf(version.name)));
  if (!id) return id;
  H5ZARR_ASSIGN_OR_RETURN(const Snapshot snapshot, repository_.ReadSnapshot(*id));
  const auto item = snapshot.metadata.find(kTimestampItem);
  if (item != snapshot.metadata.end() && item->second == version.timestamp) return id;
  return AlreadyExistsError(
      "version '" + version.name + "' of " + version.timestamp + " is another than the one of " +
      (item == snapshot.metadata.end() ? "an unknown time" : item->second) +
      " in the repository: tags never change. Mirror into a new folder to have it");
}

// The snapshot of the nearest version before that is in the repository.
ObjectId Run::ParentOf(const Version& version) const {
  std::string name = version.previous;
  while (true) {
    const auto found = snapshot_of_.find(name);
    if (found != snapshot_of_.end()) return found->second;
    const auto before = known_.find(name);
    if (before == known_.end()) return icechunk::kFirstSnapshot;
    name = before->second.previous;
  }
}

// What `dataset` shares with the version before, known without reading it: what lay in a chunk of
// raw_data when that version was mirrored lies there still, or its mapping would lead elsewhere.
Status Run::SeedFromParent(const Version& version, const Snapshot& parent,
                           const SourceDataset& dataset) {
  if (!seeded_.emplace(version.previous, dataset.raw_name()).second) return OkStatus();
  if (!snapshot_of_.contains(version.previous)) return OkStatus();
  const Node* node = FindNode(parent, "/" + dataset.path());
  if (node == nullptr || !node->is_array || !SameEncoding(node->document, dataset.document())) {
    return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(
      const auto before, OpenDataset(file_, version.previous, dataset.path(), options_.encoding));
  if (!before || before->raw_name() != dataset.raw_name() ||
      !SameEncoding(before->document(), dataset.document())) {
    return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(const Placed placed, ReadPlaced(*node));
  Slots& slots = slots_[dataset.raw_name()];
  for (const SourceChunk& chunk : before->chunks()) {
    const auto found = placed.find(chunk.index);
    if (found != placed.end()) slots.emplace(chunk.slot, found->second);
  }
  return OkStatus();
}

Result<Placed> Run::ReadPlaced(const Node& array) {
  Placed placed;
  for (const ManifestRef& ref : array.manifests) {
    H5ZARR_ASSIGN_OR_RETURN(const icechunk::Manifest manifest, repository_.ReadManifest(ref.id));
    H5ZARR_RETURN_IF_ERROR(manifest.ForEach(
        array.id, [&](std::span<const uint32_t> index, const icechunk::ChunkPlace& place) {
          if (place.kind == icechunk::ChunkPlace::Kind::kObject) {
            placed.emplace(std::vector<uint32_t>(index.begin(), index.end()),
                           packs_.PlaceIn(place.object, place.offset, place.length));
          }
          return OkStatus();
        }));
  }
  return placed;
}

Result<Node> Run::AddArray(const Version& version, const Snapshot& parent,
                           const SourceDataset& dataset, Placed* placed) {
  H5ZARR_RETURN_IF_ERROR(SeedFromParent(version, parent, dataset));
  Slots& slots = slots_[dataset.raw_name()];
  for (const SourceChunk& chunk : dataset.chunks()) {
    auto found = slots.find(chunk.slot);
    if (found == slots.end()) {
      H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> bytes, dataset.ReadSlot(chunk.slot));
      if (!bytes) continue;
      H5ZARR_ASSIGN_OR_RETURN(const Place place, packs_.Add(*bytes));
      found = slots.emplace(chunk.slot, place).first;
    }
    placed->emplace_hint(placed->end(), chunk.index, found->second);
  }
  return MakeNode("/" + dataset.path(), dataset.document(), &dataset.metadata());
}

Status Run::WriteManifests(const SourceDataset& dataset, const Placed& placed, Node* node,
                           std::map<ObjectId, icechunk::ManifestInfo>* manifests) {
  const zarr::ArrayMetadata& metadata = dataset.metadata();
  std::vector<uint64_t> grid;
  for (std::size_t i = 0; i < metadata.rank(); ++i) {
    grid.push_back(CeilDiv(metadata.shape[i], metadata.chunk_shape[i]));
    if (grid.back() > UINT32_MAX) return UnsupportedError("more than 2^32 chunks along one axis");
  }
  // Bands along the first axis, at the same places in every version.
  uint64_t row_chunks = 1;
  for (std::size_t i = 1; i < grid.size(); ++i) {
    row_chunks = CheckedMul(row_chunks, std::max<uint64_t>(grid[i], 1)).value_or(UINT64_MAX);
  }
  const uint64_t band_rows = std::max<uint64_t>(1, kManifestChunks / row_chunks);
  auto next = placed.begin();
  while (next != placed.end()) {
    const uint64_t first_row = next->first[0] / band_rows * band_rows;
    const uint64_t last_row = std::min<uint64_t>(first_row + band_rows, grid[0]);
    std::vector<icechunk::NewChunk> chunks;
    for (; next != placed.end() && next->first[0] < last_row; ++next) {
      const Place& place = next->second;
      chunks.push_back({next->first, packs_.IdOf(place), place.offset, place.length});
    }
    H5ZARR_ASSIGN_OR_RETURN(const auto encoded, icechunk::EncodeManifest(node->id, chunks));
    H5ZARR_ASSIGN_OR_RETURN(const auto info, repository_.WriteManifest(encoded, chunks.size(),
                                                                       &report_.written));
    manifests->emplace(info.id, info);
    ManifestRef ref{info.id, {}};
    for (const uint64_t extent : grid) ref.extents.push_back({0, static_cast<uint32_t>(extent)});
    ref.extents[0] = {static_cast<uint32_t>(first_row), static_cast<uint32_t>(last_row)};
    node->manifests.push_back(std::move(ref));
  }
  return OkStatus();
}

// Icechunk's diff and rebase go by this.
Status Run::NoteChanges(const Snapshot& parent, const Snapshot& snapshot, Transaction* changes) {
  for (const Node& node : parent.nodes) {
    const Node* now = FindNode(snapshot, node.path);
    if (now != nullptr && now->id == node.id) continue;
    (node.is_array ? changes->deleted_arrays : changes->deleted_groups).insert(node.id);
  }
  for (const Node& node : snapshot.nodes) {
    const Node* before = FindNode(parent, node.path);
    if (before != nullptr && before->id != node.id) before = nullptr;
    if (before == nullptr) {
      (node.is_array ? changes->new_arrays : changes->new_groups).insert(node.id);
    } else if (before->document != node.document) {
      (node.is_array ? changes->updated_arrays : changes->updated_groups).insert(node.id);
    }
    if (!node.is_array) continue;
    if (before != nullptr && SameManifests(*before, node)) continue;
    Placed old;
    if (before != nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(old, ReadPlaced(*before));
    }
    H5ZARR_ASSIGN_OR_RETURN(const Placed now, ReadPlaced(node));
    std::set<std::vector<uint32_t>> changed;
    for (const auto& [index, place] : now) {
      const auto was = old.find(index);
      if (was == old.end() || was->second != place) changed.insert(index);
    }
    for (const auto& [index, place] : old) {
      if (!now.contains(index)) changed.insert(index);
    }
    if (!changed.empty()) changes->updated_chunks.emplace(node.id, std::move(changed));
  }
  return OkStatus();
}

Status Run::AddVersion(const Version& version) {
  const ObjectId parent_id = ParentOf(version);
  H5ZARR_ASSIGN_OR_RETURN(const Snapshot parent, repository_.ReadSnapshot(parent_id));
  H5ZARR_ASSIGN_OR_RETURN(const VersionTree tree, OpenVersion(file_, version.name, options_.encoding));
  Snapshot snapshot;
  snapshot.parent = parent_id;
  snapshot.message = "versioned-hdf5 " + version.name;
  // Icechunk refuses commits that are older than what they follow.
  snapshot.flushed_at_us = std::max(version.timestamp_us, parent.flushed_at_us + 1);
  snapshot.metadata = {{kNameItem, version.name},
                       {kTimestampItem, version.timestamp},
                       {kPreviousItem, version.previous}};
  for (const auto& [path, document] : tree.groups) {
    H5ZARR_ASSIGN_OR_RETURN(Node node, MakeNode(path, document, nullptr));
    snapshot.nodes.push_back(std::move(node));
  }
  std::vector<std::pair<Node, Placed>> arrays;
  for (const SourceDataset& dataset : tree.datasets) {
    Placed placed;
    H5ZARR_ASSIGN_OR_RETURN(Node node, AddArray(version, parent, dataset, &placed));
    arrays.emplace_back(std::move(node), std::move(placed));
  }
  H5ZARR_RETURN_IF_ERROR(packs_.Flush());
  std::map<ObjectId, icechunk::ManifestInfo> manifests;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    auto& [node, placed] = arrays[i];
    H5ZARR_RETURN_IF_ERROR(WriteManifests(tree.datasets[i], placed, &node, &manifests));
    snapshot.nodes.push_back(std::move(node));
  }
  std::sort(snapshot.nodes.begin(), snapshot.nodes.end(),
            [](const Node& a, const Node& b) { return a.path < b.path; });
  for (const auto& [id, info] : manifests) snapshot.manifests.push_back(info);
  Transaction changes;
  H5ZARR_RETURN_IF_ERROR(NoteChanges(parent, snapshot, &changes));
  H5ZARR_RETURN_IF_ERROR(repository_.WriteSnapshot(&snapshot, changes, &report_.written));
  H5ZARR_ASSIGN_OR_RETURN(const bool set, repository_.SetTag(TagOf(version.name), snapshot.id));
  if (set) ++report_.refs_written;
  snapshot_of_[version.name] = snapshot.id;
  return OkStatus();
}

// Branch "main" leads to the version that the next one will come from. What others committed on top of
// a version stays.
Status Run::SetMain(const Versions& versions) {
  std::string name = versions.current;
  while (!snapshot_of_.contains(name)) {
    const auto version = known_.find(name);
    if (version == known_.end()) return OkStatus();
    name = version->second.previous;
  }
  H5ZARR_ASSIGN_OR_RETURN(const auto now, repository_.FindBranch(icechunk::kMainBranch));
  if (now && *now != icechunk::kFirstSnapshot) {
    H5ZARR_ASSIGN_OR_RETURN(const Snapshot tip, repository_.ReadSnapshot(*now));
    if (!tip.metadata.contains(kTimestampItem)) {
      report_.main_kept = true;
      return OkStatus();
    }
  }
  H5ZARR_ASSIGN_OR_RETURN(const bool set,
                          repository_.SetBranch(icechunk::kMainBranch, snapshot_of_.at(name)));
  if (set) ++report_.refs_written;
  return OkStatus();
}

Result<MirrorReport> Run::Do(const Versions& versions) {
  std::vector<const Version*> missing;
  uint64_t since_us = 0;
  for (const Version& version : versions.all) {
    known_[version.name] = version;
    if (version.name == options_.since) since_us = version.timestamp_us;
  }
  for (const Version& version : versions.all) {
    if (!version.committed) {
      report_.uncommitted.push_back(version.name);
      continue;
    }
    ++report_.versions;
    H5ZARR_ASSIGN_OR_RETURN(const auto id, FindMirrored(version));
    if (id) {
      snapshot_of_[version.name] = *id;
    } else if (options_.since.empty() || version.timestamp_us > since_us) {
      missing.push_back(&version);
    }
  }
  H5ZARR_ASSIGN_OR_RETURN(const auto tags, repository_.Tags());
  std::set<std::string> tags_of_file;
  for (const auto& [name, version] : known_) tags_of_file.insert(TagOf(name));
  for (const auto& [tag, id] : tags) {
    if (!tags_of_file.contains(tag)) report_.gone.push_back(tag);
  }
  if (!missing.empty()) H5ZARR_RETURN_IF_ERROR(packs_.LoadTrailers());
  for (const Version* version : missing) {
    const Status added = AddVersion(*version);
    if (!added.ok()) return added.WithContext("version '" + version->name + "'");
    ++report_.added;
    if (options_.progress) options_.progress(*version, report_.added, missing.size());
  }
  H5ZARR_RETURN_IF_ERROR(SetMain(versions));
  report_.chunks_added = packs_.chunks_added();
  report_.chunk_bytes_added = packs_.chunk_bytes_added();
  return report_;
}

}  // namespace

std::string TagOf(const std::string& version) {
  std::string tag;
  for (const char c : version) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || c == '%' || byte < 0x20 || byte == 0x7f) {
      char escaped[4];
      std::snprintf(escaped, sizeof escaped, "%%%02X", byte);
      tag += escaped;
    } else {
      tag += c;
    }
  }
  return tag;
}

Result<MirrorReport> Mirror(hid_t file, Store* store, const MirrorOptions& options) {
  // What is wrong with the file must not leave an empty repository behind.
  H5ZARR_ASSIGN_OR_RETURN(const Versions versions, ReadVersions(file));
  const bool since_is_there =
      options.since.empty() || std::any_of(versions.all.begin(), versions.all.end(),
                                           [&](const Version& version) {
                                             return version.name == options.since;
                                           });
  if (!since_is_there) return NotFoundError("no version '" + options.since + "' in the file");
  H5ZARR_RETURN_IF_ERROR(CheckFolder(*store));
  H5ZARR_ASSIGN_OR_RETURN(icechunk::Repository repository,
                          icechunk::Repository::OpenOrCreate(store));
  // Held by one run at a time. This object never changes, so the lock is always the same.
  H5ZARR_ASSIGN_OR_RETURN(
      const std::shared_ptr<void> lock,
      store->Lock(icechunk::SnapshotKey(icechunk::kFirstSnapshot), kWholeArray));
  Run run(file, std::move(repository), options);
  return run.Do(versions);
}

}  // namespace h5zarr::mirror
