#include "view/by_connector.h"

#include <utility>

#include "h5zarr/h5zarr.h"
#include "host/error_stack.h"
#include "host/native.h"

namespace h5zarr::view {
namespace {

struct OpenDataset {
  Handle file;
  Handle dataset;
};

Result<OpenDataset> Open(const shadow::StoreFile& store, const std::string& path) {
  const hid_t connector = H5VLget_connector_id_by_value(static_cast<H5VL_class_value_t>(H5ZARR_CONNECTOR_VALUE));
  if (connector < 0) return host::AlreadyReported();
  const Handle fapl(H5Pcopy(H5P_LST_FILE_ACCESS_ID_g));
  const bool set = fapl.valid() && H5Pset_vol(fapl.get(), connector, nullptr) >= 0;
  H5VLclose(connector);
  if (!set) return host::AlreadyReported();
  OpenDataset open;
  open.file = Handle(H5Fopen(store.path().c_str(), H5F_ACC_RDONLY, fapl.get()));
  if (!open.file.valid()) return host::AlreadyReported();
  open.dataset = Handle(H5Oopen(open.file.get(), ("/" + path).c_str(), H5P_DEFAULT));
  if (!open.dataset.valid()) return host::AlreadyReported();
  return open;
}

}  // namespace

Result<Handle> SpaceByConnector(const shadow::StoreFile& store, const std::string& path) {
  H5ZARR_ASSIGN_OR_RETURN(const OpenDataset open, Open(store, path));
  Handle space(H5Dget_space(open.dataset.get()));
  if (!space.valid()) return host::AlreadyReported();
  return space;
}

Status ReadByConnector(const shadow::StoreFile& store, const std::string& path, hid_t mem_type, hid_t mem_space,
                       hid_t file_space, void* buffer) {
  H5ZARR_ASSIGN_OR_RETURN(OpenDataset open, Open(store, path));
  if (H5Dread(open.dataset.get(), mem_type, mem_space, file_space, H5P_DEFAULT, buffer) >= 0) {
    return OkStatus();
  }
  const host::KeepErrors keep;
  open.dataset.Reset();
  open.file.Reset();
  return host::AlreadyReported();
}

}  // namespace h5zarr::view
