#include "mirror/new_snapshot.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "mirror/changes.h"
#include "mirror/manifests.h"
#include "mirror/version_tree.h"
#include "shadow/hdf5_attribute.h"
#include "store/list_keys.h"
#include "zarr/hierarchy.h"

namespace h5zarr::mirror {

using icechunk::Node;
using icechunk::ObjectId;
using icechunk::Snapshot;

namespace {

constexpr std::string_view kDocument = "zarr.json";
constexpr std::string_view kTimes = "times";

bool IsDocument(std::string_view key) { return key == kDocument || key.ends_with("/" + std::string(kDocument)); }

// "a/b" and {1, 0} of "a/b/c/1/0".
struct ChunkKeyParts {
  std::string array;
  std::vector<uint32_t> index;
};
std::optional<ChunkKeyParts> ParseChunkKey(std::string_view key) {
  ChunkKeyParts parts;
  while (true) {
    const std::size_t slash = key.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
    const std::string_view rest = slash == std::string_view::npos ? "" : key.substr(0, slash);
    if (name == "c") {
      parts.array = rest;
      std::reverse(parts.index.begin(), parts.index.end());
      return parts;
    }
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (error != std::errc() || end != name.data() + name.size() || rest.empty()) return std::nullopt;
    parts.index.push_back(value);
    key = rest;
  }
}

// The bytes [first, second) of an object of `object_bytes` that `range` means.
Result<std::pair<uint64_t, uint64_t>> Cut(std::string_view key, const ByteRange& range, uint64_t object_bytes) {
  const bool is_suffix = range.kind == ByteRange::Kind::kSuffix;
  if (range.kind == ByteRange::Kind::kWhole) return std::pair(uint64_t{0}, object_bytes);
  const auto end = is_suffix ? std::optional(range.length) : CheckedAdd(range.offset, range.length);
  if (!end || *end > object_bytes) {
    return CorruptError("key '" + std::string(key) + "': " + std::to_string(range.length) +
                        " bytes were asked for, the object has only " + std::to_string(object_bytes));
  }
  if (is_suffix) return std::pair(object_bytes - range.length, object_bytes);
  return std::pair(range.offset, *end);
}

// Whether two documents say the same, but for when the object was made or changed: a copy is as old as
// the run that made it.
bool SameButTimes(const std::string& a, const std::string& b) {
  if (a == b) return true;
  auto first = zarr::ParseJson(a, "a document"), second = zarr::ParseJson(b, "a document");
  if (!first.ok() || !second.ok()) return false;
  for (zarr::Json* json : {&*first, &*second}) {
    const auto attributes = json->find("attributes");
    if (attributes != json->end()) shadow::SetHdf5Member(&*attributes, kTimes, nullptr);
  }
  return *first == *second;
}

}  // namespace

void NameDimensions(const std::string& path, zarr::ArrayMetadata* metadata) {
  if (!metadata->dimension_names.empty() || metadata->rank() == 0) return;
  const std::string leaf = path.substr(path.rfind('/') + 1);
  for (std::size_t i = 0; i < metadata->rank(); ++i) {
    metadata->dimension_names.emplace_back(leaf + "_" + std::to_string(i));
  }
  shadow::SetHdf5Member(&metadata->attributes, "scales", false);
  shadow::SetHdf5Member(&metadata->attributes, "labels", zarr::Json::array());
}

// --- the store -----------------------------------------------------------------------------------

class SnapshotPlace : public Store {
 public:
  explicit SnapshotPlace(NewSnapshot* snapshot) : snapshot_(snapshot) {}

