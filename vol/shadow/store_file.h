// StoreFile: one open Zarr store and its shadow, an in-memory native HDF5 file that holds groups,
// links, attributes and dataset headers, never raw data.
//
// No hidden handle keeps the shadow alive (but from one open to the next: h5/resting_store): the store
// knows the program's own open objects, any of which serves as a place to work from. The shadow is filled lazily, a
// child at a time, when a path first leads there. Changes are made in the shadow by HDF5 itself; the store notes what
// changed and writes it as Zarr metadata at flush, at file close and at the last close. Not thread-safe: HDF5 calls
// under its own lock.
#ifndef H5ZARR_SHADOW_STORE_FILE_H_
#define H5ZARR_SHADOW_STORE_FILE_H_

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/status.h"
#include "exec/background.h"
#include "exec/executor.h"
#include "host/native.h"
#include "host/object.h"
#include "shadow/attribute_map.h"
#include "shadow/node_table.h"
#include "shadow/stores_above.h"
#include "store/store.h"
#include "zarr/hierarchy.h"

namespace h5zarr::shadow {

// Where a path led.
struct Resolution {
  NodePtr node;      // the object, or null when the path does not exist or leaves the store
  NodePtr parent;    // the group that holds (or would hold) the last component's link
  std::string name;  // the last component
  // An external or user-defined link was met, or another file is mounted there: what follows is not in
  // this store.
  bool left_store = false;
  bool by_link = false;   // …of another file, not by a mount
  std::string link_path;  // that link or mount point; "/": the root of the file that this store is mounted on
  std::string rest;       // the path after it
};

// The file formats between which a program asked HDF5 to keep. No store has them, programs ask for them.
struct FormatBounds {
  H5F_libver_t low = H5F_LIBVER_EARLIEST;
  H5F_libver_t high = H5F_LIBVER_LATEST;
};

// The names in a path, without empty ones and ".".
std::deque<std::string> SplitPath(std::string_view path);
std::string JoinParts(const std::deque<std::string>& parts);

// What else the first open asked of a store that HDF5 keeps of a file that is open.
struct FileAccess {
  unsigned swmr_flags = 0;  // H5F_ACC_SWMR_READ or H5F_ACC_SWMR_WRITE
  std::size_t page_buffer_bytes = 0;
  unsigned metadata_percent = 0;  // of the page buffer, at least
  unsigned raw_percent = 0;
};

// While a store's whole shadow is made for HDF5 to read without us (view/).
struct ImageMaking {
  hid_t file = H5I_INVALID_HID;  // of the shadow, under the native connector
  // Changes what a dataset is about to be created with. A failure other than HDF5's own makes it one
  // that cannot be opened.
  std::function<Status(const std::string& path, hid_t type, Handle* space, Handle* dcpl)> adapt;
  // So many children of one group are to be loaded next: a failure ends it.
  std::function<Status(std::size_t children)> admit;
};

class StoreFile : public std::enable_shared_from_this<StoreFile> {
 public:
  static constexpr std::size_t kManyPending = 1000;

  // `path`: the location (location/location.h); `name`: as the program spelled it. Reads the root document of an
  // existing store (`create` false): kNotFound when there is no store, kCorrupt or kUnsupported when
  // the document is damaged. `executor` must outlive the store.
  static Result<std::shared_ptr<StoreFile>> Make(std::string path, std::string name, bool create, bool writable,
                                                 const Config& config, Executor* executor);
  ~StoreFile();

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  bool writable() const { return writable_; }
  bool created() const { return created_; }  // by this open
  FileAccess& access() { return access_; }
  const FileAccess& access() const { return access_; }
  const Config& config() const { return config_; }
  zarr::Hierarchy& hierarchy() { return hierarchy_; }

