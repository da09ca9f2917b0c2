#include "icechunk/icechunk_store.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "icechunk/repository.h"
#include "store/read_only_store.h"

namespace h5zarr::icechunk {
namespace {

constexpr std::string_view kDocument = "zarr.json";
constexpr std::string_view kChunks = "c";

// Manifests that are kept: so much memory, or the last one whatever it takes.
constexpr uint64_t kMostManifestBytes = 256 << 20;

using ManifestPtr = std::shared_ptr<const Manifest>;

// What a key names.
struct Target {
  enum class Kind : uint8_t { kAbsent, kDocument, kChunk };
  Kind kind = Kind::kAbsent;
  const Node* node = nullptr;
  std::vector<uint32_t> index;  // kChunk
};

// A chunk, and the manifest that its inline bytes are in.
struct FoundChunk {
  ChunkPlace place;
  ManifestPtr manifest;
};

class IcechunkStore : public ReadOnlyStore {
 public:
  IcechunkStore(std::unique_ptr<Store> place, Repository repository, Snapshot snapshot, std::string name)
      : place_(std::move(place)),
        repository_(std::move(repository)),
        snapshot_(std::move(snapshot)),
        name_(std::move(name)) {}

  // Takes `node_path` for the root. kNotFound when it is not there.
  Status SetRoot(std::string_view node_path);

  std::string Describe() const override { return name_; }
  Status CheckThere() override { return place_->CheckThere(); }

  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override;
  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override;
  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override;
  Result<std::vector<ListEntry>> List(std::string_view prefix) override;
  Status Walk(std::string_view prefix, const std::function<Status(std::string_view, uint64_t)>& visit) override;

 private:
  Status Refusal() const override {
    return PermissionDeniedError("'" + name_ + "': a version of an Icechunk repository never changes");
  }

  void NoteChild(std::string_view path);
  Result<Target> TargetOf(std::string_view key) const;
  Result<std::optional<FoundChunk>> FindChunk(const Target& target);
  Result<ManifestPtr> ManifestOf(const ObjectId& id);
  // What is at `key`, all of it in memory or in the repository; nothing where there is nothing.
  Result<std::optional<FoundChunk>> Find(std::string_view key);
  Status VisitChunks(const std::string& path, const Node& node, std::string_view prefix,
                     const std::function<Status(std::string_view, uint64_t)>& visit);

  const std::unique_ptr<Store> place_;
  const Repository repository_;
  const Snapshot snapshot_;
  const std::string name_;
  std::map<std::string, const Node*, std::less<>> nodes_;               // by path from the root, without first '/'
  std::map<std::string, std::set<std::string>, std::less<>> children_;  // names, by the parent's path

  std::mutex mutex_;
  std::vector<std::pair<ObjectId, ManifestPtr>> manifests_;  // guarded by mutex_; last used last
};

Status IcechunkStore::SetRoot(std::string_view node_path) {
  const std::string root = node_path.empty() ? "" : "/" + std::string(node_path);
  for (const Node& node : snapshot_.nodes) {
    const std::string path = node.path == "/" ? "" : node.path;
    if (path == root) {
      nodes_.emplace("", &node);
    } else if (path.starts_with(root + "/")) {
      nodes_.emplace(path.substr(root.size() + 1), &node);
    }
  }
  for (const auto& [path, node] : nodes_) NoteChild(path);
  // A new repository has no root yet: an empty store, in which there is nothing to open.
  if (nodes_.contains("") || (root.empty() && nodes_.empty())) return OkStatus();
  return NotFoundError("no node '" + root + "' in " + name_);
}

// Groups on the way may have no document of their own.
void IcechunkStore::NoteChild(std::string_view path) {
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string_view parent = slash == std::string_view::npos ? "" : path.substr(0, slash);
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (!children_[std::string(parent)].emplace(name).second) return;
    path = parent;
  }
}

// --- keys ----------------------------------------------------------------------------------------

// The chunk index in `key` ("c/0/12", "c" alone for a scalar), of `rank` numbers.
std::optional<std::vector<uint32_t>> ParseChunkKey(std::string_view key, std::size_t rank) {
  if (!key.starts_with(kChunks)) return std::nullopt;
  key.remove_prefix(kChunks.size());
  std::vector<uint32_t> index;
  while (!key.empty()) {
    if (!key.starts_with('/')) return std::nullopt;
    key.remove_prefix(1);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), value);
    if (error != std::errc()) return std::nullopt;
    key.remove_prefix(static_cast<std::size_t>(end - key.data()));
    index.push_back(value);
  }
  if (index.size() != rank) return std::nullopt;
  return index;
}

