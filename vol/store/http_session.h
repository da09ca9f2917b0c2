// HttpSession: what all requests of one store share: settings, extra headers, and what earlier answers
// said of its objects (where they were redirected to, and in which state they are).
//
// Within store/ only. Thread-safe.
#ifndef H5ZARR_STORE_HTTP_SESSION_H_
#define H5ZARR_STORE_HTTP_SESSION_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "store/disk_cache.h"
#include "store/http_cookies.h"
#include "store/http_store.h"
#include "store/store.h"
#include "store/url.h"

namespace h5zarr {

// The state of an object by its validators; not known where the server sends none.
Generation GenerationOf(const std::string& etag, const std::string& last_modified, uint64_t object_bytes);

// What a request says before its body.
struct RequestHead {
  std::string_view method;
  Url url;
  std::vector<std::string> headers = {};  // "Name: value"
  std::string body_sha256 = {};           // in hexadecimal digits; empty where there is no body
};

// The headers that sign a request, for servers that want that; called anew for every attempt. Thread-safe.
using SignRequest = std::function<Result<std::vector<std::string>>(const RequestHead& head)>;

class HttpSession {
 public:
  // Reads the file of extra headers, if there is one (kInvalidArgument for a line that is no header), and opens
  // the cache on disk (DiskCache::Open).
  // They are sent to the origin of `base` only. `sign`: null where requests are not signed.
  static Result<std::shared_ptr<HttpSession>> Make(const Url& base, const HttpOptions& options,
                                                   SignRequest sign = nullptr);

  const HttpOptions& options() const { return options_; }
  // Null where nothing is kept on disk.
  DiskCache* cache() const { return cache_.get(); }
  // The headers for a request that say who asks.
  Result<std::vector<std::string>> HeadersFor(const RequestHead& head) const;
  // Whether names and passwords for `url` may come from there: nothing else says who asks.
  bool UsesNetrc(const Url& url) const;
  // Where to find certificates and passwords, as the environment says; empty: libcurl's own default.
  const std::string& ca_file() const { return ca_file_; }
  const std::string& netrc_file() const { return netrc_file_; }
  // Null where requests are signed: S3 has none. The engine's thread alone may use them.
  HttpCookies* cookies() { return sign_ ? nullptr : &cookies_; }

  // What the last answer for the object at `url` said.
  struct Known {
    std::optional<Url> location;  // where it was redirected to
    std::chrono::steady_clock::time_point location_time;
    std::string etag;
    Generation generation;
    uint64_t object_bytes = 0;
    std::chrono::steady_clock::time_point seen_time;
  };
  std::optional<Known> Find(const std::string& url) const;
  void NoteLocation(const std::string& url, const Url& location);
  void ForgetLocation(const std::string& url);
  void NoteState(const std::string& url, const std::string& etag, const Generation& generation, uint64_t object_bytes);
  void Forget(const std::string& url);

  // What is added to an error where the server denies access: ", …", or nothing. Set before anything is asked.
  const std::string& denied_hint() const { return denied_hint_; }
  void SetDeniedHint(std::string hint) { denied_hint_ = std::move(hint); }

  // Whether the server was seen to answer a range with the whole object.
  bool ignores_ranges() const { return ignores_ranges_.load(std::memory_order_relaxed); }
  void NoteIgnoredRange() { ignores_ranges_.store(true, std::memory_order_relaxed); }

 private:
  HttpSession(const Url& base, const HttpOptions& options, SignRequest sign);
  Status ReadHeaders();

  const std::string origin_;
  const HttpOptions options_;
  const SignRequest sign_;
  std::map<std::string, std::string> key_of_origin_;  // headers with the user's keys for public archives
  std::vector<std::string> headers_;
  bool has_authorization_ = false;
  std::shared_ptr<DiskCache> cache_;
  std::string denied_hint_;
  std::string ca_file_;
  std::string netrc_file_;
  HttpCookies cookies_;
  std::atomic<bool> ignores_ranges_ = false;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Known> known_;  // guarded by mutex_; by the object's own URL
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_HTTP_SESSION_H_
