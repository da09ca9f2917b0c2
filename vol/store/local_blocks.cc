#include "store/local_blocks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#ifdef H5ZARR_HAVE_URING
#include <liburing.h>
#endif

#include "base/trace.h"

namespace h5zarr {
namespace {

// Extents are reserved ahead in steps: writes beyond the end of a file wait for each other.
constexpr uint64_t kReserveBytes = 64 << 20;

bool IsAligned(const std::byte* data) { return reinterpret_cast<std::uintptr_t>(data) % kDirectAlignBytes == 0; }

void SayFallback(const char* what, const std::string& path) {
  if (Tracing(TraceLevel::kDecisions)) Trace("'" + path + "': " + what);
}

}  // namespace

Result<Buffer> BlockPool::Take() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!kept_.empty()) {
      Buffer block = std::move(kept_.back());
      kept_.pop_back();
      return block;
    }
  }
  return Buffer::Allocate(kBlockBytes, kDirectAlignBytes);
}

void BlockPool::Return(Buffer block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kept_.size() < kMaxKept) kept_.push_back(std::move(block));
}

// A ring of io_uring; without the library, or where the kernel has none, never made.
struct BlockWriter::Ring {
#ifdef H5ZARR_HAVE_URING
  io_uring ring;
  bool made = false;

  // Null on old kernels, and in containers that forbid it.
  static std::unique_ptr<Ring> Make() {
    auto ring = std::make_unique<Ring>();
    ring->made = io_uring_queue_init(kDepth, &ring->ring, 0) == 0;
    if (!ring->made) ring.reset();
    return ring;
  }
  ~Ring() {
    if (made) io_uring_queue_exit(&ring);
  }

  // False when the kernel does not take it; then nothing may be pushed any more.
  bool Push(int fd, const InFlight& block, std::size_t slot) {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring);
    if (entry == nullptr) return false;
    io_uring_prep_write(entry, fd, block.data, static_cast<unsigned>(block.bytes), block.offset);
    io_uring_sqe_set_data(entry, reinterpret_cast<void*>(slot));
    int submitted;
    do {
      submitted = io_uring_submit(&ring);
    } while (submitted == -EINTR);
    return submitted == 1;
  }
  // Waits for a block; its slot and what its write returned.
  std::pair<std::size_t, int> Pop() {
    io_uring_cqe* entry = nullptr;
    int waited;
    do {
      waited = io_uring_wait_cqe(&ring, &entry);
    } while (waited == -EINTR);
    if (waited != 0) return {kNoSlot, waited};
    const auto slot = reinterpret_cast<std::size_t>(io_uring_cqe_get_data(entry));
    const int result = entry->res;
    io_uring_cqe_seen(&ring, entry);
    return {slot, result};
  }
#else
  static std::unique_ptr<Ring> Make() { return nullptr; }
  bool Push(int, const InFlight&, std::size_t) { return false; }
  std::pair<std::size_t, int> Pop() { return {kNoSlot, -ENOSYS}; }
#endif
};

BlockWriter::BlockWriter(int fd, const std::string& path, bool direct, BlockPool* pool)
    : fd_(fd), path_(path), pool_(pool), direct_(direct) {}

BlockWriter::~BlockWriter() {
  (void)WaitForAll();  // the kernel still reads from the blocks
  if (!staging_.empty()) pool_->Return(std::move(staging_));
}

Status BlockWriter::Append(ByteSpan bytes) {
  bool borrowed = false;
  while (!bytes.empty()) {
    const bool in_place = staged_bytes_ == 0 && bytes.size() >= BlockPool::kBlockBytes && IsAligned(bytes.data());
    if (in_place) {
      H5ZARR_RETURN_IF_ERROR(Start());
      if (!borrowed) H5ZARR_RETURN_IF_ERROR(Reserve(offset_ + bytes.size()));
      borrowed = true;
      H5ZARR_RETURN_IF_ERROR(Submit(bytes.data(), BlockPool::kBlockBytes, Buffer()));
      bytes = bytes.subspan(BlockPool::kBlockBytes);
      continue;
    }
    if (staging_.empty()) {
      H5ZARR_ASSIGN_OR_RETURN(staging_, pool_->Take());
    }
    const uint64_t part = std::min<uint64_t>(bytes.size(), BlockPool::kBlockBytes - staged_bytes_);
    std::memcpy(staging_.data() + staged_bytes_, bytes.data(), part);
    staged_bytes_ += part;
    bytes = bytes.subspan(part);
    if (staged_bytes_ == BlockPool::kBlockBytes) {
      H5ZARR_RETURN_IF_ERROR(Start());
      H5ZARR_RETURN_IF_ERROR(SubmitStaging(staged_bytes_));
    }
  }
  return borrowed ? WaitForAll() : OkStatus();
}

Status BlockWriter::Finish() {
  const uint64_t size_bytes = offset_ + staged_bytes_;
  if (!started_) direct_ = false;  // less than a block in all: not worth it
  if (staged_bytes_ > 0) {
    uint64_t padded = staged_bytes_;
    if (direct_) {
      padded = (staged_bytes_ + kDirectAlignBytes - 1) / kDirectAlignBytes * kDirectAlignBytes;
      std::memset(staging_.data() + staged_bytes_, 0, padded - staged_bytes_);
    }
    H5ZARR_RETURN_IF_ERROR(SubmitStaging(padded));
  }
  H5ZARR_RETURN_IF_ERROR(WaitForAll());
  while (ftruncate(fd_, static_cast<off_t>(size_bytes)) != 0) {
    if (errno != EINTR) return ErrnoError(errno, "cannot write '" + path_ + "'");
  }
  return OkStatus();
}