Result<Target> IcechunkStore::TargetOf(std::string_view key) const {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  const std::size_t last = key.rfind('/');
  const std::string_view name = last == std::string_view::npos ? key : key.substr(last + 1);
  const std::string_view parent = last == std::string_view::npos ? "" : key.substr(0, last);
  if (name == kDocument) {
    const auto found = nodes_.find(parent);
    if (found == nodes_.end()) return Target();
    return Target{Target::Kind::kDocument, found->second, {}};
  }
  // Documents of Zarr v2: Icechunk has none.
  if (name.starts_with(".z")) return Target();
  // Is the key of a chunk of an array: nothing else is below one.
  std::string_view path = parent;
  while (true) {
    const auto found = nodes_.find(path);
    if (found != nodes_.end() && found->second->is_array) {
      const std::string_view rest = path.empty() ? key : key.substr(path.size() + 1);
      auto index = ParseChunkKey(rest, found->second->dimensions.size());
      if (index) return Target{Target::Kind::kChunk, found->second, std::move(*index)};
      return CorruptError("'" + std::string(key) + "' in " + name_ + ": no key of a chunk of array '" +
                          std::string(path) + "', of " + std::to_string(found->second->dimensions.size()) +
                          " dimensions; Icechunk has chunks under 'c/0/0…' only");
    }
    if (path.empty()) return Target();
    const std::size_t slash = path.rfind('/');
    path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  }
}

// --- chunks --------------------------------------------------------------------------------------

Result<ManifestPtr> IcechunkStore::ManifestOf(const ObjectId& id) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = manifests_.begin(); it != manifests_.end(); ++it) {
      if (it->first != id) continue;
      std::rotate(it, it + 1, manifests_.end());
      return manifests_.back().second;
    }
  }
  // Two threads may read the same one: that costs time and nothing else.
  H5ZARR_ASSIGN_OR_RETURN(Manifest read, repository_.ReadManifest(id));
  auto manifest = std::make_shared<const Manifest>(std::move(read));
  const std::lock_guard<std::mutex> lock(mutex_);
  manifests_.emplace_back(id, manifest);
  uint64_t total_bytes = 0;
  std::size_t kept = 0;
  while (kept < manifests_.size()) {
    total_bytes += manifests_[manifests_.size() - 1 - kept].second->bytes();
    if (kept > 0 && total_bytes > kMostManifestBytes) break;
    ++kept;
  }
  manifests_.erase(manifests_.begin(), manifests_.end() - static_cast<std::ptrdiff_t>(kept));
  return manifest;
}

bool IsWithin(const std::vector<IndexRange>& extents, const std::vector<uint32_t>& index) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < extents[i].from || index[i] >= extents[i].to) return false;
  }
  return true;
}

Result<std::optional<FoundChunk>> IcechunkStore::FindChunk(const Target& target) {
  for (const ManifestRef& ref : target.node->manifests) {
    if (!IsWithin(ref.extents, target.index)) continue;
    H5ZARR_ASSIGN_OR_RETURN(ManifestPtr manifest, ManifestOf(ref.id));
    std::optional<ChunkPlace> place = manifest->Find(target.node->id, target.index);
    if (place) return std::optional(FoundChunk{std::move(*place), std::move(manifest)});
  }
  return std::optional<FoundChunk>();
}

