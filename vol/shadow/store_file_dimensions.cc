// Dimension scales of a store: made in the shadow from the names of Zarr's dimensions, and named
// from what programs attach there.

#include <algorithm>

#include "base/shortage.h"
#include "shadow/dimension_scales.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/store_file.h"

namespace h5zarr::shadow {
namespace {

using host::NativeHandle;
using host::NativeObject;

// To tell a group's bare dimensions all its documents are read. Larger groups have none.
constexpr std::size_t kMaxCensus = 1000;

// The forms in which HDF5's dimension scale library keeps its attributes.
Json FixedText(std::size_t length) {
  return {
      {"class", "H5T_STRING"}, {"charSet", "H5T_CSET_ASCII"}, {"strPad", "H5T_STR_NULLTERM"}, {"length", length + 1}};
}

Json Described(Json type, Json shape) {
  Json description = Json::object();
  description["type"] = std::move(type);
  description["shape"] = std::move(shape);
  return description;
}

Json DimensionListForm(std::size_t rank) {
  return Described({{"class", "H5T_VLEN"}, {"base", "H5T_STD_REF_OBJ"}}, Json::array({rank}));
}

Json LabelsForm(std::size_t rank) {
  return Described({{"class", "H5T_STRING"},
                    {"charSet", "H5T_CSET_ASCII"},
                    {"strPad", "H5T_STR_NULLTERM"},
                    {"length", "H5T_VARIABLE"}},
                   Json::array({rank}));
}

// As H5DSset_label leaves it: dimensions without a label have no string, and one with a NUL in it fits none.
Json LabelsToJson(const std::vector<std::string>& labels) {
  Json list = Json::array();
  for (const std::string& label : labels) {
    const bool fits = !label.empty() && label.find('\0') == std::string::npos;
    list.push_back(fits ? Json(label) : Json());
  }
  return list;
}

Json ReferenceListForm(std::size_t entries) {
  Json fields = Json::array();
  fields.push_back({{"name", "dataset"}, {"type", "H5T_STD_REF_OBJ"}, {"offset", 0}});
  fields.push_back({{"name", "dimension"}, {"type", "H5T_STD_U32LE"}, {"offset", 8}});
  return Described({{"class", "H5T_COMPOUND"}, {"size", 16}, {"fields", std::move(fields)}}, Json::array({entries}));
}

Status AddAttribute(NativeObject native, const std::string& name, const Json& value, const Json& form,
                    const ReferenceResolver& references) {
  H5ZARR_ASSIGN_OR_RETURN(const bool exists, NativeAttributeExists(native, name));
  if (exists) return OkStatus();  // the store has an attribute of that name
  H5ZARR_ASSIGN_OR_RETURN(const AttributeValue converted, AttributeFromJson(value, form, references));
  return WriteNativeAttribute(native, name, converted, converted.type(), H5T_CSET_ASCII);
}

// The value of an attribute as JSON; null where there is none.
Result<Json> ReadAttribute(NativeObject native, const std::string& name, const ReferenceResolver& references) {
  H5ZARR_ASSIGN_OR_RETURN(const bool exists, NativeAttributeExists(native, name));
  if (!exists) return Json();
  H5ZARR_ASSIGN_OR_RETURN(const NativeAttribute attribute, ReadNativeAttribute(native, name));
  H5ZARR_ASSIGN_OR_RETURN(AttributeJson json, AttributeToJson(attribute.value, references));
  return std::move(json.value);
}

// The paths in DIMENSION_LIST; nothing where the attribute has another form.
std::optional<std::vector<std::vector<std::string>>> AttachedPaths(const Json& list, std::size_t rank) {
  if (!list.is_array() || list.size() != rank) return std::nullopt;
  std::vector<std::vector<std::string>> scales;
  for (const Json& attached : list) {
    if (!attached.is_array()) return std::nullopt;
    std::vector<std::string>& paths = scales.emplace_back();
    for (const Json& path : attached) {
      if (!path.is_string()) return std::nullopt;
      // A reference to what is gone is stored as an empty path.
      if (!path.get_ref<const std::string&>().empty()) paths.push_back(path.get<std::string>());
    }
  }
  return scales;
}

template <typename Lists>
bool AllEmpty(const Lists& lists) {
  return std::all_of(lists.begin(), lists.end(), [](const auto& list) { return list.empty(); });
}

// No names at all where none is one.
DimensionNames WithoutAbsent(DimensionNames names) {
  const bool any = std::any_of(names.begin(), names.end(), [](const auto& name) { return name.has_value(); });
  return any ? std::move(names) : DimensionNames();
}

// What a dataset's own attributes in the shadow say of its dimensions.
struct NativeDimensions {
  DimensionState state;
  bool has_list = false;    // DIMENSION_LIST is one: `state` says all that is in it
  bool has_labels = false;  // and so is DIMENSION_LABELS
};

Result<NativeDimensions> ReadDimensions(NativeObject native, std::size_t rank, const ReferenceResolver& references) {
  NativeDimensions read;
  DimensionState& state = read.state;
  H5ZARR_ASSIGN_OR_RETURN(const Json role, ReadAttribute(native, "CLASS", references));
  H5ZARR_ASSIGN_OR_RETURN(const Json scale_name, ReadAttribute(native, "NAME", references));
  H5ZARR_ASSIGN_OR_RETURN(const Json list, ReadAttribute(native, "DIMENSION_LIST", references));
  H5ZARR_ASSIGN_OR_RETURN(const Json labels, ReadAttribute(native, "DIMENSION_LABELS", references));
  state.is_scale = role == "DIMENSION_SCALE";
  if (state.is_scale && scale_name.is_string()) state.scale_name = scale_name.get<std::string>();
  const auto attached = AttachedPaths(list, rank);
  if (attached && !AllEmpty(*attached)) state.scales = *attached;
  for (const Json& label : labels) {
    state.labels.push_back(label.is_string() ? label.get<std::string>() : std::string());
  }
  if (AllEmpty(state.labels)) state.labels.clear();
  read.has_list = attached.has_value();
  read.has_labels = labels.is_array();
  return read;
}

Json ToJson(const std::vector<std::vector<std::string>>& scales) {
  Json list = Json::array();
  for (const auto& paths : scales) list.push_back(Json(paths));
  return list;
}

// True where no HDF5 program can resize the array. (Those of others' arrays are what the configuration says.)
bool HasFixedShape(const zarr::ArrayMetadata& metadata) {
  const Json maximum = Hdf5Member(metadata.attributes, "maxshape");
  if (maximum.is_null()) return !Hdf5Member(metadata.attributes, "layout").is_null();
  if (!maximum.is_array() || maximum.size() > metadata.rank()) return false;
  for (std::size_t i = 0; i < maximum.size(); ++i) {
    if (maximum[i] != metadata.shape[i]) return false;
  }
  return true;
}

// True where other programs gave dimensions other names than those of the scales that are recorded:
// they copy attributes from array to array, too.
bool AreRenamed(const zarr::ArrayMetadata& metadata, const std::vector<std::vector<std::string>>& scales,
                const std::optional<std::vector<std::string>>& labels) {
  const Json* list = zarr::FindMember(metadata.attributes, "_ARRAY_DIMENSIONS");
  if (metadata.dimension_names.empty() && list == nullptr) return false;
  const DimensionNames names = DimensionNamesOf(metadata);
  for (std::size_t i = 0; i < std::min(scales.size(), names.size()); ++i) {
    const bool labelled = labels && i < labels->size() && !(*labels)[i].empty();
    if (labelled || scales[i].empty() || !names[i]) continue;
    if (*names[i] != NameOf(scales[i].back())) return true;
  }
  return false;
}

Result<bool> AreThere(const std::vector<std::vector<std::string>>& scales, const ReferenceResolver& references) {
  uint64_t token;
  for (const std::vector<std::string>& paths : scales) {
    for (const std::string& path : paths) {
      H5ZARR_ASSIGN_OR_RETURN(const bool is_there, references.from_path(path, &token));
      if (!is_there) return false;
    }
  }
  return true;
}

std::size_t RankOf(const NodeState& node) {
  const std::size_t rank = node.node.array().rank();
  return rank - std::min(rank, node.dataset.element.elem_dims.size());
}

}  // namespace

// --- loading -------------------------------------------------------------------------------------

// A group's bare dimensions: those its document lists, and those its arrays name and agree on.
Result<const std::map<std::string, BareDimension>*> StoreFile::BareDimensions(const NodePtr& group) {
  GroupState& state = group->group;
  if (state.bare) return &*state.bare;
  state.bare.emplace();
  if (root_is_array_ || state.filled) return &*state.bare;
  const Json recorded = Hdf5Member(group->node.attributes(), "dimensions");
  for (const auto& [name, document] : recorded.items()) {
    state.bare->emplace(name, BareDimension{std::nullopt, document});
  }
  const Result<std::vector<std::string>> listed = hierarchy_.ListNames(group->path);
  // Where nothing can be listed there are no dimensions but those that are nodes.
  if (listed.status().code() == StatusCode::kUnsupported) return &*state.bare;
  if (!listed.ok()) state.bare.reset();
  H5ZARR_RETURN_IF_ERROR(listed.status());
  const std::vector<std::string>& names = *listed;
  DimensionCensus census;
  for (std::size_t i = 0; i < names.size() && names.size() <= kMaxCensus; ++i) {
    const auto link = state.links.find(names[i]);
    const NodePtr known = link != state.links.end() ? link->second.target.lock() : nullptr;
    if (known != nullptr) {
      if (known->node.is_array()) census.Add(known->node.array());
      continue;
    }
    const Result<std::optional<zarr::Node>> node = hierarchy_.Open(JoinPath(group->path, names[i]));
    // A document that cannot be read fails the opening of its own node, not that of others.
    if (IsShortage(node.status())) {
      state.bare.reset();
      return node.status();
    }
    if (node.ok() && *node && (**node).is_array()) census.Add((**node).array());
  }
  for (const std::string& name : names) state.bare->erase(name);
  for (const auto& [name, extent] : census.Agreed()) {
    if (std::binary_search(names.begin(), names.end(), name)) continue;
    const auto known = state.bare->find(name);
    if (known != state.bare->end()) {
      known->second.extent = extent;
      continue;
    }
    H5ZARR_ASSIGN_OR_RETURN(const NodePtr outer, FindScaleAround(group, name, extent));
    if (outer == nullptr) state.bare->emplace(name, BareDimension{extent, Json()});
  }
  return &*state.bare;
}

Status StoreFile::LoadBareDimension(const NodePtr& group, const std::string& name) {
  H5ZARR_ASSIGN_OR_RETURN(const auto* dimensions, BareDimensions(group));
  const auto found = dimensions->find(name);
  if (found == dimensions->end()) {
    group->group.absent.insert(name);
    return OkStatus();
  }
  zarr::Node node;
  node.path = JoinPath(group->path, name);
  const BareDimension& dimension = found->second;
  if (dimension.document.is_null()) {
    node.metadata = MakeBareDimension(name, dimension.extent.value_or(0), config_.zarr_format);
  } else {
    Result<zarr::ArrayMetadata> metadata =
        BareDimensionFromDocument(dimension.document, name, config_.zarr_format, dimension.extent);
    if (!metadata.ok()) return LoadBroken(group, name, metadata.status());
    node.metadata = std::move(*metadata);
  }
  H5ZARR_RETURN_IF_ERROR(LoadDataset(group, name, std::move(node)));
  if (const NodePtr child = group->group.links[name].target.lock()) {
    child->stored = false;
    child->bare_dimension = true;
  }
  return OkStatus();
}

// The scale that the groups around `group` have for a dimension `name`; null where there is none.
// Of their bare dimensions only those that HDF5 made are, which their documents list.
Result<NodePtr> StoreFile::FindScaleAround(const NodePtr& group, const std::string& name, uint64_t extent) {
  for (std::string path = group->path; !path.empty();) {
    path = std::string(ParentOf(path));
    const NodePtr outer = nodes_.At(path);
    if (outer == nullptr) continue;
    H5ZARR_RETURN_IF_ERROR(LoadChild(outer, name));
    const auto link = outer->group.links.find(name);
    const NodePtr child = link != outer->group.links.end() ? link->second.target.lock() : nullptr;
    if (child == nullptr) continue;
    const Json listed = Hdf5Member(outer->node.attributes(), "dimensions");
    if (child->bare_dimension && zarr::FindMember(listed, name.c_str()) == nullptr) continue;
    H5ZARR_RETURN_IF_ERROR(LoadWaitingHeader(outer, child));
    return child->dataset.is_scale && child->node.array().shape == std::vector<uint64_t>{extent} ? child : NodePtr();
  }
  return NodePtr();
}

// The scale of a dimension `name` of an array in `group`; null where there is none.
Result<NodePtr> StoreFile::FindScale(const NodePtr& group, const std::string& name, uint64_t extent) {
  if (root_is_array_) return NodePtr();
  H5ZARR_RETURN_IF_ERROR(LoadChild(group, name));
  const auto link = group->group.links.find(name);
  if (link == group->group.links.end()) return FindScaleAround(group, name, extent);
  const NodePtr child = link->second.target.lock();
  H5ZARR_RETURN_IF_ERROR(LoadWaitingHeader(group, child));
  const bool fits = child != nullptr && child->dataset.is_scale && child->node.is_array() &&
                    child->node.array().shape == std::vector<uint64_t>{extent};
  return fits ? child : NodePtr();
}

// The scales of an array's dimensions by their names: of all dimensions, or else none.
Result<std::vector<std::vector<std::string>>> StoreFile::ImpliedScales(const NodePtr& group,
                                                                       const zarr::ArrayMetadata& metadata,
                                                                       std::size_t rank) {
  const DimensionNames names = DimensionNamesOf(metadata);
  std::vector<std::vector<std::string>> scales;
  for (std::size_t i = 0; i < std::min(rank, names.size()); ++i) {
    if (!names[i]) return std::vector<std::vector<std::string>>();
    H5ZARR_ASSIGN_OR_RETURN(const NodePtr scale, FindScale(group, *names[i], metadata.shape[i]));
    if (scale == nullptr) return std::vector<std::vector<std::string>>();
    scales.push_back({"/" + scale->path});
  }
  return scales;
}

Result<bool> StoreFile::HasImpliedScales(const NodePtr& node) {
  const zarr::ArrayMetadata& metadata = node->node.array();
  const std::size_t rank = RankOf(*node);
  const auto scales = RecordedScales(metadata.attributes, rank);
  if (!scales || AllEmpty(*scales)) return true;
  if (AreRenamed(metadata, *scales, RecordedLabels(metadata.attributes, rank))) return true;
  H5ZARR_ASSIGN_OR_RETURN(const bool are_there, AreThere(*scales, References()));
  if (!are_there) return true;
  const NodePtr group = nodes_.At(std::string(ParentOf(node->path)));
  if (group == nullptr) return false;
  H5ZARR_ASSIGN_OR_RETURN(const auto implied, ImpliedScales(group, metadata, rank));
  return implied == *scales;
}

// Gives a dataset of the shadow the attributes that make it a scale or attach scales to it. A
// scale's REFERENCE_LIST is left to CompleteAttributes.
Status StoreFile::LoadDimensions(const NodePtr& group, const NodePtr& node, NativeObject native) {
  const zarr::ArrayMetadata& metadata = node->node.array();
  const std::size_t rank = RankOf(*node);
  const ReferenceResolver references = References();
  const DimensionState role = RoleFromMetadata(metadata, NameOf(node->path), rank);
  if (role.is_scale) {
    node->dataset.is_scale = true;
    node->dataset.references_pending = true;
    H5ZARR_RETURN_IF_ERROR(
        AddAttribute(native, "CLASS", "DIMENSION_SCALE", Described(FixedText(15), Json::array()), references));
    if (role.scale_name) {
      const Json form = Described(FixedText(role.scale_name->size()), Json::array());
      H5ZARR_RETURN_IF_ERROR(AddAttribute(native, "NAME", *role.scale_name, form, references));
    }
  }
  auto labels = RecordedLabels(metadata.attributes, rank);
  auto scales = RecordedScales(metadata.attributes, rank);
  if (scales && AreRenamed(metadata, *scales, labels)) scales.reset();
  if (scales) {
    H5ZARR_ASSIGN_OR_RETURN(const bool are_there, AreThere(*scales, references));
    if (!are_there) scales.reset();
  }
  if (!scales && !role.is_scale) {
    H5ZARR_ASSIGN_OR_RETURN(scales, ImpliedScales(group, metadata, rank));
  }
  if (scales && !AllEmpty(*scales)) {
    H5ZARR_RETURN_IF_ERROR(
        AddAttribute(native, "DIMENSION_LIST", ToJson(*scales), DimensionListForm(rank), references));
    node->dataset.attached = *scales;
  }
  if (!labels && !role.is_scale && (!scales || AllEmpty(*scales))) {
    labels.emplace();
    for (const auto& name : DimensionNamesOf(metadata)) labels->push_back(name.value_or(""));
    labels->resize(labels->empty() ? 0 : rank);
  }
  if (labels && !AllEmpty(*labels)) {
    H5ZARR_RETURN_IF_ERROR(
        AddAttribute(native, "DIMENSION_LABELS", LabelsToJson(*labels), LabelsForm(rank), references));
  }
  return OkStatus();
}

// REFERENCE_LIST names every dataset a scale is attached to: it costs looking at all there is.
Status StoreFile::CompleteAttributes(const NodePtr& node) {
  if (node == nullptr || !node->dataset.references_pending) return OkStatus();
  node->dataset.references_pending = false;
  const Json recorded = Hdf5Member(node->node.attributes(), "used_outside");
  const std::string parent_path(ParentOf(node->path));
  const NodePtr group = nodes_.At(parent_path);
  H5ZARR_RETURN_IF_ERROR(Fill(recorded.is_null() ? group : root_, true));
  std::vector<std::pair<std::string, std::size_t>> users;
  for (const auto& [token, user] : nodes_) {
    for (std::size_t i = 0; i < user->dataset.attached.size(); ++i) {
      const std::vector<std::string>& scales = user->dataset.attached[i];
      const bool uses = std::find(scales.begin(), scales.end(), "/" + node->path) != scales.end();
      if (uses) users.emplace_back(user->path, i);
    }
  }
  if (users.empty()) return OkStatus();
  std::sort(users.begin(), users.end());
  Json list = Json::array();
  for (const auto& [path, dimension] : users) list.push_back({"/" + path, dimension});
  H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), node->token));
  H5ZARR_RETURN_IF_ERROR(
      AddAttribute(native.object(), "REFERENCE_LIST", list, ReferenceListForm(users.size()), References()));
  return OrderAttributes(node, native.object());
}

