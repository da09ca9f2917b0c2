// Loading: Zarr metadata into the shadow, a node at a time.
#include <algorithm>
#include <set>
#include <utility>

#include "base/shortage.h"
#include "shadow/conventions.h"
#include "shadow/hard_links.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/json_text.h"
#include "shadow/store_file.h"
#include "shadow/user_links.h"
#include "store/temp_name.h"
#include "store/url.h"

namespace h5zarr::shadow {
namespace {

using host::NativeHandle;
using host::NativeObject;

Status CreateSoftLink(NativeObject group, const std::string& name, const std::string& target) {
  H5VL_link_create_args_t args;
  args.op_type = H5VL_LINK_CREATE_SOFT;
  args.args.soft.target = target.c_str();
  const H5VL_loc_params_t loc = host::LocByName(group.type, name.c_str());
  if (H5VLlink_create(&args, group.under, &loc, host::NativeConnector(), H5P_LST_LINK_CREATE_ID_g,
                      H5P_LST_LINK_ACCESS_ID_g, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return OkStatus();
}

Status CreateExternalLink(NativeObject group, const std::string& name, const std::string& file,
                          const std::string& path) {
  // The value of an external link: a version/flags byte, file name, object path (HDF5 file format).
  std::string value(1, '\0');
  value += file;
  value += '\0';
  value += path;
  value += '\0';
  H5VL_link_create_args_t args;
  args.op_type = H5VL_LINK_CREATE_UD;
  args.args.ud.type = H5L_TYPE_EXTERNAL;
  args.args.ud.buf = value.data();
  args.args.ud.buf_size = value.size();
  const H5VL_loc_params_t loc = host::LocByName(group.type, name.c_str());
  if (H5VLlink_create(&args, group.under, &loc, host::NativeConnector(), H5P_LST_LINK_CREATE_ID_g,
                      H5P_LST_LINK_ACCESS_ID_g, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return OkStatus();
}

Result<NativeHandle> CommitDatatype(const NativeHandle& group, const std::string& name, hid_t type, hid_t tcpl) {
  const H5VL_loc_params_t loc = host::LocSelf(H5I_GROUP);
  NativeHandle native(
      H5VLdatatype_commit(group.get(), &loc, host::NativeConnector(), name.c_str(), type, H5P_LST_LINK_CREATE_ID_g,
                          tcpl, H5P_LST_DATATYPE_ACCESS_ID_g, host::DefaultDxpl(), nullptr),
      H5I_DATATYPE);
  if (!native.valid()) return host::AlreadyReported();
  return native;
}

// A name in GroupState::loading, until the scope ends.
class LoadingScope {
 public:
  LoadingScope(const NodePtr& group, const std::string& name) : group_(group), name_(name) {}
  LoadingScope(const LoadingScope&) = delete;
  ~LoadingScope() { group_->group.loading.erase(name_); }

 private:
  const NodePtr group_;
  const std::string name_;
};

// A flag that is set until the scope ends, and then what it was.
class FlagScope {
 public:
  explicit FlagScope(bool* flag) : flag_(flag), before_(*flag) { *flag_ = true; }
  FlagScope(const FlagScope&) = delete;
  ~FlagScope() { *flag_ = before_; }

 private:
  bool* const flag_;
  const bool before_;
};

// A group whose children cannot be known: opening it says why, and the rest of the store can be shown.
void SetAside(const NodePtr& group, const Status& why) {
  group->broken = why.WithContext("cannot open '" + group->path + "'");
}

}  // namespace

NodePtr StoreFile::AddChild(const NodePtr& group, const std::string& name, NodeState::Kind kind, uint64_t token,
                            zarr::Node node) {
  auto child = std::make_shared<NodeState>();
  child->kind = kind;
  child->token = token;
  child->path = node.path;
  child->placed = true;
  child->stored = !node.implicit;
  child->node = std::move(node);
  nodes_.Add(child);
  LinkState link;
  link.target = child;
  link.cset = LinkCset(group->node.attributes(), name);
  group->group.links[name] = std::move(link);
  return child;
}

Status StoreFile::LoadRoot() {
  if (root_loaded_) return OkStatus();
  root_loaded_ = true;
  if (root_is_array_) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), root_->token));
  H5ZARR_RETURN_IF_ERROR(LoadAttributes(root_, native.object()));
  for (const StoredLink& link : StoredLinks(root_->node.attributes())) {
    if (link.kind != "hard" && !root_->group.ordered) {
      H5ZARR_RETURN_IF_ERROR(LoadLink(root_, link.name));
    }
  }
  return OkStatus();
}

// What may lead to other children of its group (references, scales) waits in a group that tracks their
// order, until all are there.
Status StoreFile::LoadHeader(const NodePtr& group, const NodePtr& child, NativeObject native) {
  if (group->group.ordered && group->group.filling) {
    group->group.without_header.push_back(child);
    return OkStatus();
  }
  return LoadHeaderNow(group, child, native);
}

Status StoreFile::LoadHeaderNow(const NodePtr& group, const NodePtr& child, NativeObject native) {
  H5ZARR_RETURN_IF_ERROR(LoadAttributes(child, native));
  if (!child->node.is_array()) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(LoadDimensions(group, child, native));
  return OrderAttributes(child, native);
}

// Loads the header of `child` if it waits: whoever asks what a child is, in the middle, cannot wait.
Status StoreFile::LoadWaitingHeader(const NodePtr& group, const NodePtr& child) {
  std::vector<NodePtr>& waiting = group->group.without_header;
  const auto found = std::find(waiting.begin(), waiting.end(), child);
  if (child == nullptr || found == waiting.end()) return OkStatus();
  waiting.erase(found);
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle native, host::OpenByToken(Location(), child->token));
  return LoadHeaderNow(group, child, native.object());
}

// Loads those that wait. The first failure is returned; none keeps the others waiting.
Status StoreFile::LoadHeaders(const NodePtr& group) {
  Status loaded;
  while (!group->group.without_header.empty()) {
    const NodePtr child = group->group.without_header.front();
    const Status one = LoadWaitingHeader(group, child);
    if (loaded.ok()) loaded = one;
  }
  return loaded;
}

Status StoreFile::LoadChild(const NodePtr& group, const std::string& name) {
  GroupState& state = group->group;
  if (state.filled || state.links.count(name) || state.absent.count(name)) return OkStatus();
  // Links get their creation order in the shadow as they are made there.
  if (state.ordered && !state.filling) return Fill(group, false);
  const FlagScope loading(&hard_links_counted_);
  if (root_is_array_) {
    if (group == root_ && name == root_array_name_) {
      return LoadDataset(group, name, root_node_);
    }
    state.absent.insert(name);
    return OkStatus();
  }
  H5ZARR_RETURN_IF_ERROR(LoadLink(group, name));
  if (state.links.count(name)) return OkStatus();
  // (Not CheckNodeName: others give names that we do not give.)
  if (IsTempName(name)) {
    state.absent.insert(name);
    return OkStatus();
  }
  Result<std::optional<zarr::Node>> opened = hierarchy_.Open(JoinPath(group->path, name));
  if (IsShortage(opened.status())) return opened.status();
  if (!opened.ok()) return LoadBroken(group, name, opened.status());
  if (!*opened) {
    if (root_->stored) H5ZARR_RETURN_IF_ERROR(CheckThere());
    return LoadBareDimension(group, name);
  }
  zarr::Node node = std::move(**opened);
  H5ZARR_ASSIGN_OR_RETURN(const bool is_link, LoadLinkStub(group, name, node));
  if (is_link) return OkStatus();
  if (node.is_array()) return LoadDataset(group, name, std::move(node));
  if (IsVirtualNode(node.attributes())) return LoadVirtual(group, name, std::move(node));
  if (Hdf5Member(node.attributes(), "kind") == "datatype") {
    return LoadDatatype(group, name, std::move(node));
  }
  return LoadGroup(group, name, std::move(node));
}

Status StoreFile::LoadLink(const NodePtr& group, const std::string& name) {
  for (const StoredLink& stored : StoredLinks(group->node.attributes())) {
    if (stored.name != name || group->group.links.count(name)) continue;
    if (!group->group.loading.insert(name).second) continue;
    const LoadingScope loading(group, name);
    H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), group->token));
    LinkState link;
    link.cset = LinkCset(group->node.attributes(), name);
    if (stored.link_class != 0) {
      link.kind = LinkState::Kind::kOther;
      link.link_class = stored.link_class;
      link.value = stored.value;
      H5ZARR_RETURN_IF_ERROR(CreateUserLink(native.object(), name, stored.link_class, stored.value));
    } else if (stored.source != "." && IsRemoteName(path_) && !IsRemoteName(stored.source)) {
      return LoadBroken(
          group, name,
          PermissionDeniedError("a link from a remote store to a file of this machine, '" + stored.source + "'"));
    } else if (stored.source != ".") {
      link.kind = LinkState::Kind::kOther;
      H5ZARR_RETURN_IF_ERROR(CreateExternalLink(native.object(), name, stored.source, stored.path));
    } else if (stored.kind == "hard") {
      H5ZARR_ASSIGN_OR_RETURN(const Resolution target, Resolve(root_, stored.path.c_str(), Mounts::kIgnored));
      if (target.node == nullptr) continue;  // its node is gone: so is the link
      link.target = target.node;
      H5ZARR_ASSIGN_OR_RETURN(const NativeHandle object, host::OpenByToken(Location(), target.node->token));
      H5ZARR_ASSIGN_OR_RETURN(const NativeHandle parent, OpenForLink(group, name));
      H5ZARR_RETURN_IF_ERROR(CreateHardLink(parent.object(), name, object.object()));
    } else {
      link.kind = LinkState::Kind::kSoft;
      link.soft_target = stored.path;
      H5ZARR_RETURN_IF_ERROR(CreateSoftLink(native.object(), name, stored.path));
    }
    group->group.links[name] = std::move(link);
  }
  return OkStatus();
}

