#include "shadow/store_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/percent.h"
#include "base/shortage.h"
#include "location/location.h"
#include "shadow/creation_map.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/json_text.h"
#include "shadow/lossy_filters.h"
#include "shadow/object_times.h"
#include "shadow/reference_map.h"
#include "store/url.h"

namespace h5zarr::shadow {
namespace {

// Soft links followed in one path, as HDF5's own default bounds them generously.
constexpr int kMaxSoftLinks = 64;

// The name under which the array of a store that is nothing but an array is shown.
std::string RootArrayName(const std::string& path) {
  std::string name(NameOf(path));
  const Result<Url> url = IsHttpUrl(path) ? ParseUrl(path) : InvalidArgumentError("no URL");
  if (url.ok()) {  // (a query is no part of the name, and may be a secret)
    name = NameOf(url->path);
    const std::string decoded = PercentDecoded(name);
    if (decoded.find_first_of(std::string_view("/\0", 2)) == std::string::npos) name = decoded;
  }
  constexpr std::string_view kSuffix = ".zarr";
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  return name.empty() ? "data" : name;
}

// Errors of documents name the document alone; those of a root are all that a program sees.
Status NamingTheDamaged(Status why, const std::string& path) {
  const bool is_damaged = why.code() == StatusCode::kCorrupt || why.code() == StatusCode::kUnsupported;
  return is_damaged ? why.WithContext("'" + ShownName(path) + "'") : why;
}

}  // namespace

std::deque<std::string> SplitPath(std::string_view path) {
  std::deque<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  return parts;
}

std::string JoinParts(const std::deque<std::string>& parts) {
  std::string path;
  for (const std::string& part : parts) path = JoinPath(path, part);
  return path;
}

StoreFile::StoreFile(std::string path, std::string name, std::unique_ptr<Store> place, bool writable,
                     const Config& config, Executor* executor)
    : path_(std::move(path)),
      name_(std::move(name)),
      writable_(writable),
      config_(config),
      executor_(executor),
      pid_(getpid()),
      store_(std::move(place)),
      background_(config.memory_bytes),
      hierarchy_(store_.get()),
      stores_above_(path_, config) {}

StoreFile::~StoreFile() = default;

Result<std::shared_ptr<StoreFile>> StoreFile::Make(std::string path, std::string name, bool create, bool writable,
                                                   const Config& config, Executor* executor) {
  H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<Store> place, OpenLocation(path, writable, config));
  std::shared_ptr<StoreFile> store(
      new StoreFile(std::move(path), std::move(name), std::move(place), writable, config, executor));
  if (writable) store->hierarchy_.KeepStored();
  if (create) {
    zarr::GroupMetadata group;
    group.zarr_format = config.zarr_format;
    store->root_node_.metadata = std::move(group);
    store->created_ = true;
    return store;
  }
  if (!writable) store->hierarchy_.KeepRead();
  Result<std::optional<zarr::Node>> root = store->hierarchy_.Open("");
  if (!root.ok()) return NamingTheDamaged(root.status(), store->path_);
  if (!*root) return NotFoundError("no Zarr store at " + ShownName(store->path_));
  if ((*root)->is_array()) {
    store->root_is_array_ = true;
    store->root_array_name_ = RootArrayName(store->path_);
  }
  store->root_node_ = std::move(**root);
  store->config_.zarr_format =
      store->root_is_array_ ? store->root_node_.array().zarr_format : store->root_node_.group().zarr_format;
  return store;
}

Result<Handle> StoreFile::ShadowFcpl(hid_t fcpl) {
  Json& attributes = root_node_.attributes();
  if (created_) {
    if (TracksLinkOrder(fcpl)) SetHdf5Member(&attributes, "order", Json::array());
    NoteAttributeOrder(fcpl, &attributes);
    NoteCreation(CreationKind::kFile, fcpl, &attributes);
    NoteTimes(format_bounds_.low, false, fcpl, &attributes);
  }
  if (root_is_array_ || !HasCreationOrder(attributes)) {
    // Another reference to the default list: copies take longer than all else that is done with them.
    if (H5Iinc_ref(H5P_LST_FILE_CREATE_ID_g) < 0) return host::AlreadyReported();
    return Handle(H5P_LST_FILE_CREATE_ID_g);
  }
  Handle list(H5Pcopy(H5P_LST_FILE_CREATE_ID_g));
  if (!list.valid()) return host::AlreadyReported();
  H5ZARR_RETURN_IF_ERROR(RestoreCreationOrder(attributes, list.get()));
  return list;
}

