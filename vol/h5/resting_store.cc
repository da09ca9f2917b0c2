#include "h5/resting_store.h"

#include <algorithm>
#include <utility>

#include "h5/connector.h"
#include "h5zarr/h5zarr.h"
#include "host/host_api.h"
#include "location/location.h"
#include "shadow/node_state.h"

namespace h5zarr {
namespace {

// Where only some files are opened through us, programs may unregister the connector between them. A shadow would
// keep it.
bool IsDefaultConnector() {
  hid_t connector = H5I_INVALID_HID;
  if (H5Pget_vol_id(H5P_LST_FILE_ACCESS_ID_g, &connector) < 0) return false;
  const Handle held(connector);
  H5VL_class_value_t value = -1;
  return H5VLget_value(connector, &value) >= 0 && value == H5ZARR_CONNECTOR_VALUE;
}

// Whether the store at `path`, one around it or a part of it is open for writing: not all of it may be saved.
bool IsWritten(const std::string& path) {
  const auto stores = GetConnector().stores.All();
  return std::any_of(stores.begin(), stores.end(), [&](const auto& store) {
    const std::string& other = store->path();
    return store->writable() && (other == path || shadow::IsBelow(other, path) || shadow::IsBelow(path, other));
  });
}

}  // namespace

void RestingStore::NoteOpened(const FileName& name, unsigned flags, hid_t fapl) {
  const host::KeepErrors keep;
  const bool again = name.path == path_ && name.given == given_;
  if (!again) may_rest_ = true;
  Drop();
  path_.clear();
  if (flags != H5F_ACC_RDONLY || name.remote || !IsDefaultConnector()) return;
  path_ = name.path;
  given_ = name.given;
  if (again && may_rest_) fapl_ = Handle(H5Pcopy(fapl));
}

void RestingStore::NoteClosing(const Object& file) {
  shadow::StoreFile* const store = file.store.get();
  if (store == nullptr || store->path() != path_ || !file.counted || store->open_objects() != 1) return;
  may_rest_ = store->MayRest();
  if (!may_rest_ || !fapl_.valid() || host::HostIsTerminating()) return;
  const host::KeepErrors keep;
  if (store_ != file.store) {
    H5VL_file_specific_args_t args;
    void* reopened = nullptr;
    args.op_type = H5VL_FILE_REOPEN;
    args.args.reopen.file = &reopened;
    if (H5VLfile_specific(file.native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
      return;
    }
    file_ = host::NativeHandle(reopened, H5I_FILE);
    store_ = file.store;
  }
  store->Rest();
}

void* RestingStore::Find(const FileName& name, unsigned flags, hid_t fapl, std::shared_ptr<shadow::StoreFile>* store) {
  if (store_ == nullptr || name.path != path_) return nullptr;
  const host::KeepErrors keep;
  if (name.given == given_ && flags == H5F_ACC_RDONLY && store_->MayRest() && !IsWritten(path_) &&
      H5Pequal(fapl_.get(), fapl) > 0 && IsPlainFolder(path_) && store_->IsStillStored()) {
    store_->Rest();  // objects may have outlived the file, and read
    *store = store_;
    return file_.get();
  }
  Drop();
  return nullptr;
}

void RestingStore::Drop() {
  const host::KeepErrors keep;
  fapl_.Reset();
  if (store_ == nullptr) return;
  going_.emplace_back(std::move(store_), std::move(file_));
  CloseWhatGoes();
}

void RestingStore::CloseWhatGoes() {
  if (going_.empty()) return;
  const host::KeepErrors keep;
  std::erase_if(going_, [](const auto& going) { return going.first->open_objects() == 0; });
}

void RestingStore::LetGoOf(const shadow::StoreFile& store) {
  const auto close = [](host::NativeHandle file) {
    // With an identifier HDF5 closes it at any time.
    const host::KeepErrors keep;
    const hid_t id = H5VLwrap_register(file.get(), H5I_FILE);
    if (id < 0) return;
    file.Release();
    H5Fclose(id);
  };
  if (store_.get() == &store) {
    store_.reset();
    close(std::move(file_));
  }
  for (auto& [going, file] : std::exchange(going_, {})) {
    if (going.get() == &store) {
      close(std::move(file));
    } else {
      going_.emplace_back(std::move(going), std::move(file));
    }
  }
}

void RestingStore::DropAt(const std::string& path) {
  if (store_ != nullptr && path == path_) Drop();
}

void RestingStore::Forget() {
  file_.Release();
  for (auto& [store, file] : going_) file.Release();
  going_.clear();
  store_.reset();
  fapl_.Release();
  path_.clear();
}

}  // namespace h5zarr
