#include "store/http_cookies.h"

#include <unistd.h>

namespace h5zarr {

HttpCookies::~HttpCookies() {
  if (share_ != nullptr && process_ == getpid()) curl_->share_cleanup(share_);
}

bool HttpCookies::GiveTo(const HttpLibrary& curl, CURL* handle) {
  if (share_ == nullptr || process_ != getpid()) {
    curl_ = &curl;
    process_ = getpid();
    share_ = curl.share_init();
    // (Without a lock: one thread has all requests.)
    if (share_ == nullptr || curl.share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE) != CURLSHE_OK) {
      return false;
    }
  }
  return curl.easy_setopt(handle, CURLOPT_SHARE, share_) == CURLE_OK &&
         curl.easy_setopt(handle, CURLOPT_COOKIEFILE, "") == CURLE_OK;  // of no file: they are used at all
}

}  // namespace h5zarr