// --- saving --------------------------------------------------------------------------------------

// True where every later opening finds by its name that this scale is dimension `dim` of `node`: they are
// neighbours, for a group between them may get a member of that name, and HDF5 can resize neither.
Result<bool> StoreFile::IsImpliedScale(const NodePtr& node, std::size_t dim, const std::string& scale_path) {
  if (ParentOf(std::string_view(scale_path).substr(1)) != ParentOf(node->path)) return false;
  const NodePtr scale = nodes_.At(scale_path.substr(1));
  if (scale == nullptr || !scale->node.is_array()) return false;
  const zarr::ArrayMetadata& metadata = node->node.array();
  return scale->node.array().shape == std::vector<uint64_t>{metadata.shape[dim]} &&
         HasFixedShape(scale->node.array()) && HasFixedShape(metadata);
}

// Says in Zarr's words, and in `_hdf5` where these do not suffice, what a dataset's dimension
// attributes are in the shadow.
Status StoreFile::EncodeDimensions(const NodePtr& node, NativeObject native) {
  auto& metadata = std::get<zarr::ArrayMetadata>(node->node.metadata);
  Json& attributes = metadata.attributes;
  const std::size_t rank = RankOf(*node);
  const std::string own_name(NameOf(node->path));
  H5ZARR_ASSIGN_OR_RETURN(const NativeDimensions read, ReadDimensions(native, rank, References()));
  const DimensionState& state = read.state;
  node->dataset.is_scale = state.is_scale;
  // (Names that say it already stay as they are, also where one occurs twice.)
  const DimensionNames said = NamesFromState(state, own_name, rank);
  if (WithoutAbsent(DimensionNamesOf(metadata)) != WithoutAbsent(said)) SetDimensionNames(said, &metadata);

  for (const char* member : {"scale", "scales", "labels"}) {
    SetHdf5Member(&attributes, member, nullptr);
  }
  const DimensionNames names = DimensionNamesOf(metadata);
  const bool named = !names.empty();
  const auto drop = [&](const char* name) { SetAttribute(&attributes, name, nullptr); };
  if (state.is_scale) {
    drop("CLASS");
    drop("REFERENCE_LIST");
    if (state.scale_name) drop("NAME");
  }
  if (read.has_list) drop("DIMENSION_LIST");
  if (read.has_labels) drop("DIMENSION_LABELS");
  const DimensionState implied = RoleFromMetadata(metadata, own_name, rank);
  if (!state.is_scale && implied.is_scale) SetHdf5Member(&attributes, "scale", false);
  if (state.is_scale && (!implied.is_scale || implied.scale_name != state.scale_name)) {
    SetHdf5Member(&attributes, "scale", state.scale_name ? Json(*state.scale_name) : Json(true));
  }
  bool by_name = state.scales.size() == rank && named;
  for (std::size_t i = 0; i < state.scales.size() && by_name; ++i) {
    by_name = state.scales[i].size() == 1 && names[i] == std::string(NameOf(state.scales[i][0]));
    if (!by_name) break;
    H5ZARR_ASSIGN_OR_RETURN(by_name, IsImpliedScale(node, i, state.scales[i][0]));
  }
  if (!state.scales.empty() && !by_name) {
    SetHdf5Member(&attributes, "scales", ToJson(state.scales));
    NoteInRoot(kReferences);
  } else if (state.scales.empty() && named && !state.is_scale) {
    SetHdf5Member(&attributes, "scales", false);
  }
  std::vector<std::string> implied_labels;
  if (state.scales.empty() && !state.is_scale) {
    for (const auto& name : names) implied_labels.push_back(name.value_or(""));
    implied_labels.resize(named ? rank : 0);
  }
  if (state.labels != implied_labels) SetHdf5Member(&attributes, "labels", Json(state.labels));
  for (const std::vector<std::string>& paths : state.scales) {
    for (const std::string& path : paths) NoteUseOutside(node, path);
  }
  return NoteUsersOutside(node, native);
}

