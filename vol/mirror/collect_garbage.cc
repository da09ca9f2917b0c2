#include "mirror/collect_garbage.h"

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "icechunk/envelope.h"
#include "icechunk/repository.h"
#include "mirror/pack_writer.h"

namespace h5zarr::mirror {
namespace {

using icechunk::ObjectId;

class Collector {
 public:
  explicit Collector(icechunk::Repository repository) : repository_(std::move(repository)) {}

  Result<GarbageReport> Do() {
    if (repository_.spec_version() != 1) {
      return UnsupportedError(repository_.store().Describe() +
                              ": an Icechunk repository of version 2 can only be read");
    }
    H5ZARR_RETURN_IF_ERROR(Mark());
    H5ZARR_RETURN_IF_ERROR(Sweep("snapshots", snapshots_));
    H5ZARR_RETURN_IF_ERROR(Sweep("transactions", snapshots_));
    H5ZARR_RETURN_IF_ERROR(Sweep("manifests", manifests_));
    H5ZARR_RETURN_IF_ERROR(Sweep("chunks", chunks_));
    return report_;
  }

 private:
  Status Mark() {
    snapshots_.insert(icechunk::kFirstSnapshot);
    H5ZARR_ASSIGN_OR_RETURN(const auto tags, repository_.Tags());
    H5ZARR_ASSIGN_OR_RETURN(const auto branches, repository_.Branches());
    for (const auto& [name, id] : tags) H5ZARR_RETURN_IF_ERROR(MarkFrom(id));
    for (const auto& [name, id] : branches) H5ZARR_RETURN_IF_ERROR(MarkFrom(id));
    return OkStatus();
  }

  // A snapshot and all that it comes from.
  Status MarkFrom(ObjectId id) {
    while (snapshots_.insert(id).second) {
      H5ZARR_ASSIGN_OR_RETURN(const icechunk::Snapshot snapshot, repository_.ReadSnapshot(id));
      for (const icechunk::Node& node : snapshot.nodes) {
        for (const icechunk::ManifestRef& ref : node.manifests) {
          if (marked_.emplace(ref.id, node.id).second) H5ZARR_RETURN_IF_ERROR(MarkChunks(ref.id, node.id));
        }
      }
      if (!snapshot.parent) return OkStatus();
      id = *snapshot.parent;
    }
    return OkStatus();
  }

  Status MarkChunks(const ObjectId& id, const icechunk::NodeId& node) {
    manifests_.insert(id);
    H5ZARR_ASSIGN_OR_RETURN(const icechunk::Manifest manifest, repository_.ReadManifest(id));
    return manifest.ForEach(node, [&](std::span<const uint32_t>, const icechunk::ChunkPlace& place) {
      if (place.kind == icechunk::ChunkPlace::Kind::kObject) chunks_.insert(place.object);
      return OkStatus();
    });
  }

  Status Sweep(std::string_view folder, const std::set<ObjectId>& marked) {
    std::vector<std::pair<ObjectId, uint64_t>> objects;
    H5ZARR_RETURN_IF_ERROR(repository_.store().Walk(folder, [&](std::string_view key, uint64_t bytes) -> Status {
      const auto id = icechunk::ParseObjectId(key.substr(key.rfind('/') + 1));
      if (id.ok() && !marked.contains(*id)) objects.emplace_back(*id, bytes);
      return OkStatus();
    }));
    for (const auto& [id, bytes] : objects) {
      const std::string key = std::string(folder) + "/" + icechunk::ToText(id);
      H5ZARR_ASSIGN_OR_RETURN(const bool is_ours,
                              folder == "chunks" ? IsPackAt(key, bytes, id) : HasOurEnvelope(key, bytes));
      if (!is_ours) {
        ++report_.foreign;
        continue;
      }
      H5ZARR_ASSIGN_OR_RETURN(const bool removed, repository_.store().Delete(key));
      if (!removed) continue;
      ++report_.objects;
      report_.bytes += bytes;
    }
    return OkStatus();
  }

  Result<bool> IsPackAt(const std::string& key, uint64_t bytes, const ObjectId& id) {
    H5ZARR_ASSIGN_OR_RETURN(const auto trailer, ReadTrailer(repository_.store(), key, bytes));
    if (!trailer) return false;
    H5ZARR_ASSIGN_OR_RETURN(const icechunk::ContentHash hash, icechunk::HashOf(*trailer));
    return icechunk::IdOf(hash) == id;
  }

  Result<bool> HasOurEnvelope(const std::string& key, uint64_t bytes) {
    if (bytes < icechunk::kEnvelopeBytes) return false;
    std::array<std::byte, icechunk::kEnvelopeBytes> head;
    ReadOp op;
    op.key = key;
    op.range = ByteRange::Span(0, head.size());
    op.target = head;
    bool found = false;
    Executor here(1);
    H5ZARR_RETURN_IF_ERROR(repository_.store().ReadBatch(
        {&op, 1},
        [&](std::size_t, const ReadResult& result) {
          found = result.bytes.has_value();
          return OkStatus();
        },
        here));
    return found && icechunk::IsWrittenByUs(head);
  }

  const icechunk::Repository repository_;
  GarbageReport report_;
  std::set<ObjectId> snapshots_, manifests_, chunks_;
  std::set<std::pair<ObjectId, icechunk::NodeId>> marked_;
};

}  // namespace

Result<GarbageReport> CollectGarbage(Store* store) {
  H5ZARR_ASSIGN_OR_RETURN(icechunk::Repository repository, icechunk::Repository::Open(store));
  H5ZARR_ASSIGN_OR_RETURN(const std::shared_ptr<void> lock,
                          store->Lock(icechunk::SnapshotKey(icechunk::kFirstSnapshot), kWholeArray));
  Collector collector(std::move(repository));
  return collector.Do();
}

}  // namespace h5zarr::mirror
