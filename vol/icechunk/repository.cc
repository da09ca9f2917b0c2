#include "icechunk/repository.h"

#include <algorithm>
#include <utility>

#include "icechunk/envelope.h"
#include "icechunk/ref_names.h"
#include "icechunk/verified.h"
#include "zarr/json.h"

namespace h5zarr::icechunk {
namespace {

constexpr std::string_view kRepoKey = "repo";
constexpr std::string_view kRefs = "refs";
constexpr std::string_view kBranchPrefix = "branch.";
constexpr std::string_view kTagPrefix = "tag.";
constexpr std::string_view kRefFile = "ref.json";
// Beside the ref of a tag: the tag was deleted, and its name is not given again.
constexpr std::string_view kDeletedFile = "ref.json.deleted";
constexpr std::string_view kFirstMessage = "Repository initialized";
constexpr uint64_t kMostRefBytes = 64 << 10;

std::string ObjectKey(std::string_view folder, const ObjectId& id) { return std::string(folder) + "/" + ToText(id); }

std::string RefFolder(std::string_view kind, std::string_view name) {
  return std::string(kRefs) + "/" + std::string(kind) + std::string(name);
}

std::string RefKey(std::string_view kind, std::string_view spelling, std::string_view file) {
  return RefFolder(kind, spelling) + "/" + std::string(file);
}

Status CheckRefName(std::string_view name) {
  const bool has_control =
      std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!name.empty() && name.find('/') == std::string_view::npos && !has_control) return OkStatus();
  return InvalidArgumentError("'" + std::string(name) +
                              "' cannot be the name of a branch or tag: no '/', no control characters");
}

// Says of which repository an object is that is not as it should be.
template <typename T>
Result<T> At(const Store& store, Result<T> decoded) {
  if (!decoded.ok()) return decoded.status().WithContext(store.Describe());
  return decoded;
}

Result<ObjectId> ParseRef(const std::string& key, ByteSpan bytes) {
  if (bytes.size() > kMostRefBytes) {
    return CorruptError("'" + key + "' has " + std::to_string(bytes.size()) + " bytes, a ref has about 35");
  }
  H5ZARR_ASSIGN_OR_RETURN(const zarr::Json json, zarr::ParseJson(AsText(bytes), key));
  const auto text = zarr::StringMember(json, "snapshot");
  if (!text) return CorruptError("'" + key + "': it names no snapshot");
  const Result<ObjectId> id = ParseObjectId(*text);
  if (!id.ok()) return CorruptError("'" + key + "': " + id.status().message());
  return id;
}

}  // namespace

std::string SnapshotKey(const ObjectId& id) { return ObjectKey("snapshots", id); }
std::string ManifestKey(const ObjectId& id) { return ObjectKey("manifests", id); }
std::string TransactionKey(const ObjectId& id) { return ObjectKey("transactions", id); }
std::string ChunkKey(const ObjectId& id) { return ObjectKey("chunks", id); }

Result<bool> IsRepository(Store& store) {
  H5ZARR_ASSIGN_OR_RETURN(const auto main, store.ObjectBytes(RefKey(kBranchPrefix, kMainBranch, kRefFile)));
  if (main) return true;
  H5ZARR_ASSIGN_OR_RETURN(const auto repo_bytes, store.ObjectBytes(kRepoKey));
  // Any file may have that name: its first bytes decide.
  constexpr uint64_t kHeaderBytes = 12;
  if (!repo_bytes || *repo_bytes < kHeaderBytes) return false;
  bool found = false;
  ReadOp op;
  op.key = kRepoKey;
  op.range = ByteRange::Span(0, kHeaderBytes);
  Executor executor(1);
  H5ZARR_RETURN_IF_ERROR(store.ReadBatch(
      {&op, 1},
      [&](std::size_t, const ReadResult& result) {
        found = result.bytes && HasMagic(*result.bytes);
        return OkStatus();
      },
      executor));
  return found;
}

Result<Repository> Repository::Open(Store* store) {
  Repository repository(store);
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> repo, store->Read(kRepoKey));
  if (repo) {
    H5ZARR_ASSIGN_OR_RETURN(repository.refs_, At(*store, repository.DecodeRefs(repo->span())));
    return repository;
  }
  H5ZARR_ASSIGN_OR_RETURN(const bool found, IsRepository(*store));
  if (!found) return NotFoundError("no Icechunk repository at " + store->Describe());
  return repository;
}

