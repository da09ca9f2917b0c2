#include "store/http_read.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "store/http_engine.h"
#include "store/read_plan.h"

namespace h5zarr {
namespace {

// A request costs about as much as this many bytes: a smaller gap is read along.
constexpr uint64_t kCheapGapBytes = 64 << 10;
constexpr uint64_t kMaxGapBytes = 1 << 20;
// Larger gaps only where they stay a small part of the whole.
constexpr uint64_t kGapShare = 12;
// One connection's share of the bandwidth is limited (S3's is), so that large parts take longer than several.
constexpr uint64_t kMaxPartBytes = 4 << 20;
// A request may take so long: no more of them for the sake of other threads.
constexpr double kMinPartSinkNs = 20'000'000;
// Bytes that are on their way, or there and not decoded yet.
constexpr uint64_t kMaxInFlightBytes = 256 << 20;

class BatchReader {
 public:
  BatchReader(const UrlOfKey& url_of, const std::shared_ptr<HttpSession>& session, std::span<ReadOp> ops,
              const ReadSink& sink, ReadPlan plan, HttpEngine* engine)
      : url_of_(url_of),
        session_(session),
        ops_(ops),
        sink_(sink),
        plan_(std::move(plan)),
        engine_(engine),
        pieces_left_(plan_.split_pieces.size()) {
    for (std::size_t i = 0; i < pieces_left_.size(); ++i) pieces_left_[i] = plan_.split_pieces[i];
    if (session_->ignores_ranges()) ReadObjectsWhole();
    parts_.resize(plan_.parts.size());
    seen_.resize(plan_.objects.size());
  }

  Status Run(Executor& executor) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      for (const ReadPlan::Object& object : plan_.objects) Announce(object);
      SubmitSome(&lock);
    }
    const Status status =
        executor.ParallelFor(plan_.parts.size(), plan_.cost_ns, [this](std::size_t) { return RunOne(); });
    StopAll();
    return status;
  }

 private:
  struct Part {
    std::shared_ptr<CachedFetch> fetch;
    bool absent = false;      // known without a request
    bool holds_back = false;  // the object's other parts wait for this one
  };

  // Every object is one request: the server would send it whole for each.
  void ReadObjectsWhole() {
    std::vector<ReadPart> whole;
    for (ReadPlan::Object& object : plan_.objects) {
      ReadPart part = plan_.parts[object.first_part];
      part.last_op = plan_.parts[object.last_part - 1].last_op;
      part.begin = part.end = 0;
      part.split.reset();
      object.first_part = whole.size();
      object.last_part = whole.size() + 1;
      whole.push_back(part);
    }
    plan_.parts = std::move(whole);
    objects_whole_ = true;
  }

  // REQUIRES: mutex_ is held.
  void Announce(const ReadPlan::Object& object) {
    const std::size_t parts = object.last_part - object.first_part;
    const ReadOp& first = ops_[plan_.order[plan_.parts[object.first_part].first_op]];
    const std::optional<HttpSession::Known> known = session_->Find(url_of_(first.key).Text());
    // (Then those that are in the cache need no requests of their own.)
    const bool may_be_cached = session_->cache() != nullptr && !first.expected.known();
    const bool hold_back = parts > 1 && (!known || (may_be_cached && known->seen_time < begin_));
    parts_[object.first_part].holds_back = hold_back;
    for (std::size_t i = 0; i < (hold_back ? 1 : parts); ++i) ready_.push_back(object.first_part + i);
  }

  ByteRange RangeOf(const ReadPart& part) const {
    if (objects_whole_) return ByteRange::Whole();
    const ReadOp& op = ops_[plan_.order[part.first_op]];
    // (No header can ask for no bytes at all.)
    if (op.range.kind != ByteRange::Kind::kWhole && op.range.length == 0 && part.begin == part.end) {
      return ByteRange::Suffix(1);
    }
    if (part.last_op - part.first_op == 1 && !part.split) return op.range;
    return ByteRange::Span(part.begin, part.end - part.begin);
  }

  HttpFetch::Query QueryOf(const ReadPart& part) const {
    const ReadOp& op = ops_[plan_.order[part.first_op]];
    HttpFetch::Query query{url_of_(op.key), RangeOf(part), {}, op.expected};
    for (std::size_t i = part.first_op; i < part.last_op && !query.expected.known(); ++i) {
      query.expected = ops_[plan_.order[i]].expected;
    }
    if (objects_whole_) return query;
    if (part.split) {
      const uint64_t op_offset = op.range.kind == ByteRange::Kind::kSpan ? op.range.offset : 0;
      query.target = op.target.subspan(part.begin - op_offset, part.end - part.begin);
    } else if (part.last_op - part.first_op == 1) {
      query.target = op.target;
    }
    return query;
  }

