// error_stack: what a Status becomes for an HDF5 program, and how clean-up keeps it.
#ifndef H5ZARR_HOST_ERROR_STACK_H_
#define H5ZARR_HOST_ERROR_STACK_H_

#include <hdf5.h>

#include <string_view>

#include "base/status.h"

namespace h5zarr::host {

// A call into HDF5 failed and HDF5 has put its own records on the error stack: they are set aside, and
// put back by PushStatus.
Status AlreadyReported();
// The library closes: identifiers of error stacks end with it.
void ForgetReported();
bool IsAlreadyReported(const Status& status);

// Puts `status` on the error stack: first its message (with "errno = N" where there is one, from
// which h5py makes FileNotFoundError and the like), then `operation`. Prints nothing.
void PushStatus(const Status& status, std::string_view operation);

// Keeps the error stack over clean-up calls: HDF5 clears it at the start of every public function.
class KeepErrors {
 public:
  KeepErrors() : stack_(H5Eget_current_stack()) {}
  KeepErrors(const KeepErrors&) = delete;
  ~KeepErrors() {
    if (stack_ >= 0) H5Eset_current_stack(stack_);
  }

 private:
  hid_t stack_;
};

// Keeps HDF5 from printing the failures of public functions we call and expect to fail.
class QuietErrors {
 public:
  QuietErrors() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  QuietErrors(const QuietErrors&) = delete;
  ~QuietErrors() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace h5zarr::host

#endif  // H5ZARR_HOST_ERROR_STACK_H_
