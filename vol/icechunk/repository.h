// Repository: the versions of an Icechunk repository, in any Store.
//
// Version 1 of the format has a small object for each branch and tag, version 2 one object, "repo",
// for all of them. Both are read; version 1 is written. It knows no Zarr but for documents as text.
#ifndef H5ZARR_ICECHUNK_REPOSITORY_H_
#define H5ZARR_ICECHUNK_REPOSITORY_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "icechunk/ids.h"
#include "icechunk/manifest.h"
#include "icechunk/snapshot.h"
#include "icechunk/transaction.h"
#include "store/store.h"

namespace h5zarr::icechunk {

// The keys of objects.
std::string SnapshotKey(const ObjectId& id);
std::string ManifestKey(const ObjectId& id);
std::string TransactionKey(const ObjectId& id);
std::string ChunkKey(const ObjectId& id);

inline constexpr std::string_view kMainBranch = "main";

// Whether a repository is in `store`. Costs at most two looks.
Result<bool> IsRepository(Store& store);

// Counts what was written.
struct Written {
  uint64_t objects = 0;
  uint64_t bytes = 0;
};

class Repository {
 public:
  // The repository in `store`, which must outlive it. kNotFound when there is none. Reads nothing of
  // version 1, all refs of version 2. Blocks.
  static Result<Repository> Open(Store* store);
  // The same, made first where there is none: branch "main" at a snapshot without nodes.
  static Result<Repository> OpenOrCreate(Store* store);
  // Writes that snapshot where it is not, and no more: there is a repository once a branch leads to it.
  static Status WriteFirstSnapshot(Store* store);

  Store& store() const { return *store_; }
  int spec_version() const { return refs_ ? 2 : 1; }

  // The snapshot that a version is. Of a `version`: "branch:NAME", "tag:NAME", "snapshot:ID"; a name
  // alone is a tag's, or else a branch's; nothing is branch "main". kNotFound when there is none of
  // that name; kCorrupt when its object is damaged.
  Result<ObjectId> Resolve(std::string_view version) const;

  Result<std::optional<ObjectId>> FindBranch(std::string_view name) const;
  Result<std::optional<ObjectId>> FindTag(std::string_view name) const;
  // By name.
  Result<std::map<std::string, ObjectId>> Branches() const;
  Result<std::map<std::string, ObjectId>> Tags() const;

  // kCorrupt when the object is not there, is damaged, or is another's.
  Result<Snapshot> ReadSnapshot(const ObjectId& id) const;
  Result<Manifest> ReadManifest(const ObjectId& id) const;

  // --- changing (version 1) ---------------------------------------------------------------------

  // Stores `snapshot`, giving it its id, and the log of what it changed. Nobody sees them until a ref
  // leads there. Objects that are there already are not written again: `written`, when given, counts
  // those that are.
  Status WriteSnapshot(Snapshot* snapshot, const Transaction& transaction, Written* written = nullptr);
  // Stores a manifest; what its snapshot says of it.
  Result<ManifestInfo> WriteManifest(const EncodedManifest& manifest, uint64_t chunks, Written* written = nullptr);
  // Stores a snapshot that is there already, under its id, and its log: for one that follows another from now on.
  Status ReplaceSnapshot(Snapshot* snapshot, const Transaction& transaction);
  // Makes the ref lead to `id`: the one step that shows a version. kAlreadyExists for a tag that
  // leads elsewhere, or was deleted (tags never change), kChanged where another writer was faster.
  // kInvalidArgument for a name that no ref may have. True when something was written.
  Result<bool> SetTag(std::string_view name, const ObjectId& id);
  Result<bool> SetBranch(std::string_view name, const ObjectId& id);
  // Nobody finds the tag any more, and its name is not given again.
  Status DeleteTag(std::string_view name);
  Result<bool> IsDeletedTag(std::string_view name) const;

 private:
  struct Refs {
    std::map<std::string, ObjectId> branches;
    std::map<std::string, ObjectId> tags;
  };

  explicit Repository(Store* store) : store_(store) {}
  Result<Refs> DecodeRefs(ByteSpan file) const;
  Result<std::optional<ObjectId>> ReadRef(const std::string& key) const;
  Result<std::optional<ObjectId>> ReadRefNamed(std::string_view kind, std::string_view name) const;
  Result<std::optional<std::string>> FindKey(std::string_view kind, std::string_view name, std::string_view file) const;
  Result<std::string> KeyToWrite(std::string_view kind, std::string_view name) const;
  Result<std::map<std::string, ObjectId>> ListRefs(std::string_view kind) const;
  Status WriteNew(const std::string& key, ByteSpan bytes, Written* written);
  Result<bool> WriteRef(const std::string& key, const ObjectId& id, const std::optional<Generation>& seen);
  Status CheckChangeable() const;

  Store* store_;
  std::optional<Refs> refs_;  // of version 2
};

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_REPOSITORY_H_
