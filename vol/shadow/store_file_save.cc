// Saving: what changed in the shadow, as Zarr metadata; and dirty chunks.

#include <algorithm>
#include <cerrno>
#include <set>

#include "shadow/conventions.h"
#include "shadow/dimension_scales.h"
#include "shadow/external_data.h"
#include "shadow/h5_types.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/json_text.h"
#include "shadow/merge_documents.h"
#include "shadow/object_times.h"
#include "shadow/store_file.h"
#include "shadow/user_links.h"
#include "store/temp_name.h"
#include "store/url.h"

namespace h5zarr::shadow {
namespace {

using host::NativeHandle;
using host::NativeObject;

// A flag that is set until the scope ends.
class FlagScope {
 public:
  explicit FlagScope(bool* flag) : flag_(flag) { *flag_ = true; }
  FlagScope(const FlagScope&) = delete;
  ~FlagScope() { *flag_ = false; }

 private:
  bool* const flag_;
};

// An external link's file and object path, as `_LINKS` says them.
Result<std::pair<std::string, std::string>> ExternalTarget(NativeObject group, const std::string& name) {
  H5ZARR_ASSIGN_OR_RETURN(const H5L_info2_t info, host::LinkInfo(group, name.c_str()));
  std::string value(info.u.val_size, '\0');
  H5VL_link_get_args_t args;
  args.op_type = H5VL_LINK_GET_VAL;
  args.args.get_val.buf_size = value.size();
  args.args.get_val.buf = value.data();
  const H5VL_loc_params_t loc = host::LocByName(group.type, name.c_str());
  if (!value.empty() &&
      H5VLlink_get(group.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  // A byte of version and flags, then two strings that end in NUL. H5Lcreate_ud takes any bytes for them:
  // such a link leads nowhere.
  const std::size_t file_end = value.find('\0', 1);
  if (info.type != H5L_TYPE_EXTERNAL || file_end == std::string::npos) {
    return std::pair<std::string, std::string>(value, "");
  }
  const std::size_t path_end = std::min(value.find('\0', file_end + 1), value.size());
  return std::pair<std::string, std::string>(value.substr(1, file_end - 1),
                                             value.substr(file_end + 1, path_end - file_end - 1));
}

// Drops the entries of `zarr_link` (see StoredLinks) whose links are no more; the names of those that
// stay.
std::set<std::string> KeepOldLinks(const GroupState& group, Json* attributes) {
  std::set<std::string> kept;
  const auto old = attributes->find("zarr_link");
  if (old == attributes->end() || !old->is_array()) return kept;
  Json entries = Json::array();
  for (const Json& entry : *old) {
    const std::vector<StoredLink> links = StoredLinks({{"zarr_link", Json::array({entry})}});
    if (links.size() == 1) {
      const auto link = group.links.find(links[0].name);
      if (group.absent.count(links[0].name) != 0) continue;
      if (link != group.links.end()) {
        const bool same = link->second.kind == LinkState::Kind::kSoft ? link->second.soft_target == links[0].path
                                                                      : link->second.kind == LinkState::Kind::kOther;
        if (!same) continue;
        kept.insert(links[0].name);
      }
    }
    entries.push_back(entry);
  }
  *old = std::move(entries);
  return kept;
}

// kChanged where another program made a link of the name of a child that this one made.
Status CheckNewLinks(const NodeState& node, const zarr::Node& merged) {
  const std::vector<StoredLink> ours = StoredLinks(node.node.attributes());
  for (const StoredLink& link : StoredLinks(merged.attributes())) {
    if (std::find(ours.begin(), ours.end(), link) != ours.end() || node.group.links.count(link.name) == 0) continue;
    return ChangedError("another program has made a link '" + link.name +
                        "', which is here, too; it is not overwritten");
  }
  return OkStatus();
}

// The attribute `name` as it lies in the store, or null.
Json StoredAttribute(const zarr::Node& node, const std::string& name) {
  if (node.as_stored == nullptr) return Json();
  std::optional<std::string_view> text = node.as_stored->attributes;
  if (text->empty()) text = zarr::FindMemberText(node.as_stored->document, "attributes");
  if (!text) return Json();
  const Result<Json> attributes = zarr::ParseJson(*text, "attributes");
  if (!attributes.ok() || !AttributeDescription(*attributes, name).is_null()) return Json();
  const Json* value = zarr::FindMember(*attributes, name);
  return value != nullptr ? *value : Json();
}

// A program that sees the text of JSON, and writes other text of JSON in its place, means JSON.
void TakeAsJson(const zarr::Node& node, const std::string& name, AttributeJson* attribute) {
  if (IsHiddenAttribute(name)) return;
  std::optional<Json> json = JsonOfText(*attribute);
  if (json && IsShownAsText(StoredAttribute(node, name))) *attribute = {*std::move(json), Json()};
}

// Whether programs see this attribute `units` of an array that has none.
bool IsImpliedUnits(const zarr::Node& node, const AttributeJson& units) {
  if (!node.is_array() || node.attributes().contains("units")) return false;
  const Json shown = AttributesForProgram(node);
  return shown.contains("units") && shown["units"] == units.value && units.description.is_null();
}

// The description of a list of one, which its value does not say when it stands alone.
Result<Json> Describe(const AttributeValue& value) {
  H5ZARR_ASSIGN_OR_RETURN(const Json type, TypeToJson(value.type()));
  return Json{{"type", type}, {"shape", Json::array({1})}};
}

// The type a committed datatype holds, as JSON.
Result<Json> CommittedType(NativeObject native) {
  std::size_t bytes = 0;
  H5VL_datatype_get_args_t args;
  args.op_type = H5VL_DATATYPE_GET_BINARY_SIZE;
  args.args.get_binary_size.size = &bytes;
  if (H5VLdatatype_get(native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  H5ZARR_ASSIGN_OR_RETURN(Buffer binary, Buffer::Allocate(bytes));
  args.op_type = H5VL_DATATYPE_GET_BINARY;
  args.args.get_binary.buf = binary.data();
  args.args.get_binary.buf_size = bytes;
  if (H5VLdatatype_get(native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  const Handle type(H5Tdecode(binary.data()));
  if (!type.valid()) return host::AlreadyReported();
  return TypeToJson(type.get());
}

}  // namespace

// Before the first change of this session: consolidated metadata would lie from now on.
Status StoreFile::BeforeChange() {
  if (!change_noted_ && (!created_ || had_consolidated_) && !root_is_array_) {
    H5ZARR_ASSIGN_OR_RETURN(had_consolidated_, hierarchy_.HasConsolidated());
    if (had_consolidated_) H5ZARR_RETURN_IF_ERROR(hierarchy_.InvalidateConsolidated());
  }
  change_noted_ = true;
  if (!above_noted_) H5ZARR_RETURN_IF_ERROR(stores_above_.InvalidateConsolidated());
  above_noted_ = true;
  return OkStatus();
}

// A node's document is stored before anything below it is.
Status StoreFile::EnsureStored(const NodePtr& node) {
  if (node->stored || (root_is_array_ && node == root_)) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(CheckWritable());
  return SaveDocument(node);
}

Status StoreFile::SaveDocument(const NodePtr& node) {
  if (!node->path.empty()) {
    const std::string parent_path(ParentOf(node->path));
    const NodePtr parent = nodes_.At(parent_path);
    if (parent != nullptr) H5ZARR_RETURN_IF_ERROR(EnsureStored(parent));
  }
  if (!node->changed_attributes.empty()) H5ZARR_RETURN_IF_ERROR(EncodeAttributes(node));
  if (node->group.links_changed) H5ZARR_RETURN_IF_ERROR(EncodeLinks(node));
  if (node->kind == NodeState::Kind::kDatatype && !node->stored) {
    H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), node->token));
    H5ZARR_ASSIGN_OR_RETURN(Json type, CommittedType(native.object()));
    SetHdf5Member(&node->node.attributes(), "kind", "datatype");
    SetHdf5Member(&node->node.attributes(), "type", std::move(type));
  }
  if (node->comment_changed) {
    H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), node->token));
    H5ZARR_ASSIGN_OR_RETURN(const std::string comment, ReadNativeComment(native.object()));
    SetHdf5Member(&node->node.attributes(), "comment", comment.empty() ? Json(nullptr) : TextToJson(comment));
    node->comment_changed = false;
  }
  if (node->dataset.committed_type != 0) {
    const std::string type_path = PathOfToken(node->dataset.committed_type);
    SetHdf5Member(&node->node.attributes(), "type_ref", type_path.empty() ? Json(nullptr) : Json(type_path));
    NoteInRoot(kReferences);
  }
  if (root_->stored) H5ZARR_RETURN_IF_ERROR(CheckThere());
  H5ZARR_RETURN_IF_ERROR(BeforeChange());
  node->node.path = node->path;
  if (node->stored) TouchTimes(&node->node.attributes());
  H5ZARR_ASSIGN_OR_RETURN(std::optional<zarr::Node> merged, WriteDocument(node));
  if (merged) std::swap(node->node, *merged);  // what it was
  node->stored = true;
  if (node->dataset.array != nullptr) node->dataset.array->DocumentStored();
  node->node.implicit = false;
  node->document_changed = false;
  node->changed_attributes.clear();
  node->group.links_changed = false;
  TellOthers(node->path);
  return merged ? TakeOver(node, *merged) : OkStatus();
}

Status StoreFile::CatchUpExtent(const NodePtr& node) {
  // (Where it was changed here and is not stored yet, saving decides.)
  if (!node->stored || node->document_changed || node->node.as_stored == nullptr) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const bool is_known, hierarchy_.IsAsStored(node->node));
  if (is_known) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(CheckDocument(*node));
  zarr::StoredDocuments stale = *node->node.as_stored;
  stale.document_state = Generation();  // is looked at, also where nothing is to be written
  node->node.as_stored = std::make_shared<const zarr::StoredDocuments>(std::move(stale));
  return SaveDocument(node);
}

