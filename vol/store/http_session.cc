#include "store/http_session.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

namespace h5zarr {
namespace {

// All is forgotten rather than the oldest: what is known only saves requests.
constexpr std::size_t kMaxKnown = 20'000;
// Redirects that say nothing of when they expire are asked for again after this.
constexpr std::chrono::minutes kLocationLifetime{10};
// Those that say so are asked for again a little before.
constexpr std::chrono::seconds kLocationMargin{30};

// Archives whose users have keys in a variable, each for its own servers alone.
struct Archive {
  const char* origin;
  const char* variable;
};
constexpr Archive kArchives[] = {{"https://api.dandiarchive.org", "DANDI_API_KEY"},
                                 {"https://api-staging.dandiarchive.org", "DANDI_STAGING_API_KEY"},
                                 {"https://api.sandbox.dandiarchive.org", "DANDI_SANDBOX_API_KEY"}};

uint64_t Hash(std::string_view text, uint64_t seed) {
  uint64_t hash = 14695981039346656037ull ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool StartsWithName(std::string_view line, std::string_view name) {
  return line.size() > name.size() && line[name.size()] == ':' &&
         std::equal(name.begin(), name.end(), line.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
}

}  // namespace

Generation GenerationOf(const std::string& etag, const std::string& last_modified, uint64_t object_bytes) {
  const std::string_view validator = etag.empty() ? last_modified : etag;
  if (validator.empty()) return Generation();
  return {{Hash(validator, 0), Hash(validator, 1), object_bytes, 1}};
}

HttpSession::HttpSession(const Url& base, const HttpOptions& options, SignRequest sign)
    : origin_(base.Origin()), options_(options), sign_(std::move(sign)) {
  ca_file_ = options_.ca_file;
  if (ca_file_.empty()) ca_file_ = Variable("CURL_CA_BUNDLE");
  if (ca_file_.empty()) ca_file_ = Variable("SSL_CERT_FILE");
  netrc_file_ = Variable("NETRC");
  for (const auto& [archive, variable] : kArchives) {
    const std::string key = Variable(variable);
    // (A line end would begin another header.)
    if (key.empty() || key.find_first_of("\r\n") != std::string::npos) continue;
    key_of_origin_[archive] = "Authorization: token " + key;
  }
}

Result<std::shared_ptr<HttpSession>> HttpSession::Make(const Url& base, const HttpOptions& options, SignRequest sign) {
  std::shared_ptr<HttpSession> session(new HttpSession(base, options, std::move(sign)));
  H5ZARR_RETURN_IF_ERROR(session->ReadHeaders());
  if (!options.cache_dir.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(session->cache_, DiskCache::Open(options.cache_dir, options.cache_dir_bytes));
  }
  return session;
}

Status HttpSession::ReadHeaders() {
  if (options_.headers_file.empty()) return OkStatus();
  std::ifstream file(options_.headers_file);
  if (!file) return ErrnoError(errno, "headers_file '" + options_.headers_file + "'");
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(':');
    // The line itself may be a secret: only its number is shown.
    if (colon == std::string::npos || colon == 0 || line.find_first_of(" \t") < colon) {
      return InvalidArgumentError("headers_file '" + options_.headers_file + "', line " + std::to_string(number) +
                                  " is not 'Name: value'");
    }
    has_authorization_ = has_authorization_ || StartsWithName(line, "authorization");
    headers_.push_back(line);
  }
  return OkStatus();
}

Result<std::vector<std::string>> HttpSession::HeadersFor(const RequestHead& head) const {
  if (sign_) return sign_(head);
  const std::string origin = head.url.Origin();
  std::vector<std::string> headers;
  if (origin == origin_) headers = headers_;
  const auto key = key_of_origin_.find(origin);
  if (key != key_of_origin_.end() && !(origin == origin_ && has_authorization_)) {
    headers.push_back(key->second);
  }
  return headers;
}

bool HttpSession::UsesNetrc(const Url& url) const {
  const std::string origin = url.Origin();
  return !sign_ && !(has_authorization_ && origin == origin_) && !key_of_origin_.contains(origin);
}

std::optional<HttpSession::Known> HttpSession::Find(const std::string& url) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = known_.find(url);
  if (found == known_.end()) return std::nullopt;
  Known known = found->second;
  if (known.location) {
    const std::optional<std::chrono::seconds> lifetime = known.location->SignedFor();
    const std::chrono::seconds use =
        lifetime ? *lifetime - std::min(kLocationMargin, *lifetime / 2) : std::chrono::seconds(kLocationLifetime);
    if (std::chrono::steady_clock::now() - known.location_time > use) known.location.reset();
  }
  return known;
}

void HttpSession::NoteLocation(const std::string& url, const Url& location) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (known_.size() >= kMaxKnown) known_.clear();
  Known& known = known_[url];
  known.location = location;
  known.location_time = std::chrono::steady_clock::now();
}

void HttpSession::ForgetLocation(const std::string& url) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = known_.find(url);
  if (found != known_.end()) found->second.location.reset();
}

void HttpSession::NoteState(const std::string& url, const std::string& etag, const Generation& generation,
                            uint64_t object_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (known_.size() >= kMaxKnown) known_.clear();
  Known& known = known_[url];
  known.etag = etag;
  known.generation = generation;
  known.object_bytes = object_bytes;
  known.seen_time = std::chrono::steady_clock::now();
}

void HttpSession::Forget(const std::string& url) {
  const std::lock_guard<std::mutex> lock(mutex_);
  known_.erase(url);
}

}  // namespace h5zarr
