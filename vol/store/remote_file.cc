#include "store/remote_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/trace.h"
#include "store/http_read.h"
#include "store/http_session.h"

namespace h5zarr {
namespace {

constexpr uint64_t kBlockBytes = BlockCache::kBlockBytes;
// A request takes as long as this many bytes, or longer: so much is read of what is not kept, around it, as HDF5
// goes back and forth in what was written at one time…
constexpr uint64_t kLeastFetchBytes = 256 << 10;
// …and twice as much each time where reading goes on behind it, up to this.
constexpr uint64_t kMostFetchBytes = 1 << 20;
// Reads of more are not kept.
constexpr uint64_t kLargeBytes = 1 << 20;
// Of a server that knows no ranges so much may be read to the end and kept.
constexpr uint64_t kMostWholeBytes = 64 << 20;
constexpr double kCopyNsPerByte = 0.3;

// The objects that are open, by URL. Leaked.
struct OpenFiles {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<RemoteFile>> files;  // guarded by mutex
};
OpenFiles& AllOpen() {
  static OpenFiles* const files = new OpenFiles;
  return *files;
}

Status TakeNothing(std::size_t, const ReadResult&) { return OkStatus(); }

}  // namespace

RemoteFile::RemoteFile(std::string name, uint64_t file_bytes, Generation generation, uint64_t cache_bytes)
    : FileBytes(std::move(name), file_bytes, generation), blocks_(std::max(cache_bytes, 2 * kHeadBytes)) {}

std::shared_ptr<RemoteFile> RemoteFile::FindOpen(const std::string& location) {
  const std::lock_guard<std::mutex> lock(AllOpen().mutex);
  std::erase_if(AllOpen().files, [](const auto& entry) { return entry.second.expired(); });
  const auto found = AllOpen().files.find(location);
  return found != AllOpen().files.end() ? found->second.lock() : nullptr;
}

void RemoteFile::NoteOpen(const std::string& location, const std::shared_ptr<RemoteFile>& file) {
  const std::lock_guard<std::mutex> lock(AllOpen().mutex);
  AllOpen().files[location] = file;
}

Result<std::shared_ptr<RemoteFile>> RemoteFile::Open(std::string_view text, const HttpOptions& options,
                                                     uint64_t cache_bytes) {
  H5ZARR_ASSIGN_OR_RETURN(const Url url, ParseUrl(text));
  if (std::shared_ptr<RemoteFile> open = FindOpen(url.Text())) return open;
  H5ZARR_ASSIGN_OR_RETURN(std::shared_ptr<HttpSession> session, HttpSession::Make(url, options));
  HttpFetch::Query query{url, ByteRange::Span(0, kHeadBytes), {}, {}};
  query.may_be_shorter = true;
  std::shared_ptr<CachedFetch> owner;
  H5ZARR_ASSIGN_OR_RETURN(const HttpFetch::Outcome head, FetchNow(std::move(query), session, &owner));
  if (head.absent) return std::shared_ptr<RemoteFile>();
  std::shared_ptr<RemoteFile> file(new RemoteFile(url.Shown(), head.object_bytes, head.generation, cache_bytes));
  file->url_ = url;
  file->session_ = session;
  H5ZARR_RETURN_IF_ERROR(file->Keep(0, head.bytes));
  if (session->ignores_ranges() && head.bytes.size() < head.object_bytes) {
    H5ZARR_RETURN_IF_ERROR(file->KeepWhole());
  }
  NoteOpen(url.Text(), file);
  return file;
}

Result<std::shared_ptr<RemoteFile>> RemoteFile::OpenInStore(std::unique_ptr<Store> store, std::string key,
                                                            const std::string& name, uint64_t cache_bytes) {
  if (std::shared_ptr<RemoteFile> open = FindOpen(name)) return open;
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<uint64_t> bytes, store->ObjectBytes(key));
  if (!bytes) return std::shared_ptr<RemoteFile>();
  H5ZARR_ASSIGN_OR_RETURN(Buffer head, Buffer::Allocate(std::min(*bytes, kHeadBytes)));
  ReadOp op;
  op.key = key;
  op.range = ByteRange::Span(0, head.size_bytes());
  op.target = head.span();
  std::optional<Generation> generation;
  const auto sink = [&](std::size_t, const ReadResult& result) {
    if (result.bytes) generation = result.generation;
    return OkStatus();
  };
  Executor serial(1);
  H5ZARR_RETURN_IF_ERROR(store->ReadBatch({&op, 1}, sink, serial));
  if (!generation) return std::shared_ptr<RemoteFile>();
  std::shared_ptr<RemoteFile> file(new RemoteFile(name, *bytes, *generation, cache_bytes));
  file->store_ = std::move(store);
  file->key_ = std::move(key);
  H5ZARR_RETURN_IF_ERROR(file->Keep(0, std::as_const(head).span()));
  NoteOpen(name, file);
  return file;
}