// kIo (ENOENT) when the document of a stored node is no longer there.
Status StoreFile::CheckDocument(const NodeState& node) const {
  if (!node.stored) return OkStatus();
  const bool is_array = node.node.is_array();
  const int zarr_format = is_array ? node.node.array().zarr_format : node.node.group().zarr_format;
  const std::string key = JoinPath(node.path, zarr_format == 3 ? "zarr.json" : is_array ? ".zarray" : ".zgroup");
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<uint64_t> bytes, store_->ObjectBytes(key));
  if (bytes) return OkStatus();
  return Status(StatusCode::kIo, key + " has been removed from '" + name_ + "' while it was open", ENOENT);
}

// Stores the document, with what other programs changed of it meanwhile: that node is returned where they did.
Result<std::optional<zarr::Node>> StoreFile::WriteDocument(const NodePtr& node) {
  zarr::Node& stored = node->node;
  if (!node->stored) stored.as_stored.reset();
  if (stored.is_array() && !node->stored && stored.array().zarr_format == 2 && stored.array().rank() == 0) {
    // Without it xarray opens no array of a v2 store, not even one that has none.
    stored.attributes()["_ARRAY_DIMENSIONS"] = Json::array();
  }
  if (created_ && node == root_ && !node->stored) {
    // The place was made or claimed for it.
    H5ZARR_ASSIGN_OR_RETURN(stored.as_stored, hierarchy_.Write(stored));
    return std::optional<zarr::Node>();
  }
  const auto merge = [&node](const zarr::Node* base, const zarr::Node& ours,
                             const zarr::Node& theirs) -> Result<zarr::Node> {
    H5ZARR_ASSIGN_OR_RETURN(zarr::Node merged, MergeDocuments(base, ours, theirs));
    H5ZARR_RETURN_IF_ERROR(CheckNewLinks(*node, merged));
    return merged;
  };
  H5ZARR_ASSIGN_OR_RETURN(zarr::Hierarchy::Updated updated, hierarchy_.Update(stored, merge));
  stored.as_stored = updated.stored;
  if (updated.merged) updated.merged->as_stored = std::move(updated.stored);
  return std::move(updated.merged);
}

