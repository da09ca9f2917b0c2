// VersionAdder: puts versions of a versioned-hdf5 file into a repository, as snapshots. Within mirror/ only.
//
// What a version has in common with the one before it is known from the file's mappings; the rest is read, and
// told by its hash.
#ifndef H5ZARR_MIRROR_VERSION_ADDER_H_
#define H5ZARR_MIRROR_VERSION_ADDER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "exec/executor.h"
#include "icechunk/repository.h"
#include "mirror/pack_writer.h"
#include "mirror/placed_chunks.h"
#include "mirror/slot_reader.h"
#include "mirror/source_file.h"
#include "mirror/version_tree.h"
#include "mirror/versions.h"
#include "mirror/write_behind.h"

namespace h5zarr::mirror {

class VersionAdder {
 public:
  // All must outlive it. `repository`: in `store`.
  VersionAdder(SourceFile* file, Encoding encoding, icechunk::Repository* repository, WriteBehind* store,
               Executor* executor)
      : file_(file),
        encoding_(encoding),
        repository_(repository),
        packs_(store, &written_),
        reader_(file->bytes(), executor) {}

  // Learns what is in the repository. Before the first Add.
  Status Begin() { return packs_.LoadTrailers(); }

  // Writes the snapshot of `version`, which follows snapshot `parent`: that of version `parent_name`, or of
  // none where that is empty. Nobody sees it before a ref leads there, nor may one before the store is flushed.
  Result<icechunk::ObjectId> Add(const Version& version, const icechunk::ObjectId& parent,
                                 const std::string& parent_name);

  const icechunk::Written& written() const { return written_; }
  const PackWriter& packs() const { return packs_; }

 private:
  // The snapshot that was added, or read, last: most often the next one's parent.
  struct Known {
    icechunk::Snapshot snapshot;
    std::map<std::string, PlacedChunks> placed;  // by path; those that were looked at
    bool was_added = false;                      // by this object: all are there
  };

  Result<Known> KnownParent(const icechunk::ObjectId& id);
  Result<const PlacedChunks*> PlacedOf(Known* known, const icechunk::Node& array);
  Status SeedFrom(const std::string& parent_name, Known* parent, const SourceDataset& dataset);
  Result<PlacedChunks> PlaceChunks(const SourceDataset& dataset);
  Status SetManifests(const SourceDataset& dataset, const PlacedChunks& placed, const Known& parent,
                      icechunk::Node* node);
  Status NoteManifests(const Known& parent, icechunk::Snapshot* snapshot) const;

  SourceFile* const file_;
  const Encoding encoding_;
  icechunk::Repository* const repository_;
  icechunk::Written written_;
  PackWriter packs_;
  SlotReader reader_;
  std::optional<Known> last_;
  std::map<std::string, std::vector<Place>> slots_;                 // where chunks of raw_data are, by its name
  std::set<std::pair<std::string, std::string>> seeded_;            // version and raw_data
  std::map<icechunk::ObjectId, icechunk::ManifestInfo> manifests_;  // that were written
};

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_VERSION_ADDER_H_