  // The file creation list of the shadow. What the program's own says (`fcpl`, of a new store) is noted in
  // the root's document.
  Result<Handle> ShadowFcpl(hid_t fcpl);
  // The shadow was made: `file` is its native file. Called once, inside file create/open.
  Status Adopt(void* file);
  // The file creation list that the program gets back (the root's creation orders left out). After
  // ShadowFcpl.
  Result<Handle> ProgramFcpl() const;
  unsigned long fileno() const { return fileno_; }
  // Until null is given again. Borrowed.
  void set_image(const ImageMaking* image) { image_ = image; }

  FormatBounds format_bounds() const { return format_bounds_; }
  void set_format_bounds(FormatBounds bounds) { format_bounds_ = bounds; }

  // kPermissionDenied unless the store may be changed (mode, and not inherited by a forked child).
  Status CheckWritable() const;

  // --- the program's open objects ---------------------------------------------------------------
  void Attach(Object* object);
  void Detach(Object* object);  // drops an unlinked node's data with its last object
  std::size_t open_objects() const { return objects_.size(); }
  // Any native object of the shadow. REQUIRES: an object is open.
  host::NativeObject Location() const;
  // A native file of the shadow; null when only other objects are open.
  host::NativeObject FileLocation() const;

  // --- mounts, which are HDF5's own, of shadows as of any file ------------------------------------
  // Said before this store is mounted, or a file on it. The store now lasts as long as HDF5 keeps the shadow
  // open, which mounts may do without an object of the program; and it works from a group of the shadow's
  // own, since paths and tokens of a mounted file mean the file that it is mounted on.
  Status JoinMounts();
  bool in_mounts() const { return in_mounts_; }
  // A file was mounted on `group`.
  void NoteMounted(const NodePtr& group) { group->group.mounted = true; }
  // HDF5's own structure `file` of the shadow holds this store from now on, or no longer.
  void NoteHolder(void* file) { holders_.insert(file); }
  void ForgetHolder(void* file) { holders_.erase(file); }
  const std::set<void*>& holders() const { return holders_; }

  // --- resting: kept without an open object until it is opened again (h5/resting_store) ------------
  // Whether all that is known of the store came from a few documents, which can be read again.
  bool MayRest() const;
  // Lets go of all that was read of arrays. REQUIRES: nothing but the file is open.
  void Rest();
  // Whether what is known is what is stored now. Reads the documents again.
  bool IsStillStored() { return hierarchy_.StillTheSame(); }
  // A program changed something of the shadow itself, which the next one must not find.
  void NoteOddity() { hierarchy_.ForgetRead(); }

  // --- nodes ------------------------------------------------------------------------------------
  const NodePtr& root() const { return root_; }
  NodePtr FindNode(uint64_t token) const;
  std::vector<NodePtr> Nodes() const;  // all that are known
  // The node of the native object `token`, made if the store does not know it yet (an object that
  // HDF5 made by itself, e.g. by copying): `kind` says what it is.
  NodePtr FindOrMakeNode(uint64_t token, H5I_type_t type);

  // Follows `path` from `base` (the root when it begins with '/'), loading what it meets into the shadow
  // so that HDF5 will find it. A missing object is no error; an unreadable document is (its child is
  // then loaded as broken), a hostile path component ("..") is simply not there. Paths of the store's own
  // (of hard links, types, references) ignore mounts.
  enum class Mounts { kFollowed, kIgnored };
  Result<Resolution> Resolve(const NodePtr& base, const char* path, Mounts mounts = Mounts::kFollowed);
  // Loads every child of a group; with `recursive` the whole tree below it.
  Status Fill(const NodePtr& group, bool recursive);
  // The names of an unfilled group's children without loading any; nothing when they must be taken from
  // the shadow (filled, changed, ordered).
  Result<const std::vector<std::string>*> UnfilledNames(const NodePtr& group);

