#include "store/s3_client.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "store/http_engine.h"

namespace h5zarr {
namespace {

constexpr char kDefaultRegion[] = "us-east-1";
// Handed to the engine at once, which sends as many of them as it may.
constexpr std::size_t kCallsAtOnce = 256;
constexpr int kMaxHops = 4;  // to another region or host
// Keys are renewed so long before they expire.
constexpr std::time_t kKeyMarginSeconds = 300;

bool IsAmazonHost(const Url& url) {
  const std::string origin = url.Origin();
  return origin.ends_with(".amazonaws.com") || origin.ends_with(".amazonaws.com.cn");
}

// Names that can be a host's, in certificates also: no dots.
bool CanBeHost(const std::string& bucket) {
  return !bucket.empty() && std::all_of(bucket.begin(), bucket.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace

Result<Url> S3Url(const std::string& bucket, const std::string& endpoint, const std::string& region,
                  S3Options::Style style, std::string_view key) {
  const bool is_amazon = endpoint.empty();
  std::string base = endpoint;
  if (is_amazon) {
    base = "https://s3." + region + (region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
  }
  if (base.find("://") == std::string::npos) base.insert(0, "https://");
  H5ZARR_ASSIGN_OR_RETURN(Url url, ParseUrl(base));
  while (url.path.ends_with('/')) url.path.pop_back();
  const bool in_host =
      style == S3Options::Style::kVirtual || (style == S3Options::Style::kAuto && is_amazon && CanBeHost(bucket));
  if (in_host) {
    url.authority = bucket + "." + url.authority;
  } else {
    url.path += "/" + PercentEncode(bucket);
  }
  url.path += "/" + PercentEncode(key);
  url.query.clear();
  return url;
}

Status S3Error(const HttpCall::Outcome& answer, const std::string& what) {
  const std::string message = what + ": " + answer.headers.ShownStatus() + ShownErrorCode(answer.body);
  if (answer.headers.status == 401 || answer.headers.status == 403) {
    return PermissionDeniedError(message + answer.denied_hint);
  }
  if (answer.body.find("<Code>NoSuchBucket</Code>") != std::string::npos) {
    return Status(StatusCode::kIo, what + ": there is no such bucket", ENOENT);
  }
  return Status(StatusCode::kIo, message);
}

S3Client::S3Client(std::string bucket, S3Options options, AwsProfile profile)
    : bucket_(std::move(bucket)),
      options_(std::move(options)),
      profile_(std::move(profile)),
      endpoint_(options_.endpoint.empty() ? profile_.S3Endpoint() : options_.endpoint),
      requester_pays_(profile_.RequesterPays()),
      region_(options_.region.empty() ? profile_.Region() : options_.region) {
  if (region_.empty()) region_ = kDefaultRegion;
}

Result<std::shared_ptr<S3Client>> S3Client::Make(const std::string& bucket, const S3Options& options) {
  H5ZARR_ASSIGN_OR_RETURN(AwsProfile profile, AwsProfile::Load());
  S3Options settled = options;
  if (settled.style == S3Options::Style::kAuto) {
    const std::string style = profile.AddressingStyle();
    if (style == "path") settled.style = S3Options::Style::kPath;
    if (style == "virtual") settled.style = S3Options::Style::kVirtual;
  }
  std::shared_ptr<S3Client> client(new S3Client(bucket, std::move(settled), std::move(profile)));
  H5ZARR_ASSIGN_OR_RETURN(const Url base,
                          S3Url(bucket, client->endpoint_, client->region_, client->options_.style, ""));
  H5ZARR_ASSIGN_OR_RETURN(client->credentials_, client->profile_.Credentials());
  if (client->credentials_) H5ZARR_RETURN_IF_ERROR(Sha256Of({}).status());
  client->settled_ = !client->credentials_ && !client->endpoint_.empty();
  // (Nobody signs with the session when the client is gone.)
  const S3Client* const raw = client.get();
  H5ZARR_ASSIGN_OR_RETURN(client->session_, HttpSession::Make(base, options.http, [raw](const RequestHead& head) {
                            return raw->Sign(head);
                          }));
  if (!client->credentials_) client->session_->SetDeniedHint(", asked without a key: " + client->profile_.WhyNoKeys());
  return client;
}

Url S3Client::UrlOf(std::string_view key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  // (Made once already: it cannot fail.)
  Result<Url> url = S3Url(bucket_, endpoint_, region_, options_.style, key);
  return url.ok() ? std::move(*url) : Url();
}

bool S3Client::IsOurs(const Url& url) const {
  const Url own = UrlOf("");
  return url.Origin() == own.Origin() || (IsAmazonHost(url) && IsAmazonHost(own) && url.scheme == own.scheme);
}

Result<std::vector<std::string>> S3Client::Sign(const RequestHead& head) const {
  std::vector<std::string> added;
  // What leads to other hosts is no business of theirs.
  if (!IsOurs(head.url)) return added;
  RequestHead signed_head = head;
  if (requester_pays_) {
    added.push_back("x-amz-request-payer: requester");
    signed_head.headers.push_back(added.back());
  }
  std::optional<AwsCredentials> credentials;
  std::string region;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    credentials = credentials_;
    region = region_;
  }
  if (!credentials) return added;
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> signature,
                          SignV4(signed_head, *credentials, {region, "s3"}, std::time(nullptr)));
  added.insert(added.end(), signature.begin(), signature.end());
  return added;
}

Status S3Client::RefreshKeys() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!credentials_ || credentials_->expires == 0) return OkStatus();
    if (credentials_->expires - std::time(nullptr) > kKeyMarginSeconds) return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(std::optional<AwsCredentials> fresh, profile_.Credentials());
  const std::lock_guard<std::mutex> lock(mutex_);
  credentials_ = std::move(fresh);
  return OkStatus();
}

bool S3Client::LearnRegion(const HttpCall::Outcome& answer) {
  const int status = answer.headers.status;
  if (status != 301 && status != 307 && status != 400 && status != 403) return false;
  std::string region = answer.headers.bucket_region;
  if (region.empty()) region = XmlText(answer.body, "Region").value_or("");
  const std::lock_guard<std::mutex> lock(mutex_);
  if (region.empty() || region == region_) return false;
  region_ = region;
  return true;
}

Result<HttpCall::Query> S3Client::Prepare(std::string_view method, std::string_view key, const std::string& query,
                                          std::vector<std::string> headers, ByteSpan body) {
  H5ZARR_RETURN_IF_ERROR(RefreshKeys());
  HttpCall::Query call{{method, UrlOf(key), std::move(headers)}, body};
  call.head.url.query = query;
  if (!body.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(const Sha256Digest digest, Sha256Of(body));
    call.head.body_sha256 = HexOf(digest);
  }
  return call;
}

Result<HttpCall::Outcome> S3Client::Call(std::string_view method, std::string_view key, const std::string& query,
                                         std::vector<std::string> headers, ByteSpan body) {
  H5ZARR_ASSIGN_OR_RETURN(HttpCall::Query call, Prepare(method, key, query, std::move(headers), body));
  for (int hop = 0;; ++hop) {
    H5ZARR_ASSIGN_OR_RETURN(HttpCall::Outcome answer, CallNow(call, session_));
    const int status = answer.headers.status;
    if (hop == kMaxHops) return answer;
    if (LearnRegion(answer)) {
      call.head.url = UrlOf(key);
      call.head.url.query = query;
    } else if ((status == 301 || status == 302 || status == 307 || status == 308) && !answer.headers.location.empty()) {
      Result<Url> target = ResolveUrl(call.head.url, answer.headers.location);
      if (!target.ok() || !IsOurs(*target)) {
        return PermissionDeniedError("'" + call.head.url.Shown() + "': redirected to another server");
      }
      call.head.url = std::move(*target);
    } else {
      settled_ = true;
      return answer;
    }
  }
}

Status S3Client::CallAll(const std::vector<HttpCall::Query>& calls, const Check& check) {
  struct Pending {
    HttpWaiter waiter;
    std::shared_ptr<HttpCall> call;
  };
  Status first;
  for (std::size_t begin = 0; begin < calls.size() && first.ok(); begin += kCallsAtOnce) {
    std::vector<Pending> pending(std::min(kCallsAtOnce, calls.size() - begin));
    std::size_t submitted = 0;
    for (; submitted < pending.size() && first.ok(); ++submitted) {
      Pending& one = pending[submitted];
      one.call = std::make_shared<HttpCall>(calls[begin + submitted], session_, one.waiter.OnDone());
      first = one.waiter.Submit(one.call);
      if (!first.ok()) break;
    }
    for (std::size_t i = 0; i < submitted; ++i) {
      pending[i].waiter.Wait();
      const HttpCall::Outcome& answer = pending[i].call->outcome();
      Status status = answer.status.ok() ? check(begin + i, answer) : answer.status;
      if (first.ok()) first = std::move(status);
    }
  }
  return first;
}

Result<S3Page> S3Client::List(const std::string& prefix, bool by_folder, const std::string& token) {
  // (In the order in which they are signed.)
  std::string query = "?";
  if (!token.empty()) query += "continuation-token=" + EncodeParameter(token) + "&";
  if (by_folder) query += "delimiter=%2F&";
  query += "list-type=2&prefix=" + EncodeParameter(prefix);
  const std::string what = "listing 's3://" + bucket_ + "/" + prefix + "'";
  H5ZARR_ASSIGN_OR_RETURN(const HttpCall::Outcome answer, Call("GET", "", query));
  if (answer.headers.status != 200) return S3Error(answer, what);
  return ParseS3Page(answer.body, what);
}

}  // namespace h5zarr