// LINDI's nodes that stand for links: a soft one, or one into the HDF5 file that has the chunks. True
// where `node` was such a stub.
Result<bool> StoreFile::LoadLinkStub(const NodePtr& group, const std::string& name, const zarr::Node& node) {
  const Json& attributes = node.attributes();
  const std::optional<std::string> soft = node.is_array() ? std::nullopt : SoftLinkStub(attributes);
  const std::optional<ExternalArray> array = node.is_array() ? ExternalArrayLink(attributes) : std::nullopt;
  if (!soft && !array) return false;
  // (What comes from elsewhere names no files of this machine.)
  if (array && (!array->file || (IsRemoteName(path_) && !IsRemoteName(*array->file)))) {
    H5ZARR_RETURN_IF_ERROR(
        LoadBroken(group, name,
                   UnsupportedError("its chunks are in another file, dataset '" + array->name + "' of '" + array->url +
                                    "', which is no HDF5 file that can be opened")));
    return true;
  }
  H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), group->token));
  LinkState link;
  link.is_stub = true;
  link.cset = LinkCset(group->node.attributes(), name);
  if (soft) {
    link.kind = LinkState::Kind::kSoft;
    link.soft_target = *soft;
    H5ZARR_RETURN_IF_ERROR(CreateSoftLink(native.object(), name, *soft));
  } else {
    link.kind = LinkState::Kind::kOther;
    H5ZARR_RETURN_IF_ERROR(CreateExternalLink(native.object(), name, *array->file, array->name));
  }
  group->group.links[name] = std::move(link);
  return true;
}

