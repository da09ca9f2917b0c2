#include "store/http_fetch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace h5zarr {
namespace {

constexpr int kMaxRedirects = 10;
constexpr int kMaxRenewals = 3;
// What a server that knows no ranges may have to send for one.
constexpr uint64_t kMaxIgnoredRangeEnd = 64 << 20;
// A failure after so much progress is as good as the first.
constexpr uint64_t kProgressBytes = 1 << 20;
constexpr std::size_t kMaxErrorText = 512;
constexpr uint64_t kFirstRoomBytes = 64 << 10;

bool IsStrong(const std::string& etag) { return etag.size() >= 2 && etag[0] == '"'; }

// ("aws-chunked" is how it was uploaded, which some servers repeat.)
bool IsEncoded(std::string_view content_encoding) {
  return !content_encoding.empty() && content_encoding != "identity" && content_encoding != "aws-chunked";
}

}  // namespace

HttpFetch::HttpFetch(Query query, std::shared_ptr<HttpSession> session, std::function<void()> done)
    : HttpTask(std::move(session), std::move(done)), query_(std::move(query)) {
  switch (query_.range.kind) {
    case ByteRange::Kind::kWhole: asking_ = Asking::kWhole; break;
    case ByteRange::Kind::kSuffix: asking_ = Asking::kSuffix; break;
    case ByteRange::Kind::kSpan:
      asking_ = Asking::kSpan;
      begin_ = at_ = query_.range.offset;
      end_ = begin_ + query_.range.length;
      break;
  }
  const std::optional<HttpSession::Known> known = session_->Find(query_.url.Text());
  if (!known) return;
  location_ = known->location;
  location_from_earlier_ = location_.has_value();
  if (query_.expected.known() && known->generation == query_.expected) etag_ = known->etag;
}

// --- the request -----------------------------------------------------------------------------------

std::string HttpFetch::RangeText() const {
  if (decodes_) return "";  // ranges are those of what is encoded
  switch (asking_) {
    case Asking::kWhole: return at_ > 0 ? std::to_string(at_) + "-" : "";
    case Asking::kSpan: return std::to_string(at_) + "-" + std::to_string(*end_ - 1);
    case Asking::kSuffix: return "-" + std::to_string(query_.range.length);
    case Asking::kLength: return "0-0";
    case Asking::kLast: return "-1";
  }
  return "";
}

std::string HttpFetch::ShownRange() const {
  const ByteRange& range = query_.range;
  switch (range.kind) {
    case ByteRange::Kind::kWhole: return "";
    case ByteRange::Kind::kSuffix: return ", the last " + std::to_string(range.length) + " bytes";
    case ByteRange::Kind::kSpan:
      return ", bytes [" + std::to_string(range.offset) + ", " + std::to_string(range.offset + range.length) + ")";
  }
  return "";
}

std::string HttpFetch::Describe() const { return "'" + query_.url.Shown() + "'" + ShownRange(); }

Status HttpFetch::Prepare(const HttpLibrary& curl, CURL* handle) {
  body_begun_ = keeps_body_ = satisfied_ = false;
  attempt_bytes_ = 0;
  broken_ = OkStatus();
  error_text_.clear();
  RequestHead head{"GET", current_url()};
  if (IsStrong(etag_)) head.headers.push_back("If-Match: " + etag_);
  else if (query_.unless && at_ == begin_) head.headers.push_back("If-None-Match: " + query_.unless->etag);
  const std::string range = RangeText();
  if (!range.empty()) head.headers.push_back("Range: bytes=" + range);
  // A signed URL is its own authorization; servers refuse two.
  const bool is_signed = location_ && location_->IsPresigned();
  H5ZARR_RETURN_IF_ERROR(SetUp(curl, handle, head, !is_signed));
  if (decodes_ && curl.easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "identity") != CURLE_OK) {
    return InternalError(Describe() + ": libcurl refuses the request");
  }
  return OkStatus();
}

// --- the answer ------------------------------------------------------------------------------------

