// connector: the plugin's state in one process and one HDF5, and what all callback files share.
#ifndef H5ZARR_H5_CONNECTOR_H_
#define H5ZARR_H5_CONNECTOR_H_

#include <hdf5.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/status.h"
#include "exec/executor.h"
#include "h5/link_path.h"
#include "h5/native_reads.h"
#include "h5/resting_store.h"
#include "host/guard.h"
#include "host/native.h"
#include "host/object.h"
#include "shadow/store_file.h"

namespace h5zarr::view {
class Image;
}  // namespace h5zarr::view

namespace h5zarr {

// Made by `initialize` and never destroyed: HDF5 closes files from its exit handler, after our static
// objects would be gone.
struct Connector {
  Config environment_config;                           // the defaults with H5ZARR_<KEY> applied
  Status environment_status;                           // a bad value there is reported by the first create or open
  std::map<int, std::unique_ptr<Executor>> executors;  // by number of threads (0: auto)
  shadow::StoreRegistry stores;
  RestingStore resting_store;
  NativeFiles native_files;
  bool has_mounts = false;  // a store was mounted, or a file on one
  bool external_links_registered = false;
  bool filters_registered = false;
  bool registered_at_close = false;  // see RegisterAtClose
  // Whether HDF5 is wrapping a file for its own use at the moment, and whose connector it will call on
  // what it gets.
  enum class PostOpen { kNo, kForUs, kForNative };
  PostOpen post_open = PostOpen::kNo;
  std::string probed_store;  // that IS_ACCESSIBLE found without a connector being named: h5/view_file
  std::map<std::string, std::weak_ptr<view::Image>> images;  // of stores opened so, by path
  std::shared_ptr<view::Image> resting_image;                // the last one, if it MayRest
  std::shared_ptr<RemoteFile> probed_remote;                 // what IS_ACCESSIBLE read last, which will be opened next
};
Connector& GetConnector();
// The library closes, or has opened again: identifiers and what was registered ended with it. (HDF5 2.x
// never terminates a connector that it came upon by its probe.)
void ForgetLibrary();
// The executor of files that asked for `threads`; made at its first use, kept for the process.
Executor* ExecutorFor(int threads);
// From now on nothing runs on other threads: the library terminates.
void RunSerially();

// The connector's configuration of one file, as HDF5 carries it about (H5VL_info_class_t).
struct ConnectorInfo {
  std::string text;
};
// The configuration that a file access list asks for: environment, then the list's string.
Result<Config> ConfigOf(hid_t fapl);

// What H5PLget_plugin_info answers.
const H5VL_class_t* ConnectorClass();
extern const H5VL_attr_class_t kAttributeClass;
extern const H5VL_dataset_class_t kDatasetClass;
extern const H5VL_datatype_class_t kDatatypeClass;
extern const H5VL_file_class_t kFileClass;
extern const H5VL_group_class_t kGroupClass;
extern const H5VL_link_class_t kLinkClass;
extern const H5VL_object_class_t kObjectClass;
extern const H5VL_info_class_t kInfoClass;
extern const H5VL_wrap_class_t kWrapClass;
extern const H5VL_introspect_class_t kIntrospectClass;
extern const H5VL_blob_class_t kBlobClass;
extern const H5VL_token_class_t kTokenClass;

inline Object* AsObject(void* object) { return static_cast<Object*>(object); }
inline void* UnderOf(void* object) { return object != nullptr ? AsObject(object)->native.under : nullptr; }

// Makes the wrapper of a native object that a callback on `beside` produced. In which store it lies is
// asked of the object itself: external links, mounts and references lead elsewhere. Takes `under`, which
// is closed on failure; null (HDF5 failed) is AlreadyReported.
Result<void*> Wrap(void* under, H5I_type_t type, const Object* beside);
// The same for an attribute named `name` whose owner is `owner`.
Result<void*> WrapAttribute(void* under, const Object* beside, const shadow::NodePtr& owner, std::string name);

// Before a counted object goes: its store no longer counts it.
void LetGo(Object* object);

// Closes an object: saves its store first where this is the file or the store's last object, then
// closes the native object with `close`. When saving fails nothing is closed and -1 returned, so that the
// program can try again; while the library terminates the failure is printed and the object closed.
using NativeClose = herr_t (*)(void* under, hid_t connector, hid_t dxpl, void** request);
herr_t CloseObject(const char* operation, void* object, NativeClose close, hid_t dxpl, void** request);

// Whether there is a Zarr store at `path`. Looks at a document or two, opens nothing.
bool IsStorePath(const std::string& path);

// For callbacks that change something: Ok for native files.
Status RequireWritable(const Object* object);

// After a link was made at a place: where the store could not follow (`status`), the link is removed
// again, from the shadow and from what the store knows. Returns `status`.
Status UndoOnFailure(const Place& place, Status status);

// Turns what a native call returned into a Status.
inline Status NativeStatus(herr_t result) { return result < 0 ? host::AlreadyReported() : OkStatus(); }

// External links are opened by a class of ours, once per process: native code would open their targets
// without us.
void RegisterExternalLinks();

// Registers the filters this plugin brings with the host.
void RegisterFilters();

}  // namespace h5zarr

#endif  // H5ZARR_H5_CONNECTOR_H_
