#include "zarr/hierarchy.h"

#include <algorithm>
#include <deque>

#include "zarr/metadata_parts.h"
#include "zarr/node_path.h"

namespace h5zarr::zarr {
namespace {

// How far an undocumented folder is searched for nodes.
constexpr int kImplicitLevels = 4;
constexpr int kImplicitEntries = 1000;

// The format of the first node found below folder `path`, nearest first; 0 when there is none
// within the limits, or when the store cannot list.
Result<int> FormatBelow(Store* store, const std::string& path) {
  struct Folder {
    std::string path;
    int level;
  };
  std::deque<Folder> folders{{path, 0}};
  int budget = kImplicitEntries;
  while (!folders.empty()) {
    const Folder folder = std::move(folders.front());
    folders.pop_front();
    auto entries = store->List(folder.path);
    if (!entries.ok()) {
      if (entries.status().code() == StatusCode::kUnsupported) return 0;
      return entries.status();
    }
    for (const ListEntry& entry : *entries) {
      if (budget-- == 0) return 0;
      if (entry.is_prefix) {
        if (folder.level < kImplicitLevels && CanNameNode(entry.name)) {
          folders.push_back({JoinPath(folder.path, entry.name), folder.level + 1});
        }
      } else if (folder.level > 0) {
        if (entry.name == kDocumentV3) return 3;
        if (entry.name == kArrayV2 || entry.name == kGroupV2) return 2;
      }
    }
  }
  return 0;
}

// Whether a node's document lies at `path`. `format_hint` is tried first and updated: the children
// of one group are mostly of one kind, and each stat counts when there are 100,000.
Result<bool> HasDocument(Store* store, const std::string& path, std::string_view* format_hint) {
  const auto exists = [&](std::string_view document) -> Result<bool> {
    H5ZARR_ASSIGN_OR_RETURN(const auto bytes, store->ObjectBytes(JoinPath(path, document)));
    return bytes.has_value();
  };
  H5ZARR_ASSIGN_OR_RETURN(const bool as_hinted, exists(*format_hint));
  if (as_hinted) return true;
  for (std::string_view document : {kDocumentV3, kArrayV2, kGroupV2}) {
    if (document == *format_hint) continue;
    H5ZARR_ASSIGN_OR_RETURN(const bool found, exists(document));
    if (found) {
      *format_hint = document;
      return true;
    }
  }
  return false;
}

// Whether a failure is of the folder that was asked about (no permission, a device where the document would
// be, links that lead nowhere), and not of the store, in which the next one would fail, too.
bool IsOfOneFolder(const Status& failure) {
  return failure.code() == StatusCode::kPermissionDenied || failure.code() == StatusCode::kCorrupt ||
         failure.code() == StatusCode::kInvalidArgument;
}

// Whether there is a node at `path`, a folder. One that cannot be looked at is taken for a node: who opens it
// gets to know why, and the others can be listed.
Result<bool> IsNode(Store* store, const std::string& path, std::string_view* format_hint) {
  Result<bool> found = HasDocument(store, path, format_hint);
  if (found.ok() && !*found) {
    const Result<int> zarr_format = FormatBelow(store, path);
    found = zarr_format.ok() ? Result<bool>(*zarr_format != 0) : zarr_format.status();
  }
  return found.ok() || !IsOfOneFolder(found.status()) ? found : true;
}

}  // namespace

const Json& Node::attributes() const { return is_array() ? array().attributes : group().attributes; }

int FormatOf(const Node& node) { return node.is_array() ? node.array().zarr_format : node.group().zarr_format; }

std::string DocumentKey(const Node& node) {
  return JoinPath(node.path, FormatOf(node) == 3 ? kDocumentV3 : node.is_array() ? kArrayV2 : kGroupV2);
}

// The state in which a document was read, for Node::document_state.
Generation Hierarchy::StateOf(const std::string& key, const Generation& read) const {
  const std::optional<ObjectState> now = store_->StateNow(key);
  return now && now->settled && now->generation == read ? read : Generation();
}

Result<std::optional<Buffer>> Hierarchy::ReadDocument(const std::string& key, Generation* generation) {
  Result<std::optional<Buffer>> bytes = store_->Read(key, generation);
  if (!bytes.ok()) {
    ForgetRead();
    return bytes.status();
  }
  if (*bytes) ++documents_read_;
  if (kept_) KeepDocument(key, *bytes);
  return bytes;
}

void Hierarchy::KeepDocument(const std::string& key, const std::optional<Buffer>& bytes) {
  std::optional<std::string> text;
  if (bytes) text = AsText(*bytes);
  const bool large = text && text->size() > Kept::kMostDocumentBytes;
  const auto [kept, is_new] = kept_->documents.emplace(key, text);
  const bool changed = !is_new && kept->second != text;
  if (changed || large || kept_->documents.size() > Kept::kMostDocuments) ForgetRead();
}

void Hierarchy::KeepNames(const std::string& path, const std::vector<std::string>& names) {
  const auto [kept, is_new] = kept_->names.emplace(path, names);
  if ((!is_new && kept->second != names) || names.size() > Kept::kMostNames) ForgetRead();
}

bool Hierarchy::StillTheSame() {
  if (!kept_) return false;
  const Kept kept = *std::exchange(kept_, std::nullopt);  // what follows keeps nothing
  for (const auto& [key, text] : kept.documents) {
    const Result<std::optional<Buffer>> now = store_->Read(key);
    if (!now.ok() || now->has_value() != text.has_value()) return false;
    if (text && AsText(**now) != *text) return false;
  }
  for (const auto& [path, names] : kept.names) {
    const Result<std::vector<std::string>> now = NamesBelow(path);
    if (!now.ok() || *now != names) return false;
  }
  kept_ = kept;
  return true;
}

Result<std::optional<Node>> Hierarchy::OpenV3(const std::string& path) {
  const std::string key = JoinPath(path, kDocumentV3);
  Generation generation;
  StoredDocuments stored;
  H5ZARR_ASSIGN_OR_RETURN(const auto bytes, ReadDocument(key, &generation));
  if (!bytes) return std::optional<Node>();
  H5ZARR_ASSIGN_OR_RETURN(DocumentV3 document, ParseDocumentV3(AsText(*bytes), key));
  if (keeps_stored_) {
    stored.is_cut = document.has_consolidated;
    stored.document = stored.is_cut ? DumpJson(document.members) : AsText(*bytes);
    stored.document_state = generation;
  }
  auto type = NodeTypeOf(document.members);
  if (!type.ok()) return type.status().WithContext(key);
  Node node;
  node.path = path;
  if (keeps_stored_) node.as_stored = std::make_shared<const StoredDocuments>(std::move(stored));
  if (*type == "array") {
    auto array = ArrayFromDocumentV3(std::move(document.members));
    if (!array.ok()) return array.status().WithContext(key);
    node.metadata = std::move(*array);
    node.document_state = StateOf(key, generation);
  } else {
    auto group = GroupFromDocumentV3(std::move(document));
    if (!group.ok()) return group.status().WithContext(key);
    if (path.empty() && !has_consolidated_) {
      has_consolidated_ = group->has_consolidated;
      consolidated_format_ = 3;
    }
    groups_.insert(path);
    node.metadata = std::move(*group);
  }
  return std::optional<Node>(std::move(node));
}

Result<std::optional<Node>> Hierarchy::OpenV2(const std::string& path) {
  std::string key = JoinPath(path, kArrayV2);
  bool is_array = true;
  Generation generation;
  StoredDocuments stored;
  H5ZARR_ASSIGN_OR_RETURN(auto bytes, ReadDocument(key, &generation));
  if (!bytes) {
    is_array = false;
    key = JoinPath(path, kGroupV2);
    H5ZARR_ASSIGN_OR_RETURN(bytes, ReadDocument(key, &generation));
    if (!bytes) return std::optional<Node>();
  }
  H5ZARR_ASSIGN_OR_RETURN(const auto attributes, ReadDocument(JoinPath(path, kAttributesV2), &stored.attributes_state));
  const std::string_view attributes_text = attributes ? AsText(*attributes) : std::string_view();
  if (attributes && attributes_text.empty()) {
    return CorruptError(JoinPath(path, kAttributesV2) + ": empty; expected a JSON object");
  }
  Node node;
  node.path = path;
  if (is_array) {
    H5ZARR_ASSIGN_OR_RETURN(node.metadata, ParseArrayV2(AsText(*bytes), attributes_text, key));
    node.document_state = StateOf(key, generation);
  } else {
    H5ZARR_ASSIGN_OR_RETURN(node.metadata, ParseGroupV2(AsText(*bytes), attributes_text, key));
    groups_.insert(path);
  }
  if (keeps_stored_) {
    stored.document = AsText(*bytes);
    stored.attributes = attributes_text;
    stored.document_state = generation;
    node.as_stored = std::make_shared<const StoredDocuments>(std::move(stored));
  }
  return std::optional<Node>(std::move(node));
}

Result<std::optional<Node>> Hierarchy::OpenImplicit(const std::string& path) {
  ForgetRead();
  H5ZARR_ASSIGN_OR_RETURN(const int zarr_format, FormatBelow(store_, path));
  if (zarr_format == 0) return std::optional<Node>();
  H5ZARR_ASSIGN_OR_RETURN(const bool below_array, IsBelowArray(path));
  if (below_array) return std::optional<Node>();
  Node node;
  node.path = path;
  node.implicit = true;
  GroupMetadata group;
  group.zarr_format = zarr_format;
  node.metadata = std::move(group);
  return std::optional<Node>(std::move(node));
}

Result<std::optional<Node>> Hierarchy::Open(std::string_view path_view) {
  return NoThrow(path_view, [&]() -> Result<std::optional<Node>> {
    if (!CanBePath(path_view)) return std::optional<Node>();
    const std::string path(path_view);
    H5ZARR_ASSIGN_OR_RETURN(auto node, OpenV3(path));
    if (node) return node;
    H5ZARR_ASSIGN_OR_RETURN(node, OpenV2(path));
    if (node) return node;
    return OpenImplicit(path);
  });
}

Result<Hierarchy::Kind> Hierarchy::KindAt(const std::string& path) {
  if (groups_.contains(path)) return Kind::kGroup;
  ForgetRead();
  const std::string key = JoinPath(path, kDocumentV3);
  H5ZARR_ASSIGN_OR_RETURN(const auto bytes, ReadDocument(key));
  if (bytes) {
    H5ZARR_ASSIGN_OR_RETURN(const std::string type, NodeTypeV3(AsText(*bytes), key));
    if (type == "array") return Kind::kArray;
    groups_.insert(path);
    return Kind::kGroup;
  }
  H5ZARR_ASSIGN_OR_RETURN(const auto array, store_->ObjectBytes(JoinPath(path, kArrayV2)));
  if (array) return Kind::kArray;
  H5ZARR_ASSIGN_OR_RETURN(const auto group, store_->ObjectBytes(JoinPath(path, kGroupV2)));
  if (!group) return Kind::kAbsent;
  groups_.insert(path);
  return Kind::kGroup;
}

Result<bool> Hierarchy::IsBelowArray(const std::string& path) {
  std::string above = path;
  while (!above.empty()) {
    above = ParentPath(above);
    H5ZARR_ASSIGN_OR_RETURN(const Kind kind, KindAt(above));
    if (kind != Kind::kAbsent) return kind == Kind::kArray;
  }
  return false;
}

Result<std::vector<std::string>> Hierarchy::ListNames(std::string_view path_view) {
  return NoThrow(path_view, [&]() -> Result<std::vector<std::string>> {
    if (!CanBePath(path_view)) return std::vector<std::string>();
    const std::string path(path_view);
    Result<std::vector<std::string>> names = NamesBelow(path);
    if (!names.ok()) ForgetRead();
    if (kept_) KeepNames(path, *names);
    return names;
  });
}

Result<std::vector<std::string>> Hierarchy::NamesBelow(const std::string& path) {
  std::vector<std::string> names;
  H5ZARR_ASSIGN_OR_RETURN(const auto entries, store_->List(path));
  if (entries.empty()) return names;
  H5ZARR_ASSIGN_OR_RETURN(const Kind kind, KindAt(path));
  if (kind == Kind::kArray) return names;
  if (kind == Kind::kAbsent) {
    H5ZARR_ASSIGN_OR_RETURN(const bool below_array, IsBelowArray(path));
    if (below_array) return names;
  }
  std::string_view format_hint = kDocumentV3;
  for (const ListEntry& entry : entries) {
    if (!entry.is_prefix || !CanNameNode(entry.name)) continue;
    H5ZARR_ASSIGN_OR_RETURN(const bool is_node, IsNode(store_, JoinPath(path, entry.name), &format_hint));
    if (is_node) names.push_back(entry.name);
  }
  return names;
}

void Hierarchy::Forget(std::string_view path) {
  std::erase_if(groups_, [&](const std::string& group) {
    return group == path || path.empty() || (group.starts_with(path) && group[path.size()] == '/');
  });
}

Status Hierarchy::RemoveBelow(const std::string& path, Kind kind) {
  if (kind == Kind::kArray) {
    for (std::string_view document : {kDocumentV3, kArrayV2}) {
      H5ZARR_RETURN_IF_ERROR(store_->Delete(JoinPath(path, document)).status());
    }
    return store_->DeletePrefix(path);
  }
  H5ZARR_ASSIGN_OR_RETURN(const auto entries, store_->List(path));
  for (const ListEntry& entry : entries) {
    if (!entry.is_prefix) continue;
    const std::string child = JoinPath(path, entry.name);
    // A document that says no kind is removed as a group is: last.
    const auto child_kind = KindAt(child);
    const bool unreadable = !child_kind.ok() && child_kind.status().code() != StatusCode::kCorrupt;
    if (unreadable) return child_kind.status();
    H5ZARR_RETURN_IF_ERROR(RemoveBelow(child, child_kind.ok() ? *child_kind : Kind::kGroup));
  }
  groups_.erase(path);
  unconsolidated_.erase(path);
  return store_->DeletePrefix(path);
}

Status Hierarchy::Remove(std::string_view path_view) {
  return NoThrow(path_view, [&]() -> Status {
    const std::string path(path_view);
    const Status not_found = NotFoundError("no Zarr node at '" + path + "'");
    if (!CanBePath(path)) return not_found;
    groups_.erase(path);
    const auto kind = KindAt(path);
    if (!kind.ok() && kind.status().code() != StatusCode::kCorrupt) return kind.status();
    if (kind.ok() && *kind == Kind::kAbsent) {
      H5ZARR_ASSIGN_OR_RETURN(const auto implicit, OpenImplicit(path));
      if (!implicit) return not_found;
    }
    H5ZARR_RETURN_IF_ERROR(InvalidateAbove(path));
    if (!store_->deletes_at_once()) return RemoveBelow(path, kind.ok() ? *kind : Kind::kGroup);
    Forget(path);
    const std::string below = path + "/";
    std::erase_if(unconsolidated_, [&](const std::string& group) { return group == path || group.starts_with(below); });
    return store_->DeletePrefix(path);
  });
}

Status Hierarchy::Move(std::string_view from, std::string_view to) {
  return NoThrow(from, [&]() -> Status {
    if (from.empty() || to.empty() || !CanBePath(from) || !CanBePath(to)) {
      return InvalidArgumentError("cannot move '" + std::string(from) + "' to '" + std::string(to) + "'");
    }
    if (to == from || to.starts_with(std::string(from) + "/")) {
      return InvalidArgumentError("cannot move '" + std::string(from) + "' into itself");
    }
    H5ZARR_RETURN_IF_ERROR(InvalidateAbove(from));
    H5ZARR_RETURN_IF_ERROR(InvalidateAbove(to));
    H5ZARR_RETURN_IF_ERROR(store_->RenamePrefix(from, to));
    const std::string below = std::string(from) + "/";
    const auto moved = [&](const std::string& path) { return path == from || path.starts_with(below); };
    std::erase_if(groups_, moved);
    std::erase_if(unconsolidated_, moved);
    return OkStatus();
  });
}

}  // namespace h5zarr::zarr