  // Hands out requests while there is room for their bytes.
  void SubmitSome(std::unique_lock<std::mutex>* lock) {
    while (!ready_.empty() && !stopped_) {
      const std::size_t index = ready_.front();
      const ReadPart& part = plan_.parts[index];
      const uint64_t bytes = part.end - part.begin;
      if (in_flight_ > 0 && in_flight_bytes_ + bytes > kMaxInFlightBytes) return;
      ready_.pop_front();
      ++in_flight_;
      in_flight_bytes_ += bytes;
      HttpFetch::Query query = QueryOf(part);
      if (parts_[index].holds_back) query.on_begun = [this, index] { OnBegun(index); };
      lock->unlock();
      auto fetch = std::make_shared<CachedFetch>(std::move(query), session_, begin_, [this, index] { OnDone(index); });
      lock->lock();
      parts_[index].fetch = fetch;
      if (fetch->request() == nullptr) {
        arrived_.push_back(index);
        changed_.notify_one();
        continue;
      }
      if (stopped_) return;
      ++unanswered_;
      lock->unlock();
      engine_->Submit(fetch->request());
      lock->lock();
    }
  }

  // On the engine's thread, while the answer for this part comes: its others need not wait for the end.
  void OnBegun(std::size_t index) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (stopped_ || !std::exchange(parts_[index].holds_back, false)) return;
    LetGo(plan_.parts[index].object, false);
    SubmitSome(&lock);
  }

  // On the engine's thread. Nothing of this is touched after the lock is let go of.
  void OnDone(std::size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    --unanswered_;
    arrived_.push_back(index);
    changed_.notify_all();
  }

  // Takes a part that has arrived and passes it on. Called as often as there are parts.
  Status RunOne() {
    std::size_t index = 0;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || !arrived_.empty(); });
      if (stopped_) return OkStatus();
      index = arrived_.front();
      arrived_.pop_front();
      if (std::exchange(parts_[index].holds_back, false)) LetGo(plan_.parts[index].object, IsAbsent(parts_[index]));
      SubmitSome(&lock);
    }
    Status status = Deliver(index);
    std::unique_lock<std::mutex> lock(mutex_);
    if (!status.ok()) {
      stopped_ = true;
      changed_.notify_all();
      return status;
    }
    if (parts_[index].fetch != nullptr) {
      parts_[index].fetch.reset();
      --in_flight_;
      in_flight_bytes_ -= plan_.parts[index].end - plan_.parts[index].begin;
    }
    SubmitSome(&lock);
    return status;
  }

  static bool IsAbsent(const Part& part) { return part.absent || part.fetch->is_absent(); }

  // The first part of an object is there: now its others. REQUIRES: mutex_ is held.
  void LetGo(std::size_t object_index, bool absent) {
    const ReadPlan::Object& object = plan_.objects[object_index];
    for (std::size_t i = object.first_part + 1; i < object.last_part; ++i) {
      parts_[i].absent = absent;
      (absent ? arrived_ : ready_).push_back(i);
    }
    if (absent) changed_.notify_all();
  }

  void StopAll() {
    std::unique_lock<std::mutex> lock(mutex_);
    stopped_ = true;
    if (unanswered_ == 0) return;
    for (const Part& part : parts_) {
      if (part.fetch != nullptr && part.fetch->request() != nullptr) part.fetch->request()->Cancel();
    }
    lock.unlock();
    engine_->NoticeCancelled();
    lock.lock();
    // Their targets are the caller's memory.
    changed_.wait(lock, [this] { return unanswered_ == 0; });
  }

  // All that is read of an object is of one state of it.
  Status CheckSame(const ReadPart& part, const HttpFetch::Outcome& outcome) {
    if (outcome.absent || !outcome.generation.known()) return OkStatus();
    const std::lock_guard<std::mutex> lock(mutex_);
    Generation& first = seen_[part.object];
    if (!first.known()) first = outcome.generation;
    if (first == outcome.generation) return OkStatus();
    return ChangedError("'" + url_of_(ops_[plan_.order[part.first_op]].key).Shown() +
                        "': the object has been replaced meanwhile");
  }

  Status Deliver(std::size_t index) {
    const ReadPart& part = plan_.parts[index];
    if (parts_[index].fetch != nullptr) {
      H5ZARR_RETURN_IF_ERROR(parts_[index].fetch->Finish());
      H5ZARR_RETURN_IF_ERROR(CheckSame(part, parts_[index].fetch->outcome()));
    }
    const bool absent = IsAbsent(parts_[index]);
    // Pieces of one op are delivered with the last of them.
    if (part.split && pieces_left_[*part.split].fetch_sub(1, std::memory_order_acq_rel) != 1) {
      return OkStatus();
    }
    for (std::size_t i = part.first_op; i < part.last_op; ++i) {
      const std::size_t op_index = plan_.order[i];
      ReadResult result;
      if (!absent) {
        H5ZARR_ASSIGN_OR_RETURN(result, ResultFor(ops_[op_index], part, parts_[index].fetch->outcome()));
      }
      H5ZARR_RETURN_IF_ERROR(sink_(op_index, result));
    }
    return OkStatus();
  }

  // The op's bytes among those of its part, in its target where it has one.
  Result<ReadResult> ResultFor(const ReadOp& op, const ReadPart& part, const HttpFetch::Outcome& outcome) const {
    ReadResult result;
    result.generation = outcome.generation;
    result.object_bytes = outcome.object_bytes;
    H5ZARR_ASSIGN_OR_RETURN(const ByteRange range,
                            LocateRange(op, outcome.object_bytes, "'" + url_of_(op.key).Shown() + "'"));
    if (part.split) {
      result.bytes = op.target;
      return result;
    }
    ByteSpan bytes;
    if (range.length > 0) {
      if (range.offset < outcome.offset || range.offset - outcome.offset + range.length > outcome.bytes.size()) {
        return InternalError("'" + url_of_(op.key).Shown() + "': a part without its bytes");
      }
      bytes = outcome.bytes.subspan(range.offset - outcome.offset, range.length);
    }
    if (!op.target.empty() && op.target.data() != bytes.data()) {
      std::memcpy(op.target.data(), bytes.data(), bytes.size());
      bytes = op.target;
    }
    result.bytes = bytes;
    return result;
  }

  const UrlOfKey& url_of_;
  const std::shared_ptr<HttpSession>& session_;
  const std::span<ReadOp> ops_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const ReadSink& sink_;
  ReadPlan plan_;
  HttpEngine* const engine_;
  bool objects_whole_ = false;
  std::vector<std::atomic<std::size_t>> pieces_left_;  // of each split op

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Generation> seen_;     // guarded by mutex_: the state of each object
  std::vector<Part> parts_;          // `fetch` is set under mutex_, and read by whoever has the part
  std::deque<std::size_t> ready_;    // guarded by mutex_: may be submitted
  std::deque<std::size_t> arrived_;  // guarded by mutex_
  std::size_t in_flight_ = 0;        // guarded by mutex_: submitted and not delivered
  uint64_t in_flight_bytes_ = 0;     // guarded by mutex_
  std::size_t unanswered_ = 0;       // guarded by mutex_: the engine has them
  bool stopped_ = false;             // guarded by mutex_
};

}  // namespace

