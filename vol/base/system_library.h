// SystemLibrary: a shared library of the system that is loaded when it is first needed.
//
// For those that take longer to load than all of this plugin, which gets into programs that never need
// them.
#ifndef H5ZARR_BASE_SYSTEM_LIBRARY_H_
#define H5ZARR_BASE_SYSTEM_LIBRARY_H_

#include <dlfcn.h>

#include <initializer_list>
#include <string_view>

#include "base/status.h"

namespace h5zarr {

class SystemLibrary {
 public:
  // The first of `names` that loads; it is never unloaded. kUnsupported where none does, saying what
  // `purpose` needs and why it is not to be had. Thread-safe.
  static Result<SystemLibrary> Load(std::string_view purpose, std::initializer_list<const char*> names);

  // False where the library has no function of that name. Thread-safe.
  template <typename Function>
  bool Find(const char* name, Function* function) const {
    *function = reinterpret_cast<Function>(dlsym(handle_, name));
    return *function != nullptr;
  }

 private:
  explicit SystemLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace h5zarr

#endif  // H5ZARR_BASE_SYSTEM_LIBRARY_H_