// What the elements of an array of JSON objects are, by its first one.
Result<std::optional<ElementMap>> StoreFile::LookAtObjects(const zarr::Node& node) {
  if (!MayHoldObjects(node.array())) return std::optional<ElementMap>();
  hierarchy_.ForgetRead();  // what follows is no document
  zarr::ArrayOptions options;
  options.executor = executor_;
  options.read_only = true;
  H5ZARR_ASSIGN_OR_RETURN(const std::unique_ptr<zarr::Array> array,
                          zarr::Array::Open(store_.get(), node.path, node.array(), options));
  const std::vector<uint64_t>& shape = node.array().shape;
  VlenRef first;
  const zarr::Selection selection = zarr::RunSelection{{0, 0, 1}};
  zarr::ReadRequest request{array.get(), &selection, reinterpret_cast<std::byte*>(&first), {}};
  if (std::find(shape.begin(), shape.end(), 0u) == shape.end()) {
    H5ZARR_RETURN_IF_ERROR(zarr::Array::Read({&request, 1}));
  }
  const std::string_view text = AsText(ByteSpan(first.data, first.size_bytes));
  const Result<Json> json = zarr::ParseJson(text, "element");
  return ObjectElements(node.array(), json.ok() ? json.value() : Json());
}

Status StoreFile::LoadGroup(const NodePtr& group, const std::string& name, zarr::Node node) {
  H5ZARR_ASSIGN_OR_RETURN(NativeHandle parent, OpenForLink(group, name));
  const Handle gcpl(H5Pcreate(H5P_CLS_GROUP_CREATE_ID_g));
  const bool ordered = !Hdf5Member(node.attributes(), "order").is_null();
  H5ZARR_RETURN_IF_ERROR(RestoreCreationOrder(node.attributes(), gcpl.get()));
  const H5VL_loc_params_t loc = host::LocSelf(H5I_GROUP);
  NativeHandle native(
      H5VLgroup_create(parent.get(), &loc, host::NativeConnector(), name.c_str(), H5P_LST_LINK_CREATE_ID_g, gcpl.get(),
                       H5P_LST_GROUP_ACCESS_ID_g, host::DefaultDxpl(), nullptr),
      H5I_GROUP);
  if (!native.valid()) return host::AlreadyReported();
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(native.object()));
  const NodePtr child = AddChild(group, name, NodeState::Kind::kGroup, identity.token, std::move(node));
  child->group.ordered = ordered;
  H5ZARR_RETURN_IF_ERROR(LoadHeader(group, child, native.object()));
  for (const StoredLink& link : StoredLinks(child->node.attributes())) {
    if (link.kind != "hard" && !ordered) H5ZARR_RETURN_IF_ERROR(LoadLink(child, link.name));
  }
  return OkStatus();
}

