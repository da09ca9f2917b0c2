// Writing large files block by block past the page cache (or at least beside the caller): aligned
// blocks, several of them in flight.
//
// Within store/ only.
#ifndef H5ZARR_STORE_LOCAL_BLOCKS_H_
#define H5ZARR_STORE_LOCAL_BLOCKS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr {

// What the blocks of O_DIRECT must be aligned to, in memory and in the file: fits every disk.
inline constexpr std::size_t kDirectAlignBytes = 4096;

// Aligned memory for blocks, kept from one file to the next. Thread-safe.
class BlockPool {
 public:
  static constexpr uint64_t kBlockBytes = 4 << 20;
  Result<Buffer> Take();
  void Return(Buffer block);

 private:
  static constexpr std::size_t kMaxKept = 8;
  std::mutex mutex_;
  std::vector<Buffer> kept_;  // guarded by mutex_
};

// The content of one new file, appended. Blocks are written with O_DIRECT (when `direct`) and
// through io_uring; where the file system or the kernel refuses either, it does without. One thread
// at a time.
class BlockWriter {
 public:
  // `fd`: a new, empty file, borrowed; `path` names it in messages. Both, and `pool`, must outlive
  // this.
  BlockWriter(int fd, const std::string& path, bool direct, BlockPool* pool);
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;
  ~BlockWriter();  // waits for what is in flight

  // Returns when `bytes` are no longer needed: they are copied, or, where they are aligned as the
  // file is at that point, written from where they lie.
  Status Append(ByteSpan bytes);
  // Writes what is left and gives the file its exact size.
  Status Finish();

 private:
  struct Ring;
  struct InFlight {
    const std::byte* data = nullptr;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    Buffer owner;  // empty: the caller's memory
  };
  static constexpr std::size_t kDepth = 4;
  static constexpr std::size_t kNoSlot = kDepth;

  Status Start();
  Status Reserve(uint64_t end);
  Status SubmitStaging(uint64_t bytes);
  Status Submit(const std::byte* data, uint64_t bytes, Buffer owner);
  Result<std::size_t> FreeSlot();
  Status ReapOne();
  Status Complete(InFlight& done, int result);
  Status WriteNow(const InFlight& block, uint64_t done_bytes);
  Status WaitForAll();
  void StopDirect();

  const int fd_;
  const std::string& path_;
  BlockPool* const pool_;
  bool direct_;
  bool started_ = false;
  std::unique_ptr<Ring> ring_;  // null: blocks are written one by one
  InFlight slots_[kDepth];
  std::size_t in_flight_ = 0;
  Buffer staging_;
  uint64_t staged_bytes_ = 0;
  uint64_t offset_ = 0;    // of the next block
  uint64_t reserved_ = 0;  // the file's size so far
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_LOCAL_BLOCKS_H_
