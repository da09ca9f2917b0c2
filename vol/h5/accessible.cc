#include "h5/accessible.h"

#include <memory>
#include <optional>

#include "h5/connector.h"
#include "h5/file_access.h"
#include "h5/file_name.h"
#include "h5/name_refusal.h"
#include "h5/remote_open.h"
#include "h5/view_file.h"
#include "host/host_api.h"
#include "location/location.h"

namespace h5zarr {

bool ConnectorIsNative(hid_t fapl) {
  hid_t connector = H5I_INVALID_HID;
  if (H5Pget_vol_id(fapl, &connector) < 0) return false;
  H5VL_class_value_t value = -1;
  const herr_t asked = H5VLget_value(connector, &value);
  H5VLclose(connector);
  return asked >= 0 && value == H5VL_NATIVE_VALUE;
}

namespace {

// Whether the question is HDF5's own: after a failed open it asks every plugin it finds, whoever never
// heard of us. The failure's records must then survive, and a "no" must be silent.
bool IsProbe(hid_t fapl) {
  host::KeepErrors keep;
  void* info = nullptr;
  if (H5Pget_vol_info(fapl, &info) < 0) return false;
  const std::unique_ptr<ConnectorInfo> named(static_cast<ConnectorInfo*>(info));
  return named == nullptr && ConnectorIsNative(H5P_LST_FILE_ACCESS_ID_g);
}

bool IsOnThisMachine(const FileName& name, const Config& config) {
  const StoreFileKind kind = FindStoreFile(name.path);
  return HasRootDocument(name.path) || FindIcechunk(name.path) || kind == StoreFileKind::kReferences ||
         ((kind != StoreFileKind::kNone || IsFolder(name.path)) && IsStore(name.path, config));
}

// Whether file_open has more to say than HDF5 had. A URL is asked for then, and not twice.
bool IsForOpenToSay(const FileName& name, hid_t fapl) {
  return HasDefaultDriver(fapl) && (name.remote || !WhyProbed(name).ok());
}

bool IsOurs(const FileName& name, bool probe, hid_t fapl) {
  if (probe && IsForOpenToSay(name, fapl)) return true;
  // (A bad setting is reported by the open.)
  const Result<Config> asked = ConfigOf(fapl);
  const Config config = asked.ok() ? *asked : Config();
  return name.remote ? IsRemoteAccessible(name, config) : IsOnThisMachine(name, config);
}

}  // namespace

Status AnswerAccessible(H5VL_file_specific_args_t* args, hid_t dxpl, void** request) {
  host::LoadVariables();
  const auto& question = args->args.is_accessible;
  const FileName name = ParseFileName(question.filename);
  const bool probe = IsProbe(question.fapl_id);
  std::optional<host::KeepErrors> keep;
  if (probe) keep.emplace();
  if (IsOurs(name, probe, question.fapl_id)) {
    *question.accessible = true;
    if (probe && host::HostVersion().major >= 2) NoteProbed(name);
    return OkStatus();
  }
  H5VL_file_specific_args_t native_args = *args;
  H5ZARR_ASSIGN_OR_RETURN(const Handle native_fapl, NativeFapl(question.fapl_id));
  native_args.args.is_accessible.fapl_id = native_fapl.get();
  const herr_t result = H5VLfile_specific(nullptr, host::NativeConnector(), &native_args, dxpl, request);
  if (result >= 0) return OkStatus();
  if (!probe) return host::AlreadyReported();
  *question.accessible = false;
  return OkStatus();
}

}  // namespace h5zarr