Result<Repository> Repository::OpenOrCreate(Store* store) {
  Result<Repository> opened = Open(store);
  if (opened.ok() || opened.status().code() != StatusCode::kNotFound) return opened;
  H5ZARR_RETURN_IF_ERROR(WriteFirstSnapshot(store));
  Repository repository(store);
  H5ZARR_ASSIGN_OR_RETURN(const bool set, repository.SetBranch(kMainBranch, kFirstSnapshot));
  static_cast<void>(set);
  return repository;
}

Status Repository::WriteFirstSnapshot(Store* store) {
  Snapshot first;
  first.message = kFirstMessage;
  // The format gives this snapshot its name.
  H5ZARR_ASSIGN_OR_RETURN(const Buffer file, EncodeSnapshotAs(kFirstSnapshot, &first));
  const std::string key = SnapshotKey(kFirstSnapshot);
  H5ZARR_ASSIGN_OR_RETURN(const auto there, store->ObjectBytes(key));
  if (there) return OkStatus();
  // (In place of another's it would be another file, with locks of its own.)
  return store->WriteNew(key, file).status();
}

// --- refs ----------------------------------------------------------------------------------------

Result<Repository::Refs> Repository::DecodeRefs(ByteSpan file) const {
  H5ZARR_ASSIGN_OR_RETURN(const Payload payload, OpenEnvelope(kRepoKey, file, FileType::kRepo));
  H5ZARR_ASSIGN_OR_RETURN(const fb::Repo* repo, VerifiedRoot<fb::Repo>(kRepoKey, payload.bytes));
  const auto take = [&](const flatbuffers::Vector<flatbuffers::Offset<fb::Ref>>& flat,
                        std::map<std::string, ObjectId>* refs) -> Status {
    for (const fb::Ref* ref : flat) {
      if (ref->snapshot_index() >= repo->snapshots()->size()) {
        return CorruptError("'repo': '" + ref->name()->str() + "' leads to snapshot " +
                            std::to_string(ref->snapshot_index()) + " of " + std::to_string(repo->snapshots()->size()));
      }
      (*refs)[ref->name()->str()] = FromFlat(*repo->snapshots()->Get(ref->snapshot_index())->id());
    }
    return OkStatus();
  };
  Refs refs;
  H5ZARR_RETURN_IF_ERROR(take(*repo->branches(), &refs.branches));
  H5ZARR_RETURN_IF_ERROR(take(*repo->tags(), &refs.tags));
  return refs;
}

Result<std::optional<ObjectId>> Repository::ReadRef(const std::string& key) const {
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> bytes, store_->Read(key));
  if (!bytes) return std::optional<ObjectId>();
  H5ZARR_ASSIGN_OR_RETURN(const ObjectId id, At(*store_, ParseRef(key, bytes->span())));
  return std::optional<ObjectId>(id);
}

// The key of a ref that is there, by one of its spellings; nothing where it is not.
Result<std::optional<std::string>> Repository::FindKey(std::string_view kind, std::string_view name,
                                                       std::string_view file) const {
  for (const std::string& spelling : RefSpellings(name, store_->is_local_folder())) {
    const std::string key = RefKey(kind, spelling, file);
    H5ZARR_ASSIGN_OR_RETURN(const auto bytes, store_->ObjectBytes(key));
    if (bytes) return std::optional<std::string>(key);
  }
  return std::optional<std::string>();
}

Result<std::optional<ObjectId>> Repository::ReadRefNamed(std::string_view kind, std::string_view name) const {
  for (const std::string& spelling : RefSpellings(name, store_->is_local_folder())) {
    H5ZARR_ASSIGN_OR_RETURN(const auto id, ReadRef(RefKey(kind, spelling, kRefFile)));
    if (id) return id;
  }
  return std::optional<ObjectId>();
}

// The key of the ref where it is there, else that of a new one.
Result<std::string> Repository::KeyToWrite(std::string_view kind, std::string_view name) const {
  const std::vector<std::string> spellings = RefSpellings(name, store_->is_local_folder());
  const std::string first = RefKey(kind, spellings.front(), kRefFile);
  if (spellings.size() == 1) return first;
  H5ZARR_ASSIGN_OR_RETURN(const auto there, FindKey(kind, name, kRefFile));
  return there.value_or(first);
}

Result<std::optional<ObjectId>> Repository::FindBranch(std::string_view name) const {
  H5ZARR_RETURN_IF_ERROR(CheckRefName(name));
  if (!refs_) return ReadRefNamed(kBranchPrefix, name);
  const auto found = refs_->branches.find(std::string(name));
  return found == refs_->branches.end() ? std::optional<ObjectId>() : found->second;
}

