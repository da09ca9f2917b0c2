// WriteBehind: a Store whose writes go on beside the caller. What is written is safe after Flush, and not before:
// until then nothing may be written that leads to it. Folders are synchronised there, each once; also those of objects
// that were found to be there already: whoever wrote them may not have come so far.
//
// For objects that are never replaced while they are under way. Within mirror/ only.
#ifndef H5ZARR_MIRROR_WRITE_BEHIND_H_
#define H5ZARR_MIRROR_WRITE_BEHIND_H_

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "exec/background.h"
#include "store/store.h"

namespace h5zarr::mirror {

class WriteBehind final : public Store {
 public:
  // `store` must outlive it. Starts no thread yet.
  explicit WriteBehind(Store* store);
  // Waits for what is under way.
  ~WriteBehind() override;

  // Writes the first `length` of `bytes` some time before Flush returns. Blocks while much is under way. A failure
  // of an earlier write is returned instead.
  Status WriteLater(std::string key, Buffer bytes, uint64_t length);
  // A buffer of at least `bytes`, aligned as it is written best: one that was written, where there is one. kNoSpace.
  Result<Buffer> TakeBuffer(uint64_t bytes);
  // Waits until all is written; the first failure since the last Flush.
  Status Flush();

  std::string Describe() const override { return store_->Describe(); }
  bool read_only() const override { return store_->read_only(); }
  bool is_local_folder() const override { return store_->is_local_folder(); }
  Status CheckThere() override { return store_->CheckThere(); }
  // A copy of `bytes` is written later.
  Status Write(std::string_view key, ByteSpan bytes) override;
  // After a Flush.
  Status SyncNames(std::span<const std::string> prefixes) override;
  // Later, too; then true says that nothing was there yet. Where another writer was first, and wrote something else,
  // Flush says so (kChanged).
  Result<bool> WriteNew(std::string_view key, ByteSpan bytes, Generation* written = nullptr) override;
  Result<bool> Replace(std::string_view key, ByteSpan bytes, const Generation& expected,
                       Generation* written = nullptr) override;
  // These know of what is under way. Others, of whole prefixes, wait for it.
  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override;
  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override;
  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override;
  Result<bool> Delete(std::string_view key) override;
  Status DeletePrefix(std::string_view prefix) override;
  Status RenamePrefix(std::string_view from, std::string_view to) override;
  Result<std::vector<ListEntry>> List(std::string_view prefix) override;
  Status Walk(std::string_view prefix, const std::function<Status(std::string_view, uint64_t)>& visit) override;
  Result<std::shared_ptr<void>> Lock(std::string_view document_key, uint64_t resource) override {
    return store_->Lock(document_key, resource);
  }

 private:
  void Note(const std::string& key, const Status& outcome, Buffer written);
  Status WriteNewNow(const std::string& key, ByteSpan bytes);
  // Waits for `key` if it is under way.
  void WaitFor(std::string_view key);
  Background& NextWriter(bool is_large);
  // Waits until large objects that are under way leave room for one more of so many bytes.
  void AwaitRoom(uint64_t bytes);
  void Drain();
  // The folder of `key`, and those it lies in, are to be synchronised.
  void NoteFolders(std::string_view key);

  Store* const store_;
  std::mutex mutex_;
  std::map<std::string, uint64_t, std::less<>> under_way_;  // sizes, by key; guarded by mutex_
  uint64_t large_bytes_ = 0;                                // of large ones under way; guarded by mutex_
  std::condition_variable has_room_;                        // it became less
  Status failure_;                                          // guarded by mutex_
  std::set<std::string> folders_;                           // guarded by mutex_
  // Large ones, to be used again: what is given back the allocator cuts into pieces, and asks the system for more.
  // Guarded by mutex_.
  std::vector<Buffer> spare_;
  // To make one object durable is mostly waiting: many wait at the same time.
  std::vector<std::unique_ptr<Background>> large_writers_, small_writers_;
  std::size_t next_large_ = 0, next_small_ = 0;
};

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_WRITE_BEHIND_H_