Status RemoteFile::KeepWhole() {
  if (file_bytes() > kMostWholeBytes) {
    return UnsupportedError("'" + name() + "': the server knows no ranges, and the object, of " +
                            std::to_string(file_bytes()) + " bytes, is too large to be read whole");
  }
  H5ZARR_ASSIGN_OR_RETURN(whole_, Buffer::Allocate(file_bytes()));
  std::shared_ptr<CachedFetch> owner;
  return FetchNow({url_, ByteRange::Whole(), whole_.span(), generation()}, session_, &owner).status();
}

Status RemoteFile::CheckSpan(uint64_t offset, uint64_t length) const {
  if (offset <= file_bytes() && length <= file_bytes() - offset) return OkStatus();
  return CorruptError("'" + name() + "': the object has " + std::to_string(file_bytes()) + " bytes, expected " +
                      std::to_string(length) + " from byte " + std::to_string(offset) + " on");
}

// --- what is kept ----------------------------------------------------------------------------------

bool RemoteFile::IsKept(uint64_t offset, uint64_t length) {
  if (!whole_.span().empty() || length == 0) return true;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint64_t block = offset / kBlockBytes; block <= (offset + length - 1) / kBlockBytes; ++block) {
    if (!blocks_.Has(block)) return false;
  }
  return true;
}

// Copies what is kept, and says what is not.
std::vector<RemoteFile::Run> RemoteFile::CopyKept(uint64_t offset, MutableByteSpan target) {
  std::vector<Run> missing;
  const uint64_t end = offset + target.size();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint64_t at = offset; at < end;) {
    const uint64_t block = at / kBlockBytes;
    const uint64_t block_begin = block * kBlockBytes;
    const uint64_t block_end = std::min(block_begin + kBlockBytes, file_bytes());
    const ByteSpan kept = blocks_.Find(block);
    const uint64_t step_end = std::min(block_end, end);
    if (!kept.empty()) {
      std::memcpy(target.data() + (at - offset), kept.data() + (at - block_begin), step_end - at);
    } else if (!missing.empty() && missing.back().end == block_begin) {
      missing.back().end = block_end;
    } else {
      missing.push_back({block_begin, block_end});
    }
    at = step_end;
  }
  return missing;
}

// Makes a run longer by what may be wanted next. Before it only where nothing is wanted there `already`.
void RemoteFile::ReadAhead(Run* run, bool already) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool goes_on = run->begin == last_end_;
  ahead_bytes_ = goes_on ? std::min(2 * ahead_bytes_, kMostFetchBytes) : kLeastFetchBytes;
  const uint64_t begin = goes_on ? run->begin : run->begin / kLeastFetchBytes * kLeastFetchBytes;
  const uint64_t end = std::min(begin + ahead_bytes_, file_bytes());
  while (!already && run->begin > begin && !blocks_.Has(run->begin / kBlockBytes - 1)) {
    run->begin -= kBlockBytes;
  }
  while (run->end < end && !blocks_.Has(run->end / kBlockBytes)) {
    run->end = std::min(run->end + kBlockBytes, file_bytes());
  }
  last_end_ = run->end;
}

Status RemoteFile::Keep(uint64_t offset, ByteSpan bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint64_t at = 0; at < bytes.size(); at += kBlockBytes) {
    const uint64_t length = std::min<uint64_t>(kBlockBytes, bytes.size() - at);
    // (A block that is not whole is of no use, but at the end.)
    if (length < kBlockBytes && offset + at + length < file_bytes()) break;
    H5ZARR_RETURN_IF_ERROR(blocks_.Insert((offset + at) / kBlockBytes, bytes.subspan(at, length)));
  }
  return OkStatus();
}

// --- what is not -----------------------------------------------------------------------------------

Status RemoteFile::Fetch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) {
  if (Tracing(TraceLevel::kRequests)) {
    uint64_t bytes = 0;
    for (const ReadOp& op : ops) bytes += op.range.length;
    Trace("'" + name() + "': " + std::to_string(ops.size()) + " ranges, " + std::to_string(bytes) + " bytes");
  }
  for (ReadOp& op : ops) {
    op.key = store_ != nullptr ? key_ : "file";  // any does
    op.expected = generation();
    if (Tracing(TraceLevel::kRanges)) {
      Trace("'" + name() + "': bytes [" + std::to_string(op.range.offset) + ", " +
            std::to_string(op.range.offset + op.range.length) + ")");
    }
  }
  const auto url_of = [this](std::string_view) { return url_; };
  const auto checked = [&](std::size_t index, const ReadResult& result) -> Status {
    if (result.bytes) return sink(index, result);
    return ChangedError("'" + name() + "': the object has been removed meanwhile");
  };
  return store_ != nullptr ? store_->ReadBatch(ops, checked, executor)
                           : ReadHttpBatch(url_of, session_, ops, checked, executor);
}