Result<std::optional<ObjectId>> Repository::FindTag(std::string_view name) const {
  H5ZARR_RETURN_IF_ERROR(CheckRefName(name));
  if (refs_) {
    const auto found = refs_->tags.find(std::string(name));
    return found == refs_->tags.end() ? std::optional<ObjectId>() : found->second;
  }
  H5ZARR_ASSIGN_OR_RETURN(const bool was_deleted, IsDeletedTag(name));
  if (was_deleted) return std::optional<ObjectId>();
  return ReadRefNamed(kTagPrefix, name);
}

Result<bool> Repository::IsDeletedTag(std::string_view name) const {
  H5ZARR_RETURN_IF_ERROR(CheckRefName(name));
  if (refs_) return false;  // (version 2 lists them elsewhere, and nothing asks)
  H5ZARR_ASSIGN_OR_RETURN(const auto tombstone, FindKey(kTagPrefix, name, kDeletedFile));
  return tombstone.has_value();
}

Result<std::map<std::string, ObjectId>> Repository::ListRefs(std::string_view kind) const {
  H5ZARR_ASSIGN_OR_RETURN(const auto entries, store_->List(kRefs));
  const bool in_local_folder = store_->is_local_folder();
  std::map<std::string, ObjectId> refs;
  for (const ListEntry& entry : entries) {
    if (!entry.is_prefix || !entry.name.starts_with(kind)) continue;
    const std::string folder = entry.name.substr(kind.size());
    const std::string name = in_local_folder ? DecodeRefName(folder) : folder;
    if (!CheckRefName(name).ok()) continue;
    H5ZARR_ASSIGN_OR_RETURN(const auto id, kind == kTagPrefix ? FindTag(name) : FindBranch(name));
    if (id) refs[name] = *id;
  }
  return refs;
}

Result<std::map<std::string, ObjectId>> Repository::Branches() const {
  if (refs_) return refs_->branches;
  return ListRefs(kBranchPrefix);
}

Result<std::map<std::string, ObjectId>> Repository::Tags() const {
  if (refs_) return refs_->tags;
  return ListRefs(kTagPrefix);
}

Result<ObjectId> Repository::Resolve(std::string_view version) const {
  constexpr std::string_view kSnapshot = "snapshot:";
  constexpr std::string_view kBranch = "branch:";
  constexpr std::string_view kTag = "tag:";
  if (version.empty()) version = "branch:main";
  if (version.starts_with(kSnapshot)) return ParseObjectId(version.substr(kSnapshot.size()));
  std::optional<ObjectId> found;
  if (version.starts_with(kBranch)) {
    H5ZARR_ASSIGN_OR_RETURN(found, FindBranch(version.substr(kBranch.size())));
  } else if (version.starts_with(kTag)) {
    H5ZARR_ASSIGN_OR_RETURN(found, FindTag(version.substr(kTag.size())));
  } else {
    H5ZARR_ASSIGN_OR_RETURN(found, FindTag(version));
    if (!found) {
      H5ZARR_ASSIGN_OR_RETURN(found, FindBranch(version));
    }
  }
  if (found) return *found;
  return NotFoundError("no version '" + std::string(version) + "' in the Icechunk repository at " + store_->Describe());
}

// --- objects -------------------------------------------------------------------------------------

Result<Snapshot> Repository::ReadSnapshot(const ObjectId& id) const {
  const std::string key = SnapshotKey(id);
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> file, store_->Read(key));
  if (!file) return NotFoundError("no snapshot '" + key + "' in " + store_->Describe());
  H5ZARR_ASSIGN_OR_RETURN(Snapshot snapshot, At(*store_, DecodeSnapshot(key, file->span())));
  if (snapshot.id != id) {
    return CorruptError(store_->Describe() + ": '" + key + "' is snapshot " + ToText(snapshot.id));
  }
  return snapshot;
}

Result<Manifest> Repository::ReadManifest(const ObjectId& id) const {
  const std::string key = ManifestKey(id);
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> file, store_->Read(key));
  if (!file) {
    return CorruptError(store_->Describe() + ": '" + key + "' is not there, but a snapshot has chunks in it");
  }
  return At(*store_, Manifest::Decode(key, file->span()));
}

// --- changing ------------------------------------------------------------------------------------

Status Repository::CheckChangeable() const {
  if (!refs_) return OkStatus();
  return UnsupportedError(store_->Describe() + ": an Icechunk repository of version 2 can only be read");
}

Status Repository::WriteNew(const std::string& key, ByteSpan bytes, Written* written) {
  // Names are made from contents: what is there is what would be written.
  H5ZARR_ASSIGN_OR_RETURN(const auto there, store_->ObjectBytes(key));
  if (there) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(store_->Write(key, bytes));
  if (written != nullptr) {
    ++written->objects;
    written->bytes += bytes.size();
  }
  return OkStatus();
}

