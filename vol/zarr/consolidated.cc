// Consolidated metadata: copies of all documents in one place, for readers that cannot list. Kept
// true or removed, and never read by this library.
#include "zarr/hierarchy.h"
#include "zarr/metadata_parts.h"
#include "zarr/node_path.h"

namespace h5zarr::zarr {
namespace {

void AppendMemberText(std::string_view name, std::string_view value, std::string* members) {
  if (!members->empty()) *members += ",\n";
  *members += DumpJson(Json(name), -1);
  *members += ": ";
  *members += value;
}

}  // namespace

Result<bool> Hierarchy::HasConsolidated() {
  if (has_consolidated_) return *has_consolidated_;
  return NoThrow("consolidated metadata", [&]() -> Result<bool> {
    const std::string root(kDocumentV3);
    bool found = false;
    H5ZARR_ASSIGN_OR_RETURN(const auto bytes, ReadDocument(root));
    if (bytes) {
      const auto member = FindMemberText(AsText(*bytes), "consolidated_metadata");
      found = member && *member != "null";
      consolidated_format_ = 3;
    } else {
      H5ZARR_ASSIGN_OR_RETURN(const auto size, store_->ObjectBytes(std::string(kConsolidatedV2)));
      found = size.has_value();
      consolidated_format_ = 2;
    }
    has_consolidated_ = found;
    return found;
  });
}

Status Hierarchy::RemoveConsolidated(const std::string& path, int zarr_format) {
  if (zarr_format == 2) return store_->Delete(JoinPath(path, kConsolidatedV2)).status();
  const std::string key = JoinPath(path, kDocumentV3);
  H5ZARR_ASSIGN_OR_RETURN(const auto bytes, ReadDocument(key));
  if (!bytes) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const DocumentV3 document, ParseDocumentV3(AsText(*bytes), key));
  if (!document.has_consolidated) return OkStatus();
  // Nothing else of the document changes, so that nothing else needs to be understood.
  return ChangeDocument(key, [](const Json& members, bool is_cut) -> Result<std::optional<std::string>> {
    if (!is_cut) return std::optional<std::string>();
    return std::optional<std::string>(DumpJson(members));
  });
}

Status Hierarchy::InvalidateConsolidated() {
  if (consolidated_invalidated_) return OkStatus();
  return NoThrow("consolidated metadata", [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(const bool found, HasConsolidated());
    if (found) H5ZARR_RETURN_IF_ERROR(RemoveConsolidated("", consolidated_format_));
    consolidated_invalidated_ = true;
    return OkStatus();
  });
}

Status Hierarchy::InvalidateAbove(std::string_view path) {
  H5ZARR_RETURN_IF_ERROR(InvalidateConsolidated());
  if (path.empty()) return OkStatus();
  for (std::string above = ParentPath(path); !above.empty(); above = ParentPath(above)) {
    if (unconsolidated_.contains(above)) continue;
    for (const int zarr_format : {2, 3}) {
      H5ZARR_RETURN_IF_ERROR(RemoveConsolidated(above, zarr_format));
    }
    unconsolidated_.insert(above);
  }
  return OkStatus();
}

void Hierarchy::ForgetUnconsolidated() {
  unconsolidated_.clear();
  if (has_consolidated_.value_or(false)) return;
  has_consolidated_.reset();
  consolidated_invalidated_ = false;
}

Result<bool> Hierarchy::FindNewConsolidated() {
  const std::optional<bool> before = std::exchange(has_consolidated_, std::nullopt);
  const Result<bool> found = HasConsolidated();
  if (found.ok() && *found) {
    consolidated_invalidated_ = false;
  } else {
    has_consolidated_ = before;
  }
  return found;
}

Status Hierarchy::RewriteConsolidated() {
  return NoThrow("consolidated metadata", [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(const bool found, HasConsolidated());
    if (!found) return OkStatus();
    if (consolidated_format_ == 3) {
      H5ZARR_RETURN_IF_ERROR(RewriteConsolidatedV3());
    } else {
      H5ZARR_RETURN_IF_ERROR(RewriteConsolidatedV2());
    }
    consolidated_invalidated_ = false;
    return OkStatus();
  });
}