Result<std::optional<FoundChunk>> IcechunkStore::Find(std::string_view key) {
  H5ZARR_ASSIGN_OR_RETURN(const Target target, TargetOf(key));
  switch (target.kind) {
    case Target::Kind::kAbsent: return std::optional<FoundChunk>();
    case Target::Kind::kDocument: {
      FoundChunk document;
      document.place.kind = ChunkPlace::Kind::kInline;
      document.place.bytes = AsBytes(target.node->document);
      document.place.length = document.place.bytes.size();
      return std::optional(std::move(document));
    }
    case Target::Kind::kChunk: break;
  }
  H5ZARR_ASSIGN_OR_RETURN(std::optional<FoundChunk> chunk, FindChunk(target));
  if (chunk && chunk->place.kind == ChunkPlace::Kind::kVirtual) {
    return UnsupportedError("'" + std::string(key) + "' in " + name_ +
                            ": the chunk is outside of the repository, at '" +
                            (chunk->place.location.empty() ? "(compressed)" : chunk->place.location) +
                            "'; such virtual chunks are not read");
  }
  return chunk;
}

// --- reading -------------------------------------------------------------------------------------

// The bytes [first, second) of an object of `object_bytes` that `range` means.
Result<std::pair<uint64_t, uint64_t>> CutRange(std::string_view key, const ReadOp& op, uint64_t object_bytes) {
  const auto too_short = [&] {
    return CorruptError("key '" + std::string(key) + "': " + std::to_string(op.range.length) + " bytes from " +
                        std::to_string(op.range.offset) + " were asked for, the object has only " +
                        std::to_string(object_bytes));
  };
  std::pair<uint64_t, uint64_t> cut(0, object_bytes);
  switch (op.range.kind) {
    case ByteRange::Kind::kWhole:
      if (!op.target.empty() && op.target.size() != object_bytes) {
        return CorruptError("key '" + std::string(key) + "' has " + std::to_string(object_bytes) + " bytes, expected " +
                            std::to_string(op.target.size()));
      }
      return cut;
    case ByteRange::Kind::kSpan: {
      const auto end = CheckedAdd(op.range.offset, op.range.length);
      if (!end || *end > object_bytes) return too_short();
      cut = {op.range.offset, *end};
      break;
    }
    case ByteRange::Kind::kSuffix:
      if (op.range.length > object_bytes) return too_short();
      cut.first = object_bytes - op.range.length;
      break;
  }
  if (!op.target.empty() && op.target.size() != op.range.length) {
    return InvalidArgumentError("key '" + std::string(key) + "': the range has not the size of its target");
  }
  return cut;
}

Status IcechunkStore::ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) {
  std::vector<ReadOp> stored;          // what is read from the repository…
  std::vector<std::size_t> index_of;   // …which of `ops` each of them is…
  std::vector<uint64_t> object_bytes;  // …and the size of its chunk
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ReadOp& op = ops[i];
    H5ZARR_ASSIGN_OR_RETURN(const std::optional<FoundChunk> found, Find(op.key));
    ReadResult result;
    if (!found) {
      H5ZARR_RETURN_IF_ERROR(sink(i, result));
      continue;
    }
    const ChunkPlace& place = found->place;
    H5ZARR_ASSIGN_OR_RETURN(const auto cut, CutRange(op.key, op, place.length));
    const auto [begin, end] = cut;
    if (place.kind == ChunkPlace::Kind::kInline) {
      result.bytes = place.bytes.subspan(begin, end - begin);
      result.object_bytes = place.length;
      if (!op.target.empty()) {
        std::memcpy(op.target.data(), result.bytes->data(), result.bytes->size());
        result.bytes = op.target;
      }
      H5ZARR_RETURN_IF_ERROR(sink(i, result));
      continue;
    }
    ReadOp inner = op;
    inner.key = ChunkKey(place.object);
    inner.range = ByteRange::Span(place.offset + begin, end - begin);
    stored.push_back(std::move(inner));
    index_of.push_back(i);
    object_bytes.push_back(place.length);
  }
  const auto deliver = [&](std::size_t index, const ReadResult& inner) -> Status {
    if (!inner.bytes) {
      return CorruptError("'" + stored[index].key + "' is not there, but chunk '" + ops[index_of[index]].key +
                          "' is in it: " + place_->Describe());
    }
    ReadResult result = inner;
    result.object_bytes = object_bytes[index];
    return sink(index_of[index], result);
  };
  return place_->ReadBatch(stored, deliver, executor);
}

