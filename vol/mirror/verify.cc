#include "mirror/verify.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exec/executor.h"
#include "icechunk/repository.h"
#include "icechunk/transaction.h"
#include "mirror/pack_writer.h"

namespace h5zarr::mirror {
namespace {

using icechunk::ObjectId;

class Verifier {
 public:
  explicit Verifier(icechunk::Repository repository) : repository_(std::move(repository)) {}

  Result<VerifyReport> Do() {
    H5ZARR_ASSIGN_OR_RETURN(const auto tags, repository_.Tags());
    H5ZARR_ASSIGN_OR_RETURN(const auto branches, repository_.Branches());
    report_.tags = tags.size();
    std::set<ObjectId> ids;
    for (const auto& [name, id] : tags) ids.insert(id);
    for (const auto& [name, id] : branches) ids.insert(id);
    for (const ObjectId& id : ids) H5ZARR_RETURN_IF_ERROR(CheckHistory(id));
    const std::vector<std::pair<ObjectId, uint64_t>> objects(needed_bytes_.begin(), needed_bytes_.end());
    std::vector<uint64_t> object_bytes(objects.size());
    Executor executor;
    H5ZARR_RETURN_IF_ERROR(executor.ParallelFor(objects.size(), kSerialBelowNs + 1, [&](std::size_t i) -> Status {
      const Result<uint64_t> bytes = CheckObject(objects[i].first, objects[i].second);
      if (!bytes.ok()) return bytes.status().WithContext(repository_.store().Describe());
      object_bytes[i] = *bytes;
      return OkStatus();
    }));
    report_.objects = objects.size();
    for (const uint64_t bytes : object_bytes) report_.object_bytes += bytes;
    return report_;
  }

 private:
  // A snapshot and all that it comes from.
  Status CheckHistory(ObjectId id) {
    while (seen_.insert(id).second) {
      H5ZARR_ASSIGN_OR_RETURN(const icechunk::Snapshot snapshot, repository_.ReadSnapshot(id));
      for (const icechunk::Node& node : snapshot.nodes) {
        for (const icechunk::ManifestRef& ref : node.manifests) {
          H5ZARR_RETURN_IF_ERROR(CheckManifest(node, ref.id));
        }
      }
      if (id != icechunk::kFirstSnapshot) ++report_.snapshots;
      if (!snapshot.parent) return OkStatus();
      H5ZARR_RETURN_IF_ERROR(CheckLog(id).WithContext(repository_.store().Describe()));
      id = *snapshot.parent;
    }
    return OkStatus();
  }

  Status CheckLog(const ObjectId& id) const {
    const std::string key = icechunk::TransactionKey(id);
    H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> log, repository_.store().Read(key));
    if (!log) return CorruptError("'" + key + "' is not there, but its snapshot is");
    return icechunk::DecodeTransaction(key, *log).status();
  }

  Status CheckManifest(const icechunk::Node& node, const ObjectId& id) {
    // Versions share manifests: each is read once, its chunks are counted for every version.
    const auto known = chunks_of_.find({id, node.id});
    if (known != chunks_of_.end()) {
      report_.chunks += known->second;
      return OkStatus();
    }
    H5ZARR_ASSIGN_OR_RETURN(const icechunk::Manifest manifest, repository_.ReadManifest(id));
    uint64_t chunks = 0;
    H5ZARR_RETURN_IF_ERROR(manifest.ForEach(node.id, [&](std::span<const uint32_t>, const icechunk::ChunkPlace& place) {
      ++chunks;
      if (place.kind == icechunk::ChunkPlace::Kind::kObject) {
        uint64_t& needed = needed_bytes_[place.object];
        needed = std::max(needed, place.offset + place.length);
      }
      return OkStatus();
    }));
    chunks_of_[{id, node.id}] = chunks;
    report_.chunks += chunks;
    return OkStatus();
  }

  // Its size. Thread-safe.
  Result<uint64_t> CheckObject(const ObjectId& id, uint64_t needed_bytes) const {
    const std::string key = icechunk::ChunkKey(id);
    H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> object, repository_.store().Read(key));
    if (!object) return CorruptError("'" + key + "' is not there, but chunks are in it");
    if (object->size_bytes() < needed_bytes) {
      return CorruptError("'" + key + "' has " + std::to_string(object->size_bytes()) + " bytes, but chunks end at " +
                          std::to_string(needed_bytes));
    }
    if (!IsPack(*object)) return object->size_bytes();
    H5ZARR_RETURN_IF_ERROR(CheckPack(*object, id).WithContext("'" + key + "'"));
    return object->size_bytes();
  }

  const icechunk::Repository repository_;
  VerifyReport report_;
  std::set<ObjectId> seen_;
  std::map<std::pair<ObjectId, icechunk::NodeId>, uint64_t> chunks_of_;
  std::map<ObjectId, uint64_t> needed_bytes_;
};

}  // namespace

Result<VerifyReport> VerifyRepository(Store* store) {
  H5ZARR_ASSIGN_OR_RETURN(icechunk::Repository repository, icechunk::Repository::Open(store));
  Verifier verifier(std::move(repository));
  return verifier.Do();
}

}  // namespace h5zarr::mirror
