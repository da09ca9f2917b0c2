// info: the connector string and the objects HDF5 wraps on our behalf.

#include <cstring>
#include <utility>

#include "h5/connector.h"

namespace h5zarr {
namespace {

void* info_copy(const void* info) {
  if (info == nullptr) return nullptr;
  return new (std::nothrow) ConnectorInfo(*static_cast<const ConnectorInfo*>(info));
}

herr_t info_cmp(int* result, const void* a, const void* b) {
  static const ConnectorInfo* const kNone = nullptr;
  const auto* first = a != nullptr ? static_cast<const ConnectorInfo*>(a) : kNone;
  const auto* second = b != nullptr ? static_cast<const ConnectorInfo*>(b) : kNone;
  if (first == nullptr || second == nullptr) {
    *result = (first != nullptr) - (second != nullptr);
  } else {
    const int order = first->text.compare(second->text);
    *result = order < 0 ? -1 : order > 0;
  }
  return 0;
}

herr_t info_free(void* info) {
  delete static_cast<ConnectorInfo*>(info);
  return 0;
}

herr_t info_to_str(const void* info, char** text) {
  const auto* value = static_cast<const ConnectorInfo*>(info);
  const std::string& source = value->text;
  *text = static_cast<char*>(H5allocate_memory(source.size() + 1, false));
  if (*text == nullptr) return -1;
  std::memcpy(*text, source.c_str(), source.size() + 1);
  return 0;
}

// Never fails: HDF5 parses the environment's string while it initialises itself, and would be dead.
herr_t info_from_str(const char* text, void** info) {
  *info = new (std::nothrow) ConnectorInfo{text != nullptr ? text : ""};
  return *info != nullptr ? 0 : -1;
}

// What HDF5 needs to wrap objects that its iterations and references come upon.
// (The native connector beneath has nothing to say: its own context is always null.)
struct WrapContext {
  std::shared_ptr<shadow::StoreFile> store;
};

// Of everything in native files. HDF5 asks for a context in nearly every call, and seldom uses it.
WrapContext* NativeContext() {
  static auto* const none = new WrapContext;
  return none;
}

// One that is free: there is mostly no more than one at a time, and reads come in millions. HDF5 calls us under its
// own lock.
WrapContext* spare_context = nullptr;

void* get_object(const void* object) {
  void* const under = UnderOf(const_cast<void*>(object));
  return under != nullptr ? H5VLget_object(under, host::NativeConnector()) : nullptr;
}

herr_t get_wrap_ctx(const void* object, void** context) {
  return host::Guard("get_wrap_ctx", [&]() -> Status {
    const std::shared_ptr<shadow::StoreFile>& store = static_cast<const Object*>(object)->store;
    if (store == nullptr) {
      *context = NativeContext();
      return OkStatus();
    }
    WrapContext* wrap = std::exchange(spare_context, nullptr);
    if (wrap == nullptr) wrap = new WrapContext;
    wrap->store = store;
    *context = wrap;
    return OkStatus();
  });
}

void* wrap_object(void* under, H5I_type_t type, void* context) {
  return host::GuardPointer("wrap_object", [&]() -> Result<void*> {
    const auto* wrap = static_cast<WrapContext*>(context);
    void* wrapped = H5VLwrap_object(under, type, host::NativeConnector(), nullptr);
    if (wrapped == nullptr) return host::AlreadyReported();
    if (GetConnector().post_open == Connector::PostOpen::kForNative) return wrapped;
    if (GetConnector().post_open == Connector::PostOpen::kForUs) {
      // Belongs to HDF5's own file structure and goes with it: it must not keep the store open.
      auto* object = new Object;
      object->native = {wrapped, type};
      object->store = wrap->store;
      if (object->store != nullptr) {
        object->node = object->store->root();
        object->store->NoteHolder(wrapped);
      }
      return static_cast<void*>(object);
    }
    Object beside;
    beside.store = wrap->store;
    return Wrap(wrapped, type, &beside);
  });
}

void* unwrap_object(void* opaque) {
  Object* object = AsObject(opaque);
  void* under = H5VLunwrap_object(object->native.under, host::NativeConnector());
  if (under == nullptr) return nullptr;
  host::KeepErrors keep;
  host::Guard("unwrap_object", [&] {
    if (object->store == nullptr) return OkStatus();
    if (object->counted) {
      LetGo(object);
    } else {
      object->store->ForgetHolder(object->native.under);
    }
    return OkStatus();
  });
  delete object;
  return under;
}

herr_t free_wrap_ctx(void* context) {
  auto* wrap = static_cast<WrapContext*>(context);
  if (wrap == NativeContext()) return 0;
  wrap->store.reset();
  delete std::exchange(spare_context, wrap);
  return 0;
}

}  // namespace

const H5VL_info_class_t kInfoClass = {sizeof(ConnectorInfo), info_copy,    info_cmp, info_free,
                                      info_to_str,           info_from_str};

const H5VL_wrap_class_t kWrapClass = {get_object, get_wrap_ctx, wrap_object, unwrap_object, free_wrap_ctx};

}  // namespace h5zarr
