#include "mirror/remove_tags.h"

#include <deque>
#include <set>
#include <utility>

#include "mirror/changes.h"
#include "mirror/placed_chunks.h"

namespace h5zarr::mirror {
namespace {

using icechunk::ObjectId;
using icechunk::Snapshot;

// Lets snapshots follow others.
class Relinker {
 public:
  Relinker(std::set<ObjectId> removed, icechunk::Repository* repository)
      : removed_(std::move(removed)), repository_(repository) {}

  // All that `tip` comes from.
  Status Relink(ObjectId tip) {
    while (seen_.insert(tip).second) {
      H5ZARR_ASSIGN_OR_RETURN(Snapshot snapshot, repository_->ReadSnapshot(tip));
      if (!snapshot.parent) return OkStatus();
      H5ZARR_ASSIGN_OR_RETURN(const ObjectId parent, LastingAncestor(*snapshot.parent));
      if (parent != *snapshot.parent) H5ZARR_RETURN_IF_ERROR(SetParent(parent, &snapshot));
      tip = parent;
    }
    return OkStatus();
  }

 private:
  Result<ObjectId> LastingAncestor(ObjectId id) {
    while (removed_.contains(id)) {
      H5ZARR_ASSIGN_OR_RETURN(const Snapshot snapshot, repository_->ReadSnapshot(id));
      if (!snapshot.parent) return icechunk::kFirstSnapshot;
      id = *snapshot.parent;
    }
    return id;
  }

  // The log goes with it: it says what is not as in the parent.
  Status SetParent(const ObjectId& parent_id, Snapshot* snapshot) {
    H5ZARR_ASSIGN_OR_RETURN(const Snapshot parent, repository_->ReadSnapshot(parent_id));
    std::deque<PlacedChunks> placed;
    std::map<ObjectId, uint32_t> numbers;
    const auto number_of = [&numbers](const ObjectId& id) {
      return numbers.emplace(id, static_cast<uint32_t>(numbers.size())).first->second;
    };
    const FindPlaced find = [&](const icechunk::Node& node) -> Result<const PlacedChunks*> {
      H5ZARR_ASSIGN_OR_RETURN(PlacedChunks found, ReadPlaced(*repository_, node, number_of));
      return &placed.emplace_back(std::move(found));
    };
    H5ZARR_ASSIGN_OR_RETURN(const icechunk::Transaction changes, ChangesBetween(parent, find, *snapshot, find));
    snapshot->parent = parent_id;
    return repository_->ReplaceSnapshot(snapshot, changes);
  }

  const std::set<ObjectId> removed_;
  icechunk::Repository* const repository_;
  std::set<ObjectId> seen_;
};

}  // namespace

Status RemoveTags(const std::map<std::string, ObjectId>& tags, icechunk::Repository* repository, WriteBehind* store) {
  std::set<ObjectId> removed, tips;
  for (const auto& [tag, id] : tags) removed.insert(id);
  H5ZARR_ASSIGN_OR_RETURN(const auto branches, repository->Branches());
  H5ZARR_ASSIGN_OR_RETURN(const auto all_tags, repository->Tags());
  for (const auto& [name, id] : branches) tips.insert(id);
  for (const auto& [name, id] : all_tags) {
    if (!tags.contains(name)) tips.insert(id);
  }
  for (const ObjectId& tip : tips) removed.erase(tip);
  Relinker relinker(removed, repository);
  for (const ObjectId& tip : tips) H5ZARR_RETURN_IF_ERROR(relinker.Relink(tip));
  H5ZARR_RETURN_IF_ERROR(store->Flush());
  for (const auto& [tag, id] : tags) H5ZARR_RETURN_IF_ERROR(repository->DeleteTag(tag));
  return store->Flush();
}

}  // namespace h5zarr::mirror