Status Hierarchy::ConsolidateV3(const std::string& path, std::string* members) {
  H5ZARR_ASSIGN_OR_RETURN(const auto names, ListNames(path));
  for (const std::string& name : names) {
    const std::string child = JoinPath(path, name);
    const std::string key = JoinPath(child, kDocumentV3);
    H5ZARR_ASSIGN_OR_RETURN(const auto bytes, ReadDocument(key));
    bool is_group = true;
    if (bytes) {
      H5ZARR_ASSIGN_OR_RETURN(const DocumentV3 document, ParseDocumentV3(AsText(*bytes), key));
      AppendMemberText(child, DumpJson(document.members, -1), members);
      H5ZARR_ASSIGN_OR_RETURN(const std::string type, NodeTypeOf(document.members));
      is_group = type == "group";
    } else {
      // As in ConsolidateV2.
      H5ZARR_ASSIGN_OR_RETURN(const Kind kind, KindAt(child));
      if (kind != Kind::kAbsent) continue;
      AppendMemberText(child, R"({"attributes": {}, "zarr_format": 3, "node_type": "group"})", members);
    }
    if (is_group) H5ZARR_RETURN_IF_ERROR(ConsolidateV3(child, members));
  }
  return OkStatus();
}

Status Hierarchy::RewriteConsolidatedV3() {
  std::string members;
  H5ZARR_RETURN_IF_ERROR(ConsolidateV3("", &members));
  // The root is read last: somebody may change it while all the others are.
  return ChangeDocument(std::string(kDocumentV3), [&](const Json& root, bool) -> Result<std::optional<std::string>> {
    H5ZARR_ASSIGN_OR_RETURN(const std::string type, NodeTypeOf(root));
    if (type != "group") return std::optional<std::string>();
    // The copies are put into the text, not into a Json of all of them: there may be 100,000.
    std::string text = DumpJson(root);
    text.resize(text.rfind('}'));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text +=
        ",\n  \"consolidated_metadata\": {\"kind\": \"inline\", \"must_understand\": false, "
        "\"metadata\": {\n";
    text += members;
    text += "}}\n}";
    return std::optional<std::string>(std::move(text));
  });
}

Status Hierarchy::ConsolidateV2(const std::string& path, std::string* members) {
  bool is_array = false;
  bool is_node = false;
  for (std::string_view document : {kArrayV2, kGroupV2, kAttributesV2}) {
    const std::string key = JoinPath(path, document);
    H5ZARR_ASSIGN_OR_RETURN(const auto bytes, ReadDocument(key));
    if (!bytes) continue;
    H5ZARR_ASSIGN_OR_RETURN(const Json json, ParseJson(AsText(*bytes), key));
    AppendMemberText(key, DumpJson(json, -1), members);
    is_array = is_array || document == kArrayV2;
    is_node = is_node || document != kAttributesV2;
  }
  if (is_array) return OkStatus();
  if (!is_node) {
    // A v3 node is none of these copies' business. An implicit group is said to be one, since
    // zarr-python wants every parent among the copies.
    H5ZARR_ASSIGN_OR_RETURN(const Kind kind, KindAt(path));
    if (kind != Kind::kAbsent) return OkStatus();
    AppendMemberText(JoinPath(path, kGroupV2), R"({"zarr_format": 2})", members);
  }
  H5ZARR_ASSIGN_OR_RETURN(const auto names, ListNames(path));
  for (const std::string& name : names) {
    H5ZARR_RETURN_IF_ERROR(ConsolidateV2(JoinPath(path, name), members));
  }
  return OkStatus();
}

Status Hierarchy::RewriteConsolidatedV2() {
  std::string members;
  H5ZARR_RETURN_IF_ERROR(ConsolidateV2("", &members));
  const std::string text = "{\"metadata\": {\n" + members + "},\n\"zarr_consolidated_format\": 1}";
  return store_->Write(kConsolidatedV2, AsBytes(text));
}

}  // namespace h5zarr::zarr