Result<Handle> StoreFile::ProgramFcpl() const {
  Handle list(H5Pcopy(H5P_LST_FILE_CREATE_ID_g));
  if (!list.valid()) return host::AlreadyReported();
  if (root_is_array_) return list;
  H5ZARR_RETURN_IF_ERROR(RestoreCreation(CreationKind::kFile, root_node_.group().attributes, list.get()));
  H5ZARR_RETURN_IF_ERROR(RestoreTracking(root_node_.group().attributes, list.get()));
  return list;
}

Status StoreFile::Adopt(void* file) {
  H5ZARR_ASSIGN_OR_RETURN(fileno_, host::FileNumber(file));
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify({file, H5I_FILE}));
  root_ = std::make_shared<NodeState>();
  root_->kind = NodeState::Kind::kGroup;
  root_->token = identity.token;
  root_->placed = true;
  root_->stored = !created_;
  root_->group.filled = created_;
  root_loaded_ = created_;
  if (root_is_array_) {
    // The made-up root has no document of its own; its one child is the array.
    root_->node.metadata = zarr::GroupMetadata{config_.zarr_format, Json::object(), {}, false};
  } else {
    root_->node = root_node_;
    root_->stored = !created_ && !root_node_.implicit;
  }
  if (root_is_array_) {
    nodes_.AddWithoutPath(root_);
  } else {
    nodes_.Add(root_);
  }
  root_->group.ordered = !Hdf5Member(root_->node.attributes(), "order").is_null();
  return created_ ? EnsureStored(root_) : OkStatus();
}

bool StoreFile::forked() const { return getpid() != pid_; }

Status StoreFile::CheckWritable() const {
  if (!writable_) {
    return PermissionDeniedError("no write intent on '" + ShownName(name_) + "': it was opened read-only");
  }
  if (forked()) {
    return PermissionDeniedError("'" + name_ + "' was opened by process " + std::to_string(pid_) +
                                 " before it forked: open it anew to write");
  }
  return OkStatus();
}

Result<uint64_t> StoreFile::StoredBytes() const {
  uint64_t total = 0;
  H5ZARR_RETURN_IF_ERROR(store_->Walk("", [&](std::string_view, uint64_t bytes) {
    total += bytes;
    return OkStatus();
  }));
  return total;
}

Status StoreFile::CheckThere() const { return store_->CheckThere(); }

// --- open objects --------------------------------------------------------------------------------

void StoreFile::Attach(Object* object) {
  objects_.insert(object);
  object->counted = true;
  if (object->node) ++object->node->open_objects;
  if (in_mounts_ && !anchor_.valid()) (void)JoinMounts().ok();
}

Status StoreFile::JoinMounts() {
  in_mounts_ = true;
  if (anchor_.valid()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(host::NativeHandle root, host::OpenByToken(Location(), root_->token));
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(root.object()));
  // (A mounted file would give the root of the one that it is mounted on.)
  if (identity.fileno == fileno_) anchor_ = std::move(root);
  return OkStatus();
}

host::NativeObject StoreFile::Location() const {
  if (anchor_.valid()) return anchor_.object();
  for (const Object* object : objects_) {
    if (object->native.type != H5I_ATTR) return object->native;
  }
  return objects_.empty() ? host::NativeObject{} : (*objects_.begin())->native;
}

host::NativeObject StoreFile::FileLocation() const {
  for (const Object* object : objects_) {
    if (object->native.type == H5I_FILE) return object->native;
  }
  return holders_.empty() ? host::NativeObject{} : host::NativeObject{*holders_.begin(), H5I_FILE};
}

// --- resting -------------------------------------------------------------------------------------

bool StoreFile::MayRest() const {
  return !writable_ && !forked() && !in_mounts_ && image_ == nullptr && parts_.empty() && hierarchy_.keeps_read();
}

void StoreFile::Rest() {
  WaitForJobs();
  for (const auto& [token, node] : nodes_) node->dataset.array.reset();
}

// --- nodes ---------------------------------------------------------------------------------------

NodePtr StoreFile::FindNode(uint64_t token) const { return nodes_.Find(token); }

