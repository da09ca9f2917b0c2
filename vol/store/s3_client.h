// S3Client: a bucket of Amazon S3, or of what speaks its protocol: where it is, who asks, and the requests.
//
// Within store/ only. Thread-safe.
#ifndef H5ZARR_STORE_S3_CLIENT_H_
#define H5ZARR_STORE_S3_CLIENT_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/status.h"
#include "store/aws_profile.h"
#include "store/aws_signature.h"
#include "store/http_call.h"
#include "store/http_session.h"
#include "store/s3_listing.h"
#include "store/s3_store.h"
#include "store/url.h"

namespace h5zarr {

// The URL of `key` in `bucket`, percent-encoded as S3 wants it. `endpoint`: empty for Amazon's own.
Result<Url> S3Url(const std::string& bucket, const std::string& endpoint, const std::string& region,
                  S3Options::Style style, std::string_view key);

// An HTTP answer to a call on an object that is none of those expected.
Status S3Error(const HttpCall::Outcome& answer, const std::string& what);

class S3Client {
 public:
  // Reads what the user's settings say of keys, region and endpoint. Sends nothing yet.
  static Result<std::shared_ptr<S3Client>> Make(const std::string& bucket, const S3Options& options);

  // Asks for what may be under `prefix` (kIo for a bucket that there is not), and finds the bucket's
  // region on the way. kPermissionDenied where objects may not be listed: they may be read all the same.
  Result<S3Page> List(const std::string& prefix, bool by_folder, const std::string& token);

  Url UrlOf(std::string_view key) const;
  // For requests that HttpFetch makes. Call RefreshKeys before.
  const std::shared_ptr<HttpSession>& session() const { return session_; }
  // Sees to it that the keys are good for a while.
  Status RefreshKeys();
  // Whether Call was answered, so that the bucket's region is known, or does not matter.
  bool is_settled() const { return settled_.load(std::memory_order_relaxed); }

  // One request for the object `key`, signed; `query` begins with '?', or is empty. Answers of any status
  // but those that lead elsewhere.
  Result<HttpCall::Outcome> Call(std::string_view method, std::string_view key, const std::string& query = "",
                                 std::vector<std::string> headers = {}, ByteSpan body = {});
  // Many calls, several at once; `check` is told of each answer, in any order. Returns the first failure
  // after all are done.
  using Check = std::function<Status(std::size_t index, const HttpCall::Outcome& answer)>;
  Status CallAll(const std::vector<HttpCall::Query>& calls, const Check& check);
  // One of those, or a call that somebody else submits to the engine.
  Result<HttpCall::Query> Prepare(std::string_view method, std::string_view key, const std::string& query,
                                  std::vector<std::string> headers = {}, ByteSpan body = {});

 private:
  S3Client(std::string bucket, S3Options options, AwsProfile profile);
  Result<std::vector<std::string>> Sign(const RequestHead& head) const;
  bool IsOurs(const Url& url) const;
  // Whether the answer says that the bucket is in another region than we thought; that is known then.
  bool LearnRegion(const HttpCall::Outcome& answer);

  const std::string bucket_;
  const S3Options options_;
  const AwsProfile profile_;
  std::string endpoint_;  // empty: Amazon's
  bool requester_pays_ = false;
  std::shared_ptr<HttpSession> session_;
  std::atomic<bool> settled_ = false;

  mutable std::mutex mutex_;
  std::string region_;                         // guarded by mutex_
  std::optional<AwsCredentials> credentials_;  // guarded by mutex_; nothing: requests are not signed
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_S3_CLIENT_H_
