#include "store/zip_library.h"

#include <dlfcn.h>

#include <string>

namespace h5zarr {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool FindAll(void* library, ZipLibrary* functions) {
  return Find(library, "zip_open", &functions->open) &&
         Find(library, "zip_discard", &functions->discard) &&
         Find(library, "zip_get_num_entries", &functions->get_num_entries) &&
         Find(library, "zip_stat_index", &functions->stat_index) &&
         Find(library, "zip_fopen_index", &functions->fopen_index) &&
         Find(library, "zip_fread", &functions->fread) &&
         Find(library, "zip_fseek", &functions->fseek) &&
         Find(library, "zip_fclose", &functions->fclose) &&
         Find(library, "zip_file_strerror", &functions->file_strerror) &&
         Find(library, "zip_strerror", &functions->strerror) &&
         Find(library, "zip_error_init_with_code", &functions->error_init_with_code) &&
         Find(library, "zip_error_strerror", &functions->error_strerror) &&
         Find(library, "zip_error_fini", &functions->error_fini);
}

Result<const ZipLibrary*> Load() {
  void* library = nullptr;
  for (const char* name : {"libzip.so.5", "libzip.so.4"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    const char* why = dlerror();
    return UnsupportedError(std::string("ZIP archives need libzip, which cannot be loaded: ") +
                            (why != nullptr ? why : "no reason given"));
  }
  ZipLibrary functions;
  if (!FindAll(library, &functions)) return UnsupportedError("ZIP archives need a newer libzip");
  return static_cast<const ZipLibrary*>(new ZipLibrary(functions));
}

}  // namespace

Result<const ZipLibrary*> LoadZipLibrary() {
  static const auto* const loaded = new Result<const ZipLibrary*>(Load());
  return *loaded;
}

}  // namespace h5zarr