Status HttpFetch::CheckState() {
  const std::string& validator = headers_.etag.empty() ? headers_.last_modified : headers_.etag;
  const std::string& first = etag_.empty() ? last_modified_ : etag_;
  if (!first.empty() && !validator.empty() && first != validator) {
    return ChangedError(Describe() + ": the object has been replaced meanwhile");
  }
  etag_ = headers_.etag;
  last_modified_ = headers_.last_modified;
  if (object_bytes_ && query_.expected.known() &&
      GenerationOf(etag_, last_modified_, *object_bytes_) != query_.expected) {
    return ChangedError(Describe() + ": the object has been replaced meanwhile");
  }
  return OkStatus();
}

Status HttpFetch::MakeRoom(uint64_t bytes) {
  if (!query_.target.empty() || memory_.size_bytes() >= bytes) return OkStatus();
  uint64_t room = bytes;
  if (!end_) room = std::max({kFirstRoomBytes, bytes, 2 * uint64_t{memory_.size_bytes()}});
  H5ZARR_ASSIGN_OR_RETURN(Buffer larger, Buffer::Allocate(room));
  if (at_ > begin_) std::memcpy(larger.data(), memory_.data(), at_ - begin_);
  memory_ = std::move(larger);
  return OkStatus();
}

Status HttpFetch::EncodedError() const {
  return UnsupportedError(
      Describe() + ": the server sends it encoded (Content-Encoding: " + headers_.content_encoding.substr(0, 20) + ")");
}

// The whole object comes, whatever was asked for.
Status HttpFetch::BeginWhole() {
  stream_at_ = 0;
  object_bytes_ = headers_.content_length;
  if (asking_ == Asking::kLast) return OkStatus();
  if (asking_ != Asking::kWhole) session_->NoteIgnoredRange();
  if (asking_ == Asking::kLength) asking_ = Asking::kSuffix;
  if (asking_ == Asking::kSuffix) {
    if (!object_bytes_) {
      return UnsupportedError(Describe() + ": the server knows no ranges, nor says how long its answer is");
    }
    if (*object_bytes_ >= query_.range.length) {
      begin_ = at_ = *object_bytes_ - query_.range.length;
      end_ = *object_bytes_;
      asking_ = Asking::kSpan;
    }
  }
  if (asking_ == Asking::kWhole) end_ = object_bytes_;
  if (query_.may_be_shorter) end_ = std::min(*end_, object_bytes_.value_or(UINT64_MAX));
  const uint64_t needed_bytes = end_.value_or(0);
  if (asking_ != Asking::kWhole && needed_bytes > kMaxIgnoredRangeEnd) {
    return UnsupportedError(Describe() +
                            ": the server knows no ranges, and the object is too large to be "
                            "read from its beginning for each");
  }
  return OkStatus();
}

Status HttpFetch::BeginPart() {
  if (!headers_.content_range || !headers_.content_range->first) {
    return Status(StatusCode::kIo, Describe() + ": HTTP status 206 without a Content-Range");
  }
  const ContentRange& range = *headers_.content_range;
  stream_at_ = *range.first;
  object_bytes_ = range.total;
  const bool to_the_end = asking_ == Asking::kSuffix || asking_ == Asking::kLast;
  if (to_the_end && !range.total) object_bytes_ = *range.last + 1;
  if (AsksForLength()) return OkStatus();
  if (asking_ == Asking::kSuffix && *object_bytes_ >= query_.range.length) {
    begin_ = at_ = *object_bytes_ - query_.range.length;
    end_ = *object_bytes_;
    asking_ = Asking::kSpan;
  }
  if (asking_ == Asking::kWhole) end_ = range.total ? range.total : *range.last + 1;
  if (query_.may_be_shorter) {
    if (!range.total && *range.last + 1 < *end_) object_bytes_ = *range.last + 1;
    end_ = std::min(*end_, object_bytes_.value_or(UINT64_MAX));
  }
  // (Of an object that is too short BeginBody says so.)
  const bool too_short = object_bytes_ && end_.value_or(0) > *object_bytes_;
  if (!too_short && end_ && (stream_at_ != at_ || *range.last + 1 != *end_)) {
    return Status(StatusCode::kIo, Describe() + ": the server answered with bytes [" + std::to_string(*range.first) +
                                       ", " + std::to_string(*range.last + 1) + ")");
  }
  return OkStatus();
}

