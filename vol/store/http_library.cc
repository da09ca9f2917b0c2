#include "store/http_library.h"

#include <string>

#include "base/system_library.h"

namespace h5zarr {
namespace {

constexpr char kName[] = "libcurl.so.4";

bool FindAll(const SystemLibrary& library, HttpLibrary* functions) {
  return library.Find("curl_global_init", &functions->global_init) &&
         library.Find("curl_easy_init", &functions->easy_init) &&
         library.Find("curl_easy_cleanup", &functions->easy_cleanup) &&
         library.Find("curl_easy_setopt", &functions->easy_setopt) &&
         library.Find("curl_easy_getinfo", &functions->easy_getinfo) &&
         library.Find("curl_easy_strerror", &functions->easy_strerror) &&
         library.Find("curl_share_init", &functions->share_init) &&
         library.Find("curl_share_setopt", &functions->share_setopt) &&
         library.Find("curl_share_cleanup", &functions->share_cleanup) &&
         library.Find("curl_slist_append", &functions->slist_append) &&
         library.Find("curl_slist_free_all", &functions->slist_free_all) &&
         library.Find("curl_multi_init", &functions->multi_init) &&
         library.Find("curl_multi_setopt", &functions->multi_setopt) &&
         library.Find("curl_multi_add_handle", &functions->multi_add_handle) &&
         library.Find("curl_multi_remove_handle", &functions->multi_remove_handle) &&
         library.Find("curl_multi_perform", &functions->multi_perform) &&
         library.Find("curl_multi_info_read", &functions->multi_info_read) &&
         library.Find("curl_multi_poll", &functions->multi_poll) &&
         library.Find("curl_multi_wakeup", &functions->multi_wakeup);
}

}  // namespace

Result<const HttpLibrary*> LoadHttpLibrary() {
  static HttpLibrary* loaded = nullptr;
  if (loaded != nullptr) return static_cast<const HttpLibrary*>(loaded);
  H5ZARR_ASSIGN_OR_RETURN(const SystemLibrary library, SystemLibrary::Load("a URL", {kName}));
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
