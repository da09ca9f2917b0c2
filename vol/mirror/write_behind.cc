#include "mirror/write_behind.h"

#include <algorithm>
#include <utility>

namespace h5zarr::mirror {
namespace {

constexpr std::size_t kLargeWriters = 3, kSmallWriters = 12;
constexpr uint64_t kLargeBytes = 1 << 20;
// Of large ones in all: a pack of the usual size a writer, or one that is larger.
constexpr uint64_t kMostLargeBytes = 48 << 20;
constexpr std::size_t kMostSpare = kLargeWriters;
constexpr uint64_t kMostSpareBytes = 16 << 20;  // each
// What waits for one writer, and is being written by it: of large ones one at a time.
constexpr uint64_t kLargeBudgetBytes = kLargeBytes, kSmallBudgetBytes = 2 << 20;
// Large objects are written past the page cache, from where they lie.
constexpr std::size_t kAlignBytes = 4096;

}  // namespace

WriteBehind::WriteBehind(Store* store) : store_(store) {
  for (std::size_t i = 0; i < kLargeWriters; ++i) {
    large_writers_.push_back(std::make_unique<Background>(kLargeBudgetBytes));
  }
  for (std::size_t i = 0; i < kSmallWriters; ++i) {
    small_writers_.push_back(std::make_unique<Background>(kSmallBudgetBytes));
  }
}

WriteBehind::~WriteBehind() { Drain(); }

void WriteBehind::Drain() {
  for (const auto& writer : large_writers_) writer->Drain();
  for (const auto& writer : small_writers_) writer->Drain();
}

Background& WriteBehind::NextWriter(bool is_large) {
  return is_large ? *large_writers_[next_large_++ % kLargeWriters] : *small_writers_[next_small_++ % kSmallWriters];
}

void WriteBehind::Note(const std::string& key, const Status& outcome, Buffer written) {
  const std::lock_guard<std::mutex> lock(mutex_);
  under_way_.erase(key);
  if (failure_.ok()) failure_ = outcome;
  const uint64_t bytes = written.size_bytes();
  if (bytes < kLargeBytes) return;
  if (bytes <= kMostSpareBytes && spare_.size() < kMostSpare) spare_.push_back(std::move(written));
  written = Buffer();
  large_bytes_ -= bytes;
  has_room_.notify_all();
}

void WriteBehind::AwaitRoom(uint64_t bytes) {
  std::unique_lock<std::mutex> lock(mutex_);
  has_room_.wait(lock, [&] { return large_bytes_ == 0 || large_bytes_ + bytes <= kMostLargeBytes; });
  large_bytes_ += bytes;
}

Result<Buffer> WriteBehind::TakeBuffer(uint64_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found =
        std::ranges::find_if(spare_, [bytes](const Buffer& spare) { return spare.size_bytes() >= bytes; });
    if (found != spare_.end()) {
      Buffer taken = std::move(*found);
      spare_.erase(found);
      return taken;
    }
  }
  return Buffer::Allocate(bytes, kAlignBytes);
}

Status WriteBehind::WriteLater(std::string key, Buffer bytes, uint64_t length) {
  const uint64_t held = bytes.size_bytes();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok()) return failure_;
    under_way_[key] = length;
  }
  NoteFolders(key);
  if (held >= kLargeBytes) AwaitRoom(held);
  const auto shared = std::make_shared<Buffer>(std::move(bytes));
  NextWriter(held >= kLargeBytes).Submit(held, [this, key = std::move(key), shared, length] {
    const Status written = store_->WriteNamedLater(key, shared->span().first(length));
    Note(key, written, std::move(*shared));
    return OkStatus();
  });
  return OkStatus();
}

Status WriteBehind::Flush() {
  Drain();
  std::vector<std::string> folders;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok()) return std::exchange(failure_, OkStatus());
    // From the innermost outwards.
    folders.assign(folders_.rbegin(), folders_.rend());
  }
  if (folders.empty()) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(store_->SyncNames(folders));
  const std::lock_guard<std::mutex> lock(mutex_);
  folders_.clear();
  return OkStatus();
}