Status HttpFetch::BeginBody() {
  body_begun_ = true;
  if (headers_.status != 200 && headers_.status != 206) return OkStatus();
  if (IsEncoded(headers_.content_encoding)) {
    // Objects that were stored encoded come so, asked or not. They are decoded from the beginning on.
    const bool can_be = asking_ == Asking::kWhole || (asking_ == Asking::kSpan && !query_.may_be_shorter);
    needs_decoding_ = can_be && !decodes_;
    if (!decodes_ || headers_.status != 200) return EncodedError();
    headers_.content_length.reset();  // of what is encoded
  }
  H5ZARR_RETURN_IF_ERROR(headers_.status == 200 ? BeginWhole() : BeginPart());
  H5ZARR_RETURN_IF_ERROR(CheckState());
  if (AsksForLength()) return OkStatus();
  if (object_bytes_ && asking_ != Asking::kWhole && (asking_ == Asking::kSuffix || *end_ > *object_bytes_)) {
    return CorruptError(Describe() + ": the object has only " + std::to_string(*object_bytes_) + " bytes");
  }
  if (end_ && !query_.target.empty() && *end_ - begin_ != query_.target.size()) {
    return CorruptError(Describe() + ": the object has " + std::to_string(*end_ - begin_) + " bytes, expected " +
                        std::to_string(query_.target.size()));
  }
  keeps_body_ = true;
  if (query_.on_begun && !std::exchange(begun_, true)) query_.on_begun();
  return end_ ? MakeRoom(*end_ - begin_) : OkStatus();
}

// False ends the request.
bool HttpFetch::TakeBody(const char* data, uint64_t bytes) {
  if (cancelled()) return false;
  if (!body_begun_) {
    broken_ = BeginBody();
    if (!broken_.ok()) return false;
  }
  if (!keeps_body_) {
    error_text_.append(data, std::min<uint64_t>(bytes, kMaxErrorText - error_text_.size()));
    satisfied_ = AsksForLength() && object_bytes_.has_value();
    return !satisfied_;
  }
  const uint64_t stream_end = stream_at_ + bytes;
  if (stream_end > at_) {
    const uint64_t skipped = at_ > stream_at_ ? at_ - stream_at_ : 0;
    uint64_t taken = bytes - skipped;
    if (end_) taken = std::min(taken, *end_ - at_);
    const uint64_t room_end = at_ + taken - begin_;
    if (!query_.target.empty() && room_end > query_.target.size()) {
      broken_ = CorruptError(Describe() + ": the object has more than the " + std::to_string(query_.target.size()) +
                             " bytes expected");
      return false;
    }
    broken_ = MakeRoom(room_end);
    if (!broken_.ok()) return false;
    std::byte* const room = query_.target.empty() ? memory_.data() : query_.target.data();
    std::memcpy(room + (at_ - begin_), data + skipped, taken);
    at_ += taken;
    attempt_bytes_ += taken;
  }
  stream_at_ = stream_end;
  // The length of the object is known by its header where a length is; else the end must be seen.
  satisfied_ = end_ && at_ == *end_ && stream_end > *end_ && object_bytes_.has_value();
  return !satisfied_;
}

// --- what came of it -------------------------------------------------------------------------------

HttpFetch::Next HttpFetch::Done(Status status) {
  outcome_.status = std::move(status);
  return {};
}

void HttpFetch::Fail(Status status) { outcome_.status = std::move(status); }

// What is there of the object is of no use: its rest may be another's.
void HttpFetch::Restart() {
  at_ = begin_;
  etag_.clear();
  last_modified_.clear();
}

HttpFetch::Next HttpFetch::Retry(const std::string& why, bool overloaded, int at_most) {
  if (attempt_bytes_ >= kProgressBytes) failures_ = 0;
  if (const std::optional<Next> next = PlanRetry(why, overloaded, at_most)) {
    if (decodes_ || (etag_.empty() && last_modified_.empty())) Restart();
    return *next;
  }
  return Done(Status(StatusCode::kIo, Describe() + ": " + why + ShownAttempts()));
}

