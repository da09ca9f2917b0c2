#include "mirror/write_behind.h"

#include <algorithm>
#include <utility>

namespace h5zarr::mirror {
namespace {

constexpr std::size_t kLargeWriters = 3, kSmallWriters = 12;
constexpr uint64_t kLargeBytes = 1 << 20;
constexpr std::size_t kMostSpare = kLargeWriters + 3;
// What waits for one writer, and is being written by it.
constexpr uint64_t kLargeBudgetBytes = 24 << 20, kSmallBudgetBytes = 2 << 20;

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
  return is_large ? *large_writers_[next_large_++ % kLargeWriters]
                  : *small_writers_[next_small_++ % kSmallWriters];
}

void WriteBehind::Note(const std::string& key, const Status& outcome, Buffer written) {
  const std::lock_guard<std::mutex> lock(mutex_);
  under_way_.erase(key);
  if (failure_.ok()) failure_ = outcome;
  if (written.size_bytes() >= kLargeBytes && spare_.size() < kMostSpare) spare_.push_back(std::move(written));
}

Result<Buffer> WriteBehind::TakeBuffer(uint64_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::ranges::find_if(
        spare_, [bytes](const Buffer& spare) { return spare.size_bytes() >= bytes; });
    if (found != spare_.end()) {
      Buffer taken = std::move(*found);
      spare_.erase(found);
      return taken;
    }
  }
  return Buffer::Allocate(bytes);
}

Status WriteBehind::WriteLater(std::string key, Buffer bytes, uint64_t length) {
  const uint64_t held = bytes.size_bytes();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok()) return failure_;
    under_way_[key] = length;
  }
  const auto shared = std::make_shared<Buffer>(std::move(bytes));
  NextWriter(held >= kLargeBytes).Submit(held, [this, key = std::move(key), shared, length] {
    const Status written = store_->Write(key, shared->span().first(length));
    Note(key, written, std::move(*shared));
    return OkStatus();
  });
  return OkStatus();
}

Status WriteBehind::Flush() {
  Drain();
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(failure_, OkStatus());
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
  return store_->ObjectBytes(key);
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

Status WriteBehind::Walk(std::string_view prefix,
                         const std::function<Status(std::string_view, uint64_t)>& visit) {
  Drain();
  return store_->Walk(prefix, visit);
}

}  // namespace h5zarr::mirror