Status StoreFile::EncodeAttributes(const NodePtr& node) {
  H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), node->token));
  const ReferenceResolver references = References();
  bool dimensions = false;
  H5ZARR_ASSIGN_OR_RETURN(const bool is_netcdf, IsNetcdf());
  for (const std::string& name : node->changed_attributes) {
    dimensions |= node->node.is_array() && IsDimensionAttribute(name);
    H5ZARR_ASSIGN_OR_RETURN(const bool exists, NativeAttributeExists(native.object(), name));
    if (!exists) {
      SetAttribute(&node->node.attributes(), name, nullptr);
      continue;
    }
    H5ZARR_ASSIGN_OR_RETURN(const NativeAttribute attribute, ReadNativeAttribute(native.object(), name));
    Result<AttributeJson> encoded = AttributeToJson(attribute.value, references);
    if (!encoded.ok()) {
      return encoded.status().WithContext("attribute '" + name + "' of '/" + node->path + "'");
    }
    TakeAsJson(node->node, name, &*encoded);
    // netCDF knows no scalar attribute: a list of one is one.
    const Json* single = encoded->value.is_array() && encoded->value.size() == 1 ? &encoded->value[0] : nullptr;
    if (is_netcdf && single != nullptr && single->is_primitive()) {
      H5ZARR_ASSIGN_OR_RETURN(encoded->description, Describe(attribute.value));
      encoded->value = Json(*single);
    }
    H5ZARR_ASSIGN_OR_RETURN(const uint64_t committed, CommittedTypeToken(attribute.file_type.get()));
    const std::string type_path = PathOfToken(committed);
    if (!type_path.empty()) encoded->description["type_ref"] = type_path;
    // (Those of dimensions are stored as their names: see EncodeDimensions.)
    const bool refers = !type_path.empty() || ReferenceKinds(attribute.value.type()) != 0;
    if (refers && !(node->node.is_array() && IsDimensionAttribute(name))) NoteInRoot(kReferences);
    DescribeNameCset(name, attribute.name_cset, &encoded->description);
    if (name == "_FillValue" && node->node.is_array()) {
      WriteFillValueAttribute(node->node.array(), &*encoded);
    }
    // What an array's data type says already is said once.
    const bool is_implied = name == "units" && IsImpliedUnits(node->node, *encoded);
    SetAttribute(&node->node.attributes(), name, is_implied ? nullptr : &*encoded);
  }
  if (dimensions) H5ZARR_RETURN_IF_ERROR(EncodeDimensions(node, native.object()));
  return EncodeAttributeOrder(node, native.object());
}

