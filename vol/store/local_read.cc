#include "store/local_read.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "store/posix_file.h"
#include "store/read_plan.h"

namespace h5zarr {
namespace {

// Measured on cached files: open, stat and close 5 us, a pread 1.2 us and 0.2 ns a byte.
constexpr double kOpenCostNs = 5000;
constexpr double kRequestCostNs = 2000;
constexpr double kByteCostNs = 0.2;
// A read of this size costs ten times its call: joining it to another saves nothing, but copies it
// and keeps two sinks on one thread.
constexpr uint64_t kAloneBytes = 64 << 10;
constexpr uint64_t kSplitBytes = 4 << 20;

// An object that several parts of a batch read: opened by the first, closed by the last.
class SharedObject {
 public:
  explicit SharedObject(std::size_t parts) : parts_left_(parts) {}

  // Null where there is no object. Stays valid until Release.
  Result<const OpenObject*> Acquire(const ObjectFiles& files, const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!opened_) {
      H5ZARR_ASSIGN_OR_RETURN(object_, files.Open(path));
      opened_ = true;
    }
    return static_cast<const OpenObject*>(object_ ? &*object_ : nullptr);
  }

  void Release() {
    if (parts_left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    object_.reset();
  }

 private:
  std::atomic<std::size_t> parts_left_;
  std::mutex mutex_;
  bool opened_ = false;               // guarded by mutex_
  std::optional<OpenObject> object_;  // set under mutex_
};

class BatchReader {
 public:
  BatchReader(const ObjectFiles& files, ScratchPool& scratch, std::span<ReadOp> ops, const ReadSink& sink,
              ReadPlan plan)
      : files_(files),
        scratch_(scratch),
        ops_(ops),
        sink_(sink),
        plan_(std::move(plan)),
        shared_(plan_.objects.size()),
        pieces_left_(plan_.split_pieces.size()) {
    for (std::size_t i = 0; i < plan_.objects.size(); ++i) {
      const std::size_t parts = plan_.objects[i].last_part - plan_.objects[i].first_part;
      if (parts > 1) shared_[i] = std::make_unique<SharedObject>(parts);
    }
    for (std::size_t i = 0; i < pieces_left_.size(); ++i) pieces_left_[i] = plan_.split_pieces[i];
  }

  Status Run(Executor& executor) {
    return executor.ParallelFor(plan_.parts.size(), plan_.cost_ns,
                                [this](std::size_t part) { return RunPart(plan_.parts[part]); });
  }

