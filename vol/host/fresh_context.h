// FreshContext: HDF5's state of one call (H5CX), anew for calls that a callback makes.
//
// What HDF5 has looked up in a transfer list it keeps until the program's call ends, whichever list that was. A
// callback that asks under the default list what HDF5 converts something for must do so in a state of its own: in the
// program's own, HDF5 would take the default's conversion callback, error checks and buffers for the program's data.
// (The other way round, the program's list passed on in such a state, what HDF5 reports in that list would be lost.)
#ifndef H5ZARR_HOST_FRESH_CONTEXT_H_
#define H5ZARR_HOST_FRESH_CONTEXT_H_

#include <hdf5.h>
// The interface of connectors that stand on others.
#include <H5VLconnector_passthru.h>

#include "host/error_stack.h"

namespace h5zarr::host {

// HDF5 2.x names them otherwise, and lets the caller keep the state; 1.14 takes no argument, and looks at none.
extern "C" herr_t h5zarr_start_lib_state(void** context) __asm__("H5VLstart_lib_state");
extern "C" herr_t h5zarr_finish_lib_state(void* context) __asm__("H5VLfinish_lib_state");

// From construction to destruction, which keeps the error stack. What HDF5 wraps objects of files with, which it opens
// meanwhile, stays the program's call's.
class FreshContext {
 public:
  FreshContext() {
    if (H5VLretrieve_lib_state(&state_) < 0) return;
    started_ = h5zarr_start_lib_state(&context_) >= 0;
    if (started_) H5VLrestore_lib_state(state_);
  }
  FreshContext(const FreshContext&) = delete;
  ~FreshContext() {
    const KeepErrors keep;
    if (started_) h5zarr_finish_lib_state(context_);
    if (state_ != nullptr) H5VLfree_lib_state(state_);
  }

 private:
  void* state_ = nullptr;
  void* context_ = nullptr;
  bool started_ = false;
};

}  // namespace h5zarr::host

#endif  // H5ZARR_HOST_FRESH_CONTEXT_H_
