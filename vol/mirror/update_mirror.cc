#include "mirror/update_mirror.h"

#include <memory>

#include "h5/connector.h"
#include "host/host_api.h"
#include "mirror/hdf5_read.h"
#include "mirror/mirror.h"
#include "mirror/mirror_state.h"
#include "mirror/open_place.h"
#include "mirror/versions.h"

namespace h5zarr::mirror {
namespace {

// As the file's configuration says, but for how much may work: at the program's end the threads of a pool may be gone.
Result<Config> ConfigFor(const MirroredFile& file) {
  H5ZARR_ASSIGN_OR_RETURN(Config config, ConfigOf(file.fapl));
  if (host::HostIsTerminating()) config.threads = 1;
  return config;
}

}  // namespace

Result<bool> HasVersions(hid_t file) {
  uint64_t token = 0;
  if (StoreOf(file, &token) != nullptr) return false;
  const std::string path(kVersionsPath);
  // Asked of every part: H5Lexists fails where a group on the way is missing.
  for (const std::string& part : {path.substr(0, path.rfind('/')), path}) {
    const htri_t exists = H5Lexists(file, part.c_str(), H5P_DEFAULT);
    if (exists < 0) return Hdf5Error("'" + part + "'");
    if (exists == 0) return false;
  }
  return true;
}

Status UpdateMirror(const MirroredFile& file) {
  H5ZARR_ASSIGN_OR_RETURN(const Config config, ConfigFor(file));
  H5ZARR_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenMirrorPlace(file.destination, true, config));
  OpenedFile source;
  source.name = file.path;
  source.file = Handle(H5Fopen(file.path.c_str(), H5F_ACC_RDONLY, file.fapl));
  if (!source.file.valid() || H5Fflush(source.file.get(), H5F_SCOPE_GLOBAL) < 0) {
    return Hdf5Error("'" + file.path + "'");
  }
  H5ZARR_ASSIGN_OR_RETURN(const bool versioned, HasVersions(source.file.get()));
  if (versioned) {
    MirrorOptions options;
    options.threads = config.threads;
    return Mirror(source.file.get(), store.get(), options).status();
  }
  source.root = Handle(H5Gopen2(source.file.get(), "/", H5P_DEFAULT));
  if (!source.root.valid()) return Hdf5Error("'" + file.path + "'");
  StateOptions options;
  if (config.threads > 0) options.config = "threads=" + std::to_string(config.threads);
  return MirrorState(source, store.get(), options).status();
}

}  // namespace h5zarr::mirror