std::vector<NodePtr> StoreFile::Nodes() const {
  std::vector<NodePtr> nodes;
  for (const auto& [token, node] : nodes_) nodes.push_back(node);
  return nodes;
}

NodePtr StoreFile::MakeNode(uint64_t token, NodeState::Kind kind) {
  auto node = std::make_shared<NodeState>();
  node->kind = kind;
  node->token = token;
  node->path = StagingPath();
  node->document_changed = true;
  ++pending_nodes_;
  nodes_.Add(node);
  return node;
}

NodePtr StoreFile::FindOrMakeNode(uint64_t token, H5I_type_t type) {
  if (NodePtr node = FindNode(token)) return node;
  NodeState::Kind kind = NodeState::Kind::kGroup;
  if (type == H5I_DATATYPE) kind = NodeState::Kind::kDatatype;
  if (type == H5I_DATASET) kind = NodeState::Kind::kDataset;
  NodePtr node = MakeNode(token, kind);
  zarr::GroupMetadata group;
  group.zarr_format = config_.zarr_format;
  node->group.filled = kind == NodeState::Kind::kGroup;
  node->node.metadata = std::move(group);
  return node;
}

NodePtr StoreFile::MakeDataset(uint64_t token, DatasetPlan plan) {
  NodePtr node = MakeNode(token, NodeState::Kind::kDataset);
  node->node.metadata = plan.metadata;
  UsePlan(node, std::move(plan));
  return node;
}

void StoreFile::UsePlan(const NodePtr& node, DatasetPlan plan) {
  node->dataset.element = std::move(plan.element);
  node->dataset.layout = plan.layout;
  node->dataset.alloc_time = plan.alloc_time;
  node->dataset.null_space = plan.null_space;
  node->dataset.chunk_unit = plan.chunk_unit;
  node->dataset.external = plan.external;
  if (HoldsPaths(node->dataset.element)) NoteInRoot(kReferences);
}

NodePtr StoreFile::MakeVirtual(uint64_t token, VirtualPlan plan) {
  NodePtr node = MakeNode(token, NodeState::Kind::kDataset);
  node->node.metadata = std::move(plan.metadata);
  node->dataset.virtual_layout = std::move(plan.layout);
  return node;
}

// What the lossy filters of a dataset do to its chunks.
Result<ChunkEffect> StoreFile::EffectOf(const NodePtr& node) {
  if (!writable_) return ChunkEffect();
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<Filter> recorded, RecordedFilters(node->node.attributes()));
  if (std::none_of(recorded.begin(), recorded.end(), [](const Filter& filter) { return MayLose(filter.id); })) {
    return ChunkEffect();
  }
  // HDF5 completed their parameters when it made the shadow's dataset.
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle native, host::OpenByToken(Location(), node->token));
  H5VL_dataset_get_args_t args;
  args.op_type = H5VL_DATASET_GET_DCPL;
  if (H5VLdataset_get(native.get(), host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  const Handle dcpl(args.args.get_dcpl.dcpl_id);
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<Filter> filters, FiltersOfDcpl(dcpl.get()));
  return EffectOfFilters(filters, node->dataset.element);
}

Result<zarr::Array*> StoreFile::OpenArray(const NodePtr& node, uint64_t cache_bytes) {
  if (!node->broken.ok()) return node->broken;
  if (node->kind != NodeState::Kind::kDataset || !node->node.is_array()) {
    return InternalError("'" + node->path + "' has no array");
  }
  if (node->dataset.array == nullptr) {
    zarr::ArrayOptions options;
    options.executor = executor_;
    options.background = &background_;
    options.cache_bytes = std::max(cache_bytes, config_.cache_bytes);
    options.memory_bytes = config_.memory_bytes;
    options.read_only = !writable_;
    options.chunk_unit = node->dataset.chunk_unit;
    H5ZARR_ASSIGN_OR_RETURN(options.before_encode, EffectOf(node));
    H5ZARR_ASSIGN_OR_RETURN(node->dataset.array,
                            zarr::Array::Open(store_.get(), node->path, node->node.array(), options));
    // The store outlives its arrays, and the node owns the array.
    NodeState* state = node.get();
    node->dataset.array->SetBeforeFirstWrite([this, state]() -> Status {
      const NodePtr self = FindNode(state->token);
      return self ? EnsureStored(self) : InternalError("dataset is gone");
    });
    if (node->stored) node->dataset.array->DocumentStored(node->node.document_state);
  }
  return node->dataset.array.get();
}