// The same, said by a dataset that a scale is attached to.
void StoreFile::NoteUseOutside(const NodePtr& user, const std::string& scale_path) {
  const NodePtr scale = nodes_.At(scale_path.substr(1));
  const std::string group(ParentOf(scale_path.substr(1)));
  if (scale == nullptr || scale->bare_dimension || group.empty()) return;
  if (IsBelow(user->path, group)) return;
  if (!Hdf5Member(scale->node.attributes(), "used_outside").is_null()) return;
  SetHdf5Member(&scale->node.attributes(), "used_outside", true);
  scale->document_changed = true;
}

// A scale that is attached to datasets outside of its own group says so: REFERENCE_LIST is made
// from what lies within it otherwise.
Status StoreFile::NoteUsersOutside(const NodePtr& node, NativeObject native) {
  if (node->dataset.references_pending) return OkStatus();
  bool outside = false;
  const std::string group(ParentOf(node->path));
  H5ZARR_ASSIGN_OR_RETURN(const Json users, ReadAttribute(native, "REFERENCE_LIST", References()));
  for (const Json& user : users) {
    const bool is_path = user.is_array() && !user.empty() && user[0].is_string();
    const std::string path = is_path ? user[0].get<std::string>() : std::string();
    outside |= !path.empty() && !group.empty() && !path.starts_with("/" + group + "/");
  }
  SetHdf5Member(&node->node.attributes(), "used_outside", outside ? Json(true) : Json());
  return OkStatus();
}

