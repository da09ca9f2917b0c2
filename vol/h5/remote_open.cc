#include "h5/remote_open.h"

#include "h5/connector.h"
#include "h5/file_access.h"
#include "store/url.h"
#include "transfer/remote_vfd.h"

namespace h5zarr {

Result<RemoteObject> FindRemoteFile(const FileName& name, const Config& config) {
  // (As it was given: a '/' at the end may be part of an object's name.)
  return FindRemoteFile(name.given, config);
}

bool IsRemoteAccessible(const FileName& name, const Config& config) {
  const Result<RemoteObject> object = FindRemoteFile(name, config);
  if (object.ok()) GetConnector().probed_remote = object->file;
  return object.ok() && (object->kind == StoreFileKind::kHdf5 || IsStore(name.path, config));
}

// What is said is of the name that was given, where it need not be a store's.
Status WhyNeither(const FileName& name, const RemoteObject& object, const Status& why) {
  if (why.code() == StatusCode::kPermissionDenied && !object.denied.ok()) return object.denied;
  if (why.code() != StatusCode::kNotFound || name.looks_like_zarr) return why;
  return NotFoundError(why.message() + ", nor a file");
}

Result<void*> OpenRemoteHdf5(const FileName& name, const RemoteObject& object, unsigned flags, const Config& config,
                             hid_t fapl, hid_t dxpl, void** request) {
  if ((flags & H5F_ACC_RDWR) != 0) {
    return PermissionDeniedError("'" + ShownName(name.given) + "': remote HDF5 files can only be read");
  }
  H5ZARR_ASSIGN_OR_RETURN(Handle native_fapl, NativeFapl(fapl));
  H5ZARR_RETURN_IF_ERROR(transfer::SetRemoteDriver(native_fapl.get(), name.given, object.file));
  void* under = H5VLfile_open(name.given.c_str(), flags, native_fapl.get(), dxpl, request);
  if (under == nullptr) {
    host::KeepErrors keep;  // h5py reads errno from them
    native_fapl.Reset();
    return host::AlreadyReported();
  }
  H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(under, H5I_FILE, nullptr));
  GetConnector().native_files.NoteOpened(under, object.file, config);
  return wrapper;
}

Status HideRemoteDriver(hid_t fapl) {
  if (!transfer::IsRemoteDriver(H5Pget_driver(fapl))) return OkStatus();
  const hid_t driver = H5Pget_driver(H5P_LST_FILE_ACCESS_ID_g);
  return H5Pset_driver(fapl, driver, nullptr) < 0 ? host::AlreadyReported() : OkStatus();
}

}  // namespace h5zarr