// Reads runs, keeps them, and copies what lies in the target, which begins at `offset`.
Status RemoteFile::FetchBlocks(std::span<const Run> runs, uint64_t offset, MutableByteSpan target) {
  std::vector<Buffer> buffers;
  std::vector<ReadOp> ops;
  for (const Run& run : runs) {
    H5ZARR_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(run.end - run.begin));
    ReadOp& op = ops.emplace_back();
    op.range = ByteRange::Span(run.begin, run.end - run.begin);
    op.target = buffer.span();
    buffers.push_back(std::move(buffer));
  }
  Executor serial(1);
  H5ZARR_RETURN_IF_ERROR(Fetch(ops, TakeNothing, serial));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const uint64_t begin = std::max(runs[i].begin, offset);
    const uint64_t end = std::min(runs[i].end, offset + target.size());
    if (begin < end) {
      std::memcpy(target.data() + (begin - offset), buffers[i].data() + (begin - runs[i].begin), end - begin);
    }
    H5ZARR_RETURN_IF_ERROR(Keep(runs[i].begin, std::as_const(buffers[i]).span()));
  }
  return OkStatus();
}

Status RemoteFile::FetchInto(std::span<const Run> runs, uint64_t offset, MutableByteSpan target) {
  std::vector<ReadOp> ops;
  for (const Run& run : runs) {
    const uint64_t begin = std::max(run.begin, offset);
    const uint64_t end = std::min(run.end, offset + target.size());
    ReadOp& op = ops.emplace_back();
    op.range = ByteRange::Span(begin, end - begin);
    op.target = target.subspan(begin - offset, end - begin);
  }
  Executor serial(1);
  return Fetch(ops, TakeNothing, serial);
}

Status RemoteFile::Read(uint64_t offset, MutableByteSpan target) {
  H5ZARR_RETURN_IF_ERROR(CheckSpan(offset, target.size()));
  if (target.empty()) return OkStatus();
  if (!whole_.span().empty()) {
    std::memcpy(target.data(), whole_.data() + offset, target.size());
    return OkStatus();
  }
  std::vector<Run> missing = CopyKept(offset, target);
  if (missing.empty()) return OkStatus();
  if (target.size() >= kLargeBytes) return FetchInto(missing, offset, target);
  ReadAhead(&missing.back(), missing.size() > 1);
  return FetchBlocks(missing, offset, target);
}

Status RemoteFile::Prefetch(std::span<const Span> spans) {
  std::vector<Run> runs;
  for (const Span& span : spans) {
    H5ZARR_RETURN_IF_ERROR(CheckSpan(span.offset, span.length));
    if (IsKept(span.offset, span.length)) continue;
    const uint64_t end = span.offset + span.length + kBlockBytes - 1;
    runs.push_back({span.offset / kBlockBytes * kBlockBytes, std::min(end / kBlockBytes * kBlockBytes, file_bytes())});
  }
  return runs.empty() ? OkStatus() : FetchBlocks(runs, 0, {});
}

Status RemoteFile::ReadRanges(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) {
  std::vector<std::size_t> kept, missing;
  std::vector<ReadOp> fetched;
  double kept_ns = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const ByteRange& range = ops[i].range;
    H5ZARR_RETURN_IF_ERROR(CheckSpan(range.offset, range.length));
    if (IsKept(range.offset, range.length)) {
      kept.push_back(i);
      kept_ns += ops[i].sink_cost_ns + kCopyNsPerByte * static_cast<double>(range.length);
    } else {
      missing.push_back(i);
      fetched.push_back(ops[i]);
    }
  }
  H5ZARR_RETURN_IF_ERROR(executor.ParallelFor(kept.size(), kept_ns, [&](std::size_t k) -> Status {
    const ReadOp& op = ops[kept[k]];
    Buffer memory;
    MutableByteSpan bytes = op.target;
    if (bytes.empty()) {
      H5ZARR_ASSIGN_OR_RETURN(memory, Buffer::Allocate(op.range.length));
      bytes = memory.span();
    }
    H5ZARR_RETURN_IF_ERROR(Read(op.range.offset, bytes));
    ReadResult result;
    result.bytes = bytes;
    result.generation = generation();
    result.object_bytes = file_bytes();
    return sink(kept[k], result);
  }));
  if (fetched.empty()) return OkStatus();
  return Fetch(
      fetched, [&](std::size_t k, const ReadResult& result) { return sink(missing[k], result); }, executor);
}

}  // namespace h5zarr
