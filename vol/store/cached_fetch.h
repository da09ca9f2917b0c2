// CachedFetch: a fetch whose bytes may be in the cache on disk already.
//
// Bytes of the cache are used where the object is known to be in their state: when the caller expects that very state,
// or the server named it after `since`. Else the server is asked, by a request that brings no bytes where that is so.
//
// Within store/ only. Used by one thread at a time, but for Cancel.
#ifndef H5ZARR_STORE_CACHED_FETCH_H_
#define H5ZARR_STORE_CACHED_FETCH_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "base/status.h"
#include "store/disk_cache.h"
#include "store/http_fetch.h"
#include "store/http_session.h"

namespace h5zarr {

class CachedFetch {
 public:
  // `done` as HttpFetch's. The target outlives it.
  CachedFetch(HttpFetch::Query query, std::shared_ptr<HttpSession> session, std::chrono::steady_clock::time_point since,
              std::function<void()> done);

  // What to submit to the engine; null where no request is needed.
  const std::shared_ptr<HttpFetch>& request() const { return request_; }
  // Whether the object is known to be absent.
  bool is_absent() const;

  // When the request, if there is one, is done: gets the bytes from the cache, or keeps them there. Asks the server
  // anew where they turn out to be damaged. Blocks. Called once, before `outcome`.
  Status Finish();
  const HttpFetch::Outcome& outcome() const { return outcome_; }

 private:
  struct Cached {
    DiskCache::State state;
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  std::optional<Cached> FindCached() const;
  bool IsCurrent(const DiskCache::State& state) const;
  bool ReadCached();
  void Keep();

  HttpFetch::Query query_;
  const std::shared_ptr<HttpSession> session_;
  const std::chrono::steady_clock::time_point since_;
  std::string name_;  // in the cache
  std::optional<Cached> cached_;
  Buffer memory_;  // of what came from the cache, where there is no target
  std::shared_ptr<HttpFetch> request_;
  std::shared_ptr<HttpFetch> anew_;
  HttpFetch::Outcome outcome_;
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_CACHED_FETCH_H_
