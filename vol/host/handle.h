// Handle: an HDF5 identifier that is released when it goes out of scope.
#ifndef H5ZARR_HOST_HANDLE_H_
#define H5ZARR_HOST_HANDLE_H_

#include <hdf5.h>

#include <utility>

namespace h5zarr {

// Owns one reference to an identifier of any kind (or none: negative). Move-only. Releasing calls
// H5Idec_ref, so it must happen on a thread that may call HDF5.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      Reset();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
    }
    return *this;
  }
  ~Handle() { Reset(); }

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }
  hid_t Release() { return std::exchange(id_, H5I_INVALID_HID); }
  void Reset() {
    if (id_ >= 0) H5Idec_ref(id_);
    id_ = H5I_INVALID_HID;
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

}  // namespace h5zarr

#endif  // H5ZARR_HOST_HANDLE_H_