// Creates the dataset `name` of the shadow, as the image of a store wants it where there is one.
Result<NativeHandle> StoreFile::CreateDataset(const NodePtr& group, const std::string& name, hid_t type, Handle space,
                                              Handle dcpl) {
  if (image_ != nullptr) {
    H5ZARR_RETURN_IF_ERROR(image_->adapt(JoinPath(group->path, name), type, &space, &dcpl));
  }
  H5ZARR_ASSIGN_OR_RETURN(NativeHandle parent, OpenForLink(group, name));
  const H5VL_loc_params_t loc = host::LocSelf(H5I_GROUP);
  NativeHandle native(
      H5VLdataset_create(parent.get(), &loc, host::NativeConnector(), name.c_str(), H5P_LST_LINK_CREATE_ID_g, type,
                         space.get(), dcpl.get(), H5P_LST_DATASET_ACCESS_ID_g, host::DefaultDxpl(), nullptr),
      H5I_DATASET);
  if (!native.valid()) return host::AlreadyReported();
  return native;
}

// An identifier of a native object, in whose place it then is.
Result<Handle> StoreFile::Register(NativeHandle native, uint64_t token) {
  if (image_ != nullptr) {
    Handle opened(H5Oopen_by_token(image_->file, host::TokenOfKey(token)));
    return opened.valid() ? Result<Handle>(std::move(opened)) : host::AlreadyReported();
  }
  Handle registered(H5VLwrap_register(native.get(), native.type()));
  if (!registered.valid()) return host::AlreadyReported();
  native.Release();  // now the identifier's
  return registered;
}