HttpFetch::Next HttpFetch::FinishRedirect() {
  if (++redirects_ > kMaxRedirects) {
    return Done(Status(StatusCode::kIo, Describe() + ": too many redirects"));
  }
  Result<Url> target = ResolveUrl(current_url(), headers_.location);
  if (!target.ok()) {
    return Done(Status(StatusCode::kIo, Describe() + ": redirected to " + target.status().message()));
  }
  if (current_url().scheme == "https" && target->scheme != "https") {
    return Done(PermissionDeniedError(Describe() + ": redirected from https to http"));
  }
  if (target->IsPresigned()) {
    const std::size_t at = target->authority.rfind('@');
    if (at != std::string::npos) target->authority.erase(0, at + 1);
  }
  location_ = std::move(*target);
  location_from_earlier_ = false;
  session_->NoteLocation(query_.url.Text(), *location_);
  return Again();
}

// Where the answer may only mean that the link of a redirect has expired: the server that gave it gives a
// new one. False when that was tried already.
bool HttpFetch::RenewLocation() {
  if (!location_ || renewals_ == kMaxRenewals) return false;
  ++renewals_;
  session_->ForgetLocation(query_.url.Text());
  location_.reset();
  return true;
}

HttpFetch::Next HttpFetch::FinishDenied() {
  if (RenewLocation()) return Again();
  if (headers_.status == 403 && session_->options().missing_is_403) {
    outcome_.absent = true;
    return Done(OkStatus());
  }
  std::string hint = session_->denied_hint();
  if (hint.empty() && headers_.status == 403) {
    hint = " (where it says so of what is not there: the setting missing=403)";
  }
  return Done(PermissionDeniedError(Describe() + ": " + headers_.ShownStatus() + ShownErrorCode(error_text_) + hint));
}

HttpFetch::Next HttpFetch::FinishNotModified() {
  const auto& [etag, object_bytes] = *query_.unless;
  outcome_.not_modified = true;
  outcome_.etag = etag;
  outcome_.object_bytes = object_bytes;
  outcome_.generation = GenerationOf(etag, "", object_bytes);
  session_->NoteState(query_.url.Text(), etag, outcome_.generation, object_bytes);
  return Done(OkStatus());
}

HttpFetch::Next HttpFetch::FinishUnsatisfiable() {
  std::optional<uint64_t> total;
  if (headers_.content_range) total = headers_.content_range->total;
  if (asking_ == Asking::kSuffix && (!total || *total >= query_.range.length) && total != 0u) {
    // Servers that know no suffixes: by the length, which they may have said.
    if (!total) {
      asking_ = Asking::kLength;
      return Again();
    }
    begin_ = at_ = *total - query_.range.length;
    end_ = *total;
    asking_ = Asking::kSpan;
    return Again();
  }
  if (!total) return Done(Status(StatusCode::kIo, Describe() + ": " + headers_.ShownStatus()));
  if (asking_ == Asking::kLast) {
    object_bytes_ = total;
    return Succeed();
  }
  return Done(CorruptError(Describe() + ": the object has only " + std::to_string(*total) + " bytes"));
}

HttpFetch::Next HttpFetch::Succeed() {
  // (A body without a length was read to its end.)
  if (!object_bytes_) object_bytes_ = std::max(at_, stream_at_);
  outcome_.object_bytes = *object_bytes_;
  outcome_.generation = GenerationOf(etag_, last_modified_, *object_bytes_);
  if (query_.expected.known() && outcome_.generation != query_.expected) {
    return Done(ChangedError(Describe() + ": the object has been replaced meanwhile"));
  }
  if (!query_.target.empty() && at_ - begin_ != query_.target.size()) {
    return Done(CorruptError(Describe() + ": the object has " + std::to_string(at_ - begin_) + " bytes, expected " +
                             std::to_string(query_.target.size())));
  }
  const std::byte* const bytes = query_.target.empty() ? memory_.data() : query_.target.data();
  outcome_.bytes = {bytes, at_ - begin_};
  outcome_.offset = begin_;
  outcome_.etag = etag_;
  outcome_.may_be_kept = IsStrong(etag_) && !headers_.no_store;
  session_->NoteState(query_.url.Text(), etag_, outcome_.generation, *object_bytes_);
  return Done(OkStatus());
}