  // --- changes, reported after HDF5 made them in the shadow ----------------------------------------
  // Something was created at `path` below `base` (groups on the way too).
  Status NoteCreated(const NodePtr& base, const char* path);
  // The link `name` of `parent` was removed; `target` is what it led to (null for soft ones), with
  // `other_links` hard links left.
  Status NoteUnlinked(const NodePtr& parent, const std::string& name, const NodePtr& target, bool other_links);
  // A link was moved; its node goes where it is now. A failure has changed nothing.
  Status NoteMoved(const NodePtr& from_parent, const std::string& from_name, const NodePtr& to_parent,
                   const std::string& to_name);
  void NoteAttribute(const NodePtr& node, const std::string& name);     // written or deleted
  void NoteNewAttribute(const NodePtr& node, const std::string& name);  // created
  void NoteRenamedAttribute(const NodePtr& node, const std::string& from, const std::string& to);
  void NoteLinks(const NodePtr& group);
  // The link at `path` below `base`, which was created or copied, is of a user-defined class and has
  // this value, where that is known.
  Status NoteUserLink(const NodePtr& base, const char* path, std::optional<std::string> value);
  void NoteComment(const NodePtr& node);  // set, or removed
  // Brings those attributes of `node` into the shadow that are made only when asked for.
  Status CompleteAttributes(const NodePtr& node);
  // Before HDF5 removes a link: loads all there is where nodes have further hard links.
  Status LoadHardLinks();
  // The same before HDF5 counts them, as far as all there is can be known.
  void CountHardLinks();
  // Before HDF5 moves the link `from`: loads what will have to say a new path, of the node or of what
  // is below it. `to_parent` may be null.
  Status LoadForMove(const Resolution& from, const NodePtr& to_parent);

  // kUnsupported for a store that is a single array: nothing can be added to it.
  Status CheckTakesLinks() const;
  // The same, and kInvalidArgument when the path's new components may not be names of Zarr nodes.
  Status CheckNewPath(const char* path) const;

  // A new dataset that HDF5 made natively: its node, placed nowhere yet.
  NodePtr MakeDataset(uint64_t token, DatasetPlan plan);
  // The same for a dataset that has its node and metadata.
  void UsePlan(const NodePtr& node, DatasetPlan plan);
  NodePtr MakeVirtual(uint64_t token, VirtualPlan plan);
  // The token of the committed datatype of this store that `type` is, or 0.
  Result<uint64_t> CommittedTypeToken(hid_t type) const;
  // The array of a dataset node, opened at first use. `cache_bytes` as the access list says.
  Result<zarr::Array*> OpenArray(const NodePtr& node, uint64_t cache_bytes);
  // The same before its elements are used: references to what was moved are renamed first.
  Result<zarr::Array*> OpenElements(const NodePtr& node);
  // Stores the document of a new array, and copies the chunks of `source`, an array of `from`, as they are.
  // REQUIRES: both have the same chunks and codecs. kUnsupported only where `from` cannot list them: nothing is copied.
  Status CopyChunks(const NodePtr& node, StoreFile& from, const NodePtr& source);
  // The dimensions of a copied array have the names of `source`, whose document its own is, and what HDF5 copied of its
  // scales, references to nothing, says no more. False where other attributes of the source do. LoadDimensionsOfCopy:
  // gives such a one the scales that its names mean, once all members of its group are there; none where `source`, an
  // array of `from`, has others than its names mean.
  Result<bool> KeepDimensions(const NodePtr& node, StoreFile& from, const NodePtr& source);
  Status LoadDimensionsOfCopy(const NodePtr& node);
  // Copies into the array what the files of a dataset with external storage hold, unless it is there or
  // they can't be read. `native`: the dataset as the program opened it, which knows where they are.
  Status CopyExternal(const NodePtr& node, host::NativeObject native);
  // Before the extent of a dataset is changed: takes over what another program made of it. Elements beyond the
  // extent that is known here are about to become fill.
  Status CatchUpExtent(const NodePtr& node);
  // The files hold what the array does not (the extent grew).
  void NoteExternalChange(const NodePtr& node);

  // Brings an object without unsaved changes up to what is in the store now: attributes, extent, data and
  // children of others. kChanged when it was replaced, kNotFound when it is gone.
  Status Refresh(const NodePtr& node);