Status StoreFile::LoadDataset(const NodePtr& group, const std::string& name, zarr::Node node) {
  const Result<std::optional<ElementMap>> objects = LookAtObjects(node);
  if (IsShortage(objects.status())) return objects.status();
  if (!objects.ok()) return LoadBroken(group, name, objects.status());
  Result<DatasetHeader> planned = PlanOpen(node.array(), config_, writable_, *objects);
  if (!planned.ok()) return LoadBroken(group, name, planned.status());
  DatasetHeader header = std::move(*planned);
  H5ZARR_RETURN_IF_ERROR(RestoreAttributeOrder(node.attributes(), header.shadow_dcpl.get()));
  H5ZARR_ASSIGN_OR_RETURN(Handle committed,
                          OpenCommittedType(Hdf5Member(node.attributes(), "type_ref"), header.type.get()));
  // An attribute of the type may have led back here.
  if (group->group.links.count(name)) return OkStatus();
  // (An image is as the store is now.)
  if (image_ != nullptr) header.least_maximum.clear();
  if (!header.least_maximum.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(header.space, WithoutMaximum(header.space.get()));
  }
  uint64_t committed_type = 0;
  if (committed.valid()) {
    H5ZARR_ASSIGN_OR_RETURN(committed_type, CommittedTypeToken(committed.get()));
    header.type = std::move(committed);
  }
  Result<NativeHandle> made =
      CreateDataset(group, name, header.type.get(), std::move(header.space), std::move(header.shadow_dcpl));
  if (!made.ok()) {
    return host::IsAlreadyReported(made.status()) ? made.status() : LoadBroken(group, name, made.status());
  }
  const NativeHandle native = std::move(*made);
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(native.object()));
  const NodePtr child = AddChild(group, name, NodeState::Kind::kDataset, identity.token, std::move(node));
  if (!header.fill_block.empty()) {
    std::get<zarr::ArrayMetadata>(child->node.metadata).fill.block = std::move(header.fill_block);
  }
  child->dataset.element = std::move(header.element);
  child->dataset.layout = header.layout;
  child->dataset.alloc_time = header.alloc_time;
  child->dataset.null_space = header.null_space;
  child->dataset.least_maximum = std::move(header.least_maximum);
  child->dataset.chunk_unit = header.chunk_unit;
  child->dataset.committed_type = committed_type;
  child->dataset.external = header.external;
  child->dataset.external_copied = header.external_copied;
  return LoadHeader(group, child, native.object());
}

// In the shadow it is virtual, too; its sources are never opened there.
Status StoreFile::LoadVirtual(const NodePtr& group, const std::string& name, zarr::Node node) {
  Result<VirtualHeader> header = OpenVirtual(node.attributes());
  if (!header.ok()) return LoadBroken(group, name, header.status());
  H5ZARR_RETURN_IF_ERROR(RestoreAttributeOrder(node.attributes(), header->dcpl.get()));
  const Result<NativeHandle> native =
      CreateDataset(group, name, header->type.get(), std::move(header->space), std::move(header->dcpl));
  if (!native.ok()) {
    return LoadBroken(
        group, name,
        host::IsAlreadyReported(native.status()) ? CorruptError("its mappings do not fit its shape") : native.status());
  }
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(native->object()));
  const NodePtr child = AddChild(group, name, NodeState::Kind::kDataset, identity.token, std::move(node));
  child->dataset.virtual_layout = std::move(header->layout);
  return LoadHeader(group, child, native->object());
}

// The committed datatype at `path`, where there is one and it is what `expected` is; else an invalid
// handle: what has a type of its own does without.
Result<Handle> StoreFile::OpenCommittedType(const Json& path, hid_t expected) {
  if (!path.is_string()) return Handle();
  const Result<Resolution> found = Resolve(root_, path.get_ref<const std::string&>().c_str(), Mounts::kIgnored);
  if (IsShortage(found.status())) return found.status();
  if (!found.ok() || found->node == nullptr || found->node->kind != NodeState::Kind::kDatatype ||
      !found->node->broken.ok()) {
    return Handle();
  }
  H5ZARR_ASSIGN_OR_RETURN(NativeHandle native, host::OpenByToken(Location(), found->node->token));
  if (native.type() != H5I_DATATYPE) return Handle();
  H5ZARR_ASSIGN_OR_RETURN(Handle type, Register(std::move(native), found->node->token));
  if (H5Tequal(type.get(), expected) <= 0) return Handle();
  return type;
}