// Called before the first block.
Status BlockWriter::Start() {
  if (started_) return OkStatus();
  started_ = true;
  if (direct_) {
    const int flags = fcntl(fd_, F_GETFL);
    if (flags < 0 || fcntl(fd_, F_SETFL, flags | O_DIRECT) != 0) StopDirect();
  }
  ring_ = Ring::Make();
  if (ring_ == nullptr) SayFallback("there is no io_uring, written block by block", path_);
  return OkStatus();
}

// Gives the file at least the size `end`, with its extents. Where that is not possible (not every file
// system can) blocks are appended all the same.
Status BlockWriter::Reserve(uint64_t end) {
  if (end <= reserved_) return OkStatus();
  const off_t begin = static_cast<off_t>(reserved_);
  if (fallocate(fd_, 0, begin, static_cast<off_t>(end - reserved_)) == 0) {
    reserved_ = end;
  } else if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT) {
    return ErrnoError(errno, "cannot write '" + path_ + "'");
  }
  return OkStatus();
}

Status BlockWriter::SubmitStaging(uint64_t bytes) {
  if (started_ && offset_ + bytes > reserved_) {
    H5ZARR_RETURN_IF_ERROR(Reserve(std::max(offset_ + bytes, reserved_ + kReserveBytes)));
  }
  staged_bytes_ = 0;
  Buffer block = std::move(staging_);
  staging_ = Buffer();
  const std::byte* const data = block.data();
  return Submit(data, bytes, std::move(block));
}

Status BlockWriter::Submit(const std::byte* data, uint64_t bytes, Buffer owner) {
  H5ZARR_ASSIGN_OR_RETURN(const std::size_t slot, FreeSlot());
  InFlight& block = slots_[slot];
  block = {data, offset_, bytes, std::move(owner)};
  offset_ += bytes;
  Status status;
  if (ring_ != nullptr) {
    if (ring_->Push(fd_, block, slot)) {
      ++in_flight_;
      return OkStatus();
    }
    // What the kernel did not take stays in the ring, and would be taken with the next block, when its memory may be
    // another's: the ring goes.
    status = WaitForAll();
    ring_.reset();
    SayFallback("io_uring takes no more, written block by block", path_);
  }
  if (status.ok()) status = WriteNow(block, 0);
  if (!block.owner.empty()) pool_->Return(std::move(block.owner));
  block = InFlight();
  return status;
}

Result<std::size_t> BlockWriter::FreeSlot() {
  if (in_flight_ == kDepth) H5ZARR_RETURN_IF_ERROR(ReapOne());
  for (std::size_t slot = 0; slot < kDepth; ++slot) {
    if (slots_[slot].data == nullptr) return slot;
  }
  return InternalError("no slot is free");
}

Status BlockWriter::ReapOne() {
  const auto [slot, result] = ring_->Pop();
  if (slot == kNoSlot) {
    // A ring that cannot be waited on: nothing comes back from it, and the kernel may still read the
    // blocks. They are never given back.
    for (InFlight& block : slots_) (void)new Buffer(std::move(block.owner));
    in_flight_ = 0;
    return ErrnoError(-result, "cannot write '" + path_ + "'");
  }
  --in_flight_;
  InFlight done = std::move(slots_[slot]);
  slots_[slot] = InFlight();
  Status status = Complete(done, result);
  if (!done.owner.empty()) pool_->Return(std::move(done.owner));
  return status;
}

Status BlockWriter::Complete(InFlight& done, int result) {
  if (result >= 0 && static_cast<uint64_t>(result) == done.bytes) return OkStatus();
  if (result >= 0) return WriteNow(done, static_cast<uint64_t>(result));
  if (result == -EINVAL && direct_) StopDirect();
  const bool again = result == -EINVAL || result == -EAGAIN || result == -EINTR;
  return again ? WriteNow(done, 0) : ErrnoError(-result, "cannot write '" + path_ + "'");
}

// The rest of a block, without the ring.
Status BlockWriter::WriteNow(const InFlight& block, uint64_t done_bytes) {
  while (done_bytes < block.bytes) {
    const ssize_t put =
        pwrite(fd_, block.data + done_bytes, block.bytes - done_bytes, static_cast<off_t>(block.offset + done_bytes));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EINVAL && direct_) {
      StopDirect();
      continue;
    }
    if (put <= 0) return ErrnoError(put < 0 ? errno : EIO, "cannot write '" + path_ + "'");
    done_bytes += static_cast<uint64_t>(put);
  }
  return OkStatus();
}

Status BlockWriter::WaitForAll() {
  Status first;
  while (in_flight_ > 0) {
    Status status = ReapOne();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

void BlockWriter::StopDirect() {
  direct_ = false;
  SayFallback("O_DIRECT is refused, written through the page cache", path_);
  const int flags = fcntl(fd_, F_GETFL);
  if (flags >= 0) fcntl(fd_, F_SETFL, flags & ~O_DIRECT);
}

}  // namespace h5zarr
