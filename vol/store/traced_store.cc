#include "store/traced_store.h"

#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "base/trace.h"

namespace h5zarr {
namespace {

using Clock = std::chrono::steady_clock;

std::string Quote(std::string_view key) { return "'" + std::string(key) + "'"; }

std::string RangeText(const ByteRange& range) {
  switch (range.kind) {
    case ByteRange::Kind::kWhole: return "whole";
    case ByteRange::Kind::kSuffix: return "the last " + std::to_string(range.length) + " bytes";
    case ByteRange::Kind::kSpan: break;
  }
  return "bytes " + std::to_string(range.offset) + " to " + std::to_string(range.offset + range.length);
}

class TracedStore;

// Says of a piece-by-piece write what became of it.
class TracedWriter : public ObjectWriter {
 public:
  TracedWriter(std::unique_ptr<ObjectWriter> writer, TracedStore* store, std::string_view key)
      : writer_(std::move(writer)), store_(store), key_(key) {}

  Status Append(ByteSpan bytes) override {
    bytes_ += bytes.size();
    return writer_->Append(bytes);
  }
  Status Commit() override;

 private:
  std::unique_ptr<ObjectWriter> writer_;
  TracedStore* const store_;
  const std::string key_;
  const Clock::time_point begin_ = Clock::now();
  uint64_t bytes_ = 0;
};

class TracedStore : public Store {
 public:
  explicit TracedStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  std::string Describe() const override { return store_->Describe(); }
  bool read_only() const override { return store_->read_only(); }
  bool is_local_folder() const override { return store_->is_local_folder(); }
  bool ranges_only() const override { return store_->ranges_only(); }
  Status CheckThere() override { return store_->CheckThere(); }

  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override {
    const Clock::time_point begin = Clock::now();
    if (Tracing(TraceLevel::kRanges)) {
      for (const ReadOp& op : ops) {
        Trace("  " + store_->Describe() + " " + Quote(op.key) + " " + RangeText(op.range));
      }
    }
    std::atomic<uint64_t> bytes = 0;
    std::atomic<std::size_t> absent = 0;
    Status status = store_->ReadBatch(
        ops,
        [&](std::size_t index, const ReadResult& result) {
          if (result.bytes) bytes.fetch_add(result.bytes->size(), std::memory_order_relaxed);
          else absent.fetch_add(1, std::memory_order_relaxed);
          return sink(index, result);
        },
        executor);
    Say("read a batch of " + std::to_string(ops.size()) + " ranges: " + std::to_string(bytes) + " bytes, " +
            std::to_string(absent) + " absent",
        begin, status);
    return status;
  }

  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override {
    const Clock::time_point begin = Clock::now();
    Result<std::optional<Buffer>> read = store_->Read(key, generation);
    const bool found = read.ok() && *read;
    Say("read " + Quote(key) + ": " +
            (found ? std::to_string((*read)->size_bytes()) + " bytes" : std::string("absent")),
        begin, read.status());
    return read;
  }

  std::optional<ObjectState> StateNow(std::string_view key) override { return store_->StateNow(key); }

  Status Write(std::string_view key, ByteSpan bytes) override {
    const Clock::time_point begin = Clock::now();
    Status status = store_->Write(key, bytes);
    SayWritten(key, bytes.size(), begin, status);
    return status;
  }

  Status WriteNamedLater(std::string_view key, ByteSpan bytes) override {
    const Clock::time_point begin = Clock::now();
    Status status = store_->WriteNamedLater(key, bytes);
    SayWritten(key, bytes.size(), begin, status);
    return status;
  }

  Status SyncNames(std::span<const std::string> prefixes) override {
    const Clock::time_point begin = Clock::now();
    Status status = store_->SyncNames(prefixes);
    Say("make the names under " + std::to_string(prefixes.size()) + " prefixes durable", begin, status);
    return status;
  }

  Result<bool> WriteNew(std::string_view key, ByteSpan bytes, Generation* written) override {
    const Clock::time_point begin = Clock::now();
    Result<bool> done = store_->WriteNew(key, bytes, written);
    SayWrittenIf(key, bytes.size(), begin, done);
    return done;
  }