Status StoreFile::LoadDatatype(const NodePtr& group, const std::string& name, zarr::Node node) {
  Result<Handle> type = TypeFromJson(Hdf5Member(node.attributes(), "type"));
  if (!type.ok()) return LoadBroken(group, name, type.status());
  const Handle tcpl(H5Pcopy(H5P_LST_DATATYPE_CREATE_ID_g));
  H5ZARR_RETURN_IF_ERROR(RestoreAttributeOrder(node.attributes(), tcpl.get()));
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle parent, OpenForLink(group, name));
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle native, CommitDatatype(parent, name, type->get(), tcpl.get()));
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(native.object()));
  const NodePtr child = AddChild(group, name, NodeState::Kind::kDatatype, identity.token, std::move(node));
  return LoadHeader(group, child, native.object());
}

// A node that is there but cannot be shown (unknown data type, damaged document): a committed datatype in the
// shadow, which refuses to be opened and says why. (A dataset would do as well, but h5dump opens all datasets
// before it shows anything, and gives up at the first that fails.) The tag makes room in its header:
// view/refused_header.
Status StoreFile::LoadBroken(const NodePtr& group, const std::string& name, Status why) {
  const Handle type(H5Tcreate(H5T_OPAQUE, 1));
  if (!type.valid() || H5Tset_tag(type.get(), "not to be opened") < 0) return host::AlreadyReported();
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle parent, OpenForLink(group, name));
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle native,
                          CommitDatatype(parent, name, type.get(), H5P_LST_DATATYPE_CREATE_ID_g));
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(native.object()));
  zarr::Node node;
  node.path = JoinPath(group->path, name);
  const NodePtr child = AddChild(group, name, NodeState::Kind::kDatatype, identity.token, std::move(node));
  child->broken = why.WithContext("cannot open '" + child->path + "' of '" + ShownName(name_) + "'");
  return OkStatus();
}

Status StoreFile::LoadAttributes(const NodePtr& node, NativeObject native) {
  const Json comment = Hdf5Member(node->node.attributes(), "comment");
  if (const std::optional<std::string> text = TextFromJson(comment)) {
    H5ZARR_RETURN_IF_ERROR(WriteNativeComment(native, *text));
  }
  const FlagScope loading(&hard_links_counted_);
  const Json attributes = AttributesForProgram(node->node);
  for (const auto& [name, stored] : attributes.items()) {
    H5ZARR_RETURN_IF_ERROR(LoadAttribute(node->node, name, stored, native));
  }
  return OkStatus();
}

Status StoreFile::LoadAttribute(const zarr::Node& node, const std::string& name, const Json& stored,
                                NativeObject native) {
  AttributeJson attribute{stored, AttributeDescription(node.attributes(), name)};
  if (name == "_FillValue" && node.is_array()) ReadFillValueAttribute(node.array(), &attribute);
  H5ZARR_ASSIGN_OR_RETURN(const AttributeValue converted,
                          AttributeFromJson(attribute.value, attribute.description, References()));
  const Json* type_ref = zarr::FindMember(attribute.description, "type_ref");
  H5ZARR_ASSIGN_OR_RETURN(const Handle committed,
                          OpenCommittedType(type_ref != nullptr ? *type_ref : Json(), converted.type()));
  const hid_t file_type = committed.valid() ? committed.get() : converted.type();
  const H5T_cset_t cset = NameCset(name, attribute.description);
  return WriteNativeAttribute(native, name, converted, file_type, cset)
      .WithContext("attribute '" + name + "' of '/" + node.path + "'");
}

