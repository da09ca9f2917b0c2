#include "store/http_library.h"

#include <dlfcn.h>

#include <string>

namespace h5zarr {
namespace {

constexpr char kName[] = "libcurl.so.4";

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool FindAll(void* library, HttpLibrary* functions) {
  return Find(library, "curl_global_init", &functions->global_init) &&
         Find(library, "curl_easy_init", &functions->easy_init) &&
         Find(library, "curl_easy_cleanup", &functions->easy_cleanup) &&
         Find(library, "curl_easy_setopt", &functions->easy_setopt) &&
         Find(library, "curl_easy_getinfo", &functions->easy_getinfo) &&
         Find(library, "curl_easy_strerror", &functions->easy_strerror) &&
         Find(library, "curl_slist_append", &functions->slist_append) &&
         Find(library, "curl_slist_free_all", &functions->slist_free_all) &&
         Find(library, "curl_multi_init", &functions->multi_init) &&
         Find(library, "curl_multi_setopt", &functions->multi_setopt) &&
         Find(library, "curl_multi_add_handle", &functions->multi_add_handle) &&
         Find(library, "curl_multi_remove_handle", &functions->multi_remove_handle) &&
         Find(library, "curl_multi_perform", &functions->multi_perform) &&
         Find(library, "curl_multi_info_read", &functions->multi_info_read) &&
         Find(library, "curl_multi_poll", &functions->multi_poll) &&
         Find(library, "curl_multi_wakeup", &functions->multi_wakeup);
}

}  // namespace

Result<const HttpLibrary*> LoadHttpLibrary() {
  static HttpLibrary* loaded = nullptr;
  if (loaded != nullptr) return static_cast<const HttpLibrary*>(loaded);
  void* const library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return UnsupportedError(std::string("URLs need ") + kName + ", which cannot be loaded: " +
                            (why != nullptr ? why : "no reason given"));
  }
  HttpLibrary functions;
  if (!FindAll(library, &functions)) {
    return UnsupportedError(std::string("URLs need a newer ") + kName + ", 7.68 at least");
  }
  if (functions.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return InternalError(std::string(kName) + " cannot be initialised");
  }
  loaded = new HttpLibrary(functions);
  return static_cast<const HttpLibrary*>(loaded);
}

}  // namespace h5zarr