void WriteBehind::NoteFolders(std::string_view key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!key.empty()) {
    const std::size_t slash = key.rfind('/');
    key = slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
    if (!folders_.emplace(key).second) return;  // those above it are there, too
  }
}

void WriteBehind::WaitFor(std::string_view key) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!under_way_.contains(key)) return;
  }
  Drain();
}

Status WriteBehind::Write(std::string_view key, ByteSpan bytes) {
  H5ZARR_ASSIGN_OR_RETURN(Buffer copy, Buffer::CopyOf(bytes));
  return WriteLater(std::string(key), std::move(copy), bytes.size());
}

Status WriteBehind::SyncNames(std::span<const std::string> prefixes) {
  H5ZARR_RETURN_IF_ERROR(Flush());
  return store_->SyncNames(prefixes);
}

// What is there instead is as good where it is the same, also after a failure: the answer alone may have been lost.
Status WriteBehind::WriteNewNow(const std::string& key, ByteSpan bytes) {
  const Result<bool> done = store_->WriteNew(key, bytes);
  if (done.ok() && *done) return OkStatus();
  const Result<std::optional<Buffer>> there = store_->Read(key);
  if (there.ok() && *there && std::ranges::equal((*there)->span(), bytes)) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(done.status());
  H5ZARR_RETURN_IF_ERROR(there.status());
  return ChangedError("'" + key + "' in " + store_->Describe() + ": another writer has made it meanwhile; try again");
}

Result<bool> WriteBehind::WriteNew(std::string_view key, ByteSpan bytes, Generation* written) {
  WaitFor(key);
  if (written != nullptr) return store_->WriteNew(key, bytes, written);
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<uint64_t> there, ObjectBytes(key));
  if (there) return false;
  H5ZARR_ASSIGN_OR_RETURN(Buffer copy, Buffer::CopyOf(bytes));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok()) return failure_;
    under_way_[std::string(key)] = copy.size_bytes();
  }
  const auto shared = std::make_shared<Buffer>(std::move(copy));
  NextWriter(false).Submit(shared->size_bytes(), [this, key = std::string(key), shared] {
    Note(key, WriteNewNow(key, *shared), Buffer());
    return OkStatus();
  });
  return true;
}

Result<bool> WriteBehind::Replace(std::string_view key, ByteSpan bytes, const Generation& expected,
                                  Generation* written) {
  WaitFor(key);
  return store_->Replace(key, bytes, expected, written);
}

Status WriteBehind::ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) {
  for (const ReadOp& op : ops) WaitFor(op.key);
  return store_->ReadBatch(ops, sink, executor);
}

Result<std::optional<Buffer>> WriteBehind::Read(std::string_view key, Generation* generation) {
  WaitFor(key);
  return store_->Read(key, generation);
}

Result<std::optional<uint64_t>> WriteBehind::ObjectBytes(std::string_view key) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = under_way_.find(key);
    if (found != under_way_.end()) return std::optional<uint64_t>(found->second);
  }
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<uint64_t> there, store_->ObjectBytes(key));
  // (Nothing is written because a ref is there.)
  if (there && !key.starts_with("refs/")) NoteFolders(key);
  return there;
}

Result<bool> WriteBehind::Delete(std::string_view key) {
  WaitFor(key);
  return store_->Delete(key);
}

Status WriteBehind::DeletePrefix(std::string_view prefix) {
  Drain();
  return store_->DeletePrefix(prefix);
}

Status WriteBehind::RenamePrefix(std::string_view from, std::string_view to) {
  Drain();
  return store_->RenamePrefix(from, to);
}

Result<std::vector<ListEntry>> WriteBehind::List(std::string_view prefix) {
  Drain();
  return store_->List(prefix);
}

Status WriteBehind::Walk(std::string_view prefix, const std::function<Status(std::string_view, uint64_t)>& visit) {
  Drain();
  bool any = false;
  H5ZARR_RETURN_IF_ERROR(store_->Walk(prefix, [&](std::string_view key, uint64_t bytes) {
    any = true;
    return visit(key, bytes);
  }));
  if (any) NoteFolders(std::string(prefix) + "/any");
  return OkStatus();
}

}  // namespace h5zarr::mirror
