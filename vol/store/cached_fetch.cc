#include "store/cached_fetch.h"

#include <algorithm>
#include <utility>

#include "base/trace.h"
#include "store/http_engine.h"

namespace h5zarr {
namespace {

// What an object is known by, whoever asks for it: a query that is a signature belongs to the asking. (The cache
// keeps a hash of it alone.)
std::string NameOf(const Url& url) { return url.Origin() + url.path + (url.IsPresigned() ? "" : url.query); }

}  // namespace

CachedFetch::CachedFetch(HttpFetch::Query query, std::shared_ptr<HttpSession> session,
                         std::chrono::steady_clock::time_point since, std::function<void()> done)
    : query_(std::move(query)), session_(std::move(session)), since_(since) {
  if (session_->cache() != nullptr) {
    name_ = NameOf(query_.url);
    cached_ = FindCached();
  }
  if (cached_ && IsCurrent(cached_->state)) return;
  if (cached_) query_.unless = cached_->state;
  request_ = std::make_shared<HttpFetch>(query_, session_, std::move(done));
}

bool CachedFetch::is_absent() const {
  return outcome_.absent || (request_ != nullptr && request_->outcome().status.ok() && request_->outcome().absent);
}

bool CachedFetch::IsCurrent(const DiskCache::State& state) const {
  if (query_.expected.known()) return true;  // only such are looked for
  const std::optional<HttpSession::Known> known = session_->Find(query_.url.Text());
  return known && known->seen_time >= since_ && known->etag == state.etag && known->object_bytes == state.object_bytes;
}

std::optional<CachedFetch::Cached> CachedFetch::FindCached() const {
  for (const DiskCache::State& state : session_->cache()->StatesOf(name_)) {
    const uint64_t object_bytes = state.object_bytes;
    if (query_.expected.known() && GenerationOf(state.etag, "", object_bytes) != query_.expected) continue;
    Cached cached{state, 0, object_bytes};
    const ByteRange& range = query_.range;
    if (range.kind == ByteRange::Kind::kSpan) {
      cached.begin = range.offset;
      cached.end = range.offset + range.length;
      if (query_.may_be_shorter) cached.end = std::min(cached.end, object_bytes);
    } else if (range.kind == ByteRange::Kind::kSuffix) {
      cached.begin = object_bytes - std::min(range.length, object_bytes);
      if (range.length > object_bytes) continue;
    }
    if (cached.begin >= cached.end || cached.end > object_bytes) continue;
    if (!query_.target.empty() && query_.target.size() != cached.end - cached.begin) continue;
    if (session_->cache()->Has(name_, state, cached.begin, cached.end)) return cached;
  }
  return std::nullopt;
}

bool CachedFetch::ReadCached() {
  MutableByteSpan target = query_.target;
  if (target.empty()) {
    Result<Buffer> memory = Buffer::Allocate(cached_->end - cached_->begin);
    if (!memory.ok()) return false;
    memory_ = std::move(*memory);
    target = memory_.span();
  }
  if (!session_->cache()->Read(name_, cached_->state, cached_->begin, target)) return false;
  outcome_ = HttpFetch::Outcome();
  outcome_.bytes = target;
  outcome_.offset = cached_->begin;
  outcome_.object_bytes = cached_->state.object_bytes;
  outcome_.etag = cached_->state.etag;
  outcome_.generation = GenerationOf(outcome_.etag, "", outcome_.object_bytes);
  if (Tracing(TraceLevel::kRanges)) {
    Trace("'" + query_.url.Shown() + "', bytes [" + std::to_string(cached_->begin) + ", " +
          std::to_string(cached_->end) + "): from cache_dir");
  }
  return true;
}

void CachedFetch::Keep() {
  if (session_->cache() == nullptr || outcome_.absent || !outcome_.may_be_kept) return;
  session_->cache()->Keep(name_, {outcome_.etag, outcome_.object_bytes}, outcome_.offset, outcome_.bytes);
}

Status CachedFetch::Finish() {
  if (request_ != nullptr) outcome_ = request_->outcome();
  H5ZARR_RETURN_IF_ERROR(outcome_.status);
  if (request_ == nullptr || outcome_.not_modified) {
    if (ReadCached()) return OkStatus();
    query_.unless.reset();
    HttpWaiter waiter;
    anew_ = std::make_shared<HttpFetch>(query_, session_, waiter.OnDone());
    H5ZARR_RETURN_IF_ERROR(waiter.Submit(anew_));
    waiter.Wait();
    outcome_ = anew_->outcome();
    H5ZARR_RETURN_IF_ERROR(outcome_.status);
  }
  Keep();
  return OkStatus();
}

}  // namespace h5zarr