Result<std::vector<std::string>> StoreFile::ChildNames(const NodePtr& group) {
  std::vector<std::string> names;
  for (const Json& name : Hdf5Member(group->node.attributes(), "order")) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  for (const StoredLink& link : StoredLinks(group->node.attributes())) names.push_back(link.name);
  if (root_is_array_) {
    names.push_back(root_array_name_);
  } else {
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> listed, hierarchy_.ListNames(group->path));
    if (listed.empty()) H5ZARR_RETURN_IF_ERROR(CheckThere());
    names.insert(names.end(), listed.begin(), listed.end());
    H5ZARR_ASSIGN_OR_RETURN(const auto* dimensions, BareDimensions(group));
    for (const auto& [name, dimension] : *dimensions) names.push_back(name);
  }
  return names;
}

// Loads the children of one group.
Status StoreFile::FillGroup(const NodePtr& group) {
  // (What a child needs may ask for all there is.)
  if (group->group.filled || group->group.filling) return OkStatus();
  const Result<std::vector<std::string>> names = ChildNames(group);
  if (!names.ok() && image_ != nullptr && group != root_) {
    SetAside(group, names.status());
    return OkStatus();
  }
  H5ZARR_RETURN_IF_ERROR(names.status());
  if (image_ != nullptr) H5ZARR_RETURN_IF_ERROR(image_->admit(names->size()));
  const Status loaded = LoadChildren(group, *names);
  group->group.filled = loaded.ok();
  const Status headers = LoadHeaders(group);
  H5ZARR_RETURN_IF_ERROR(loaded);
  H5ZARR_RETURN_IF_ERROR(headers);
  group->group.names.reset();
  return OkStatus();
}

Status StoreFile::Fill(const NodePtr& group, bool recursive) {
  H5ZARR_RETURN_IF_ERROR(LoadRoot());
  if (group == nullptr || group->kind != NodeState::Kind::kGroup) return OkStatus();
  // Hard links may form cycles: each group is visited once.
  std::set<const NodeState*> seen;
  std::vector<NodePtr> pending{group};
  while (!pending.empty()) {
    const NodePtr current = pending.back();
    pending.pop_back();
    if (!seen.insert(current.get()).second) continue;
    const Status filled = FillGroup(current);
    if (filled.code() == StatusCode::kPermissionDenied && current != group) {
      SetAside(current, filled);
      continue;
    }
    H5ZARR_RETURN_IF_ERROR(filled);
    if (!recursive) continue;
    for (const auto& [name, link] : current->group.links) {
      const NodePtr child = link.target.lock();
      if (child != nullptr && child->kind == NodeState::Kind::kGroup) pending.push_back(child);
    }
  }
  return OkStatus();
}

Result<const std::vector<std::string>*> StoreFile::UnfilledNames(const NodePtr& group) {
  H5ZARR_RETURN_IF_ERROR(LoadRoot());
  static const std::vector<std::string>* const kNone = nullptr;
  if (group == nullptr || group->kind != NodeState::Kind::kGroup) return kNone;
  GroupState& state = group->group;
  if (state.filled || state.ordered || state.links_changed || root_is_array_ ||
      !StoredLinks(group->node.attributes()).empty()) {
    return kNone;
  }
  if (!state.names) {
    // Whatever was created or removed through this store meanwhile: `links` and `absent` know.
    for (const auto& [name, link] : state.links) {
      const NodePtr child = link.target.lock();
      if (link.kind != LinkState::Kind::kHard || child == nullptr || !(child->stored || child->bare_dimension)) {
        return kNone;
      }
    }
    H5ZARR_ASSIGN_OR_RETURN(state.names, hierarchy_.ListNames(group->path));
    if (state.names->empty()) {
      const Status there = CheckThere();
      if (!there.ok()) {
        state.names.reset();
        return there;
      }
    }
    H5ZARR_ASSIGN_OR_RETURN(const auto* dimensions, BareDimensions(group));
    for (const auto& [name, dimension] : *dimensions) state.names->push_back(name);
    std::sort(state.names->begin(), state.names->end());
  }
  return &*state.names;
}

}  // namespace h5zarr::shadow