// Written by a library of netCDF's, which leaves its name in the root.
Result<bool> StoreFile::IsNetcdf() {
  if (is_netcdf_ || root_is_array_) return is_netcdf_;
  H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), root_->token));
  H5ZARR_ASSIGN_OR_RETURN(is_netcdf_, NativeAttributeExists(native.object(), "_NCProperties"));
  return is_netcdf_;
}

Status StoreFile::EncodeLinks(const NodePtr& node) {
  H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), node->token));
  Json& attributes = node->node.attributes();
  Json links = Json::array();
  // Entries of links that were not looked at stay as they are.
  const auto old = attributes.find("_LINKS");
  if (old != attributes.end() && old->is_array()) {
    for (const Json& entry : *old) {
      const auto said = entry.is_object() ? entry.find("name") : entry.end();
      const std::string name =
          entry.is_object() && said != entry.end() && said->is_string() ? said->get<std::string>() : "";
      if (!node->group.links.count(name) && !node->group.absent.count(name)) links.push_back(entry);
    }
  }
  std::set<std::string> elsewhere = KeepOldLinks(node->group, &attributes);
  for (const auto& [name, link] : node->group.links) {
    if (link.is_stub || elsewhere.count(name) != 0) continue;
    Json entry = {{"name", name}, {"source", "."}, {"path", ""}, {"kind", "soft"}};
    switch (link.kind) {
      case LinkState::Kind::kSoft: entry["path"] = link.soft_target; break;
      case LinkState::Kind::kHard: {
        const NodePtr target = link.target.lock();
        if (target == nullptr || target->path == JoinPath(node->path, name)) continue;
        entry["path"] = "/" + target->path;
        entry["kind"] = "hard";
        NoteInRoot(kHardLinks);
        break;
      }
      case LinkState::Kind::kOther: {
        if (IsUserClass(link.link_class)) continue;
        H5ZARR_ASSIGN_OR_RETURN(const auto target, ExternalTarget(native.object(), name));
        entry["source"] = target.first;
        entry["path"] = target.second;
        entry["kind"] = "external";
        break;
      }
    }
    links.push_back(std::move(entry));
  }
  if (links.empty()) {
    attributes.erase("_LINKS");
  } else {
    attributes["_LINKS"] = std::move(links);
  }
  H5ZARR_RETURN_IF_ERROR(EncodeUserLinks(node));
  EncodeLinkCsets(node);
  return node->group.ordered ? EncodeLinkOrder(node) : OkStatus();
}

void StoreFile::EncodeLinkCsets(const NodePtr& node) {
  const GroupState& group = node->group;
  Json& attributes = node->node.attributes();
  const Json old = Hdf5Member(attributes, "link_csets");
  Json csets = Json::object();
  for (const auto& [name, cset] : old.items()) {
    if (group.links.count(name) == 0 && group.absent.count(name) == 0) csets[name] = cset;
  }
  for (const auto& [name, link] : group.links) {
    if (link.cset == NameCset(name, Json())) continue;
    csets[name] = link.cset == H5T_CSET_UTF8 ? "utf8" : "ascii";
  }
  SetHdf5Member(&attributes, "link_csets", csets.empty() ? Json() : std::move(csets));
}