 private:
  // True for a part that is no piece of an op, and for the piece that is done last.
  bool CompletesOp(const ReadPart& part) {
    return !part.split || pieces_left_[*part.split].fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  Status RunPart(const ReadPart& part) {
    const std::string path = files_.PathOf(ops_[plan_.order[part.first_op]].key);
    SharedObject* const shared = shared_[part.object].get();
    if (shared == nullptr) {
      H5ZARR_ASSIGN_OR_RETURN(const std::optional<OpenObject> object, files_.Open(path));
      return ReadPartOf(object ? &*object : nullptr, part, path);
    }
    H5ZARR_ASSIGN_OR_RETURN(const OpenObject* const object, shared->Acquire(files_, path));
    const Status status = ReadPartOf(object, part, path);
    shared->Release();
    return status;
  }

  Status ReadPartOf(const OpenObject* object, const ReadPart& part, const std::string& path) {
    H5ZARR_RETURN_IF_ERROR(CheckState(object, part, path));
    if (object == nullptr) return DeliverAbsent(part);
    if (part.last_op - part.first_op == 1) return ReadOne(*object, part, path);
    return ReadJoint(*object, part, path);
  }

  // Whether the object is in the state that every op of the part expects.
  Status CheckState(const OpenObject* object, const ReadPart& part, const std::string& path) {
    for (std::size_t i = part.first_op; i < part.last_op; ++i) {
      const Generation& expected = ops_[plan_.order[i]].expected;
      if (!expected.known()) continue;
      if (object == nullptr) return ChangedError("'" + path + "' has been removed meanwhile");
      if (expected != object->generation) {
        return ChangedError("'" + path + "' has been changed meanwhile");
      }
    }
    return OkStatus();
  }

  Status DeliverAbsent(const ReadPart& part) {
    if (!CompletesOp(part)) return OkStatus();
    for (std::size_t i = part.first_op; i < part.last_op; ++i) {
      H5ZARR_RETURN_IF_ERROR(sink_(plan_.order[i], ReadResult{}));
    }
    return OkStatus();
  }

  Status Deliver(std::size_t index, const OpenObject& object, ByteSpan bytes) {
    ReadResult result;
    result.bytes = bytes;
    result.generation = object.generation;
    result.settled = object.settled;
    result.object_bytes = object.object_bytes;
    return sink_(index, result);
  }

  // ReadExactly, and kChanged when somebody wrote into the file meanwhile: then the bytes may be of two states. (The
  // inode's own time moves on when a name is taken from it: what was replaced while it is open stays as it was.)
  static Status ReadOneState(const OpenObject& object, uint64_t offset, MutableByteSpan target,
                             const std::string& path) {
    const Status read = ReadExactly(object.file.fd(), offset, target, path);
    struct stat info;
    if (fstat(object.file.fd(), &info) != 0) return read;
    const Generation now = GenerationOf(info);
    if (now.words[1] == object.generation.words[1] && now.words[2] == object.generation.words[2]) return read;
    const std::string what = read.ok() ? "'" + path + "'" : read.message() + ": it";
    return ChangedError(what + " has been changed while it was read");
  }

  // The bytes that `op` means, checked against the object's size.
  static Result<std::pair<uint64_t, uint64_t>> Locate(const OpenObject& object, const ReadOp& op,
                                                      const std::string& path) {
    const uint64_t object_bytes = object.object_bytes;
    switch (op.range.kind) {
      case ByteRange::Kind::kWhole:
        if (!op.target.empty() && op.target.size() != object_bytes) {
          return CorruptError("'" + path + "' has " + std::to_string(object_bytes) + " bytes, expected " +
                              std::to_string(op.target.size()));
        }
        return std::pair<uint64_t, uint64_t>(0, object_bytes);
      case ByteRange::Kind::kSuffix:
        if (op.range.length > object_bytes) {
          return CorruptError("'" + path + "' has " + std::to_string(object_bytes) +
                              " bytes, expected at least the last " + std::to_string(op.range.length));
        }
        return std::pair(object_bytes - op.range.length, op.range.length);
      case ByteRange::Kind::kSpan:
        if (op.range.offset > object_bytes || op.range.length > object_bytes - op.range.offset) {
          return CorruptError(NameRange(path, op.range.offset, op.range.length) + ": the file has only " +
                              std::to_string(object_bytes) + " bytes");
        }
        return std::pair(op.range.offset, op.range.length);
    }
    return InternalError("unknown kind of byte range");
  }

  Status ReadOne(const OpenObject& object, const ReadPart& part, const std::string& path) {
    const std::size_t index = plan_.order[part.first_op];
    const ReadOp& op = ops_[index];
    H5ZARR_ASSIGN_OR_RETURN(const auto located, Locate(object, op, path));
    const auto [offset, length_bytes] = located;
    if (part.split) {
      const MutableByteSpan piece = op.target.subspan(part.begin - offset, part.end - part.begin);
      H5ZARR_RETURN_IF_ERROR(ReadOneState(object, part.begin, piece, path));
      return CompletesOp(part) ? Deliver(index, object, op.target) : OkStatus();
    }
    if (!op.target.empty()) {
      H5ZARR_RETURN_IF_ERROR(ReadOneState(object, offset, op.target, path));
      return Deliver(index, object, op.target);
    }
    H5ZARR_ASSIGN_OR_RETURN(Buffer memory, scratch_.Take(length_bytes));
    const MutableByteSpan bytes = memory.span().first(length_bytes);
    Status status = ReadOneState(object, offset, bytes, path);
    if (status.ok()) status = Deliver(index, object, bytes);
    scratch_.Return(std::move(memory));
    return status;
  }

  // The targets of the part's ops where they lie side by side, as their ranges do; else nothing.
  MutableByteSpan JointTarget(const ReadPart& part) const {
    const ReadOp& first = ops_[plan_.order[part.first_op]];
    uint64_t end = part.begin;
    for (std::size_t i = part.first_op; i < part.last_op; ++i) {
      const ReadOp& op = ops_[plan_.order[i]];
      const bool goes_on = op.range.offset == end && op.target.size() == op.range.length &&
                           op.target.data() == first.target.data() + (end - part.begin);
      if (op.target.empty() || !goes_on) return {};
      end += op.range.length;
    }
    return {first.target.data(), end - part.begin};
  }

  Status ReadJoint(const OpenObject& object, const ReadPart& part, const std::string& path) {
    if (part.end > object.object_bytes) {
      // Some op ends where the part does: the first that reaches too far is the one to name.
      for (std::size_t i = part.first_op; i < part.last_op; ++i) {
        H5ZARR_RETURN_IF_ERROR(Locate(object, ops_[plan_.order[i]], path).status());
      }
    }
    if (const MutableByteSpan target = JointTarget(part); !target.empty()) {
      H5ZARR_RETURN_IF_ERROR(ReadOneState(object, part.begin, target, path));
      for (std::size_t i = part.first_op; i < part.last_op; ++i) {
        const std::size_t index = plan_.order[i];
        H5ZARR_RETURN_IF_ERROR(Deliver(index, object, ops_[index].target));
      }
      return OkStatus();
    }
    H5ZARR_ASSIGN_OR_RETURN(Buffer memory, scratch_.Take(part.end - part.begin));
    const MutableByteSpan bytes = memory.span().first(part.end - part.begin);
    Status status = ReadOneState(object, part.begin, bytes, path);
    for (std::size_t i = part.first_op; status.ok() && i < part.last_op; ++i) {
      const std::size_t index = plan_.order[i];
      const ReadOp& op = ops_[index];
      ByteSpan found = bytes.subspan(op.range.offset - part.begin, op.range.length);
      if (!op.target.empty()) {
        std::memcpy(op.target.data(), found.data(), found.size());
        found = op.target;
      }
      status = Deliver(index, object, found);
    }
    scratch_.Return(std::move(memory));
    return status;
  }

  const ObjectFiles& files_;
  ScratchPool& scratch_;
  const std::span<ReadOp> ops_;
  const ReadSink& sink_;
  const ReadPlan plan_;
  std::vector<std::unique_ptr<SharedObject>> shared_;  // null where one part reads the object
  std::vector<std::atomic<std::size_t>> pieces_left_;  // of each split op
};

class FilesBelow final : public ObjectFiles {
 public:
  explicit FilesBelow(const std::string& root) : root_(root) {}
  std::string PathOf(const std::string& key) const override { return root_ + "/" + key; }
  Result<std::optional<OpenObject>> Open(const std::string& path) const override {
    return OpenForReading(path, WhenBlocked::kError);
  }

