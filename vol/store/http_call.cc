#include "store/http_call.h"

#include <memory>
#include <utility>

#include "store/http_engine.h"

namespace h5zarr {
namespace {

// A page of a listing has 1,000 names of at most 1 KiB, and as much around them.
constexpr std::size_t kMaxAnswerBytes = 16 << 20;

// S3's answers whose status does not say that another try may succeed.
bool SaysTryAgain(std::string_view body) {
  for (const std::string_view code : {"RequestTimeout", "OperationAborted", "ConditionalRequestConflict"}) {
    if (body.find("<Code>" + std::string(code) + "</Code>") != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::string HttpCall::Describe() const {
  return std::string(query_.head.method) + " '" + query_.head.url.Shown() + "'";
}

Status HttpCall::Prepare(const HttpLibrary& curl, CURL* handle) {
  outcome_.body.clear();
  too_long_ = false;
  RequestHead head = query_.head;
  const bool has_body = head.method == "PUT" || head.method == "POST";
  if (has_body) {
    // (libcurl's own would be that of forms, and a question that costs a round trip.)
    head.headers.push_back("Content-Type: " + query_.content_type);
    head.headers.push_back("Expect:");
  }
  H5ZARR_RETURN_IF_ERROR(SetUp(curl, handle, head, true));
  bool complete = true;
  const auto set = [&](CURLoption option, auto value) {
    complete = curl.easy_setopt(handle, option, value) == CURLE_OK && complete;
  };
  if (head.method == "HEAD") set(CURLOPT_NOBODY, 1L);
  if (has_body) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, query_.body.empty() ? "" : reinterpret_cast<const char*>(query_.body.data()));
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(query_.body.size()));
  }
  if (head.method != "HEAD" && head.method != "GET" && head.method != "POST") {
    set(CURLOPT_CUSTOMREQUEST, std::string(head.method).c_str());
  }
  return complete ? OkStatus() : InternalError(Describe() + ": libcurl refuses the request");
}

bool HttpCall::TakeBody(const char* data, uint64_t bytes) {
  if (cancelled()) return false;
  too_long_ = bytes > kMaxAnswerBytes - outcome_.body.size();
  if (!too_long_) outcome_.body.append(data, bytes);
  return !too_long_;
}

HttpTask::Next HttpCall::Retry(const std::string& why, bool overloaded, int at_most) {
  if (const std::optional<Next> next = PlanRetry(why, overloaded, at_most)) return *next;
  outcome_.status = Status(StatusCode::kIo, Describe() + ": " + why + ShownAttempts());
  return {};
}

HttpTask::Next HttpCall::Finish(CURLcode code, const char* reason) {
  if (cancelled() || too_long_) {
    outcome_.status =
        Status(StatusCode::kIo, Describe() + (too_long_ ? ": the answer is too long" : ": no longer wanted"));
    return {};
  }
  if (code != CURLE_OK) {
    if (!MayPass(code)) {
      outcome_.status = Status(StatusCode::kIo, Describe() + ": " + reason);
      return {};
    }
    outcome_.repeated_blindly = outcome_.repeated_blindly || !IsOfConnecting(code);
    return Retry(reason, !IsOfConnecting(code), PatienceWith(code));
  }
  if (MayPass(headers_.status) || (headers_.status >= 400 && SaysTryAgain(outcome_.body))) {
    outcome_.repeated_blindly = outcome_.repeated_blindly || headers_.status >= 500;
    return Retry(headers_.ShownStatus() + ShownErrorCode(outcome_.body), true, session_->options().retries);
  }
  outcome_.headers = headers_;
  if (headers_.status == 401 || headers_.status == 403) outcome_.denied_hint = session_->denied_hint();
  return {};
}

Result<HttpCall::Outcome> CallNow(HttpCall::Query query, const std::shared_ptr<HttpSession>& session) {
  HttpWaiter waiter;
  const auto call = std::make_shared<HttpCall>(std::move(query), session, waiter.OnDone());
  H5ZARR_RETURN_IF_ERROR(waiter.Submit(call));
  waiter.Wait();
  H5ZARR_RETURN_IF_ERROR(call->outcome().status);
  return call->outcome();
}

}  // namespace h5zarr