Status StoreFile::EncodeUserLinks(const NodePtr& node) {
  Json& attributes = node->node.attributes();
  Json links = Json::array();
  for (const StoredLink& old : StoredLinks(attributes)) {
    const bool known = node->group.links.count(old.name) || node->group.absent.count(old.name);
    if (old.link_class == 0 || known) continue;
    links.push_back({{"name", old.name}, {"class", old.link_class}, {"value", TextToJson(old.value)}});
  }
  for (const auto& [name, link] : node->group.links) {
    if (link.kind != LinkState::Kind::kOther || !IsUserClass(link.link_class)) continue;
    if (!link.value) {
      return UnsupportedError("link '" + name + "' of '/" + node->path +
                              "' cannot be stored: its "
                              "class " +
                              std::to_string(link.link_class) + " has no query function that gives its value");
    }
    links.push_back({{"name", name}, {"class", link.link_class}, {"value", TextToJson(*link.value)}});
  }
  SetHdf5Member(&attributes, "user_links", links.empty() ? Json() : std::move(links));
  return OkStatus();
}

Status StoreFile::EncodeLinkOrder(const NodePtr& node) {
  H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), node->token));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> names, host::LinkNames(native.object(), H5_INDEX_CRT_ORDER));
  SetHdf5Member(&node->node.attributes(), "order", Json(names));
  return OkStatus();
}

// One changed node: its document, or what is left to do of it when it is gone.
Status StoreFile::SaveNode(const NodePtr& node, Purpose purpose) {
  const Status there = CheckDocument(*node);
  if (there.ok()) {
    const bool document = node->document_changed || !node->changed_attributes.empty() || node->group.links_changed ||
                          (!node->stored && !node->bare_dimension);
    return document ? SaveDocument(node) : OkStatus();
  }
  if (there.errno_value() != ENOENT || purpose == Purpose::kFlush) return there;
  node->document_changed = false;
  node->changed_attributes.clear();
  node->group.links_changed = false;
  node->dataset.array.reset();
  node->dataset.renames.Clear();
  return OkStatus();
}

