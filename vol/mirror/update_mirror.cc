#include "mirror/update_mirror.h"

#include <memory>

#include "h5/connector.h"
#include "host/host_api.h"
#include "mirror/hdf5_read.h"
#include "mirror/mirror.h"
#include "mirror/mirror_state.h"
#include "mirror/versions.h"
#include "store/local_store.h"

namespace h5zarr::mirror {
namespace {

// How many threads may work: as the file's configuration says. At the program's end those of a pool may be gone.
Result<int> ThreadsFor(const MirroredFile& file) {
  if (host::HostIsTerminating()) return 1;
  H5ZARR_ASSIGN_OR_RETURN(const Config config, ConfigOf(file.fapl));
  return config.threads;
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
  if (file.destination.find("://") != std::string::npos) {
    return UnsupportedError("'" + file.destination + "': only folders can hold a mirror");
  }
  LocalStoreOptions durably;
  durably.durable = true;
  const std::unique_ptr<Store> store = MakeLocalStore(file.destination, durably);
  OpenedFile source;
  source.name = file.path;
  source.file = Handle(H5Fopen(file.path.c_str(), H5F_ACC_RDONLY, file.fapl));
  if (!source.file.valid() || H5Fflush(source.file.get(), H5F_SCOPE_GLOBAL) < 0) {
    return Hdf5Error("'" + file.path + "'");
  }
  H5ZARR_ASSIGN_OR_RETURN(const bool versioned, HasVersions(source.file.get()));
  H5ZARR_ASSIGN_OR_RETURN(const int threads, ThreadsFor(file));
  if (versioned) {
    MirrorOptions options;
    options.threads = threads;
    return Mirror(source.file.get(), store.get(), options).status();
  }
  source.root = Handle(H5Gopen2(source.file.get(), "/", H5P_DEFAULT));
  if (!source.root.valid()) return Hdf5Error("'" + file.path + "'");
  StateOptions options;
  if (threads > 0) options.config = "threads=" + std::to_string(threads);
  return MirrorState(source, store.get(), options).status();
}

}  // namespace h5zarr::mirror