// After a request that was only to tell how long the object is.
HttpFetch::Next HttpFetch::FinishLength() {
  if (!object_bytes_) {
    return Done(UnsupportedError(Describe() + ": the server does not say how long the object is"));
  }
  if (asking_ == Asking::kLast) return Succeed();
  if (*object_bytes_ < query_.range.length) {
    return Done(CorruptError(Describe() + ": the object has only " + std::to_string(*object_bytes_) + " bytes"));
  }
  begin_ = at_ = *object_bytes_ - query_.range.length;
  end_ = *object_bytes_;
  asking_ = Asking::kSpan;
  return Again();
}

HttpFetch::Next HttpFetch::FinishBody(CURLcode code, const char* reason) {
  const bool complete = satisfied_ || (body_begun_ && keeps_body_ && end_ && at_ == *end_);
  if (code != CURLE_OK && !complete) return Retry(reason, true, session_->options().retries);
  if (!body_begun_) {
    broken_ = BeginBody();
    if (!broken_.ok()) return Finish(code, reason);
  }
  if (AsksForLength()) return FinishLength();
  if (query_.may_be_shorter && !object_bytes_) end_ = at_;  // a body without a length
  if (end_ && at_ != *end_) {
    return Retry(
        "the answer ended after " + std::to_string(at_ - begin_) + " of " + std::to_string(*end_ - begin_) + " bytes",
        true, session_->options().retries);
  }
  if (!object_bytes_ && headers_.status == 206) {
    // "bytes first-last/*": the last byte's place says how long the object is.
    asking_ = Asking::kLast;
    return Again();
  }
  return Succeed();
}

HttpFetch::Next HttpFetch::FinishStatus() {
  const int status = headers_.status;
  if (status == 404 || status == 410) {
    // (S3's answer where the whole bucket is gone.)
    if (error_text_.find("<Code>NoSuchBucket</Code>") != std::string::npos) {
      return Done(Status(StatusCode::kIo, Describe() + ": there is no such bucket", ENOENT));
    }
    if (location_from_earlier_ && RenewLocation()) return Again();
    if (query_.expected.known() || at_ > begin_) {
      return Done(ChangedError(Describe() + ": the object has been removed meanwhile"));
    }
    outcome_.absent = true;
    return Done(OkStatus());
  }
  if (status == 401 || status == 403 || (status == 400 && location_from_earlier_)) {
    return FinishDenied();
  }
  if (status == 412) {
    return Done(ChangedError(Describe() + ": the object has been replaced meanwhile"));
  }
  if (status == 416) return FinishUnsatisfiable();
  if (MayPass(status)) {
    return Retry(headers_.ShownStatus() + ShownErrorCode(error_text_), true, session_->options().retries);
  }
  return Done(Status(StatusCode::kIo, Describe() + ": " + headers_.ShownStatus() + ShownErrorCode(error_text_)));
}

HttpFetch::Next HttpFetch::Finish(CURLcode code, const char* reason) {
  if (cancelled()) return Done(Status(StatusCode::kIo, Describe() + ": no longer wanted"));
  if (std::exchange(needs_decoding_, false)) {
    decodes_ = true;
    Restart();
    return Again();
  }
  if (code == CURLE_BAD_CONTENT_ENCODING) return Done(EncodedError());  // which libcurl does not know
  if (broken_.code() == StatusCode::kChanged && !query_.expected.known()) {
    // Nobody has seen anything of the old one yet.
    Restart();
    return Retry("the object changes while it is read", false, session_->options().retries);
  }
  if (!broken_.ok()) return Done(std::move(broken_));
  const int status = headers_.status;
  if (status == 0) {
    if (!MayPass(code)) return Done(Status(StatusCode::kIo, Describe() + ": " + reason));
    return Retry(reason, !IsOfConnecting(code), PatienceWith(code));
  }
  if (status == 200 || status == 206) return FinishBody(code, reason);
  if (status == 304 && query_.unless && etag_.empty()) return FinishNotModified();
  const bool redirects = status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  if (redirects && !headers_.location.empty()) return FinishRedirect();
  return FinishStatus();
}

}  // namespace h5zarr
