#include "store/native_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "store/local_read.h"
#include "store/posix_file.h"
#include "store/read_only_store.h"

namespace h5zarr {
namespace {

class OpenFileBytes final : public FileBytes, private ObjectFiles {
 public:
  OpenFileBytes(std::string path, int fd, const struct stat& info)
      : FileBytes(std::move(path), static_cast<uint64_t>(info.st_size), GenerationOf(info)),
        fd_(fd),
        scratch_(options_.coalesce_max_bytes) {}

  Status ReadRanges(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override {
    for (ReadOp& op : ops) op.expected = generation();
    return ReadFiles(*this, options_, scratch_, ops, sink, executor);
  }

 private:
  std::string PathOf(const std::string&) const override { return name(); }
  // The one file, whatever the key. Its descriptor is duplicated for the length of a batch, so that a close
  // elsewhere never turns it into another file's.
  Result<std::optional<OpenObject>> Open(const std::string& path) const override {
    OpenObject object;
    object.file = FileHandle(fcntl(fd_, F_DUPFD_CLOEXEC, 0));
    struct stat info;
    if (!object.file.is_open() || fstat(object.file.fd(), &info) != 0) {
      return ErrnoError(errno, "cannot use the open file '" + path + "'");
    }
    object.object_bytes = static_cast<uint64_t>(info.st_size);
    object.generation = GenerationOf(info);
    return std::optional<OpenObject>(std::move(object));
  }

  const int fd_;
  const LocalStoreOptions options_;
  ScratchPool scratch_;
};

class NativeFileStore final : public ReadOnlyStore {
 public:
  NativeFileStore(std::shared_ptr<FileBytes> file, Buffer index) : file_(std::move(file)), index_(std::move(index)) {}

  std::string Describe() const override { return file_->name(); }
  bool ranges_only() const override { return true; }

  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override;
  Result<std::optional<uint64_t>> ObjectBytes(std::string_view) override {
    return std::optional<uint64_t>(object_bytes());
  }

  Result<std::optional<Buffer>> Read(std::string_view, Generation*) override { return RangesOnly(); }
  Result<std::vector<ListEntry>> List(std::string_view) override { return RangesOnly(); }
  Status Walk(std::string_view, const std::function<Status(std::string_view, uint64_t)>&) override {
    return RangesOnly();
  }

 private:
  Status Refusal() const override { return RangesOnly(); }
  uint64_t object_bytes() const { return file_->file_bytes() + index_.size_bytes(); }
  Status RangesOnly() const {
    return UnsupportedError("'" + file_->name() + "' is an HDF5 file: only ranges of it are read");
  }

  const std::shared_ptr<FileBytes> file_;
  const Buffer index_;
};

Status NativeFileStore::ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].range.kind == ByteRange::Kind::kSpan) continue;
    // The index, which is asked for alone.
    if (ops.size() != 1 || ops[i].range.kind != ByteRange::Kind::kSuffix ||
        ops[i].range.length != index_.size_bytes() || !ops[i].target.empty()) {
      return RangesOnly();
    }
    ReadResult result;
    result.bytes = index_.span();
    result.generation = file_->generation();
    result.object_bytes = object_bytes();
    return sink(i, result);
  }
  return file_->ReadRanges(ops, sink, executor);
}

}  // namespace

Result<std::shared_ptr<FileBytes>> BytesOfOpenFile(std::string path, int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoError(errno, "cannot use the open file '" + path + "'");
  if (!S_ISREG(info.st_mode)) return NotAFileError(path);
  return std::shared_ptr<FileBytes>(std::make_shared<OpenFileBytes>(std::move(path), fd, info));
}

std::unique_ptr<Store> MakeNativeFileStore(std::shared_ptr<FileBytes> file, Buffer index) {
  return std::make_unique<NativeFileStore>(std::move(file), std::move(index));
}

}  // namespace h5zarr