  // --- other parts of the same Zarr store that are open in this process ---------------------------
  // From now on both take care of each other.
  void Meet(const std::shared_ptr<StoreFile>& other);
  // Before something is changed: what other parts changed is stored and taken over. Their failures.
  Status BeginChange();
  // Takes over what other parts have stored. Costs nothing where they have not.
  Status CatchUp();
  // Elements of the array are about to be written.
  void NoteWritten(const NodePtr& node);

  // --- saving -----------------------------------------------------------------------------------
  // Writes every changed document and every dirty chunk. Nothing is forgotten on failure: a later call
  // tries again. Does nothing in a forked child. What somebody removed from the store meanwhile is not
  // brought back by halves: an error (kIo, ENOENT) for a flush, while closing lets go of it, as HDF5
  // does of an unlinked file.
  enum class Purpose { kFlush, kClose };
  Status Save(Purpose purpose = Purpose::kFlush);
  // So many nodes wait to be stored that it is time: memory, and what a killed process loses, stay
  // bounded. Any number of changes of one node is one.
  bool HasManyPending() const { return pending_nodes_ >= kManyPending; }
  // Waits until nothing goes on in the background. Failures stay to be reported.
  void WaitForJobs() { background_.Drain(); }
  // Save, and bring consolidated metadata up to date. For the last close.
  Status SaveForClose();
  bool forked() const;
  // The sum of the sizes of all objects of the store, documents too. Walks it.
  Result<uint64_t> StoredBytes() const;
  // kIo (ENOENT) when the store's place was removed by somebody: there is nothing to save to.
  Status CheckThere() const;
  // What references lead to. For the length of a callback: it may hold an identifier.
  ReferenceResolver References();

 private:
  StoreFile(std::string path, std::string name, std::unique_ptr<Store> place, bool writable, const Config& config,
            Executor* executor);

  // store_file_load.cc
  Status LoadChild(const NodePtr& group, const std::string& name);
  Status LoadLink(const NodePtr& group, const std::string& name);
  Result<bool> LoadLinkStub(const NodePtr& group, const std::string& name, const zarr::Node& node);
  Result<std::optional<ElementMap>> LookAtObjects(const zarr::Node& node);
  Result<host::NativeHandle> CreateDataset(const NodePtr& group, const std::string& name, hid_t type, Handle space,
                                           Handle dcpl);
  Result<Handle> Register(host::NativeHandle native, uint64_t token);
  // What is linked in a group, in the order of creation where that is kept; some twice.
  Result<std::vector<std::string>> ChildNames(const NodePtr& group);
  Status FillGroup(const NodePtr& group);
  Status LoadChildren(const NodePtr& group, const std::vector<std::string>& names);
  Status LoadGroup(const NodePtr& group, const std::string& name, zarr::Node node);
  Status LoadDataset(const NodePtr& group, const std::string& name, zarr::Node node);
  Status LoadVirtual(const NodePtr& group, const std::string& name, zarr::Node node);
  Status LoadDatatype(const NodePtr& group, const std::string& name, zarr::Node node);
  Status LoadBroken(const NodePtr& group, const std::string& name, Status why);
  Result<Handle> OpenCommittedType(const Json& path, hid_t expected);
  Status LoadAttributes(const NodePtr& node, host::NativeObject native);
  Status LoadHeader(const NodePtr& group, const NodePtr& child, host::NativeObject native);
  Status LoadHeaderNow(const NodePtr& group, const NodePtr& child, host::NativeObject native);
  Status LoadWaitingHeader(const NodePtr& group, const NodePtr& child);
  Status LoadHeaders(const NodePtr& group);
  NodePtr MakeNode(uint64_t token, NodeState::Kind kind);  // placed nowhere yet
  Status LoadAttribute(const zarr::Node& node, const std::string& name, const Json& stored, host::NativeObject native);
  Status LoadRoot();
  NodePtr AddChild(const NodePtr& group, const std::string& name, NodeState::Kind kind, uint64_t token,
                   zarr::Node node);

