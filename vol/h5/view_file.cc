#include "h5/view_file.h"

#include <cerrno>
#include <memory>
#include <string>

#include "h5/connector.h"
#include "h5/name_refusal.h"
#include "h5/remote_open.h"
#include "host/host_api.h"
#include "location/location.h"
#include "store/url.h"
#include "view/build.h"
#include "view/image_driver.h"

namespace h5zarr {
namespace {

// `what` the name is, and how far this HDF5 gets with it by itself.
Status Advice(const FileName& name, const std::string& what, const std::string& how_far) {
  const host::Version version = host::HostVersion();
  return Status(StatusCode::kUnsupported,
                "'" + ShownName(name.given) + "' is " + what + ", and HDF5 " + std::to_string(version.major) + "." +
                    std::to_string(version.minor) + " opens it by itself " + how_far + ": " +
                    std::string(view::kAdvice),
                ENOTSUP);
}

// The names that stand in a remote HDF5 file are the connector's to resolve: HDF5 would look for them among
// files of this machine.
Status RefuseRemoteHdf5(const FileName& name, const RemoteObject& object) {
  if (object.kind != StoreFileKind::kHdf5) return OkStatus();
  return Advice(name, "a remote HDF5 file", "not at all");
}

// Nobody may write some of them, whatever variables say.
Status RefuseToWrite(const FileName& name, const Config& config) {
  H5ZARR_RETURN_IF_ERROR(RefuseFolderToRead(name));
  H5ZARR_RETURN_IF_ERROR(OpenLocation(name.path, true, config).status());
  return Advice(name, "a Zarr store", "for reading only");
}

// Whether an image that was made before shows what is to be opened. One that is open does, whatever
// has become of the store; but what kept a part from it may have passed.
bool MayServe(view::Image* image, const FileName& name) {
  if (image->is_open()) return !image->is_partial();
  return image->store().name() == name.given && IsPlainFolder(name.path) && image->IsStillStored();
}

Result<std::shared_ptr<view::Image>> ImageOf(const FileName& name, const Config& config) {
  std::weak_ptr<view::Image>& kept = GetConnector().images[name.path];
  if (std::shared_ptr<view::Image> made = kept.lock(); made && MayServe(made.get(), name)) {
    return made;
  }
  GetConnector().resting_image.reset();
  H5ZARR_ASSIGN_OR_RETURN(
      std::shared_ptr<shadow::StoreFile> store,
      shadow::StoreFile::Make(name.path, name.given, false, false, config, ExecutorFor(config.threads)));
  H5ZARR_ASSIGN_OR_RETURN(std::shared_ptr<view::Image> image, view::MakeImage(std::move(store)));
  kept = image;
  if (!name.remote && image->MayRest()) GetConnector().resting_image = image;
  return image;
}

}  // namespace

void NoteProbed(const FileName& name) { GetConnector().probed_store = name.path; }

Result<bool> TakeProbed(const FileName& name, hid_t fapl) {
  std::string probed;
  probed.swap(GetConnector().probed_store);
  if (probed.empty() || probed != name.path) return false;
  void* info = nullptr;
  if (H5Pget_vol_info(fapl, &info) < 0) return host::AlreadyReported();
  const std::unique_ptr<ConnectorInfo> named(static_cast<ConnectorInfo*>(info));
  return named == nullptr;
}

Result<void*> OpenView(const FileName& name, unsigned flags, const Config& config, hid_t fapl, hid_t dxpl,
                       void** request) {
  RemoteObject object;  // kept while the store is opened, which then need not ask again
  if (name.remote) {
    H5ZARR_ASSIGN_OR_RETURN(object, FindRemoteFile(name, config));
    H5ZARR_RETURN_IF_ERROR(RefuseRemoteHdf5(name, object));
  }
  const bool to_write = (flags & H5F_ACC_RDWR) != 0;
  if (to_write && (!name.remote || IsStore(name.path, config))) return RefuseToWrite(name, config);
  const Result<std::shared_ptr<view::Image>> made = ImageOf(name, config);
  if (!made.ok()) return name.remote ? WhyNeither(name, object, made.status()) : made.status();
  const std::shared_ptr<view::Image>& image = *made;
  H5ZARR_ASSIGN_OR_RETURN(const Handle image_fapl, view::ImageFapl(fapl, image));
  // (Nobody writes an image: there is no writer whose steps to follow.)
  void* file =
      H5VLfile_open(image->store().name().c_str(), flags & ~H5F_ACC_SWMR_READ, image_fapl.get(), dxpl, request);
  if (file == nullptr) return host::AlreadyReported();
  return file;
}

}  // namespace h5zarr