  std::string Describe() const override { return "a new version of " + snapshot_->repository_->store().Describe(); }

  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor&) override {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      ReadResult result;
      H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> bytes,
                              snapshot_->ReadObject(ops[i].key, ops[i].range, &result.object_bytes));
      if (bytes) {
        result.bytes = bytes->span();
        if (!ops[i].target.empty()) {
          if (ops[i].target.size() != bytes->size_bytes()) {
            return CorruptError("key '" + ops[i].key + "' has " + std::to_string(bytes->size_bytes()) +
                                " bytes, expected " + std::to_string(ops[i].target.size()));
          }
          std::memcpy(ops[i].target.data(), bytes->data(), bytes->size_bytes());
          result.bytes = ops[i].target;
        }
      }
      H5ZARR_RETURN_IF_ERROR(sink(i, result));
    }
    return OkStatus();
  }

  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override {
    if (generation != nullptr) *generation = Generation();
    uint64_t object_bytes = 0;
    return snapshot_->ReadObject(key, ByteRange::Whole(), &object_bytes);
  }

  Status Write(std::string_view key, ByteSpan bytes) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(key));
    if (IsDocument(key)) {
      const std::lock_guard<std::mutex> lock(snapshot_->mutex_);
      snapshot_->objects_.insert_or_assign(std::string(key), std::string(AsText(bytes)));
      return OkStatus();
    }
    if (!ParseChunkKey(key)) {
      return UnsupportedError("'" + std::string(key) + "' is neither a document nor a chunk: an " +
                              "Icechunk repository holds nothing else");
    }
    H5ZARR_ASSIGN_OR_RETURN(const icechunk::ContentHash hash, icechunk::HashOf(bytes));
    const std::lock_guard<std::mutex> lock(snapshot_->mutex_);
    H5ZARR_ASSIGN_OR_RETURN(const Place place, snapshot_->packs_->Add(hash, bytes));
    snapshot_->objects_.insert_or_assign(std::string(key), place);
    return OkStatus();
  }

  Result<bool> Delete(std::string_view key) override {
    const std::lock_guard<std::mutex> lock(snapshot_->mutex_);
    return snapshot_->objects_.erase(std::string(key)) > 0;
  }

  Status DeletePrefix(std::string_view prefix) override {
    const std::lock_guard<std::mutex> lock(snapshot_->mutex_);
    const auto [first, last] = Below(prefix);
    snapshot_->objects_.erase(first, last);
    return OkStatus();
  }

  Status RenamePrefix(std::string_view from, std::string_view to) override {
    const std::lock_guard<std::mutex> lock(snapshot_->mutex_);
    const auto [first, last] = Below(from);
    const auto [taken_first, taken_last] = Below(to);
    const std::string what = "'" + std::string(from) + "' to '" + std::string(to) + "'";
    if (first == last) return NotFoundError("cannot rename " + what + ": there is nothing");
    if (taken_first != taken_last) return AlreadyExistsError("cannot rename " + what + ": that exists");
    std::vector<std::string> keys;
    for (auto it = first; it != last; ++it) keys.push_back(it->first);
    for (const std::string& key : keys) {
      auto object = snapshot_->objects_.extract(key);
      object.key() = std::string(to) + key.substr(from.size());
      snapshot_->objects_.insert(std::move(object));
    }
    return OkStatus();
  }

  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override {
    const std::lock_guard<std::mutex> lock(snapshot_->mutex_);
    const auto found = snapshot_->objects_.find(key);
    if (found == snapshot_->objects_.end()) return std::optional<uint64_t>();
    return std::optional<uint64_t>(BytesOf(found->second));
  }

  Result<std::vector<ListEntry>> List(std::string_view prefix) override {
    const std::lock_guard<std::mutex> lock(snapshot_->mutex_);
    return ListKeys(snapshot_->objects_, prefix);
  }

  Status Walk(std::string_view prefix, const std::function<Status(std::string_view, uint64_t)>& visit) override {
    // Visited without the lock, so that `visit` may use the store.
    std::vector<std::pair<std::string, uint64_t>> found;
    {
      const std::lock_guard<std::mutex> lock(snapshot_->mutex_);
      const auto [first, last] = Below(prefix);
      for (auto it = first; it != last; ++it) found.emplace_back(it->first, BytesOf(it->second));
    }
    for (const auto& [key, bytes] : found) H5ZARR_RETURN_IF_ERROR(visit(key, bytes));
    return OkStatus();
  }

  // Nobody else has it.
  Result<std::shared_ptr<void>> Lock(std::string_view, uint64_t) override { return std::shared_ptr<void>(); }

 private:
  static uint64_t BytesOf(const NewSnapshot::Object& object) {
    const auto* text = std::get_if<std::string>(&object);
    return text != nullptr ? text->size() : std::get<Place>(object).length;
  }

  // REQUIRES: the snapshot's mutex is held.
  std::pair<NewSnapshot::Objects::iterator, NewSnapshot::Objects::iterator> Below(std::string_view prefix) {
    NewSnapshot::Objects& objects = snapshot_->objects_;
    if (prefix.empty()) return {objects.begin(), objects.end()};
    const std::string name(prefix);
    return {objects.lower_bound(name + "/"), objects.lower_bound(name + static_cast<char>('/' + 1))};
  }

  NewSnapshot* const snapshot_;
};

