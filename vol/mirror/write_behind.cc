#include "mirror/write_behind.h"

#include <utility>

namespace h5zarr::mirror {
namespace {

constexpr std::size_t kLargeWriters = 3, kSmallWriters = 12;
constexpr uint64_t kLargeBytes = 1 << 20;
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

void WriteBehind::Note(const std::string& key, const Status& outcome) {
  const std::lock_guard<std::mutex> lock(mutex_);
  under_way_.erase(key);
  if (failure_.ok()) failure_ = outcome;
}

Status WriteBehind::WriteLater(std::string key, std::vector<std::byte> bytes) {
  const uint64_t held = bytes.size();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok()) return failure_;
    under_way_[key] = held;
  }
  const auto shared = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  NextWriter(held >= kLargeBytes).Submit(held, [this, key = std::move(key), shared] {
    Note(key, store_->Write(key, *shared));
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
  return WriteLater(std::string(key), std::vector<std::byte>(bytes.begin(), bytes.end()));
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
