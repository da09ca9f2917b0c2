// File callbacks: which names are Zarr stores, how their shadow is made, and the file's own questions.

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "h5/accessible.h"
#include "h5/at_close.h"
#include "h5/connector.h"
#include "h5/file_access.h"
#include "h5/file_name.h"
#include "h5/mirrored_files.h"
#include "h5/name_refusal.h"
#include "h5/open_parts.h"
#include "h5/remote_open.h"
#include "h5/store_place.h"
#include "h5/view_file.h"
#include "host/host_api.h"
#include "location/location.h"
#include "shadow/creation_map.h"
#include "shadow/object_times.h"
#include "shadow/stores_above.h"
#include "store/url.h"

namespace h5zarr {
namespace {

using shadow::StoreFile;

// The file formats that the access list asks for.
Status NoteBounds(StoreFile& store, hid_t fapl) {
  shadow::FormatBounds bounds;
  if (H5Pget_libver_bounds(fapl, &bounds.low, &bounds.high) < 0) return host::AlreadyReported();
  store.set_format_bounds(bounds);
  return OkStatus();
}

// Creates the shadow of `store` and its file object. Must happen inside a file callback, where HDF5 has
// set up the wrapping.
Result<void*> OpenShadow(const std::shared_ptr<StoreFile>& store, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl,
                         void** request) {
  H5ZARR_RETURN_IF_ERROR(NoteBounds(*store, fapl));
  H5ZARR_ASSIGN_OR_RETURN(const Handle shadow_fcpl, store->ShadowFcpl(fcpl));
  H5ZARR_ASSIGN_OR_RETURN(store->access(), AccessOf(*store, fapl, flags));
  H5ZARR_ASSIGN_OR_RETURN(const Handle shadow_fapl, ShadowFapl(fapl));
  GetConnector().resting_store.DropAt(store->path());  // HDF5 makes no second file of that name
  // The name is never a file: it only gives relative external links their folder, and identity. A
  // forked child still holds its parent's shadow.
  const std::string name = store->path() + "#shadow" + std::to_string(getpid());
  host::NativeHandle native(
      H5VLfile_create(name.c_str(), H5F_ACC_TRUNC, shadow_fcpl.get(), shadow_fapl.get(), dxpl, request), H5I_FILE);
  if (!native.valid()) return host::AlreadyReported();
  const Status adopted = store->Adopt(native.get());
  if (!adopted.ok()) return adopted;
  auto object = std::make_unique<Object>();
  object->native = native.object();
  object->store = store;
  object->node = store->root();
  native.Release();
  store->Attach(object.get());
  GetConnector().stores.Add(store);
  return static_cast<void*>(object.release());
}

// What HDF5 was asked to open or create is there: from now on it may have a mirror.
Result<void*> Mirrored(Result<void*> file, const FileName& name, bool writable, const Config& config, hid_t fapl) {
  if (!file.ok()) return file;
  const Status noted = GetMirroredFiles().NoteOpened(UnderOf(*file), name.path, writable, config, fapl);
  if (noted.ok()) return file;
  CloseObject("file_close", *file, H5VLfile_close, host::DefaultDxpl(), nullptr);
  return noted;
}

Result<void*> CreateNative(const char* name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl, void** request) {
  H5ZARR_ASSIGN_OR_RETURN(Handle native_fapl, NativeFapl(fapl));
  void* under = H5VLfile_create(name, flags, fcpl, native_fapl.get(), dxpl, request);
  if (under == nullptr) {
    host::KeepErrors keep;  // h5py reads errno from them
    native_fapl.Reset();
    return host::AlreadyReported();
  }
  return Wrap(under, H5I_FILE, nullptr);
}

bool CreatesZarr(const FileName& name, const Config& config, hid_t fapl) {
  if (!HasDefaultDriver(fapl)) return false;
  switch (config.create) {
    case Config::Create::kZarr: return true;
    case Config::Create::kNative: return false;
    case Config::Create::kAuto: break;
  }
  if (name.looks_like_zarr) return true;
  return IsMadeStore(name, config);
}

void PrepareHost() {
  host::LoadVariables();
  RegisterAtClose();
  RegisterExternalLinks();
  RegisterFilters();
}

Status RefuseRemote(const FileName& name) {
  if (IsHttpUrl(name.path)) {
    return PermissionDeniedError("'" + ShownName(name.given) + "': over HTTP stores can only be read");
  }
  return UnsupportedError("unable to create '" + name.given +
                          "': HDF5 files cannot be made in a bucket; names that end in .zarr become Zarr stores");
}

// A new file of this name would hide a version.
Status RefuseVersion(const FileName& name) {
  const auto version = FindIcechunk(name.path);
  if (!version || version->version.empty()) return OkStatus();
  return PermissionDeniedError("unable to create '" + name.given +
                               "': it names a version of the Icechunk repository '" + version->repository +
                               "', which can only be read");
}

// An HDF5 file in a store's folder is seen by nobody, and in the way of a node of that name. With an
// ending it is meant: no group's name.
Status RefuseWithinStore(const FileName& name) {
  const std::size_t slash = name.path.rfind('/');
  const std::string folder = name.path.substr(0, slash);
  if (folder.empty() || name.path.find('.', slash) != std::string::npos || !HasRootDocument(folder)) {
    return OkStatus();
  }
  return PermissionDeniedError("unable to create '" + name.given + "': '" + folder +
                               "' is a Zarr store, or a part of one; open it and create groups in it");
}

Result<void*> CreateStore(const FileName& name, unsigned flags, const Config& config, hid_t fcpl, hid_t fapl,
                          hid_t dxpl, void** request) {
  H5ZARR_ASSIGN_OR_RETURN(const std::shared_ptr<StoreFile> store,
                          StoreFile::Make(name.path, name.given, true, true, config, ExecutorFor(config.threads)));
  return OpenShadow(store, flags, fcpl, fapl, dxpl, request);
}

void* file_create(const char* given, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl, void** request) {
  return host::GuardPointer("file_create", [&]() -> Result<void*> {
    PrepareHost();
    TraversalScope scope;
    H5ZARR_ASSIGN_OR_RETURN(const Config config, ConfigOf(fapl));
    const FileName name = ParseFileName(given);
    if (IsHttpUrl(name.path) && HasDefaultDriver(fapl)) return RefuseRemote(name);
    H5ZARR_RETURN_IF_ERROR(RefuseVersion(name));
    if (HasDefaultDriver(fapl)) H5ZARR_RETURN_IF_ERROR(RefuseForeignUrl(name));
    if (!CreatesZarr(name, config, fapl)) {
      if (name.remote && HasDefaultDriver(fapl)) return RefuseRemote(name);
      if (HasDefaultDriver(fapl)) H5ZARR_RETURN_IF_ERROR(RefuseWithinStore(name));
      return Mirrored(CreateNative(given, flags, fcpl, fapl, dxpl, request), name, true, config, fapl);
    }
    if (GetConnector().stores.ByPath(name.path) != nullptr) {
      return Status(StatusCode::kAlreadyExists, "unable to create '" + name.given + "': it is already open", EAGAIN);
    }
    H5ZARR_RETURN_IF_ERROR(RefuseOverlap(name, "create"));
    H5ZARR_RETURN_IF_ERROR(MakeRoom(name, flags, config));
    const bool exclusive = (flags & H5F_ACC_EXCL) != 0;
    if (exclusive) H5ZARR_RETURN_IF_ERROR(ClaimStore(name, config));
    Result<void*> file = CreateStore(name, flags, config, fcpl, fapl, dxpl, request);
    if (exclusive && !file.ok()) {
      host::KeepErrors keep;
      (void)RemoveStore(name, config).ok();  // what was claimed; why nothing was made is what is said
    }
    return Mirrored(std::move(file), name, true, config, fapl);
  });
}

// The native file of an object that outlived its own: HDF5 now takes it for one that has an
// identifier, and would never close it without. LetGoOfFile makes it one that has none again.
Result<void*> FileOf(host::NativeObject object) {
  void* under = nullptr;
  const H5VL_loc_params_t loc = host::LocSelf(object.type);
  H5VL_object_get_args_t args;
  args.op_type = H5VL_OBJECT_GET_FILE;
  args.args.get_file.file = &under;
  H5ZARR_RETURN_IF_ERROR(
      NativeStatus(H5VLobject_get(object.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
  return under;
}

// Gives the native file `under` an identifier and closes that. Only within a callback on an object:
// HDF5 wraps what it gives an identifier to.
Status LetGoOfFile(void* under) {
  const hid_t file = H5VLwrap_register(under, H5I_FILE);
  if (file < 0 || H5Fclose(file) < 0) return host::AlreadyReported();
  return OkStatus();
}

// Another file of the shadow that has the native file `file`.
Result<void*> Reopen(void* file, hid_t dxpl, void** request) {
  void* under = nullptr;
  H5VL_file_specific_args_t args;
  args.op_type = H5VL_FILE_REOPEN;
  args.args.reopen.file = &under;
  H5ZARR_RETURN_IF_ERROR(NativeStatus(H5VLfile_specific(file, host::NativeConnector(), &args, dxpl, request)));
  return Wrap(under, H5I_FILE, nullptr);
}

// Another handle on a store that is open in this process already.
Result<void*> OpenAgain(const std::shared_ptr<StoreFile>& store, const FileName& name, unsigned flags, hid_t fapl,
                        hid_t dxpl, void** request) {
  const bool writable = (flags & H5F_ACC_RDWR) != 0;
  if (writable && !store->writable()) {
    return Status(StatusCode::kPermissionDenied,
                  "unable to open '" + ShownName(name.given) + "' for writing: it is open read-only", EAGAIN);
  }
  H5ZARR_RETURN_IF_ERROR(CheckSecondOpen(*store, store->FileLocation(), fapl, flags));
  void* file = store->FileLocation().under;
  const bool outlived = file == nullptr;
  if (outlived) {
    H5ZARR_ASSIGN_OR_RETURN(file, FileOf(store->Location()));
  }
  H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Reopen(file, dxpl, request));
  if (outlived) AsObject(wrapper)->outlived_file = file;
  return wrapper;
}

Result<void*> OpenStore(const FileName& name, unsigned flags, const Config& config, hid_t fapl, hid_t dxpl,
                        void** request) {
  const bool writable = (flags & H5F_ACC_RDWR) != 0;
  if (const auto store = GetConnector().stores.ByPath(name.path)) {
    // A forked child reads and writes the store afresh; what it inherited stays the parent's. (And stays known, as
    // the store of the objects that are opened from inherited ones. By its path the new one is found.)
    if (!store->forked()) return OpenAgain(store, name, flags, fapl, dxpl, request);
  }
  std::shared_ptr<StoreFile> rested;
  if (void* file = GetConnector().resting_store.Find(name, flags, fapl, &rested)) {
    H5ZARR_RETURN_IF_ERROR(NoteBounds(*rested, fapl));
    GetConnector().stores.Add(rested);
    Result<void*> reopened = Reopen(file, dxpl, request);
    if (!reopened.ok()) GetConnector().stores.Remove(rested.get());
    return reopened;
  }
  if (writable) H5ZARR_RETURN_IF_ERROR(RefuseFolderToRead(name));
  const auto parts = OpenParts(name, writable);
  for (const auto& part : parts) H5ZARR_RETURN_IF_ERROR(part->Save());
  H5ZARR_ASSIGN_OR_RETURN(const std::shared_ptr<StoreFile> store,
                          StoreFile::Make(name.path, name.given, false, writable, config, ExecutorFor(config.threads)));
  Result<void*> file = OpenShadow(store, flags, H5P_LST_FILE_CREATE_ID_g, fapl, dxpl, request);
  if (file.ok()) {
    for (const auto& part : parts) store->Meet(part);
    GetConnector().resting_store.NoteOpened(name, flags, fapl);
  }
  return file;
}

void* file_open(const char* given, unsigned flags, hid_t fapl, hid_t dxpl, void** request) {
  return host::GuardPointer("file_open", [&]() -> Result<void*> {
    PrepareHost();
    TraversalScope scope;
    H5ZARR_ASSIGN_OR_RETURN(const Config config, ConfigOf(fapl));
    const FileName name = ParseFileName(given);
    H5ZARR_ASSIGN_OR_RETURN(const bool probed, TakeProbed(name, fapl));
    const std::shared_ptr<RemoteFile> probed_remote = std::move(GetConnector().probed_remote);
    H5ZARR_RETURN_IF_ERROR(RefuseDocument(name));
    if (probed) H5ZARR_RETURN_IF_ERROR(WhyProbed(name));
    if (probed) return OpenView(name, flags, config, fapl, dxpl, request);
    if (name.remote && HasDefaultDriver(fapl)) {
      H5ZARR_ASSIGN_OR_RETURN(const RemoteObject object, FindRemoteFile(name, config));
      if (object.kind == StoreFileKind::kHdf5) {
        return OpenRemoteHdf5(name, object, flags, config, fapl, dxpl, request);
      }
      Result<void*> store = OpenStore(name, flags, config, fapl, dxpl, request);
      if (!store.ok()) return WhyNeither(name, object, store.status());
      return Mirrored(std::move(store), name, (flags & H5F_ACC_RDWR) != 0, config, fapl);
    }
    const bool writable = (flags & H5F_ACC_RDWR) != 0;
    H5ZARR_ASSIGN_OR_RETURN(const bool is_store, IsStoreOrNewPart(name, config));
    if (is_store) {
      return Mirrored(OpenStore(name, flags, config, fapl, dxpl, request), name, writable, config, fapl);
    }
    if (HasDefaultDriver(fapl)) {
      H5ZARR_RETURN_IF_ERROR(RefuseForeignUrl(name));
      H5ZARR_RETURN_IF_ERROR(RefuseFolder(name));
    }
    H5ZARR_ASSIGN_OR_RETURN(Handle native_fapl, NativeFapl(fapl));
    void* under = H5VLfile_open(given, flags, native_fapl.get(), dxpl, request);
    if (under == nullptr) {
      {
        host::KeepErrors keep;  // h5py reads errno from them
        native_fapl.Reset();
      }
      const Status why = WhyNoArchive(name);
      if (why.ok()) return host::AlreadyReported();
      ClearErrors();
      return why;
    }
    H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(under, H5I_FILE, nullptr));
    GetConnector().native_files.NoteOpened(under, given, fapl, config);
    return Mirrored(wrapper, name, writable, config, fapl);
  });
}

Status AnswerName(const StoreFile& store, H5VL_file_get_name_args_t* args) {
  const std::string& name = store.name();
  if (args->file_name_len != nullptr) *args->file_name_len = name.size();
  if (args->buf != nullptr && args->buf_size > 0) {
    const std::size_t bytes = std::min(name.size(), args->buf_size - 1);
    std::memcpy(args->buf, name.data(), bytes);
    args->buf[bytes] = '\0';
  }
  return OkStatus();
}

herr_t file_get(void* opaque, H5VL_file_get_args_t* args, hid_t dxpl, void** request) {
  return host::Guard("file_get", [&]() -> Status {
    Object* object = AsObject(opaque);
    if (object->store != nullptr) {
      if (args->op_type == H5VL_FILE_GET_NAME) {
        return AnswerName(*object->store, &args->args.get_name);
      }
      if (args->op_type == H5VL_FILE_GET_INTENT) {
        *args->args.get_intent.flags =
            (object->store->writable() ? H5F_ACC_RDWR : H5F_ACC_RDONLY) | object->store->access().swmr_flags;
        return OkStatus();
      }
    }
    H5ZARR_RETURN_IF_ERROR(
        NativeStatus(H5VLfile_get(object->native.under, host::NativeConnector(), args, dxpl, request)));
    if (object->store == nullptr) {
      if (args->op_type != H5VL_FILE_GET_FAPL || !IsInRemoteFile(*object)) return OkStatus();
      return HideRemoteDriver(args->args.get_fapl.fapl_id);
    }
    if (args->op_type == H5VL_FILE_GET_FAPL) {
      return AnswerFapl(*object->store, args->args.get_fapl.fapl_id);
    }
    if (args->op_type == H5VL_FILE_GET_FCPL) {
      const shadow::Json& attributes = object->store->root()->node.attributes();
      const hid_t fcpl = args->args.get_fcpl.fcpl_id;
      H5ZARR_RETURN_IF_ERROR(shadow::RestoreCreation(shadow::CreationKind::kFile, attributes, fcpl));
      return shadow::RestoreTracking(attributes, fcpl);
    }
    return OkStatus();
  });
}

Status DeleteFile(H5VL_file_specific_args_t* args, hid_t dxpl, void** request) {
  host::LoadVariables();
  H5ZARR_ASSIGN_OR_RETURN(const Config config, ConfigOf(args->args.del.fapl_id));
  const FileName name = ParseFileName(args->args.del.filename);
  if (IsMadeStore(name, config)) {
    if (GetConnector().stores.ByPath(name.path) != nullptr) {
      return Status(StatusCode::kPermissionDenied, "unable to delete '" + name.given + "': it is open", EBUSY);
    }
    H5ZARR_RETURN_IF_ERROR(RefuseOverlap(name, "delete"));
    shadow::StoresAbove above(name.path, config);
    H5ZARR_RETURN_IF_ERROR(above.InvalidateConsolidated());
    H5ZARR_RETURN_IF_ERROR(RemoveStore(name, config));
    return above.RewriteConsolidated();
  }
  H5VL_file_specific_args_t native_args = *args;
  H5ZARR_ASSIGN_OR_RETURN(Handle native_fapl, NativeFapl(args->args.del.fapl_id));
  native_args.args.del.fapl_id = native_fapl.get();
  return NativeStatus(H5VLfile_specific(nullptr, host::NativeConnector(), &native_args, dxpl, request));
}

// What is mounted is flushed with the file.
Status SaveFlushed(const Object* object, H5F_scope_t scope) {
  if (object->store != nullptr) H5ZARR_RETURN_IF_ERROR(object->store->Save());
  if (scope != H5F_SCOPE_GLOBAL || !GetConnector().has_mounts) return OkStatus();
  for (const std::shared_ptr<StoreFile>& store : GetConnector().stores.All()) {
    if (store->in_mounts()) H5ZARR_RETURN_IF_ERROR(store->Save());
  }
  return OkStatus();
}

herr_t file_specific(void* opaque, H5VL_file_specific_args_t* args, hid_t dxpl, void** request) {
  return host::Guard("file_specific", [&]() -> Status {
    Object* object = AsObject(opaque);
    switch (args->op_type) {
      case H5VL_FILE_IS_ACCESSIBLE: return AnswerAccessible(args, dxpl, request);
      case H5VL_FILE_DELETE: return DeleteFile(args, dxpl, request);
      case H5VL_FILE_IS_EQUAL:  // the other one comes unwrapped
        return NativeStatus(H5VLfile_specific(object->native.under, host::NativeConnector(), args, dxpl, request));
      case H5VL_FILE_FLUSH:
        H5ZARR_RETURN_IF_ERROR(
            NativeStatus(H5VLfile_specific(object->native.under, host::NativeConnector(), args, dxpl, request)));
        H5ZARR_RETURN_IF_ERROR(SaveFlushed(object, args->args.flush.scope));
        return GetMirroredFiles().AfterFlush(*object);
      case H5VL_FILE_REOPEN: {
        H5ZARR_RETURN_IF_ERROR(
            NativeStatus(H5VLfile_specific(object->native.under, host::NativeConnector(), args, dxpl, request)));
        if (*args->args.reopen.file == nullptr) return OkStatus();
        if (object->store == nullptr) {
          GetConnector().native_files.NoteReopened(*args->args.reopen.file);
        }
        GetMirroredFiles().NoteReopened(*args->args.reopen.file);
        H5ZARR_ASSIGN_OR_RETURN(*args->args.reopen.file, Wrap(*args->args.reopen.file, H5I_FILE, object));
        return OkStatus();
      }
    }
    return UnsupportedError("file operation " + std::to_string(args->op_type));
  });
}

// Whether HDF5 holds the shadow for a file of the native connector: HDF5 1.14 does when it came upon us
// by its probe, no connector having been named.
bool BelongsToNative(const Object* file) {
  if (host::HostVersion().major >= 2) return false;  // there it is a view: the list, made anew, is not cheap
  H5VL_file_get_args_t args;
  args.op_type = H5VL_FILE_GET_FAPL;
  if (H5VLfile_get(file->native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return false;
  }
  const Handle fapl(args.args.get_fapl.fapl_id);
  return ConnectorIsNative(fapl.get());
}

// A store may be read while it is written by anyone: that one writer announces itself changes nothing
// but what the file says of itself. Readers may come from now on, and find what was made so far, as in HDF5, which
// flushes the file here.
Status StartSwmrWrite(const Object& object) {
  StoreFile& store = *object.store;
  if (!store.writable()) {
    return PermissionDeniedError("no write intent on '" + store.name() + "': it was opened read-only");
  }
  if (store.access().swmr_flags != 0) {
    return InvalidArgumentError("'" + store.name() + "' is in single-writer mode already");
  }
  H5ZARR_RETURN_IF_ERROR(SaveFlushed(&object, H5F_SCOPE_LOCAL));
  store.access().swmr_flags = H5F_ACC_SWMR_WRITE;
  return GetMirroredFiles().AfterFlush(object);
}

// What of a file's own questions has another answer in a store than in its shadow. True when it has.
Result<bool> AnswerForStore(Object* object, H5VL_optional_args_t* args) {
  auto* native = static_cast<H5VL_native_file_optional_args_t*>(args->args);
  switch (args->op_type) {
    case H5VL_NATIVE_FILE_GET_SIZE: {
      H5ZARR_ASSIGN_OR_RETURN(*native->get_size.size, object->store->StoredBytes());
      return true;
    }
    case H5VL_NATIVE_FILE_GET_FREE_SPACE: *native->get_freespace.size = 0; return true;
    case H5VL_NATIVE_FILE_GET_FREE_SECTIONS: *native->get_free_sections.sect_count = 0; return true;
    case H5VL_NATIVE_FILE_SET_LIBVER_BOUNDS:
      // The shadow keeps its own: only what is asked of the file again.
      object->store->set_format_bounds({native->set_libver_bounds.low, native->set_libver_bounds.high});
      return true;
    case H5VL_NATIVE_FILE_START_SWMR_WRITE: H5ZARR_RETURN_IF_ERROR(StartSwmrWrite(*object)); return true;
    case H5VL_NATIVE_FILE_GET_FILE_IMAGE: return UnsupportedError("a Zarr store has no file image");
    case H5VL_NATIVE_FILE_GET_VFD_HANDLE:
      return UnsupportedError("a Zarr store is a folder: there is no one file to have a handle of");
    case H5VL_NATIVE_FILE_GET_EOA:
    case H5VL_NATIVE_FILE_INCR_FILESIZE: return UnsupportedError("a Zarr store is a folder: it has no end of file");
    default: return false;
  }
}

herr_t file_optional(void* opaque, H5VL_optional_args_t* args, hid_t dxpl, void** request) {
  Object* object = AsObject(opaque);
  if (args->op_type == H5VL_NATIVE_FILE_POST_OPEN) {
    GetConnector().post_open = object->store != nullptr && BelongsToNative(object) ? Connector::PostOpen::kForNative
                                                                                   : Connector::PostOpen::kForUs;
    const herr_t result = H5VLfile_optional(object->native.under, host::NativeConnector(), args, dxpl, request);
    GetConnector().post_open = Connector::PostOpen::kNo;
    void* const outlived = std::exchange(object->outlived_file, nullptr);
    if (result < 0 || outlived == nullptr) return result;
    return host::Guard("file_optional", [&] { return LetGoOfFile(outlived); });
  }
  if (object->store != nullptr) {
    bool answered = false;
    const herr_t result = host::Guard("file_optional", [&]() -> Status {
      H5ZARR_ASSIGN_OR_RETURN(answered, AnswerForStore(object, args));
      return OkStatus();
    });
    if (answered || result < 0) return result;
    object->store->NoteOddity();  // what is asked natively may be to set something
  }
  return H5VLfile_optional(object->native.under, host::NativeConnector(), args, dxpl, request);
}

herr_t file_close(void* opaque, hid_t dxpl, void** request) {
  const Object& object = *AsObject(opaque);
  NativeFiles& native_files = GetConnector().native_files;
  MirroredFiles& mirrored_files = GetMirroredFiles();
  const auto mirrored = mirrored_files.NumberOf(object);
  if (mirrored && !host::HostIsTerminating()) {
    const herr_t result = host::Guard("file_close", [&] { return mirrored_files.BeforeClose(object); });
    if (result < 0) return result;
  }
  const auto native = object.store == nullptr ? native_files.NumberOf(object.native.under) : std::nullopt;
  if (native) native_files.NoteClosing(*native);
  host::Guard("file_close", [&] {
    GetConnector().resting_store.NoteClosing(object);
    return OkStatus();
  });
  const herr_t closed = CloseObject("file_close", opaque, H5VLfile_close, dxpl, request);
  if (mirrored && closed >= 0) mirrored_files.NoteClosed(*mirrored);
  return closed;
}

}  // namespace

bool IsStorePath(const std::string& path) { return IsStore(path, GetConnector().environment_config); }

const H5VL_file_class_t kFileClass = {file_create, file_open, file_get, file_specific, file_optional, file_close};

}  // namespace h5zarr
