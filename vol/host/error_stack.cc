#include "host/error_stack.h"

#include <string>

namespace h5zarr::host {
namespace {

// The minor code is what h5py chooses the exception's class by.
hid_t MinorOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return H5E_CANTOPERATE_g;
    case StatusCode::kInvalidArgument: return H5E_BADVALUE_g;
    case StatusCode::kNotFound: return H5E_NOTFOUND_g;
    case StatusCode::kAlreadyExists: return H5E_EXISTS_g;
    case StatusCode::kPermissionDenied: return H5E_WRITEERROR_g;
    case StatusCode::kCorrupt: return H5E_READERROR_g;
    case StatusCode::kUnsupported: return H5E_UNSUPPORTED_g;
    case StatusCode::kOutOfRange: return H5E_BADRANGE_g;
    case StatusCode::kNoSpace: return H5E_NOSPACE_g;
    case StatusCode::kChanged: return H5E_READERROR_g;
    case StatusCode::kIo: return H5E_READERROR_g;
    case StatusCode::kInternal: return H5E_CANTOPERATE_g;
    case StatusCode::kReported: return H5E_CANTOPERATE_g;
  }
  return H5E_CANTOPERATE_g;
}

// The records of the failure that AlreadyReported stands for: whatever is cleaned up on the way out
// calls HDF5, which clears its current stack each time.
hid_t kept_stack = H5I_INVALID_HID;

void DropKeptStack() {
  if (kept_stack >= 0) H5Eclose_stack(kept_stack);
  kept_stack = H5I_INVALID_HID;
}

}  // namespace

Status AlreadyReported() {
  const hid_t stack = H5Eget_current_stack();
  if (stack >= 0 && H5Eget_num(stack) > 0) {
    DropKeptStack();
    kept_stack = stack;
  } else if (stack >= 0) {
    H5Eclose_stack(stack);
  }
  return Status(StatusCode::kReported, "HDF5 has reported the failure");
}

void ForgetReported() { kept_stack = H5I_INVALID_HID; }

bool IsAlreadyReported(const Status& status) { return status.code() == StatusCode::kReported; }

void PushStatus(const Status& status, std::string_view operation) {
  const hid_t minor = MinorOf(status.code());
  const hid_t major = H5E_VOL_g >= 0 ? H5E_VOL_g : H5E_PLINE_g;  // HDF5 1.10 has no connectors
  std::string name(operation);
  if (IsAlreadyReported(status)) {
    if (kept_stack >= 0 && H5Eset_current_stack(kept_stack) >= 0) kept_stack = H5I_INVALID_HID;
  } else {
    DropKeptStack();
    std::string text = status.message();
    if (status.errno_value() != 0) {
      text += ", errno = " + std::to_string(status.errno_value());
    }
    H5Epush2(H5E_DEFAULT, "h5zarr", name.c_str(), 0, H5E_ERR_CLS_g, major, minor, "%s", text.c_str());
  }
  H5Epush2(H5E_DEFAULT, "h5zarr", name.c_str(), 0, H5E_ERR_CLS_g, major, minor, "h5zarr: %s failed", name.c_str());
}

}  // namespace h5zarr::host
