// libcurl, loaded when the first URL is opened: it and what it needs take ten times as long to load as
// all of this plugin, which gets into programs that never see a URL.
//
// Within store/ only.
#ifndef H5ZARR_STORE_HTTP_LIBRARY_H_
#define H5ZARR_STORE_HTTP_LIBRARY_H_

#define CURL_DISABLE_TYPECHECK  // its macros would hide the functions' names
#include <curl/curl.h>

#include "base/status.h"

namespace h5zarr {

// The functions we call, under their names without "curl_".
struct HttpLibrary {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_share_init) share_init;
  decltype(&curl_share_setopt) share_setopt;
  decltype(&curl_share_cleanup) share_cleanup;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_setopt) multi_setopt;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_wakeup) multi_wakeup;
};

// Loads and initialises the system's libcurl, once a process; never unloaded. kUnsupported, saying why,
// where there is none. One thread at a time.
Result<const HttpLibrary*> LoadHttpLibrary();

}  // namespace h5zarr

#endif  // H5ZARR_STORE_HTTP_LIBRARY_H_