std::unique_ptr<Store> NewSnapshot::MakeStore() { return std::make_unique<SnapshotPlace>(this); }

Result<std::optional<Buffer>> NewSnapshot::ReadObject(std::string_view key, const ByteRange& range,
                                                      uint64_t* object_bytes) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return std::optional<Buffer>();
  const auto* text = std::get_if<std::string>(&found->second);
  *object_bytes = text != nullptr ? text->size() : std::get<Place>(found->second).length;
  H5ZARR_ASSIGN_OR_RETURN(const auto cut, Cut(key, range, *object_bytes));
  const uint64_t bytes = cut.second - cut.first;
  if (text != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(Buffer copy, Buffer::CopyOf(AsBytes(*text).subspan(cut.first, bytes)));
    return std::optional<Buffer>(std::move(copy));
  }
  // Chunks are hardly ever read again: what is on its way to the repository may be stored for that.
  H5ZARR_RETURN_IF_ERROR(packs_->Flush());
  const Place& place = std::get<Place>(found->second);
  ReadOp op;
  op.key = icechunk::ChunkKey(packs_->IdOf(place));
  op.range = ByteRange::Span(place.offset + cut.first, bytes);
  std::optional<Buffer> read;
  Executor here(1);
  H5ZARR_RETURN_IF_ERROR(repository_->store().ReadBatch(
      {&op, 1},
      [&](std::size_t, const ReadResult& result) -> Status {
        if (!result.bytes) return CorruptError("'" + op.key + "' is gone");
        H5ZARR_ASSIGN_OR_RETURN(read, Buffer::CopyOf(*result.bytes));
        return OkStatus();
      },
      here));
  return read;
}

// --- the snapshot --------------------------------------------------------------------------------

Status NewSnapshot::AddNode(const std::string& path, const Snapshot& parent, Snapshot* snapshot,
                            std::map<ObjectId, icechunk::ManifestInfo>* manifests) {
  const std::unique_ptr<Store> place = MakeStore();
  zarr::Hierarchy hierarchy(place.get());
  H5ZARR_ASSIGN_OR_RETURN(std::optional<zarr::Node> read, hierarchy.Open(path));
  if (!read) return InternalError("no document");
  const std::string node_path = "/" + path;
  std::string document;
  if (read->is_array()) {
    auto& metadata = std::get<zarr::ArrayMetadata>(read->metadata);
    NameDimensions(path, &metadata);
    H5ZARR_ASSIGN_OR_RETURN(const zarr::MetadataTexts texts, zarr::FormatArray(metadata));
    document = texts.document;
  } else {
    H5ZARR_ASSIGN_OR_RETURN(const zarr::MetadataTexts texts, zarr::FormatGroup(read->group()));
    document = texts.document;
  }
  const zarr::ArrayMetadata* const array = read->is_array() ? &read->array() : nullptr;
  H5ZARR_ASSIGN_OR_RETURN(Node node, MakeNode(node_path, document, array));
  if (const auto chunks = chunks_.find(path); chunks != chunks_.end()) {
    if (array == nullptr) return InternalError("a group that has chunks");
    H5ZARR_RETURN_IF_ERROR(WriteManifests(chunks->second, *packs_, repository_, &node, manifests, written_));
  }
  const Node* const before = FindNode(parent, node_path);
  if (before != nullptr && before->id == node.id && SameManifests(*before, node) &&
      SameButTimes(before->document, node.document)) {
    node.document = before->document;
  }
  snapshot->nodes.push_back(std::move(node));
  return OkStatus();
}