Status StoreFile::CopyExternal(const NodePtr& node, NativeObject native) {
  DatasetState& dataset = node->dataset;
  if (!dataset.external || dataset.external_copied || !writable_ || forked()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(zarr::Array* const array, OpenArray(node, 0));
  H5ZARR_ASSIGN_OR_RETURN(dataset.external_copied, CopyExternalData(native, dataset.element, array));
  if (!dataset.external_copied) return OkStatus();
  Json external = Hdf5Member(node->node.attributes(), "external");
  external["copied"] = true;
  SetHdf5Member(&node->node.attributes(), "external", std::move(external));
  node->document_changed = true;
  return OkStatus();
}

void StoreFile::NoteExternalChange(const NodePtr& node) {
  // Scales that were found by names and extents stay attached: from now on they are recorded.
  const bool has_dimensions = node->dataset.is_scale || !node->dataset.attached.empty();
  for (const auto& [token, user] : nodes_) {
    if (!has_dimensions) break;
    if (!user->node.is_array() || user->dataset.attached.empty()) continue;
    if (!Hdf5Member(user->node.attributes(), "scales").is_null()) continue;
    bool uses = user == node;
    for (const std::vector<std::string>& scales : user->dataset.attached) {
      uses |= std::find(scales.begin(), scales.end(), "/" + node->path) != scales.end();
    }
    if (!uses) continue;
    NoteAttribute(user, "DIMENSION_LIST");
    for (const std::vector<std::string>& scales : user->dataset.attached) {
      for (const std::string& path : scales) {
        const NodePtr scale = nodes_.At(path.substr(1));
        if (scale != nullptr && scale->bare_dimension) scale->document_changed = true;
      }
    }
  }
  if (!node->dataset.external) return;
  node->dataset.external_copied = false;
  Json external = Hdf5Member(node->node.attributes(), "external");
  external.erase("copied");
  SetHdf5Member(&node->node.attributes(), "external", std::move(external));
  node->document_changed = true;
}

// What the program has open: only it says where a dataset's files are.
Status StoreFile::CopyAllExternal() {
  Status first;
  for (const Object* object : objects_) {
    if (object->native.type != H5I_DATASET || object->node == nullptr) continue;
    const Status copied = CopyExternal(object->node, object->native);
    if (first.ok()) first = copied;
  }
  return first;
}

// Its elements; and what a store of Zarr does not tell by its chunks alone.
Status StoreFile::SaveElements(const NodePtr& node) {
  zarr::Array& array = *node->dataset.array;
  H5ZARR_RETURN_IF_ERROR(array.Flush());
  H5ZARR_RETURN_IF_ERROR(array.StoreFill());
  if (!array.omitted_fill()) return OkStatus();
  if (!WrittenAsFill(node->node.attributes())) {
    H5ZARR_ASSIGN_OR_RETURN(const bool has_chunks, array.HasStoredChunks());
    if (!has_chunks) {
      SetHdf5Member(&node->node.attributes(), "written", true);
      H5ZARR_RETURN_IF_ERROR(SaveDocument(node));
    }
  }
  array.ForgetOmittedFill();
  return OkStatus();
}

// What is not as it is stored, parents first.
std::vector<NodePtr> StoreFile::ChangedNodes() const {
  std::vector<NodePtr> changed;
  for (const auto& [token, node] : nodes_) {
    if (root_is_array_ && node == root_) continue;
    const bool staged = IsTempName(node->path.substr(0, node->path.find('/')));
    const bool unstored = !node->stored && !node->node.implicit && !node->bare_dimension;
    if (!staged && (node->dirty() || unstored)) changed.push_back(node);
  }
  std::sort(changed.begin(), changed.end(), [](const NodePtr& a, const NodePtr& b) { return a->path < b->path; });
  return changed;
}

Status StoreFile::Save(Purpose purpose) {
  if (saving_ || !writable_ || forked()) return OkStatus();
  WaitForJobs();
  const FlagScope saving(&saving_);
  pending_nodes_ = 0;
  if (const Status there = CheckThere(); !there.ok()) {
    return purpose == Purpose::kFlush ? there : OkStatus();
  }
  // One node that cannot be stored does not keep the others from it; the first failure is returned.
  Status first = CopyAllExternal();
  if (!IsRemoteName(path_) && first.ok()) first = LookForConsolidated();
  const auto note = [&first](Status status) {
    if (first.ok()) first = std::move(status);
  };
  for (const NodePtr& node : ChangedNodes()) note(SettleBareDimension(node));
  const std::vector<NodePtr> changed = ChangedNodes();
  std::set<NodePtr> failed;
  const auto save = [&](const NodePtr& node) {
    Status saved = SaveNode(node, purpose);
    if (!saved.ok()) failed.insert(node);
    note(std::move(saved));
  };
  for (const NodePtr& node : changed) save(node);
  // Saving one may have made another say something new: the root, dimension scales.
  for (const NodePtr& node : ChangedNodes()) {
    if (failed.count(node) == 0) save(node);
  }
  for (const NodePtr& node : changed) {
    if (!node->dataset.renames.empty()) note(OpenElements(node).status());
    if (node->dataset.array != nullptr) note(SaveElements(node));
    TellOthers(node->path);
  }
  touched_ = !first.ok();
  return first;
}

// Consolidated metadata that another program wrote since the first change lacks what is changed here.
Status StoreFile::LookForConsolidated() {
  if (!change_noted_ || root_is_array_ || ChangedNodes().empty()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const bool found, hierarchy_.FindNewConsolidated());
  if (!found) return OkStatus();
  had_consolidated_ = true;
  change_noted_ = false;  // the next change removes it
  return OkStatus();
}

Status StoreFile::SaveForClose() {
  H5ZARR_RETURN_IF_ERROR(Save(Purpose::kClose));
  if (!change_noted_ || !writable_ || forked() || !CheckThere().ok()) return OkStatus();
  if (!had_consolidated_ && !root_is_array_) {
    H5ZARR_ASSIGN_OR_RETURN(had_consolidated_, hierarchy_.FindNewConsolidated());
  }
  const bool rewrites = had_consolidated_ || stores_above_.invalidated();
  if (had_consolidated_) H5ZARR_RETURN_IF_ERROR(hierarchy_.RewriteConsolidated());
  H5ZARR_RETURN_IF_ERROR(stores_above_.RewriteConsolidated());
  change_noted_ = above_noted_ = false;
  if (rewrites) TellOthersOfConsolidated();
  return OkStatus();
}

}  // namespace h5zarr::shadow
