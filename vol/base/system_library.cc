#include "base/system_library.h"

#include <string>

namespace h5zarr {

Result<SystemLibrary> SystemLibrary::Load(std::string_view purpose, std::initializer_list<const char*> names) {
  std::string why;
  for (const char* name : names) {
    if (void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return SystemLibrary(handle);
    const char* const reason = dlerror();
    if (!why.empty()) why += "; ";
    why += reason != nullptr ? reason : name;
  }
  return UnsupportedError(std::string(purpose) + " needs a library that cannot be loaded: " + why);
}

}  // namespace h5zarr