// True for a dataset that says nothing but that there is a dimension.
Result<bool> StoreFile::IsBareDimension(const NodePtr& node) {
  if (node->kind != NodeState::Kind::kDataset || !node->node.is_array() || !node->placed || !node->broken.ok() ||
      !node->dataset.is_scale || root_is_array_) {
    return false;
  }
  const zarr::ArrayMetadata& metadata = node->node.array();
  const Json scale_name = Hdf5Member(metadata.attributes, "scale");
  if (metadata.rank() != 1 || !scale_name.is_string() ||
      !IsBareDimensionName(scale_name.get_ref<const std::string&>())) {
    return false;
  }
  for (const auto& [name, value] : metadata.attributes.items()) {
    if (name != "_hdf5" && name != "_ARRAY_DIMENSIONS") return false;
  }
  if (node->dataset.array != nullptr && node->dataset.array->dirty()) return false;
  if (!node->stored) return true;
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<ListEntry> entries, store_->List(node->path));
  return std::all_of(entries.begin(), entries.end(), [](const ListEntry& entry) {
    return entry.name == "zarr.json" || entry.name == ".zarray" || entry.name == ".zattrs";
  });
}

// Before documents are written: bare dimensions go into those of their groups.
Status StoreFile::SettleBareDimension(const NodePtr& node) {
  if (node->kind != NodeState::Kind::kDataset || !node->node.is_array()) return OkStatus();
  if (!node->changed_attributes.empty()) H5ZARR_RETURN_IF_ERROR(EncodeAttributes(node));
  H5ZARR_ASSIGN_OR_RETURN(const bool is_bare, IsBareDimension(node));
  const NodePtr group = nodes_.At(std::string(ParentOf(node->path)));
  if (group == nullptr || (!is_bare && !node->bare_dimension)) return OkStatus();
  if (!is_bare) {
    ForgetBareDimension(group, node);
    return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(Json document, DocumentOfBareDimension(node->node.array()));
  if (node->stored) {
    H5ZARR_RETURN_IF_ERROR(BeforeChange());
    H5ZARR_RETURN_IF_ERROR(hierarchy_.Remove(node->path));
  }
  Json dimensions = Hdf5Member(group->node.attributes(), "dimensions");
  if (!dimensions.is_object()) dimensions = Json::object();
  dimensions[std::string(NameOf(node->path))] = std::move(document);
  SetHdf5Member(&group->node.attributes(), "dimensions", std::move(dimensions));
  group->document_changed = true;
  node->bare_dimension = true;
  node->stored = false;
  node->document_changed = false;
  node->changed_attributes.clear();
  return OkStatus();
}

// A bare dimension of `group` becomes an array, or goes elsewhere.
void StoreFile::ForgetBareDimension(const NodePtr& group, const NodePtr& node) {
  const std::string name(NameOf(node->path));
  node->bare_dimension = false;
  node->document_changed = true;
  if (group->group.bare) group->group.bare->erase(name);
  Json dimensions = Hdf5Member(group->node.attributes(), "dimensions");
  if (!dimensions.is_object() || dimensions.erase(name) == 0) return;
  SetHdf5Member(&group->node.attributes(), "dimensions", dimensions.empty() ? Json() : std::move(dimensions));
  group->document_changed = true;
}

// A dataset gets another name (CompleteAttributes was called before): its own dimension has that name,
// and so have those it is attached to.
void StoreFile::TouchDimensionsOf(const NodePtr& node) {
  if (node == nullptr || node->kind != NodeState::Kind::kDataset || !node->node.is_array()) return;
  if (!node->dataset.is_scale) {
    if (!DimensionNamesOf(node->node.array()).empty()) NoteAttribute(node, "DIMENSION_LIST");
    return;
  }
  NoteAttribute(node, "CLASS");
  for (const auto& [token, other] : nodes_) {
    if (other->node.is_array() && !DimensionNamesOf(other->node.array()).empty()) {
      NoteAttribute(other, "DIMENSION_LIST");
    }
  }
}

}  // namespace h5zarr::shadow
