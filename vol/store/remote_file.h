// RemoteFile: an object behind a server, read like a file: here and there, a little at a time. What was read
// is kept in blocks, so that neighbours cost no request.
//
// In one state for as long as it is open: an object that is replaced meanwhile is kChanged. For HDF5 files and
// archives; stores are of many objects (http_store).
#ifndef H5ZARR_STORE_REMOTE_FILE_H_
#define H5ZARR_STORE_REMOTE_FILE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "store/block_cache.h"
#include "store/http_store.h"
#include "store/native_file.h"
#include "store/url.h"

namespace h5zarr {

class HttpSession;

class RemoteFile final : public FileBytes {
 public:
  // What is read to open it.
  static constexpr uint64_t kHeadBytes = 1 << 20;

  // The object at `url`, of which up to `cache_bytes` are kept; null where there is none. One that is open in
  // this process is shared. Blocks, as all that follow. Thread-safe.
  static Result<std::shared_ptr<RemoteFile>> Open(std::string_view url, const HttpOptions& options,
                                                  uint64_t cache_bytes);

  // The same for the object `key` of `store`, which is known as `name`.
  static Result<std::shared_ptr<RemoteFile>> OpenInStore(std::unique_ptr<Store> store, std::string key,
                                                         const std::string& name, uint64_t cache_bytes);

  // Empty for one in a store.
  const Url& url() const { return url_; }
  bool is_remote() const override { return true; }

  // Fills `target` with the bytes from `offset` on. kCorrupt where the file has not so many. Large ones are
  // read by several requests at once, straight into the target.
  Status Read(uint64_t offset, MutableByteSpan target);
  // Reads what will be wanted at once, each span whole, where it is not kept.
  struct Span {
    uint64_t offset = 0;
    uint64_t length = 0;
  };
  Status Prefetch(std::span<const Span> spans);
  Status ReadRanges(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override;

  // Whether someone is about to read all of an index: then its parts are worth reading ahead.
  bool reads_index() const { return reads_index_.load(std::memory_order_relaxed); }
  void SetReadsIndex(bool reads) override { reads_index_.store(reads, std::memory_order_relaxed); }

 private:
  // Of bytes that are not kept: whole blocks, but for the file's end.
  struct Run {
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  RemoteFile(std::string name, uint64_t file_bytes, Generation generation, uint64_t cache_bytes);
  static std::shared_ptr<RemoteFile> FindOpen(const std::string& location);
  static void NoteOpen(const std::string& location, const std::shared_ptr<RemoteFile>& file);
  Status KeepWhole();
  Status CheckSpan(uint64_t offset, uint64_t length) const;
  bool IsKept(uint64_t offset, uint64_t length);
  std::vector<Run> CopyKept(uint64_t offset, MutableByteSpan target);
  void ReadAhead(Run* run, bool already);
  Status Keep(uint64_t offset, ByteSpan bytes);
  Status FetchBlocks(std::span<const Run> runs, uint64_t offset, MutableByteSpan target);
  Status FetchInto(std::span<const Run> runs, uint64_t offset, MutableByteSpan target);
  Status Fetch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor);

  // Set when it is opened, and not changed later: where the object is…
  Url url_;
  std::shared_ptr<HttpSession> session_;
  // …or in which store.
  std::unique_ptr<Store> store_;
  std::string key_;
  Buffer whole_;  // of a server that knows no ranges: all of it
  std::atomic<bool> reads_index_ = false;
  std::mutex mutex_;
  BlockCache blocks_;         // guarded by mutex_
  uint64_t last_end_ = 0;     // guarded by mutex_: of what was read last
  uint64_t ahead_bytes_ = 0;  // guarded by mutex_: how much was read then
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_REMOTE_FILE_H_
