#include "tools/hdf5_files.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "h5/connector.h"
#include "h5/file_name.h"
#include "host/host_api.h"
#include "location/location.h"
#include "mirror/hdf5_read.h"
#include "mirror/versions.h"
#include "store/url.h"

namespace h5zarr::tools {
namespace {

using mirror::Hdf5Error;

constexpr char kConnectorVariable[] = "HDF5_VOL_CONNECTOR";

// Never closed: files may be open until the end.
hid_t connector_id = H5I_INVALID_HID;

bool IsThere(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

// "FILE@VERSION" taken apart where FILE is a file and the whole is none; else the name, and no version.
std::pair<std::string, std::string> SplitVersion(const std::string& name) {
  if (IsRemoteName(name) || IsThere(name)) return {name, ""};
  for (std::size_t at = name.rfind('@'); at != std::string::npos && at > 0; at = name.rfind('@', at - 1)) {
    const std::string file = name.substr(0, at);
    if (IsThere(file) && !IsFolder(file)) return {file, name.substr(at + 1)};
  }
  return {name, ""};
}

}  // namespace

Status BindHdf5() {
  // A connector that is set for others would make HDF5 load the plugin, which is not needed here.
  const char* const set = std::getenv(kConnectorVariable);
  std::optional<std::string> connector;
  if (set != nullptr) connector = set;
  unsetenv(kConnectorVariable);
  // The forwarders are hidden: this finds the library's.
  void* const open = dlsym(RTLD_DEFAULT, "H5open");
  if (open == nullptr || host::BindOrFindImage(open, ConnectorClass(), nullptr) == nullptr) {
    return UnsupportedError("the HDF5 library of this program cannot be used");
  }
  if (reinterpret_cast<herr_t (*)()>(open)() < 0) return InternalError("HDF5 cannot be initialised");
  if (connector) setenv(kConnectorVariable, connector->c_str(), 1);
  host::LoadVariables();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  connector_id = H5VLregister_connector(ConnectorClass(), H5P_DEFAULT);
  if (connector_id < 0) return Hdf5Error("the connector");
  if (!RegisterLzf()) return InternalError("HDF5 does not take a filter");
  return OkStatus();
}

Result<OpenedFile> OpenAny(const std::string& name, const std::string& config) {
  OpenedFile opened;
  opened.name = name;
  const auto [path, version] = SplitVersion(name);
  H5ZARR_ASSIGN_OR_RETURN(const Handle fapl, mirror::ConnectorFapl(config));
  opened.file = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, fapl.get()));
  if (!opened.file.valid()) {
    const Status why = Hdf5Error("'" + ShownName(name) + "'");
    if (IsRemoteName(path) || IsThere(path) || FindIcechunk(ParseFileName(path.c_str()).path)) return why;
    return NotFoundError("'" + name + "' is not there");
  }
  std::string root = "/";
  if (!version.empty()) {
    root = std::string(mirror::kVersionsPath) + "/" + version;
    opened.is_version = true;
  }
  opened.root = Handle(H5Gopen2(opened.file.get(), root.c_str(), H5P_DEFAULT));
  if (opened.root.valid()) return opened;
  const Status why = Hdf5Error("'" + ShownName(name) + "'");
  if (version.empty()) return why;
  return NotFoundError("'" + path + "' has no version '" + version + "'");
}

Result<Handle> OpenNative(const std::string& name) {
  Handle file(H5Fopen(name.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  if (!file.valid()) return Hdf5Error("'" + name + "'");
  return file;
}

Result<Handle> CreateFile(const std::string& name, const std::string& config, hid_t fcpl) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle fapl, mirror::ConnectorFapl(config));
  // Attributes of more than 64 KiB, orders of creation: HDF5 1.8 has them.
  if (H5Pset_libver_bounds(fapl.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST) < 0) {
    return Hdf5Error("'" + name + "'");
  }
  Handle file(H5Fcreate(name.c_str(), H5F_ACC_EXCL, fcpl, fapl.get()));
  if (!file.valid()) return Hdf5Error("'" + name + "'");
  return file;
}

bool IsRemote(const std::string& name) { return name.find("://") != std::string::npos; }

void RemoveStore(const std::string& name) {
  const auto fapl = mirror::ConnectorFapl("");
  if (fapl.ok()) H5Fdelete(name.c_str(), fapl->get());
  H5Eclear2(H5E_DEFAULT);
}

int ZarrFormatOf(hid_t file) {
  uint64_t root = 0;
  const auto store = mirror::StoreOf(file, &root);
  return store != nullptr ? store->config().zarr_format : 0;
}

Status CloseWritten(Handle file, const std::string& name) {
  if (H5Fclose(file.Release()) < 0) return Hdf5Error("'" + name + "'");
  return OkStatus();
}

}  // namespace h5zarr::tools