Result<std::optional<Buffer>> IcechunkStore::Read(std::string_view key, Generation* generation) {
  if (generation != nullptr) *generation = Generation();
  std::optional<Buffer> read;
  ReadOp op;
  op.key = key;
  Executor here(1);
  H5ZARR_RETURN_IF_ERROR(ReadBatch(
      {&op, 1},
      [&](std::size_t, const ReadResult& result) -> Status {
        if (!result.bytes) return OkStatus();
        H5ZARR_ASSIGN_OR_RETURN(read, Buffer::CopyOf(*result.bytes));
        return OkStatus();
      },
      here));
  return read;
}

Result<std::optional<uint64_t>> IcechunkStore::ObjectBytes(std::string_view key) {
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<FoundChunk> found, Find(key));
  if (!found) return std::optional<uint64_t>();
  return std::optional<uint64_t>(found->place.length);
}

// --- listing -------------------------------------------------------------------------------------

Status IcechunkStore::VisitChunks(const std::string& path, const Node& node, std::string_view prefix,
                                  const std::function<Status(std::string_view, uint64_t)>& visit) {
  const std::string base = path.empty() ? std::string(kChunks) : path + "/" + std::string(kChunks);
  for (const ManifestRef& ref : node.manifests) {
    H5ZARR_ASSIGN_OR_RETURN(const ManifestPtr manifest, ManifestOf(ref.id));
    H5ZARR_RETURN_IF_ERROR(
        manifest->ForEach(node.id, [&](std::span<const uint32_t> index, const ChunkPlace& place) -> Status {
          if (index.size() != node.dimensions.size() || !IsWithin(ref.extents, {index.begin(), index.end()})) {
            return OkStatus();
          }
          std::string key = base;
          for (const uint32_t i : index) key += "/" + std::to_string(i);
          const bool below = prefix.empty() || key.starts_with(std::string(prefix) + "/");
          return below ? visit(key, place.length) : OkStatus();
        }));
  }
  return OkStatus();
}

Status IcechunkStore::Walk(std::string_view prefix, const std::function<Status(std::string_view, uint64_t)>& visit) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
  const std::string inside = std::string(prefix) + "/";
  for (const auto& [path, node] : nodes_) {
    const bool below = prefix.empty() || path == prefix || path.starts_with(inside);
    const bool above = node->is_array && (path.empty() || inside.starts_with(path + "/"));
    if (below) {
      const std::string key = path.empty() ? std::string(kDocument) : path + "/" + std::string(kDocument);
      H5ZARR_RETURN_IF_ERROR(visit(key, node->document.size()));
    }
    if (node->is_array && (below || above)) {
      H5ZARR_RETURN_IF_ERROR(VisitChunks(path, *node, prefix, visit));
    }
  }
  return OkStatus();
}

Result<std::vector<ListEntry>> IcechunkStore::List(std::string_view prefix) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
  std::map<std::string, bool> is_prefix_of_name;
  if (const auto self = nodes_.find(prefix); self != nodes_.end()) {
    is_prefix_of_name.emplace(kDocument, false);
    if (self->second->is_array && !self->second->manifests.empty()) {
      is_prefix_of_name.emplace(kChunks, true);
    }
  }
  if (const auto below = children_.find(prefix); below != children_.end()) {
    for (const std::string& name : below->second) is_prefix_of_name[name] = true;
  }
  std::vector<ListEntry> entries;
  for (const auto& [name, is_prefix] : is_prefix_of_name) entries.push_back({name, is_prefix});
  return entries;
}

}  // namespace

Result<std::unique_ptr<Store>> OpenSnapshot(std::unique_ptr<Store> place, std::string_view version,
                                            std::string_view node_path) {
  H5ZARR_ASSIGN_OR_RETURN(Repository repository, Repository::Open(place.get()));
  H5ZARR_ASSIGN_OR_RETURN(const ObjectId id, repository.Resolve(version));
  H5ZARR_ASSIGN_OR_RETURN(Snapshot snapshot, repository.ReadSnapshot(id));
  std::string name = place->Describe() + "@" + (version.empty() ? "branch:main" : std::string(version));
  auto store =
      std::make_unique<IcechunkStore>(std::move(place), std::move(repository), std::move(snapshot), std::move(name));
  H5ZARR_RETURN_IF_ERROR(store->SetRoot(node_path));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace h5zarr::icechunk
