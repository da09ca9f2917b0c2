#include "zarr/consolidated_store.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/list_keys.h"
#include "zarr/json.h"
#include "zarr/node_path.h"

namespace h5zarr::zarr {
namespace {

// By key. Views of the text of the consolidated metadata.
using Documents = std::map<std::string, std::string_view, std::less<>>;

bool IsDocument(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  return name == kDocumentV3 || name == kArrayV2 || name == kGroupV2 || name == kAttributesV2 ||
         name == kConsolidatedV2;
}

// A web page, as some servers send it for whatever they do not have. No document begins like that.
bool IsPage(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<';
}

// A remote store whose documents are asked for to see which of them there are. Servers that list nothing answer 403
// where nothing is (S3's do, where the user may not list), others send a page: such a document is taken for absent. The
// last that is asked for, .zgroup, is not: where all are refused, that is the error.
class ProbedStore : public Store {
 public:
  explicit ProbedStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  std::string Describe() const override { return store_->Describe(); }
  bool read_only() const override { return true; }
  bool is_local_folder() const override { return store_->is_local_folder(); }
  Status CheckThere() override { return store_->CheckThere(); }
  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override {
    return store_->ReadBatch(ops, sink, executor);
  }

  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override {
    Result<std::optional<Buffer>> bytes = store_->Read(key, generation);
    if (!IsDocument(key)) return bytes;
    if (!bytes.ok()) {
      const bool is_last = key.ends_with(kGroupV2);
      if (is_last || bytes.status().code() != StatusCode::kPermissionDenied) return bytes;
    } else if (!*bytes || !IsPage(AsText(**bytes))) {
      return bytes;
    }
    if (generation != nullptr) *generation = Generation();
    return std::optional<Buffer>();
  }

  std::optional<ObjectState> StateNow(std::string_view key) override { return store_->StateNow(key); }

  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override {
    if (!IsDocument(key)) return store_->ObjectBytes(key);
    H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> bytes, Read(key, nullptr));
    return bytes ? std::optional<uint64_t>(bytes->size_bytes()) : std::nullopt;
  }

  Result<std::vector<ListEntry>> List(std::string_view prefix) override { return store_->List(prefix); }
  Status Walk(std::string_view prefix,
              const std::function<Status(std::string_view key, uint64_t bytes)>& visit) override {
    return store_->Walk(prefix, visit);
  }
  Status Write(std::string_view key, ByteSpan bytes) override { return store_->Write(key, bytes); }
  Status WriteNamedLater(std::string_view key, ByteSpan bytes) override { return store_->WriteNamedLater(key, bytes); }
  Status SyncNames(std::span<const std::string> prefixes) override { return store_->SyncNames(prefixes); }
  Result<bool> Delete(std::string_view key) override { return store_->Delete(key); }
  Status DeletePrefix(std::string_view prefix) override { return store_->DeletePrefix(prefix); }
  Status RenamePrefix(std::string_view from, std::string_view to) override { return store_->RenamePrefix(from, to); }
  Result<std::shared_ptr<void>> Lock(std::string_view document_key, uint64_t resource) override {
    return store_->Lock(document_key, resource);
  }

 private:
  const std::unique_ptr<Store> store_;
};

class ConsolidatedStore : public ProbedStore {
 public:
  ConsolidatedStore(std::unique_ptr<Store> store, Buffer text, Documents documents)
      : ProbedStore(std::move(store)), text_(std::move(text)), documents_(std::move(documents)) {}

  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override {
    if (!IsDocument(key)) return ProbedStore::Read(key, generation);
    if (generation != nullptr) *generation = Generation();
    const auto found = documents_.find(key);
    if (found == documents_.end()) return std::optional<Buffer>();
    H5ZARR_ASSIGN_OR_RETURN(Buffer bytes, Buffer::CopyOf(AsBytes(found->second)));
    return std::optional<Buffer>(std::move(bytes));
  }

  std::optional<ObjectState> StateNow(std::string_view key) override {
    return IsDocument(key) ? std::nullopt : ProbedStore::StateNow(key);
  }

  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override {
    if (!IsDocument(key)) return ProbedStore::ObjectBytes(key);
    const auto found = documents_.find(key);
    if (found == documents_.end()) return std::optional<uint64_t>();
    return std::optional<uint64_t>(found->second.size());
  }

  Result<std::vector<ListEntry>> List(std::string_view prefix) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
    return ListKeys(documents_, prefix);
  }

 private:
  const Buffer text_;
  const Documents documents_;  // of text_
};

// A member's name as it is meant.
Result<std::string> Unquoted(std::string_view name, std::string_view what) {
  if (name.find('\\') == std::string_view::npos) return std::string(name);
  H5ZARR_ASSIGN_OR_RETURN(const Json json, ParseJson('"' + std::string(name) + '"', what));
  return json.get<std::string>();
}

Status AddDocuments(std::string_view members, std::string_view what, std::string_view key_end, Documents* documents) {
  Status status;
  const bool whole = ForEachMemberText(members, [&](std::string_view name, std::string_view value) {
    Result<std::string> path = Unquoted(name, what);
    if (!path.ok()) {
      status = path.status();
      return;
    }
    const std::string key = key_end.empty() ? *path : JoinPath(*path, key_end);
    if (CheckKey(key).ok()) (*documents)[key] = value;
  });
  if (!whole) return CorruptError(std::string(what) + ": consolidated metadata that is no JSON object");
  return status;
}

}  // namespace

bool IsParquetReferences(std::string_view text) { return FindMemberText(text, "record_size").has_value(); }

Result<std::unique_ptr<Store>> ListByConsolidated(std::unique_ptr<Store> remote, const Status& if_parquet) {
  std::unique_ptr<Store> store = std::make_unique<ProbedStore>(std::move(remote));
  Documents documents;
  H5ZARR_ASSIGN_OR_RETURN(std::optional<Buffer> root, store->Read(kDocumentV3));
  if (root) {
    const std::optional<std::string_view> member = FindMemberText(AsText(*root), "consolidated_metadata");
    const std::optional<std::string_view> metadata = member ? FindMemberText(*member, "metadata") : std::nullopt;
    if (!metadata) return store;
    H5ZARR_RETURN_IF_ERROR(AddDocuments(*metadata, kDocumentV3, kDocumentV3, &documents));
    documents[std::string(kDocumentV3)] = AsText(*root);
    return std::unique_ptr<Store>(
        std::make_unique<ConsolidatedStore>(std::move(store), std::move(*root), std::move(documents)));
  }
  H5ZARR_ASSIGN_OR_RETURN(std::optional<Buffer> text, store->Read(kConsolidatedV2));
  if (!text) return store;
  if (IsParquetReferences(AsText(*text))) return if_parquet;
  const std::optional<std::string_view> metadata = FindMemberText(AsText(*text), "metadata");
  if (!metadata) return CorruptError(std::string(kConsolidatedV2) + ": no member 'metadata'");
  H5ZARR_RETURN_IF_ERROR(AddDocuments(*metadata, kConsolidatedV2, "", &documents));
  return std::unique_ptr<Store>(
      std::make_unique<ConsolidatedStore>(std::move(store), std::move(*text), std::move(documents)));
}

}  // namespace h5zarr::zarr