 private:
  const std::string& root_;
};

}  // namespace

Result<Buffer> ScratchPool::Take(uint64_t size_bytes) {
  if (size_bytes > buffer_bytes_) return Buffer::Allocate(size_bytes);
  // Only tried: in a forked child the lock may be held by a thread that no longer exists.
  if (const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock); lock.owns_lock() && !kept_.empty()) {
    Buffer buffer = std::move(kept_.back());
    kept_.pop_back();
    return buffer;
  }
  return Buffer::Allocate(buffer_bytes_);
}

void ScratchPool::Return(Buffer buffer) {
  if (buffer.size_bytes() != buffer_bytes_) return;
  if (const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock); lock.owns_lock() && kept_.size() < kMaxKept) {
    kept_.push_back(std::move(buffer));
  }
}

Status ReadFiles(const ObjectFiles& files, const LocalStoreOptions& options, ScratchPool& scratch,
                 std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) {
  if (ops.empty()) return OkStatus();
  ReadPlanLimits limits;
  limits.gap_bytes = options.coalesce_gap_bytes;
  limits.max_bytes = options.coalesce_max_bytes;
  limits.alone_bytes = kAloneBytes;
  limits.split_bytes = kSplitBytes;
  limits.open_cost_ns = kOpenCostNs;
  limits.request_cost_ns = kRequestCostNs;
  limits.byte_cost_ns = kByteCostNs;
  H5ZARR_ASSIGN_OR_RETURN(ReadPlan plan, MakeReadPlan(ops, limits, executor));
  return BatchReader(files, scratch, ops, sink, std::move(plan)).Run(executor);
}

Status ReadLocalBatch(const std::string& root, const LocalStoreOptions& options, ScratchPool& scratch,
                      std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) {
  return ReadFiles(FilesBelow(root), options, scratch, ops, sink, executor);
}

}  // namespace h5zarr