Result<zarr::Array*> StoreFile::OpenElements(const NodePtr& node) {
  H5ZARR_ASSIGN_OR_RETURN(zarr::Array* const array, OpenArray(node, 0));
  H5ZARR_RETURN_IF_ERROR(node->dataset.renames.Apply(node->dataset.element, array));
  return array;
}

// --- paths ---------------------------------------------------------------------------------------

namespace {

// The components of a path that is being followed, soft links taken apart.
class PathWalk {
 public:
  explicit PathWalk(const char* path) : parts_(SplitPath(path)) {
    if (path[0] == '/') shown_ = taken_ = "/";
  }
  bool done() const { return parts_.empty(); }
  std::string Next() {
    std::string name = std::move(parts_.front());
    parts_.pop_front();
    if (of_soft_link_ > 0) {
      --of_soft_link_;
    } else {
      shown_ += (shown_.empty() || shown_ == "/" ? "" : "/") + name;
    }
    before_ = taken_;
    taken_ += (taken_.empty() || taken_ == "/" ? "" : "/") + name;
    return name;
  }
  // What Next gave was a soft link.
  void Follow(const std::string& target) {
    std::deque<std::string> more = SplitPath(target);
    of_soft_link_ += more.size();
    parts_.insert(parts_.begin(), more.begin(), more.end());
    taken_ = target.starts_with('/') ? "/" : before_;
  }
  // The path up to here: as it was given, where it can be.
  const std::string& taken() const { return of_soft_link_ > 0 ? taken_ : shown_; }
  std::string rest() const { return JoinParts(parts_); }

 private:
  std::deque<std::string> parts_;
  std::size_t of_soft_link_ = 0;  // so many of them, at the front
  std::string shown_, taken_, before_;
};

}  // namespace

Result<Resolution> StoreFile::Resolve(const NodePtr& base, const char* path, Mounts mounts) {
  H5ZARR_RETURN_IF_ERROR(LoadRoot());
  Resolution result;
  if (path == nullptr) path = ".";
  NodePtr current = path[0] == '/' ? root_ : base;
  PathWalk walk(path);
  int soft_links = 0;
  bool following_last = false;
  const auto leave = [&](const std::string& link_path, bool by_link) {
    result.left_store = true;
    result.by_link = by_link;
    result.link_path = link_path;
    result.rest = walk.rest();
    return result;
  };
  while (!walk.done()) {
    const std::string name = walk.Next();
    if (!following_last) {
      result.parent = walk.done() ? current : nullptr;
      result.name = name;
    }
    if (current == nullptr || current->kind != NodeState::Kind::kGroup) return result;
    H5ZARR_RETURN_IF_ERROR(LoadChild(current, name));
    const auto link = current->group.links.find(name);
    if (link == current->group.links.end()) return result;
    switch (link->second.kind) {
      case LinkState::Kind::kHard:
        current = link->second.target.lock();
        if (current != nullptr && current->group.mounted && mounts == Mounts::kFollowed) {
          return leave(walk.taken(), false);
        }
        break;
      case LinkState::Kind::kSoft: {
        if (++soft_links > kMaxSoftLinks) return result;
        if (walk.done()) following_last = true;
        const std::string& target = link->second.soft_target;
        walk.Follow(target);
        if (!target.starts_with('/')) break;
        if (in_mounts_ && mounts == Mounts::kFollowed) return leave("/", false);
        current = root_;
        break;
      }
      case LinkState::Kind::kOther: return leave(walk.taken(), true);
    }
  }
  result.node = current;
  return result;
}

Status StoreFile::CheckTakesLinks() const {
  if (!root_is_array_) return OkStatus();
  return UnsupportedError("'" + ShownName(name_) + "' is a single Zarr array: nothing can be added to it");
}

Status StoreFile::CheckNewPath(const char* path) const {
  if (path == nullptr) return OkStatus();
  for (const std::string& name : SplitPath(path)) {
    H5ZARR_RETURN_IF_ERROR(zarr::CheckNodeName(name));
  }
  return CheckTakesLinks();
}

std::string StoreFile::PathOfToken(uint64_t token) const {
  if (token == 0 || token == HADDR_UNDEF) return "";
  const NodePtr node = FindNode(token);
  if (node == nullptr || !node->placed) return "";
  if (root_is_array_ && node != root_) return "/" + root_array_name_;
  return "/" + node->path;
}