  // store_file_order.cc
  Result<host::NativeHandle> OpenForLink(const NodePtr& group, const std::string& name);
  Status MakeEarlyGroup(const NodePtr& group);
  Status LinkEarly(const NodePtr& group, const std::string& name);
  Status OrderAttributes(const NodePtr& node, host::NativeObject native);
  Status EncodeAttributeOrder(const NodePtr& node, host::NativeObject native);

  // store_file_dimensions.cc
  Result<const std::map<std::string, BareDimension>*> BareDimensions(const NodePtr& group);
  Status LoadBareDimension(const NodePtr& group, const std::string& name);
  Result<NodePtr> FindScaleAround(const NodePtr& group, const std::string& name, uint64_t extent);
  Result<NodePtr> FindScale(const NodePtr& group, const std::string& name, uint64_t extent);
  Result<std::vector<std::vector<std::string>>> ImpliedScales(const NodePtr& group, const zarr::ArrayMetadata& metadata,
                                                              std::size_t rank);
  // Whether the scales of an array, if it has any, are those that its names mean.
  Result<bool> HasImpliedScales(const NodePtr& node);
  Status LoadDimensions(const NodePtr& group, const NodePtr& node, host::NativeObject native);
  Result<bool> IsImpliedScale(const NodePtr& node, std::size_t dim, const std::string& scale_path);
  Status EncodeDimensions(const NodePtr& node, host::NativeObject native);
  Status NoteUsersOutside(const NodePtr& node, host::NativeObject native);
  void NoteUseOutside(const NodePtr& user, const std::string& scale_path);
  Result<bool> IsBareDimension(const NodePtr& node);
  Status SettleBareDimension(const NodePtr& node);
  void ForgetBareDimension(const NodePtr& group, const NodePtr& node);
  void TouchDimensionsOf(const NodePtr& node);

  // store_file_refresh.cc
  Status RefreshAttributes(const zarr::Node& loaded, const zarr::Node& now, host::NativeObject native);
  Status TakeOver(const NodePtr& node, const zarr::Node& before);
  Status TakeOverNow(const NodePtr& node, const zarr::Node& before);
  Status StoreBeforeExtent(const NodePtr& node);
  Status RefreshExtent(const NodePtr& node, host::NativeObject native);
  Status RefreshDimensions(const NodePtr& node, const zarr::ArrayMetadata& before, host::NativeObject native);

  // store_file_parts.cc
  std::vector<std::shared_ptr<StoreFile>> OtherParts();
  void TellOthers(const std::string& path);
  void TellOthersOfConsolidated();
  Status CatchUpAt(const std::string& path);
  static bool IsOfOneDocument(const NodeState& node);
  void LookAgain(const NodePtr& group);
  Status LetGo(const NodePtr& node, const Status& why);
  Result<std::vector<Json>> GroupsAround();
  Status RefuseHardLinksAround();
  Status RefuseHardLinkInPart();
  Status RefuseMoveOfPart(const std::string& path);
  Status RefreshLinks(const NodePtr& group, const zarr::Node& before, host::NativeObject native);
  Status LetGoUnless(const NodePtr& node, const Status& refreshed);

  // store_file_save.cc
  Status CopyAllExternal();
  Status EnsureStored(const NodePtr& node);
  Status SaveDocument(const NodePtr& node);
  Result<std::optional<zarr::Node>> WriteDocument(const NodePtr& node);
  Status LookForConsolidated();
  Status CheckDocument(const NodeState& node) const;
  Status SaveNode(const NodePtr& node, Purpose purpose);
  Status SaveElements(const NodePtr& node);
  Status EncodeAttributes(const NodePtr& node);
  Status EncodeLinks(const NodePtr& node);
  Status EncodeUserLinks(const NodePtr& node);
  void EncodeLinkCsets(const NodePtr& node);
  Status EncodeLinkOrder(const NodePtr& node);
  Result<bool> IsNetcdf();
  void TouchSingles();
  Status BeforeChange();
  std::vector<NodePtr> ChangedNodes() const;

