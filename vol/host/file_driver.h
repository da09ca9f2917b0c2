// file_driver: what the connector's own file drivers have in common. Each derives its files from DriverFile, begins its
// class with MakeDriverClass, and is registered through a Driver.
//
// For the .cc files of drivers only: it needs HDF5's developer interface of them, whose structs are the same in
// HDF5 1.14, 2.0 and 2.2, which all call it version 1. On HDF5's thread.
#ifndef H5ZARR_HOST_FILE_DRIVER_H_
#define H5ZARR_HOST_FILE_DRIVER_H_

#include <H5FDdevelop.h>
#include <hdf5.h>

#include <algorithm>
#include <functional>

#include "base/status.h"
#include "host/error_stack.h"
#include "host/guard.h"

namespace h5zarr::host {

static_assert(H5FD_CLASS_VERSION == 1);

// The drivers' numbers, in HDF5's range for testing, as the connector's own is. Programs never name them.
inline constexpr H5FD_class_value_t kViewDriver = 480;
inline constexpr H5FD_class_value_t kRemoteDriver = 481;
inline constexpr H5FD_class_value_t kShadowDriver = 482;

// An open file. HDF5's own part comes first, and is HDF5's to fill in.
struct DriverFile : H5FD_t {
  DriverFile() : H5FD_t() {}
  haddr_t end_of_space = 0;
};

// The class of a driver whose files are `File`s, and end when they are closed. What is left to it: to open, compare
// and describe a file, where it ends, to read and to write.
template <typename File>
H5FD_class_t MakeDriverClass(H5FD_class_value_t value, const char* name) {
  H5FD_class_t driver = {};
  driver.version = H5FD_CLASS_VERSION;
  driver.value = value;
  driver.name = name;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.close = [](H5FD_t* file) -> herr_t {
    delete static_cast<File*>(file);
    return 0;
  };
  driver.get_eoa = [](const H5FD_t* file, H5FD_mem_t) { return static_cast<const File*>(file)->end_of_space; };
  driver.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t end) -> herr_t {
    static_cast<File*>(file)->end_of_space = end;
    return 0;
  };
  return driver;
}

// Has access lists carry an `Access` for the driver, and its files answer the one they were opened with
// (`File::access`).
template <typename File, typename Access>
void CarryAccess(H5FD_class_t* driver) {
  driver->fapl_size = sizeof(Access);
  driver->fapl_copy = [](const void* access) {
    return GuardPointer("copying a file access list", [&]() -> Result<void*> {
      return static_cast<void*>(new Access(*static_cast<const Access*>(access)));
    });
  };
  driver->fapl_free = [](void* access) -> herr_t {
    delete static_cast<Access*>(access);
    return 0;
  };
  driver->fapl_get = [](H5FD_t* file) {
    return GuardPointer("reading a file access list", [&]() -> Result<void*> {
      return static_cast<void*>(new Access(static_cast<const File*>(file)->access));
    });
  };
}

// How H5FD_class_t::cmp orders two files by what they stand for.
inline int CompareAddresses(const void* one, const void* other) {
  if (one == other) return 0;
  return std::less<>()(one, other) ? -1 : 1;
}

// A driver's identifier: registered when it is first needed, and again after the library was closed. For static
// storage: it has no destructor.
class Driver {
 public:
  // `access` is what CarryAccess promised, or null.
  Status Set(hid_t fapl, const H5FD_class_t& driver, const void* access) {
    if (id_ < 0 || H5Iget_type(id_) != H5I_VFL) id_ = H5FDregister(&driver);
    return id_ < 0 || H5Pset_driver(fapl, id_, access) < 0 ? AlreadyReported() : OkStatus();
  }
  bool Is(hid_t driver) const { return id_ >= 0 && driver == id_; }
  // The library closes, and the identifier ends with it.
  void Forget() { id_ = H5I_INVALID_HID; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

}  // namespace h5zarr::host

#endif  // H5ZARR_HOST_FILE_DRIVER_H_
