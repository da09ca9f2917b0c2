// Writing documents that others may have written, too.
#include <utility>

#include "zarr/hierarchy.h"
#include "zarr/metadata_parts.h"
#include "zarr/node_path.h"

namespace h5zarr::zarr {
namespace {

// Somebody who replaces a document as often, each time between a look and a write, will not stop.
constexpr int kMaxAttempts = 20;

Result<MetadataTexts> Format(const Node& node) {
  Result<MetadataTexts> texts = node.is_array() ? FormatArray(node.array()) : FormatGroup(node.group());
  return texts.ok() ? std::move(texts) : texts.status().WithContext("'" + node.path + "'");
}

bool SameTexts(const StoredDocuments& a, const StoredDocuments& b) {
  return a.document == b.document && a.attributes == b.attributes;
}

// Whether a document that is no longer as it was can be told by its state.
bool HasStates(const StoredDocuments& stored) {
  return stored.document_state.known() && (stored.attributes.empty() || stored.attributes_state.known());
}

// The node at `like`'s place that `stored` says; of v2 `like` tells whether it is an array.
Result<Node> NodeFromStored(const Node& like, const StoredDocuments& stored) {
  const std::string key = DocumentKey(like);
  Node node;
  node.path = like.path;
  if (FormatOf(like) == 2 && like.is_array()) {
    H5ZARR_ASSIGN_OR_RETURN(node.metadata, ParseArrayV2(stored.document, stored.attributes, key));
  } else if (FormatOf(like) == 2) {
    H5ZARR_ASSIGN_OR_RETURN(node.metadata, ParseGroupV2(stored.document, stored.attributes, key));
  } else {
    H5ZARR_ASSIGN_OR_RETURN(const std::string type, NodeTypeV3(stored.document, key));
    if (type == "array") {
      H5ZARR_ASSIGN_OR_RETURN(node.metadata, ParseArrayV3(stored.document, key));
    } else {
      H5ZARR_ASSIGN_OR_RETURN(node.metadata, ParseGroupV3(stored.document, key));
    }
  }
  return node;
}

// The keys of the documents of `node` that another writer changed.
std::string ChangedKeys(const Node& node, const StoredDocuments& now) {
  const StoredDocuments before = node.as_stored != nullptr ? *node.as_stored : StoredDocuments();
  std::string keys = before.document != now.document ? DocumentKey(node) : "";
  if (before.attributes != now.attributes) {
    keys += (keys.empty() ? "" : " and ") + JoinPath(node.path, kAttributesV2);
  }
  return keys;
}

Status RemovedError(const Node& node, const Store& store) {
  return Status(StatusCode::kIo,
                DocumentKey(node) + " has been removed from " + store.Describe() + " while it was open", ENOENT);
}

Status KeepsChangingError(const std::string& key) { return ChangedError(key + ": another program keeps changing it"); }

}  // namespace

Result<StoredDocuments> Hierarchy::ReadStored(const Node& node) {
  StoredDocuments stored;
  const std::string key = DocumentKey(node);
  H5ZARR_ASSIGN_OR_RETURN(const auto document, ReadDocument(key, &stored.document_state));
  if (FormatOf(node) == 2) {
    H5ZARR_ASSIGN_OR_RETURN(const auto attributes,
                            ReadDocument(JoinPath(node.path, kAttributesV2), &stored.attributes_state));
    if (attributes) stored.attributes = AsText(*attributes);
    if (document) stored.document = AsText(*document);
  } else if (document) {
    H5ZARR_ASSIGN_OR_RETURN(const DocumentV3 parsed, ParseDocumentV3(AsText(*document), key));
    stored.is_cut = parsed.has_consolidated;
    stored.document = stored.is_cut ? DumpJson(parsed.members) : AsText(*document);
  }
  return stored;
}

Result<bool> Hierarchy::IsAsStored(const Node& node) {
  return NoThrow(node.path, [&]() -> Result<bool> {
    H5ZARR_ASSIGN_OR_RETURN(const StoredDocuments now, ReadStored(node));
    return node.as_stored != nullptr && SameTexts(now, *node.as_stored);
  });
}

// What is to be written in place of `node` where `now` is there; nothing where that is what `node` was made from.
Result<std::optional<Node>> Hierarchy::MergeStored(const Node& node, const StoredDocuments& now, const Merge& merge) {
  if (now.document.empty()) {
    if (node.as_stored != nullptr) return RemovedError(node, *store_);
    return std::optional<Node>();
  }
  if (node.as_stored != nullptr && SameTexts(now, *node.as_stored)) return std::optional<Node>();
  H5ZARR_ASSIGN_OR_RETURN(const Node theirs, NodeFromStored(node, now));
  std::optional<Node> base;
  if (node.as_stored != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(base, NodeFromStored(node, *node.as_stored));
  }
  Result<Node> merged = merge(base ? &*base : nullptr, node, theirs);
  if (!merged.ok()) return merged.status().WithContext(store_->Describe() + ": " + ChangedKeys(node, now));
  return std::optional<Node>(std::move(*merged));
}

// One document in place of the text `*there` ("": none), which was found in `*state`; both become those of the new
// one. False where another is there by now.
Result<bool> Hierarchy::Put(const std::string& key, const std::string& text, std::string* there, Generation* state) {
  const Generation expected = *state;
  if (text.empty()) {
    Generation now;
    H5ZARR_ASSIGN_OR_RETURN(const auto bytes, store_->Read(key, &now));
    if (bytes && (now != expected || AsText(*bytes) != *there)) return false;
    H5ZARR_RETURN_IF_ERROR(store_->Delete(key).status());
    *state = Generation();
  } else {
    H5ZARR_ASSIGN_OR_RETURN(const bool written, there->empty() ? store_->WriteNew(key, AsBytes(text), state)
                                                               : store_->Replace(key, AsBytes(text), expected, state));
    if (!written) return false;
  }
  *there = text;
  return true;
}

Result<bool> Hierarchy::PutTexts(const Node& node, const MetadataTexts& texts, StoredDocuments* now) {
  if (FormatOf(node) == 2 && texts.attributes != now->attributes) {
    H5ZARR_ASSIGN_OR_RETURN(const bool put, Put(JoinPath(node.path, kAttributesV2), texts.attributes, &now->attributes,
                                                &now->attributes_state));
    if (!put) return false;
  }
  if (texts.document == now->document && !now->is_cut) return true;
  H5ZARR_ASSIGN_OR_RETURN(const bool put, Put(DocumentKey(node), texts.document, &now->document, &now->document_state));
  if (put) now->is_cut = false;
  return put;
}

Result<Hierarchy::Updated> Hierarchy::Update(const Node& node, const Merge& merge) {
  return NoThrow(node.path, [&]() -> Result<Updated> {
    if (!CanBePath(node.path)) return InvalidArgumentError("'" + node.path + "' is no path of a Zarr node");
    H5ZARR_ASSIGN_OR_RETURN(MetadataTexts texts, Format(node));
    H5ZARR_RETURN_IF_ERROR(InvalidateAbove(node.path));
    // Who rewrites a shard holds a lock of the array's document, too: it is about to be replaced.
    std::shared_ptr<void> lock;
    if (node.as_stored != nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(lock, store_->Lock(DocumentKey(node), kWholeArray));
    }
    Updated updated;
    StoredDocuments now = node.as_stored != nullptr ? *node.as_stored : StoredDocuments();
    bool look = node.as_stored != nullptr && !HasStates(now);
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      if (look) {
        H5ZARR_ASSIGN_OR_RETURN(now, ReadStored(node));
        H5ZARR_ASSIGN_OR_RETURN(updated.merged, MergeStored(node, now, merge));
        H5ZARR_ASSIGN_OR_RETURN(texts, Format(updated.merged ? *updated.merged : node));
      }
      const Result<bool> put = PutTexts(node, texts, &now);
      if (!put.ok()) {
        // (In a bucket an attempt whose answer was lost may have been it.)
        const Result<StoredDocuments> there = ReadStored(node);
        if (!there.ok() || there->document != texts.document || there->attributes != texts.attributes) {
          return put.status();
        }
        now = *there;
      }
      if (!put.ok() || *put) {
        NoteWritten(node);
        updated.stored = std::make_shared<const StoredDocuments>(std::move(now));
        return updated;
      }
      look = true;
    }
    return KeepsChangingError(DocumentKey(node));
  });
}

