// HttpFetch: the bytes of one object, or of a range of it, through as many requests as that takes:
// redirects, repetitions after failures, bodies resumed where they broke off, servers that know no
// ranges.
//
// Within store/ only.
#ifndef H5ZARR_STORE_HTTP_FETCH_H_
#define H5ZARR_STORE_HTTP_FETCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "base/status.h"
#include "store/disk_cache.h"
#include "store/http_library.h"
#include "store/http_session.h"
#include "store/http_task.h"
#include "store/store.h"
#include "store/url.h"

namespace h5zarr {

class HttpFetch : public HttpTask {
 public:
  struct Query {
    Url url;
    ByteRange range;
    MutableByteSpan target;                       // as ReadOp::target: must outlive the fetch
    Generation expected;                          // when known: else kChanged
    bool may_be_shorter = false;                  // of a span without a target: it may reach beyond the object's end
    std::optional<DiskCache::State> unless = {};  // no bytes are wanted where the object is in this state
    // Called by the engine's thread, at most once, when the first bytes come: the object is there.
    std::function<void()> on_begun = {};
  };
  struct Outcome {
    Status status;
    bool absent = false;
    bool not_modified = false;  // it is in the state that Query::unless says, and there are no bytes
    bool may_be_kept = false;   // by who reads it, for a later time
    std::string etag;
    ByteSpan bytes;       // in the target, or owned by the fetch; may begin before or end after the range
                          // where the server knows no ranges
    uint64_t offset = 0;  // of the first byte of `bytes` in the object
    uint64_t object_bytes = 0;
    Generation generation;
  };
  // `done`: see HttpTask. The target outlives it.
  HttpFetch(Query query, std::shared_ptr<HttpSession> session, std::function<void()> done);

  const Query& query() const { return query_; }
  const Outcome& outcome() const { return outcome_; }

  std::string Origin() const override { return current_url().Origin(); }
  Status Prepare(const HttpLibrary& curl, CURL* handle) override;
  Next Finish(CURLcode code, const char* reason) override;
  void Fail(Status status) override;

 private:
  // What the current request asks for.
  enum class Asking {
    kWhole,
    kSpan,
    kSuffix,
    kLength,  // the first byte, for the length that is said with it
    kLast,    // the last byte, for the length that its place says
  };

  bool AsksForLength() const { return asking_ == Asking::kLength || asking_ == Asking::kLast; }
  const Url& current_url() const { return location_ ? *location_ : query_.url; }
  std::string RangeText() const;
  std::string ShownRange() const;
  std::string Describe() const override;

  bool TakeBody(const char* data, uint64_t bytes) override;
  Status BeginBody();
  Status BeginWhole();
  Status BeginPart();
  Status EncodedError() const;
  Status CheckState();
  Status MakeRoom(uint64_t bytes);
  void Restart();

  Next Retry(const std::string& why, bool overloaded, int at_most);
  Next Again() { return {Next::Step::kAgain, 0, false}; }
  Next Done(Status status);
  bool RenewLocation();
  Next FinishLength();
  Next FinishBody(CURLcode code, const char* reason);
  Next FinishRedirect();
  Next FinishDenied();
  Next FinishNotModified();
  Next FinishUnsatisfiable();
  Next FinishStatus();
  Next Succeed();

  const Query query_;
  bool begun_ = false;  // on_begun was called

  Asking asking_;
  std::optional<Url> location_;  // of a redirect
  bool location_from_earlier_ = false;
  int redirects_ = 0;
  int renewals_ = 0;  // of redirects that had expired

  // The bytes that are wanted, [begin_, end_), as far as is known; those from begin_ to at_ are there.
  uint64_t begin_ = 0;
  uint64_t at_ = 0;
  std::optional<uint64_t> end_;
  std::optional<uint64_t> object_bytes_;
  std::string etag_;  // of the first answer: all others must have the same
  std::string last_modified_;
  Buffer memory_;  // where there is no target

  // Of the current request.
  bool body_begun_ = false;
  bool keeps_body_ = false;      // it is the object's
  uint64_t stream_at_ = 0;       // position in the object of the next byte of the body
  uint64_t attempt_bytes_ = 0;   // of progress
  bool satisfied_ = false;       // all is there, the rest of the body is of no use
  Status broken_;                // why the body cannot be used
  bool decodes_ = false;         // libcurl decodes the body: this server sends the object encoded, asked or not
  bool needs_decoding_ = false;  // that was seen just now
  std::string error_text_;       // the beginning of a body that is none of the object's

  Outcome outcome_;
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_HTTP_FETCH_H_
