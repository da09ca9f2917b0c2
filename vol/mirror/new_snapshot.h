// A snapshot that is being made: a store that takes documents and chunks, and becomes nodes and manifests of
// an Icechunk repository. Chunks go into packs as they come, each content once whatever snapshot it was in;
// nobody sees anything of it before Finish has stored it and a ref leads there.
#ifndef H5ZARR_MIRROR_NEW_SNAPSHOT_H_
#define H5ZARR_MIRROR_NEW_SNAPSHOT_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "icechunk/repository.h"
#include "mirror/pack_writer.h"
#include "mirror/placed_chunks.h"
#include "store/store.h"
#include "zarr/metadata.h"

namespace h5zarr::mirror {

class NewSnapshot {
 public:
  // Both must outlive it. `packs` have learnt what is there (LoadTrailers).
  NewSnapshot(icechunk::Repository* repository, PackWriter* packs, icechunk::Written* written)
      : repository_(repository), packs_(packs), written_(written) {}

  // A store of Zarr v3 with what was put into it, which must not outlive this. Thread-safe.
  std::unique_ptr<Store> MakeStore();

  // Stores the snapshot, with what it has of `meta`: parent, message, time, metadata. Nothing, and nothing is
  // stored, where it is the same as `parent`. Once, when no store is left. kUnsupported for what a
  // repository cannot hold.
  Result<std::optional<icechunk::ObjectId>> Finish(const icechunk::Snapshot& parent, icechunk::Snapshot meta);

 private:
  friend class SnapshotPlace;
  using Object = std::variant<std::string, Place>;  // a document, or a chunk
  using Objects = std::map<std::string, Object, std::less<>>;

  Result<std::optional<Buffer>> ReadObject(std::string_view key, const ByteRange& range, uint64_t* object_bytes);
  // Takes the chunks out of objects_; the paths of what has a document.
  Result<std::vector<std::string>> SortObjects();
  Result<icechunk::Transaction> ChangesOf(const icechunk::Snapshot& parent, const icechunk::Snapshot& snapshot) const;
  Status AddNode(const std::string& path, const icechunk::Snapshot& parent, icechunk::Snapshot* snapshot,
                 std::map<icechunk::ObjectId, icechunk::ManifestInfo>* manifests);

  icechunk::Repository* const repository_;
  PackWriter* const packs_;  // guarded by mutex_
  icechunk::Written* const written_;
  std::mutex mutex_;
  Objects objects_;                             // guarded by mutex_; by key
  std::map<std::string, PlacedChunks> chunks_;  // of Finish: by path of the array
};

// Gives an array that names no dimensions names after its path: xarray opens no other. To HDF5 programs they
// are neither scales nor labels.
void NameDimensions(const std::string& path, zarr::ArrayMetadata* metadata);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_NEW_SNAPSHOT_H_