Status Repository::WriteSnapshot(Snapshot* snapshot, const Transaction& transaction, Written* written) {
  H5ZARR_RETURN_IF_ERROR(CheckChangeable());
  H5ZARR_ASSIGN_OR_RETURN(const Buffer file, EncodeSnapshot(snapshot));
  H5ZARR_ASSIGN_OR_RETURN(const Buffer log, EncodeTransaction(snapshot->id, transaction));
  H5ZARR_RETURN_IF_ERROR(WriteNew(TransactionKey(snapshot->id), log, written));
  return WriteNew(SnapshotKey(snapshot->id), file, written);
}

Status Repository::ReplaceSnapshot(Snapshot* snapshot, const Transaction& transaction) {
  H5ZARR_RETURN_IF_ERROR(CheckChangeable());
  H5ZARR_ASSIGN_OR_RETURN(const Buffer file, EncodeSnapshotAs(snapshot->id, snapshot));
  H5ZARR_ASSIGN_OR_RETURN(const Buffer log, EncodeTransaction(snapshot->id, transaction));
  H5ZARR_RETURN_IF_ERROR(store_->Write(TransactionKey(snapshot->id), log));
  return store_->Write(SnapshotKey(snapshot->id), file);
}

Result<ManifestInfo> Repository::WriteManifest(const EncodedManifest& manifest, uint64_t chunks, Written* written) {
  H5ZARR_RETURN_IF_ERROR(CheckChangeable());
  if (chunks > UINT32_MAX) return OutOfRangeError("a manifest of more than 2^32 chunks");
  H5ZARR_RETURN_IF_ERROR(WriteNew(ManifestKey(manifest.id), manifest.file, written));
  return ManifestInfo{manifest.id, manifest.file.size_bytes(), static_cast<uint32_t>(chunks)};
}

Result<bool> Repository::SetTag(std::string_view name, const ObjectId& id) {
  H5ZARR_RETURN_IF_ERROR(CheckChangeable());
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<ObjectId> now, FindTag(name));
  if (now == id) return false;
  H5ZARR_ASSIGN_OR_RETURN(const bool was_deleted, IsDeletedTag(name));
  if (now || was_deleted) {
    return AlreadyExistsError("tag '" + std::string(name) + "' " +
                              (now ? "leads to snapshot " + ToText(*now) : "was deleted") + ": tags never change");
  }
  H5ZARR_ASSIGN_OR_RETURN(const std::string key, KeyToWrite(kTagPrefix, name));
  return WriteRef(key, id, std::nullopt);
}

Result<bool> Repository::SetBranch(std::string_view name, const ObjectId& id) {
  H5ZARR_RETURN_IF_ERROR(CheckChangeable());
  H5ZARR_RETURN_IF_ERROR(CheckRefName(name));
  H5ZARR_ASSIGN_OR_RETURN(const std::string key, KeyToWrite(kBranchPrefix, name));
  Generation generation;
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> bytes, store_->Read(key, &generation));
  if (!bytes) return WriteRef(key, id, std::nullopt);
  H5ZARR_ASSIGN_OR_RETURN(const ObjectId now, At(*store_, ParseRef(key, bytes->span())));
  if (now == id) return false;
  return WriteRef(key, id, generation);
}

// Over the state that was seen, or where there was none: what others did meanwhile stays.
Result<bool> Repository::WriteRef(const std::string& key, const ObjectId& id, const std::optional<Generation>& seen) {
  const std::string text = "{\"snapshot\":\"" + ToText(id) + "\"}";
  const Result<bool> written = seen ? store_->Replace(key, AsBytes(text), *seen) : store_->WriteNew(key, AsBytes(text));
  if (written.ok() && *written) return true;
  // (Where the answer was lost, what is there says who wrote it.)
  const Result<std::optional<ObjectId>> now = ReadRef(key);
  if (now.ok() && *now == id) return true;
  H5ZARR_RETURN_IF_ERROR(written.status());
  return ChangedError("'" + key + "' in " + store_->Describe() + ": another writer has " + (seen ? "moved" : "made") +
                      " it meanwhile; try again");
}

Status Repository::DeleteTag(std::string_view name) {
  H5ZARR_RETURN_IF_ERROR(CheckChangeable());
  H5ZARR_RETURN_IF_ERROR(CheckRefName(name));
  H5ZARR_ASSIGN_OR_RETURN(const std::string key, KeyToWrite(kTagPrefix, name));
  return store_->Write(key.substr(0, key.size() - kRefFile.size()) + std::string(kDeletedFile), {});
}

}  // namespace h5zarr::icechunk