Result<std::vector<std::string>> NewSnapshot::SortObjects() {
  std::vector<std::string> paths;
  for (auto it = objects_.begin(); it != objects_.end();) {
    if (IsDocument(it->first)) {
      const std::size_t end = it->first.size() - kDocument.size();
      paths.push_back(it->first.substr(0, end == 0 ? 0 : end - 1));
      ++it;
      continue;
    }
    auto chunk = ParseChunkKey(it->first);
    if (!chunk) return InternalError("'" + it->first + "' is no chunk");
    chunks_[chunk->array].Add(chunk->index, std::get<Place>(it->second));
    it = objects_.erase(it);
  }
  if (paths.empty()) return InternalError("a snapshot without a root");
  std::sort(paths.begin(), paths.end());
  // (By name 10 comes before 2.)
  for (auto& [path, chunks] : chunks_) {
    if (!std::binary_search(paths.begin(), paths.end(), path)) {
      return InternalError("chunks of '" + path + "', which is no array");
    }
    chunks.Sort();
  }
  return paths;
}

Result<icechunk::Transaction> NewSnapshot::ChangesOf(const Snapshot& parent, const Snapshot& snapshot) const {
  PlacedChunks old;
  const PlacedChunks none;
  const auto before = [&](const Node& node) -> Result<const PlacedChunks*> {
    H5ZARR_ASSIGN_OR_RETURN(
        old, ReadPlaced(*repository_, node, [this](const ObjectId& id) { return packs_->NumberOf(id); }));
    return &old;
  };
  const auto after = [&](const Node& node) -> Result<const PlacedChunks*> {
    const auto found = chunks_.find(node.path.substr(1));
    return found != chunks_.end() ? &found->second : &none;
  };
  return ChangesBetween(parent, before, snapshot, after);
}

Result<std::optional<ObjectId>> NewSnapshot::Finish(const Snapshot& parent, Snapshot snapshot) {
  H5ZARR_RETURN_IF_ERROR(packs_->Flush());
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> paths, SortObjects());
  std::map<ObjectId, icechunk::ManifestInfo> manifests;
  for (const std::string& path : paths) {
    const Status added = AddNode(path, parent, &snapshot, &manifests);
    if (!added.ok()) return added.WithContext("'/" + path + "'");
  }
  std::sort(snapshot.nodes.begin(), snapshot.nodes.end(), [](const Node& a, const Node& b) { return a.path < b.path; });
  const bool same =
      std::equal(snapshot.nodes.begin(), snapshot.nodes.end(), parent.nodes.begin(), parent.nodes.end(),
                 [](const Node& a, const Node& b) {
                   return a.path == b.path && a.id == b.id && a.document == b.document && SameManifests(a, b);
                 });
  if (same) return std::optional<ObjectId>();
  for (const auto& [id, info] : manifests) snapshot.manifests.push_back(info);
  H5ZARR_ASSIGN_OR_RETURN(const icechunk::Transaction changes, ChangesOf(parent, snapshot));
  H5ZARR_RETURN_IF_ERROR(repository_->WriteSnapshot(&snapshot, changes, written_));
  return std::optional<ObjectId>(snapshot.id);
}

}  // namespace h5zarr::mirror