  // store_file_change.cc
  Status Place(const NodePtr& node, const NodePtr& parent, const std::string& name);
  Status Unplace(const NodePtr& node);
  Result<bool> GiveAnotherHome(const NodePtr& node, const std::string& leaving);
  Status RemoveStub(const NodePtr& parent, const std::string& name);
  Status Discard(const NodePtr& node);
  Result<LinkState> LookAtLink(const NodePtr& group, const std::string& name);
  Result<H5T_cset_t> CsetOfLink(const NodePtr& group, const std::string& name);
  Status NoteLinkAt(const NodePtr& parent, const std::string& name);
  void MovePaths(const std::string& from, const std::string& to);
  std::string StagingPath();

  // store_file_move.cc
  static constexpr const char* kHardLinks = "hard_links";
  static constexpr const char* kReferences = "references";
  void NoteInRoot(const char* member);
  bool MayHaveHardLinks() const;
  bool MayHaveReferences() const;
  void RenameWhatLeadsTo(const std::string& from, const std::string& to);
  void TouchLinksTo(const std::string& path);

  std::string PathOfToken(uint64_t token) const;
  Result<Handle> OpenRoot();
  Status LoadTarget(const Json& reference);
  Result<std::function<void(MutableByteSpan)>> EffectOf(const NodePtr& node);

  const std::string path_;
  const std::string name_;
  const bool writable_;
  Config config_;  // with the format of the store itself
  Executor* const executor_;
  const pid_t pid_;
  std::unique_ptr<Store> store_;
  Background background_;  // of the store's arrays, which it outlives
  zarr::Hierarchy hierarchy_;
  unsigned long fileno_ = 0;
  FormatBounds format_bounds_;
  FileAccess access_;
  bool created_ = false;
  bool root_is_array_ = false;  // the store is one array, shown as a dataset of a made-up root
  std::string root_array_name_;
  bool is_netcdf_ = false;           // see IsNetcdf
  bool root_loaded_ = false;         // attributes and links of the root are in the shadow
  bool hard_links_counted_ = false;  // see CountHardLinks
  bool saving_ = false;              // closing what saving opened is no reason to save
  bool change_noted_ = false;        // consolidated metadata was looked at and invalidated
  bool had_consolidated_ = false;    // …and is rewritten at the last close
  bool above_noted_ = false;         // the same of the stores it lies in
  std::optional<bool> is_part_;      // of a larger store, once somebody asked
  StoresAbove stores_above_;
  std::size_t pending_nodes_ = 0;  // that became changed since the last Save
  zarr::Node root_node_;           // until the root's NodeState exists
  NodePtr root_;
  NodeTable nodes_;
  std::set<Object*> objects_;
  const ImageMaking* image_ = nullptr;
  bool in_mounts_ = false;
  host::NativeHandle anchor_;                    // in mounts, while objects are open: the root group
  std::set<void*> holders_;                      // native files
  std::vector<std::weak_ptr<StoreFile>> parts_;  // see Meet
  std::set<std::string> told_;                   // paths of what others stored and this one has not looked at since
  bool touched_ = false;                         // something may have been changed since the last Save
};

// The process's open stores, by path and by the shadow's file number. Leaked with the connector.
class StoreRegistry {
 public:
  void Add(const std::shared_ptr<StoreFile>& store);
  void Remove(const StoreFile* store);
  std::shared_ptr<StoreFile> ByPath(const std::string& path) const;
  std::shared_ptr<StoreFile> ByFileNumber(unsigned long fileno) const;
  bool empty() const { return by_fileno_.empty(); }
  std::vector<std::shared_ptr<StoreFile>> All() const;

 private:
  std::map<std::string, std::weak_ptr<StoreFile>> by_path_;
  std::map<unsigned long, std::weak_ptr<StoreFile>> by_fileno_;
};

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_STORE_FILE_H_
