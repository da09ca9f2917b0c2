#include "h5/connector.h"

#include <cstring>

#include "h5/mirrored_files.h"
#include "h5/request.h"
#include "h5zarr/h5zarr.h"
#include "host/host_api.h"
#include "shadow/memory_driver.h"
#include "transfer/remote_vfd.h"
#include "view/image_driver.h"

namespace h5zarr {
namespace {

Connector* connector = nullptr;

herr_t initialize(hid_t vipl_id) {
  (void)vipl_id;
  // Runs in every program that ever fails to open a file: no thread, no socket, no output. It must not
  // fail either, or the whole library would.
  if (connector == nullptr) {
    try {
      connector = new Connector;
      connector->environment_status = connector->environment_config.ApplyEnvironment();
    } catch (...) {
      return -1;
    }
  }
  ForgetLibrary();
  return 0;
}

herr_t terminate() {
  ForgetLibrary();
  return 0;
}

herr_t optional(void* object, H5VL_optional_args_t* args, hid_t dxpl, void** request) {
  return H5VLoptional(UnderOf(object), host::NativeConnector(), args, dxpl, request);
}

}  // namespace

Connector& GetConnector() { return *connector; }

void ForgetLibrary() {
  host::ForgetNativeConnector();
  host::ForgetReported();
  transfer::ForgetRemoteDriver();
  shadow::ForgetMemoryDriver();
  view::ForgetImageDriver();
  connector->resting_store.Forget();
  connector->resting_image.reset();
  connector->external_links_registered = false;
  connector->filters_registered = false;
  connector->registered_at_close = false;
  GetMirroredFiles().Forget();
}

Executor* ExecutorFor(int threads) {
  std::unique_ptr<Executor>& executor = connector->executors[threads];
  if (executor == nullptr) executor = std::make_unique<Executor>(threads);
  return executor.get();
}

void RunSerially() {
  for (auto& [threads, executor] : connector->executors) executor->SetSerial(true);
}

const H5VL_class_t* ConnectorClass() {
  // Assembled at the first call: the parts are constants of other files, which may not be initialised
  // before this one's.
  static H5VL_class_t connector_class;
  connector_class.version = H5VL_VERSION;
  connector_class.value = static_cast<H5VL_class_value_t>(H5ZARR_CONNECTOR_VALUE);
  connector_class.name = H5ZARR_CONNECTOR_NAME;
  connector_class.conn_version = 1;
  connector_class.cap_flags = 0;  // get_cap_flags answers
  connector_class.initialize = initialize;
  connector_class.terminate = terminate;
  connector_class.info_cls = kInfoClass;
  connector_class.wrap_cls = kWrapClass;
  connector_class.attr_cls = kAttributeClass;
  connector_class.dataset_cls = kDatasetClass;
  connector_class.datatype_cls = kDatatypeClass;
  connector_class.file_cls = kFileClass;
  connector_class.group_cls = kGroupClass;
  connector_class.link_cls = kLinkClass;
  connector_class.object_cls = kObjectClass;
  connector_class.introspect_cls = kIntrospectClass;
  connector_class.request_cls = kRequestClass;
  connector_class.blob_cls = kBlobClass;
  connector_class.token_cls = kTokenClass;
  connector_class.optional = optional;
  return &connector_class;
}

Result<Config> ConfigOf(hid_t fapl) {
  H5ZARR_RETURN_IF_ERROR(GetConnector().environment_status);
  Config config = GetConnector().environment_config;
  void* info = nullptr;
  if (H5Pget_vol_info(fapl, &info) < 0) return host::AlreadyReported();
  if (info != nullptr) {
    const std::unique_ptr<ConnectorInfo> copy(static_cast<ConnectorInfo*>(info));
    H5ZARR_RETURN_IF_ERROR(config.Apply(copy->text));
  }
  return config;
}

namespace {

// Finds in which store the native object is, and where. (Of a file that is mounted HDF5 identifies the
// file that it is mounted on.)
Status FindNode(host::NativeObject native, Object* object) {
  const shadow::StoreRegistry& stores = GetConnector().stores;
  if (native.type == H5I_FILE) {
    H5ZARR_ASSIGN_OR_RETURN(const unsigned long number, host::FileNumber(native.under));
    object->store = stores.ByFileNumber(number);
    if (object->store != nullptr) object->node = object->store->root();
    return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(native));
  object->store = stores.ByFileNumber(identity.fileno);
  if (object->store == nullptr) return OkStatus();
  object->node = object->store->FindOrMakeNode(identity.token, native.type);
  return object->node->broken;
}

}  // namespace

Result<void*> Wrap(void* under, H5I_type_t type, const Object* beside) {
  if (under == nullptr) return host::AlreadyReported();
  host::NativeHandle native(under, type);
  auto object = std::make_unique<Object>();
  object->native = native.object();
  Connector& state = GetConnector();
  if (!state.stores.empty() && type != H5I_ATTR) {
    H5ZARR_RETURN_IF_ERROR(FindNode(native.object(), object.get()));
  } else if (type == H5I_ATTR && beside != nullptr) {
    object->store = beside->store;
  }
  native.Release();
  if (object->store != nullptr) object->store->Attach(object.get());
  return static_cast<void*>(object.release());
}

Result<void*> WrapAttribute(void* under, const Object* beside, const shadow::NodePtr& owner, std::string name) {
  if (under == nullptr) return host::AlreadyReported();
  auto object = std::make_unique<Object>();
  object->native = {under, H5I_ATTR};
  object->store = beside != nullptr ? beside->store : nullptr;
  object->node = owner;
  object->attribute_name = std::move(name);
  if (object->store != nullptr) object->store->Attach(object.get());
  return static_cast<void*>(object.release());
}

namespace {

// Saves the store of an object that is about to close, where that is due.
Status SaveBeforeClose(const Object* object) {
  shadow::StoreFile* store = object->store.get();
  if (store == nullptr || !object->counted) return OkStatus();
  const bool last = store->open_objects() == 1;
  if (!last && object->native.type != H5I_FILE) {
    if (object->native.type == H5I_DATASET && object->node != nullptr) {
      // (A copy that fails is tried again when the dataset is next open for writing.)
      const host::KeepErrors keep;
      (void)host::CatchAll([&] { return store->CopyExternal(object->node, object->native); }).ok();
    }
    // A failure loses nothing: it comes again with the flush or close that is to report it.
    if (store->HasManyPending() && !host::HostIsTerminating()) {
      const host::KeepErrors keep;
      (void)host::CatchAll([&] { return store->Save(shadow::StoreFile::Purpose::kFlush); }).ok();
    }
    return OkStatus();
  }
  return host::CatchAll([&] { return last ? store->SaveForClose() : store->Save(shadow::StoreFile::Purpose::kClose); });
}

// What asynchronous calls began on a dataset is done when it is closed, and all of it when a file is.
void WaitForRequests(const Object* object) {
  if (object->store == nullptr || object->node == nullptr) return;
  if (object->native.type == H5I_FILE) object->store->WaitForJobs();
  if (object->native.type == H5I_DATASET && object->node->dataset.array != nullptr) {
    object->node->dataset.array->WaitForRequests();
  }
}

}  // namespace

void LetGo(Object* object) {
  shadow::StoreFile& store = *object->store;
  // (Paths may lead into a store in mounts as long as HDF5 keeps its shadow.)
  if (store.open_objects() == 1 && !store.in_mounts()) GetConnector().stores.Remove(&store);
  store.Detach(object);
}

herr_t CloseObject(const char* operation, void* opaque, NativeClose close, hid_t dxpl, void** request) {
  Object* object = AsObject(opaque);
  const std::shared_ptr<shadow::StoreFile> store = object->store;
  const bool terminating = host::HostIsTerminating();
  if (terminating) RunSerially();
  if (request == nullptr) WaitForRequests(object);
  // While the library terminates everything has been saved, or said to be lost, before (at_close): to try
  // again at each of a store's files would fail for lack of types, and use HDF5 while it clears its
  // identifiers.
  if (!terminating) {
    const Status saved = SaveBeforeClose(object);
    if (!saved.ok()) {
      host::PushStatus(saved, operation);
      return -1;
    }
  }
  if (store != nullptr && object->counted) {
    host::Guard(operation, [&] {
      LetGo(object);
      return OkStatus();
    });
  }
  const herr_t closed = close(object->native.under, host::NativeConnector(), dxpl, request);
  GetConnector().resting_store.CloseWhatGoes();
  // HDF5 keeps the identifier of a file whose close failed, and will close it again; others it forgets.
  if (closed >= 0 || object->native.type != H5I_FILE) delete object;
  return closed;
}

Status RequireWritable(const Object* object) {
  if (object == nullptr || object->store == nullptr) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(object->store->CheckWritable());
  return object->store->BeginChange();
}

}  // namespace h5zarr