void Hierarchy::NoteWritten(const Node& node) {
  if (node.is_array()) {
    groups_.erase(node.path);
    return;
  }
  groups_.insert(node.path);
  if (FormatOf(node) == 3) unconsolidated_.insert(node.path);
}

Result<StoredPtr> Hierarchy::Write(const Node& node) {
  return NoThrow(node.path, [&]() -> Result<StoredPtr> {
    if (!CanBePath(node.path)) return InvalidArgumentError("'" + node.path + "' is no path of a Zarr node");
    H5ZARR_ASSIGN_OR_RETURN(MetadataTexts texts, Format(node));
    H5ZARR_RETURN_IF_ERROR(InvalidateAbove(node.path));
    if (FormatOf(node) == 2) {
      const std::string attributes_key = JoinPath(node.path, kAttributesV2);
      if (texts.attributes.empty()) {
        H5ZARR_RETURN_IF_ERROR(store_->Delete(attributes_key).status());
      } else {
        H5ZARR_RETURN_IF_ERROR(store_->Write(attributes_key, AsBytes(texts.attributes)));
      }
    }
    H5ZARR_RETURN_IF_ERROR(store_->Write(DocumentKey(node), AsBytes(texts.document)));
    NoteWritten(node);
    StoredDocuments stored;
    stored.document = std::move(texts.document);
    stored.attributes = std::move(texts.attributes);
    return StoredPtr(std::make_shared<const StoredDocuments>(std::move(stored)));
  });
}

// Replaces a v3 document by what `change` makes of its members (nothing: it stays), whoever else writes it.
Status Hierarchy::ChangeDocument(
    const std::string& key,
    const std::function<Result<std::optional<std::string>>(const Json& members, bool is_cut)>& change) {
  H5ZARR_ASSIGN_OR_RETURN(const std::shared_ptr<void> lock, store_->Lock(key, kWholeArray));
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    Generation state;
    H5ZARR_ASSIGN_OR_RETURN(const auto bytes, ReadDocument(key, &state));
    if (!bytes) return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(const DocumentV3 document, ParseDocumentV3(AsText(*bytes), key));
    H5ZARR_ASSIGN_OR_RETURN(const std::optional<std::string> text, change(document.members, document.has_consolidated));
    if (!text) return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(const bool written, store_->Replace(key, AsBytes(*text), state));
    if (written) return OkStatus();
  }
  return KeepsChangingError(key);
}

}  // namespace h5zarr::zarr
