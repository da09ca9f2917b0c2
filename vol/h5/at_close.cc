#include "h5/at_close.h"

#include <cstdio>
#include <set>
#include <vector>

#include "h5/connector.h"
#include "h5/mirrored_files.h"
#include "h5zarr/h5zarr.h"

namespace h5zarr {
namespace {

bool IsOurs(hid_t file) {
  const hid_t connector = H5VLget_connector_id(file);
  if (connector < 0) return false;
  H5VL_class_value_t value = -1;
  const herr_t asked = H5VLget_value(connector, &value);
  H5VLclose(connector);
  return asked >= 0 && value == H5ZARR_CONNECTOR_VALUE;
}

std::vector<hid_t> OpenIn(hid_t file, unsigned kinds) {
  const ssize_t count = H5Fget_obj_count(file, kinds);
  if (count <= 0) return {};
  std::vector<hid_t> found(static_cast<std::size_t>(count), H5I_INVALID_HID);
  if (H5Fget_obj_ids(file, kinds, found.size(), found.data()) < 0) return {};
  return found;
}

// Lets go of every reference that the program holds. False when something is in the way.
bool CloseWholly(hid_t identifier) {
  for (int references = H5Iget_ref(identifier); references > 0; --references) {
    if (H5Idec_ref(identifier) < 0) return false;
  }
  return true;
}

// Closes all identifiers but one of each file of ours. When HDF5 1.14 closes one of several that are open
// for writing, it searches all identifiers of files for it, also those it has just freed, and does not
// survive what it then asks a connector of them (nor its own, for files of close degree semi).
void CloseRepeatedFiles() {
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  std::set<unsigned long> left_open;
  for (const hid_t file : OpenIn(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_FILE)) {
    unsigned long number = 0;
    if (!IsOurs(file) || H5Fget_fileno(file, &number) < 0 || left_open.insert(number).second) continue;
    if (CloseWholly(file)) continue;
    for (const hid_t object : OpenIn(file, H5F_OBJ_LOCAL | (H5F_OBJ_ALL & ~H5F_OBJ_FILE))) {
      CloseWholly(object);
    }
    CloseWholly(file);
  }
}

void SaveStores() {
  for (const std::shared_ptr<shadow::StoreFile>& store : GetConnector().stores.All()) {
    const Status saved = host::CatchAll([&] { return store->SaveForClose(); });
    if (!saved.ok()) {
      std::fprintf(stderr, "h5zarr: '%s' could not be saved at exit: %s\n", store->name().c_str(),
                   saved.message().c_str());
    }
  }
}

void AtClose(void*) {
  RunSerially();
  host::Guard("at_close", [] {
    GetConnector().resting_store.Drop();
    GetConnector().resting_image.reset();
    SaveStores();
    GetMirroredFiles().UpdateAll();
    CloseRepeatedFiles();
    return OkStatus();
  });
  ForgetLibrary();
}

}  // namespace

void RegisterAtClose() {
  bool& registered = GetConnector().registered_at_close;
  if (!registered) registered = H5atclose(AtClose, nullptr) >= 0;
}

}  // namespace h5zarr
