#include "store/http_task.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "base/trace.h"

namespace h5zarr {
namespace {

constexpr int kMaxConnectRetries = 3;
constexpr int kFirstDelayMs = 100;
constexpr int kMaxDelayMs = 10'000;
constexpr int kMaxRetryAfterMs = 30'000;
// Slower than this, for as long as the time-out says, is standstill.
constexpr long kLowSpeedBytesPerSecond = 256;
constexpr long kMaxConnectSeconds = 20;

}  // namespace

HttpTask::~HttpTask() {
  if (curl_ != nullptr) curl_->slist_free_all(header_list_);
}

Status HttpTask::SetUp(const HttpLibrary& curl, CURL* handle, const RequestHead& head, bool with_credentials) {
  curl_ = &curl;
  curl.slist_free_all(header_list_);
  header_list_ = nullptr;
  headers_ = HttpHeaders();
  bool complete = true;
  const auto add_header = [&](const std::string& line) {
    curl_slist* const longer = curl.slist_append(header_list_, line.c_str());
    complete = complete && longer != nullptr;
    if (longer != nullptr) header_list_ = longer;
  };
  for (const std::string& line : head.headers) add_header(line);
  if (with_credentials) {
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> lines, session_->HeadersFor(head));
    for (const std::string& line : lines) add_header(line);
  }
  add_header("Accept-Encoding: identity");
  const auto set = [&](CURLoption option, auto value) {
    complete = curl.easy_setopt(handle, option, value) == CURLE_OK && complete;
  };
  const HttpOptions& options = session_->options();
  set(CURLOPT_URL, head.url.Text().c_str());
  set(CURLOPT_HTTP_VERSION, static_cast<long>(options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PIPEWAIT, options.http2 ? 1L : 0L);  // rather than a connection of its own
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, 256L << 10);
  set(CURLOPT_USERAGENT, "h5zarr");
  set(CURLOPT_HTTPHEADER, header_list_);
  set(CURLOPT_CONNECTTIMEOUT, std::min<long>(options.timeout_s, kMaxConnectSeconds));
  set(CURLOPT_LOW_SPEED_LIMIT, kLowSpeedBytesPerSecond);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.timeout_s));
  set(CURLOPT_HEADERFUNCTION, &HttpTask::OnHeader);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &HttpTask::OnBody);
  set(CURLOPT_WRITEDATA, this);
  if (options.direct) set(CURLOPT_PROXY, "");
  if (!session_->ca_file().empty()) set(CURLOPT_CAINFO, session_->ca_file().c_str());
  if (with_credentials && session_->UsesNetrc(head.url)) {
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    if (!session_->netrc_file().empty()) set(CURLOPT_NETRC_FILE, session_->netrc_file().c_str());
  }
  if (HttpCookies* const cookies = session_->cookies()) complete = cookies->GiveTo(curl, handle) && complete;
  return complete ? OkStatus() : InternalError(Describe() + ": libcurl refuses the request");
}

size_t HttpTask::OnHeader(char* data, size_t size, size_t count, void* task) {
  try {
    static_cast<HttpTask*>(task)->headers_.AddLine({data, size * count});
    return size * count;
  } catch (...) {
    return 0;
  }
}

size_t HttpTask::OnBody(char* data, size_t size, size_t count, void* task) {
  try {
    return static_cast<HttpTask*>(task)->TakeBody(data, size * count) ? size * count : 0;
  } catch (...) {
    return 0;
  }
}

bool HttpTask::MayPass(int status) {
  switch (status) {
    case 408:
    case 425:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
    case 509: return true;
    default: return status >= 520 && status <= 530;  // of caches around a server
  }
}

bool HttpTask::MayPass(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_NOT_BUILT_IN:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_UNKNOWN_OPTION: return false;
    default: return true;
  }
}

bool HttpTask::IsOfConnecting(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_SSL_CONNECT_ERROR;
}

int HttpTask::PatienceWith(CURLcode code) const {
  return IsOfConnecting(code) ? std::min(kMaxConnectRetries, session_->options().retries) : session_->options().retries;
}

std::optional<HttpTask::Next> HttpTask::PlanRetry(const std::string& why, bool overloaded, int at_most) {
  if (++failures_ > at_most) return std::nullopt;
  int delay_ms = kFirstDelayMs;
  for (int i = 1; i < failures_ && delay_ms < kMaxDelayMs; ++i) delay_ms *= 2;
  delay_ms = std::min(delay_ms, kMaxDelayMs);
  std::minstd_rand random(static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count() ^
                                                reinterpret_cast<uintptr_t>(this)));
  delay_ms = std::uniform_int_distribution<int>(delay_ms / 2, delay_ms)(random);
  if (headers_.retry_after_s) {
    delay_ms = std::max(delay_ms, std::min(*headers_.retry_after_s * 1000, kMaxRetryAfterMs));
  }
  if (Tracing(TraceLevel::kDecisions)) {
    Trace(Describe() + ": " + why + ", again in " + std::to_string(delay_ms) + " ms");
  }
  return Next{Next::Step::kAgain, delay_ms, overloaded};
}

std::string HttpTask::ShownAttempts() const {
  return failures_ > 1 ? ", after " + std::to_string(failures_) + " attempts" : "";
}

std::string ShownErrorCode(std::string_view body) {
  const std::size_t begin = body.find("<Code>");
  if (begin == std::string_view::npos) return "";
  const std::string_view rest = body.substr(begin + 6);
  const std::size_t end = rest.find("</Code>");
  if (end == std::string_view::npos || end > 100) return "";
  return " (" + std::string(rest.substr(0, end)) + ")";
}

}  // namespace h5zarr