  Result<bool> Replace(std::string_view key, ByteSpan bytes, const Generation& expected, Generation* written) override {
    const Clock::time_point begin = Clock::now();
    Result<bool> done = store_->Replace(key, bytes, expected, written);
    SayWrittenIf(key, bytes.size(), begin, done);
    return done;
  }

  void StartWrite(std::string_view key, ByteSpan bytes, std::function<void(Status)> done) override {
    const Clock::time_point begin = Clock::now();
    store_->StartWrite(
        key, bytes, [this, done = std::move(done), name = std::string(key), size = bytes.size(), begin](Status status) {
          SayWritten(name, size, begin, status);
          done(std::move(status));
        });
  }

  Result<std::unique_ptr<ObjectWriter>> BeginWrite(std::string_view key) override {
    H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> writer, store_->BeginWrite(key));
    return std::unique_ptr<ObjectWriter>(std::make_unique<TracedWriter>(std::move(writer), this, key));
  }

  Result<bool> Delete(std::string_view key) override {
    const Clock::time_point begin = Clock::now();
    Result<bool> deleted = store_->Delete(key);
    Say("delete " + Quote(key), begin, deleted.status());
    return deleted;
  }

  bool deletes_at_once() const override { return store_->deletes_at_once(); }
  Status DeletePrefix(std::string_view prefix) override {
    const Clock::time_point begin = Clock::now();
    Status status = store_->DeletePrefix(prefix);
    Say("delete all under " + Quote(prefix), begin, status);
    return status;
  }

  Status RenamePrefix(std::string_view from, std::string_view to) override {
    const Clock::time_point begin = Clock::now();
    Status status = store_->RenamePrefix(from, to);
    Say("move " + Quote(from) + " to " + Quote(to), begin, status);
    return status;
  }

  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override {
    const Clock::time_point begin = Clock::now();
    Result<std::optional<uint64_t>> bytes = store_->ObjectBytes(key);
    Say("ask for the size of " + Quote(key), begin, bytes.status());
    return bytes;
  }

  Result<std::vector<ListEntry>> List(std::string_view prefix) override {
    const Clock::time_point begin = Clock::now();
    Result<std::vector<ListEntry>> entries = store_->List(prefix);
    Say("list " + Quote(prefix) + ": " + std::to_string(entries.ok() ? entries->size() : 0) + " entries", begin,
        entries.status());
    return entries;
  }

  Status Walk(std::string_view prefix,
              const std::function<Status(std::string_view key, uint64_t bytes)>& visit) override {
    const Clock::time_point begin = Clock::now();
    Status status = store_->Walk(prefix, visit);
    Say("walk through " + Quote(prefix), begin, status);
    return status;
  }

  Result<std::shared_ptr<void>> Lock(std::string_view document_key, uint64_t resource) override {
    return store_->Lock(document_key, resource);
  }

  void SayWritten(std::string_view key, uint64_t bytes, Clock::time_point begin, const Status& status) const {
    Say("write " + Quote(key) + ": " + std::to_string(bytes) + " bytes", begin, status);
  }

 private:
  void SayWrittenIf(std::string_view key, uint64_t bytes, Clock::time_point begin, const Result<bool>& written) const {
    if (!written.ok() || *written) return SayWritten(key, bytes, begin, written.status());
    Say("write " + Quote(key) + ": not done, another was first", begin, OkStatus());
  }

  void Say(std::string_view what, Clock::time_point begin, const Status& status) const {
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
    std::string line = store_->Describe();
    line += ' ';
    line += what;
    line += ", " + std::to_string(took.count()) + " us";
    if (!status.ok()) line += ", failed: " + std::string(status.message());
    Trace(line);
  }

  const std::unique_ptr<Store> store_;
};

Status TracedWriter::Commit() {
  Status status = writer_->Commit();
  store_->SayWritten(key_, bytes_, begin_, status);
  return status;
}

}  // namespace

std::unique_ptr<Store> MakeTracedStore(std::unique_ptr<Store> store) {
  return std::make_unique<TracedStore>(std::move(store));
}

}  // namespace h5zarr