Result<uint64_t> StoreFile::CommittedTypeToken(hid_t type) const {
  if (H5Tcommitted(type) <= 0) return uint64_t{0};
  H5O_info2_t info;
  if (H5Oget_info3(type, &info, H5O_INFO_BASIC) < 0) return host::AlreadyReported();
  return info.fileno == fileno_ ? host::TokenKey(info.token) : 0;
}

// An identifier of the root group, as a place from which HDF5 follows references.
Result<Handle> StoreFile::OpenRoot() {
  H5ZARR_ASSIGN_OR_RETURN(host::NativeHandle native, host::OpenByToken(Location(), root_->token));
  return Register(std::move(native), root_->token);
}

// Loads what a stored reference leads to.
Status StoreFile::LoadTarget(const Json& reference) {
  const Json* path = reference.is_object() ? zarr::FindMember(reference, "path") : &reference;
  const std::optional<std::string> text = path != nullptr ? TextFromJson(*path) : std::nullopt;
  return text && !text->empty() ? Resolve(root_, text->c_str()).status() : OkStatus();
}

ReferenceResolver StoreFile::References() {
  ReferenceResolver references;
  references.to_path = [this](const void* reference) -> std::string {
    uint64_t token;
    std::memcpy(&token, reference, sizeof token);
    return PathOfToken(token);
  };
  references.from_path = [this](const std::string& path, void* reference) -> Result<bool> {
    uint64_t token = 0;
    if (!path.empty()) {
      Result<Resolution> found = Resolve(root_, path.c_str(), Mounts::kIgnored);
      if (IsShortage(found.status())) return found.status();
      if (found.ok() && found->node != nullptr) token = found->node->token;
    }
    std::memcpy(reference, &token, sizeof token);
    return token != 0 || path.empty();
  };
  // Opened when it is first needed.
  const auto store = std::make_shared<ReferenceStore>();
  const auto root = std::make_shared<Handle>();
  store->fileno = fileno_;
  store->path_of = [this](uint64_t token) { return PathOfToken(token); };
  const auto open = [this, store, root]() -> Status {
    if (root->valid()) return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(*root, OpenRoot());
    store->root = root->get();
    return OkStatus();
  };
  references.to_json = [store, open](hid_t type, const void* reference) -> Result<Json> {
    H5ZARR_RETURN_IF_ERROR(open());
    return ReferenceToJson(*store, type, reference);
  };
  references.from_json = [this, store, open](const Json& json, hid_t type, void* reference) -> Status {
    H5ZARR_RETURN_IF_ERROR(open());
    // (Elsewhere HDF5 asks us on its way to the target.)
    if (image_ != nullptr) H5ZARR_RETURN_IF_ERROR(LoadTarget(json));
    return ReferenceFromJson(*store, json, type, reference);
  };
  return references;
}

// --- registry ------------------------------------------------------------------------------------

void StoreRegistry::Add(const std::shared_ptr<StoreFile>& store) {
  // Stores that outlived the program's objects (JoinMounts).
  std::erase_if(by_path_, [](const auto& entry) { return entry.second.expired(); });
  std::erase_if(by_fileno_, [](const auto& entry) { return entry.second.expired(); });
  by_path_[store->path()] = store;
  by_fileno_[store->fileno()] = store;
}

void StoreRegistry::Remove(const StoreFile* store) {
  const auto by_path = by_path_.find(store->path());
  if (by_path != by_path_.end() && by_path->second.lock().get() == store) by_path_.erase(by_path);
  by_fileno_.erase(store->fileno());
}

std::shared_ptr<StoreFile> StoreRegistry::ByPath(const std::string& path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second.lock();
}

std::vector<std::shared_ptr<StoreFile>> StoreRegistry::All() const {
  std::vector<std::shared_ptr<StoreFile>> stores;
  for (const auto& [fileno, weak] : by_fileno_) {
    if (std::shared_ptr<StoreFile> store = weak.lock()) stores.push_back(std::move(store));
  }
  return stores;
}

std::shared_ptr<StoreFile> StoreRegistry::ByFileNumber(unsigned long fileno) const {
  const auto found = by_fileno_.find(fileno);
  return found == by_fileno_.end() ? nullptr : found->second.lock();
}

}  // namespace h5zarr::shadow
