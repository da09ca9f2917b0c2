// External links. HDF5's own class opens a target with the parent's driver, which for a store is the
// shadow's; ours opens it as the program would, through this connector. It takes the place of HDF5's
// class for the whole process, so parents that are not ours are refused rather than answered wrongly.

#include <cstring>
#include <string>
#include <vector>

#include "h5/connector.h"
#include "h5/target_file.h"
#include "h5zarr/h5zarr.h"
#include "store/url.h"

namespace h5zarr {
namespace {

std::string NameOfFile(hid_t id) {
  const ssize_t length = H5Fget_name(id, nullptr, 0);
  if (length < 0) return "";
  std::string name(length + 1, '\0');
  H5Fget_name(id, name.data(), name.size());
  name.resize(length);
  return name;
}

std::string ElinkPrefix(hid_t lapl) {
  const ssize_t length = H5Pget_elink_prefix(lapl, nullptr, 0);
  if (length <= 0) return "";
  std::string prefix(length + 1, '\0');
  H5Pget_elink_prefix(lapl, prefix.data(), prefix.size());
  prefix.resize(length);
  return prefix;
}

// How the target is to be opened: the link access list's own wishes, else as the parent is.
struct TargetAccess {
  Handle fapl;
  unsigned flags = H5F_ACC_RDONLY;
};

unsigned AccessFlags(unsigned flags) { return flags & (H5F_ACC_RDWR | H5F_ACC_SWMR_READ | H5F_ACC_SWMR_WRITE); }

Result<TargetAccess> AccessOf(hid_t group, hid_t parent_file, hid_t lapl, const std::string& parent,
                              const char* target_file, const char* target_path) {
  TargetAccess access;
  unsigned flags = H5F_ACC_DEFAULT;
  if (H5Pget_elink_acc_flags(lapl, &flags) < 0) return host::AlreadyReported();
  if (flags == H5F_ACC_DEFAULT) {
    if (H5Fget_intent(parent_file, &flags) < 0) return host::AlreadyReported();
    flags = AccessFlags(flags);
  }
  const hid_t wished = H5Pget_elink_fapl(lapl);
  if (wished >= 0 && wished != H5P_DEFAULT) {
    access.fapl = Handle(wished);
  } else {
    access.fapl = Handle(H5Fget_access_plist(parent_file));
    // The parent's own driver may be one that only fits the parent.
    const hid_t driver = H5Pget_driver(H5P_LST_FILE_ACCESS_ID_g);
    if (!access.fapl.valid() || H5Pset_driver(access.fapl.get(), driver, nullptr) < 0) {
      return host::AlreadyReported();
    }
  }
  H5L_elink_traverse_t operator_function = nullptr;
  void* operator_data = nullptr;
  if (H5Pget_elink_cb(lapl, &operator_function, &operator_data) < 0) {
    return host::AlreadyReported();
  }
  if (operator_function != nullptr) {
    const ssize_t length = H5Iget_name(group, nullptr, 0);
    std::string group_name(length > 0 ? length + 1 : 1, '\0');
    if (length > 0) H5Iget_name(group, group_name.data(), group_name.size());
    if (operator_function(parent.c_str(), group_name.c_str(), target_file, target_path, &flags, access.fapl.get(),
                          operator_data) < 0) {
      return host::AlreadyReported();
    }
    flags = AccessFlags(flags);
  }
  access.flags = flags;
  return access;
}

// The store in which an object lies, null for one of a native file.
std::shared_ptr<shadow::StoreFile> StoreOf(hid_t id) {
  const host::NativeObject native{H5VLobject(id), H5Iget_type(id)};  // HDF5 unwraps it for us
  if (native.under == nullptr) return nullptr;
  const Result<host::Identity> identity = host::Identify(native);
  return identity.ok() ? GetConnector().stores.ByFileNumber(identity->fileno) : nullptr;
}

bool IsOurs(hid_t id) {
  const Handle connector(H5VLget_connector_id(id));
  H5VL_class_value_t value = -1;
  return connector.valid() && H5VLget_value(connector.get(), &value) >= 0 && value == H5ZARR_CONNECTOR_VALUE;
}

// A native file's link into a store. HDF5 would go on from there in the shadow, in which only what we
// were asked for is loaded: the callback must follow the path. Under another connector than ours HDF5
// would read fill from the shadow.
Status CheckLead(hid_t group, hid_t target) {
  if (GetConnector().stores.empty() || StoreOf(target) == nullptr) return OkStatus();
  if (!IsOurs(group)) {
    return UnsupportedError(
        "an external link into a Zarr store, from a file that was not opened "
        "through h5zarr: set HDF5_VOL_CONNECTOR=zarr");
  }
  if (StoreOf(group) != nullptr || TraversalScope::FollowsNativePaths()) return OkStatus();
  (void)TraversalScope::AskForRepetition();
  return NotFoundError("an external link leads into a Zarr store");
}

// Says what of a link's target is in a store and cannot be opened, which is more than that nothing is there.
void NoteIfBroken(const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    if (!IsStorePath(candidate)) continue;
    TraversalScope::NoteBroken(
        CorruptError("the store '" + ShownName(candidate) + "', which an external link leads to, cannot be opened"));
  }
}

void NoteIfBroken(hid_t file, const char* path) {
  const host::KeepErrors keep;
  const Result<unsigned long> number = host::FileNumber(H5VLobject(file));
  if (!number.ok()) return;
  const std::shared_ptr<shadow::StoreFile> store = GetConnector().stores.ByFileNumber(*number);
  if (store == nullptr) return;
  const Status why = WhyBlocked(*store, store->root(), path);
  if (!why.ok()) {
    TraversalScope::NoteBroken(why.WithContext("'" + std::string(path) + "' in the store '" + ShownName(store->path()) +
                                               "', which an external link leads to"));
  }
}

Result<hid_t> Traverse(hid_t group, const void* value, std::size_t bytes, hid_t lapl) {
  const TraversalDepth depth;
  std::size_t limit = 0;
  if (H5Pget_nlinks(lapl, &limit) < 0) return host::AlreadyReported();
  if (TraversalDepth::levels() > limit) {
    return NotFoundError("too many links: an external link may lead to itself");
  }
  // A byte of version and flags, then file name and object path, each ending in NUL.
  const char* text = static_cast<const char*>(value);
  const auto* file_end = static_cast<const char*>(bytes > 1 ? std::memchr(text + 1, '\0', bytes - 1) : nullptr);
  if (file_end == nullptr || std::memchr(file_end + 1, '\0', bytes - (file_end + 1 - text)) == nullptr) {
    return CorruptError("external link with a damaged value");
  }
  const char* target_file = text + 1;
  const char* target_path = file_end + 1;
  const std::string parent = NameOfFile(group);
  const Handle parent_file(H5Iget_file_id(group));
  if (!parent_file.valid()) return host::AlreadyReported();
  H5ZARR_ASSIGN_OR_RETURN(TargetAccess access,
                          AccessOf(group, parent_file.get(), lapl, parent, target_file, target_path));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> candidates,
                          TargetCandidates(target_file, parent, "HDF5_EXT_PREFIX", ElinkPrefix(lapl)));
  Result<TargetFile> opened = OpenTarget(candidates, access.flags, access.fapl.get());
  const hid_t file = opened.ok() ? opened->id.Release() : H5I_INVALID_HID;
  if (file < 0) {
    if (!opened.ok()) NoteIfBroken(candidates);
    return Status(StatusCode::kNotFound,
                  "unable to open external file, external link file name = '" + std::string(target_file) + "'");
  }
  const hid_t object = H5Oopen(file, target_path, lapl);
  if (object < 0) NoteIfBroken(file, target_path);
  if (KeepUntilScopeEnds(file)) {
    if (object >= 0 && H5Iinc_ref(object) >= 0) KeepUntilScopeEnds(object);
  } else {
    host::KeepErrors keep;
    H5Fclose(file);
  }
  if (object < 0) return host::AlreadyReported();
  const Status lead = CheckLead(group, object);
  if (lead.ok()) return object;
  host::KeepErrors keep;
  H5Idec_ref(object);
  return lead;
}

hid_t TraverseLink(const char* name, hid_t group, const void* value, size_t bytes, hid_t lapl, hid_t dxpl) {
  (void)name;
  (void)dxpl;
  auto result = host::CatchAll([&] { return Traverse(group, value, bytes, lapl); });
  if (result.ok()) return *result;
  host::PushStatus(result.status(), "external link");
  return H5I_INVALID_HID;
}

ssize_t QueryLink(const char* name, const void* value, size_t bytes, void* buffer, size_t buffer_bytes) {
  (void)name;
  if (buffer != nullptr) std::memcpy(buffer, value, std::min(bytes, buffer_bytes));
  return static_cast<ssize_t>(bytes);
}

}  // namespace

void RegisterExternalLinks() {
  if (GetConnector().external_links_registered) return;
  GetConnector().external_links_registered = true;
  H5L_class_t link_class;
  std::memset(&link_class, 0, sizeof link_class);
  link_class.version = H5L_LINK_CLASS_T_VERS;
  link_class.id = H5L_TYPE_EXTERNAL;
  link_class.comment = "external";
  link_class.trav_func = TraverseLink;
  link_class.query_func = QueryLink;
  H5Lregister(&link_class);
}

}  // namespace h5zarr
