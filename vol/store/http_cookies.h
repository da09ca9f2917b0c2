// HttpCookies: what the servers of one store had its requests remember (RFC 6265), as those want it that send their
// users to log in and back. Nothing is kept for longer than the store is open.
//
// Within store/ only.
#ifndef H5ZARR_STORE_HTTP_COOKIES_H_
#define H5ZARR_STORE_HTTP_COOKIES_H_

#include <sys/types.h>

#include "store/http_library.h"

namespace h5zarr {

// libcurl keeps them, and gives them to the hosts they are of. Of the engine's thread, but for the destructor: by then
// no request has them.
class HttpCookies {
 public:
  HttpCookies() = default;
  ~HttpCookies();
  HttpCookies(const HttpCookies&) = delete;
  HttpCookies& operator=(const HttpCookies&) = delete;

  // Has the request of `handle` send and remember them. False where libcurl has no memory.
  bool GiveTo(const HttpLibrary& curl, CURL* handle);

 private:
  const HttpLibrary* curl_ = nullptr;
  CURLSH* share_ = nullptr;
  pid_t process_ = 0;  // whose engine has share_: a forked child begins anew
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_HTTP_COOKIES_H_
