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

// The one file, whatever the key. Its descriptor is duplicated for the length of a batch, so that a close
// elsewhere never turns it into another file's.
class OneFile final : public ObjectFiles {
 public:
  explicit OneFile(const OpenFile& file) : file_(file) {}
  std::string PathOf(const std::string&) const override { return file_.path; }
  Result<std::optional<OpenObject>> Open(const std::string& path) const override {
    OpenObject object;
    object.file = FileHandle(fcntl(file_.fd, F_DUPFD_CLOEXEC, 0));
    struct stat info;
    if (!object.file.is_open() || fstat(object.file.fd(), &info) != 0) {
      return ErrnoError(errno, "cannot use the open file '" + path + "'");
    }
    object.object_bytes = static_cast<uint64_t>(info.st_size);
    object.generation = GenerationOf(info);
    return std::optional<OpenObject>(std::move(object));
  }

 private:
  const OpenFile& file_;
};

class NativeFileStore final : public ReadOnlyStore {
 public:
  NativeFileStore(OpenFile file, Buffer index)
      : file_(std::move(file)), index_(std::move(index)), scratch_(options_.coalesce_max_bytes) {}

  std::string Describe() const override { return file_.path; }
  bool ranges_only() const override { return true; }

  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override;
  Result<std::optional<uint64_t>> ObjectBytes(std::string_view) override {
    return std::optional<uint64_t>(object_bytes());
  }

  Result<std::optional<Buffer>> Read(std::string_view, Generation*) override {
    return RangesOnly();
  }
  Result<std::vector<ListEntry>> List(std::string_view) override { return RangesOnly(); }
  Status Walk(std::string_view,
              const std::function<Status(std::string_view, uint64_t)>&) override {
    return RangesOnly();
  }

 private:
  Status Refusal() const override { return RangesOnly(); }
  uint64_t object_bytes() const { return file_.file_bytes + index_.size_bytes(); }
  Status RangesOnly() const {
    return UnsupportedError("'" + file_.path + "' is an HDF5 file: only ranges of it are read");
  }

  const OpenFile file_;
  const Buffer index_;
  const LocalStoreOptions options_;
  ScratchPool scratch_;
};

Status NativeFileStore::ReadBatch(std::span<ReadOp> ops, const ReadSink& sink,
                                  Executor& executor) {
  ReadResult result;
  result.generation = file_.generation;
  result.object_bytes = object_bytes();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].range.kind == ByteRange::Kind::kSpan) {
      ops[i].expected = file_.generation;
      continue;
    }
    // The index, which is asked for alone.
    if (ops.size() != 1 || ops[i].range.kind != ByteRange::Kind::kSuffix ||
        ops[i].range.length != index_.size_bytes() || !ops[i].target.empty()) {
      return RangesOnly();
    }
    result.bytes = index_.span();
    return sink(i, result);
  }
  return ReadFiles(OneFile(file_), options_, scratch_, ops, sink, executor);
}

}  // namespace

Result<OpenFile> DescribeOpenFile(std::string path, int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoError(errno, "cannot use the open file '" + path + "'");
  if (!S_ISREG(info.st_mode)) return NotAFileError(path);
  OpenFile file;
  file.path = std::move(path);
  file.fd = fd;
  file.file_bytes = static_cast<uint64_t>(info.st_size);
  file.generation = GenerationOf(info);
  return file;
}

std::unique_ptr<Store> MakeNativeFileStore(OpenFile file, Buffer index) {
  return std::make_unique<NativeFileStore>(std::move(file), std::move(index));
}

}  // namespace h5zarr
