// HttpCall: one request of any method, its answer held in memory, repeated after failures that may pass.
//
// For what is not an object's bytes, which HttpFetch reads: listings, writing, removing.
// Within store/ only.
#ifndef H5ZARR_STORE_HTTP_CALL_H_
#define H5ZARR_STORE_HTTP_CALL_H_

#include <functional>
#include <memory>
#include <string>

#include "base/buffer.h"
#include "base/status.h"
#include "store/http_session.h"
#include "store/http_task.h"

namespace h5zarr {

class HttpCall : public HttpTask {
 public:
  struct Query {
    RequestHead head;
    ByteSpan body = {};                                     // must outlive the call
    std::string content_type = "application/octet-stream";  // of a body
  };
  struct Outcome {
    // Ok when an answer came, whatever its status, that repetition would not change. Redirects are
    // answers, too.
    Status status;
    HttpHeaders headers;
    std::string body;
    std::string denied_hint;  // of the session, where access was denied
    // A former attempt may have had its effect all the same: its answer was lost.
    bool repeated_blindly = false;
  };

  HttpCall(Query query, std::shared_ptr<HttpSession> session, std::function<void()> done)
      : HttpTask(std::move(session), std::move(done)), query_(std::move(query)) {}

  const Outcome& outcome() const { return outcome_; }

  std::string Origin() const override { return query_.head.url.Origin(); }
  Status Prepare(const HttpLibrary& curl, CURL* handle) override;
  Next Finish(CURLcode code, const char* reason) override;
  void Fail(Status status) override { outcome_.status = std::move(status); }

 private:
  std::string Describe() const override;
  bool TakeBody(const char* data, uint64_t bytes) override;
  Next Retry(const std::string& why, bool overloaded, int at_most);

  const Query query_;
  bool too_long_ = false;
  Outcome outcome_;
};

// One call, waited for. An answer with any status is Ok.
Result<HttpCall::Outcome> CallNow(HttpCall::Query query, const std::shared_ptr<HttpSession>& session);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_HTTP_CALL_H_