Status ReadHttpBatch(const UrlOfKey& url_of, const std::shared_ptr<HttpSession>& session, std::span<ReadOp> ops,
                     const ReadSink& sink, Executor& executor) {
  if (ops.empty()) return OkStatus();
  ReadPlanLimits limits;
  limits.gap_bytes = kCheapGapBytes;
  limits.wide_gap_bytes = kMaxGapBytes;
  limits.wide_gap_share = kGapShare;
  limits.max_bytes = kMaxPartBytes;
  limits.alone_bytes = kMaxPartBytes;
  limits.split_bytes = kMaxPartBytes;
  limits.min_part_sink_ns = kMinPartSinkNs;
  H5ZARR_ASSIGN_OR_RETURN(ReadPlan plan, MakeReadPlan(ops, limits, executor));
  H5ZARR_ASSIGN_OR_RETURN(HttpEngine* const engine, HttpEngine::Get());
  return BatchReader(url_of, session, ops, sink, std::move(plan), engine).Run(executor);
}

Result<HttpFetch::Outcome> FetchNow(HttpFetch::Query query, const std::shared_ptr<HttpSession>& session,
                                    std::shared_ptr<CachedFetch>* owner) {
  HttpWaiter waiter;
  *owner = std::make_shared<CachedFetch>(std::move(query), session, std::chrono::steady_clock::now(), waiter.OnDone());
  if ((*owner)->request() != nullptr) {
    H5ZARR_RETURN_IF_ERROR(waiter.Submit((*owner)->request()));
    waiter.Wait();
  }
  H5ZARR_RETURN_IF_ERROR((*owner)->Finish());
  return (*owner)->outcome();
}

}  // namespace h5zarr
