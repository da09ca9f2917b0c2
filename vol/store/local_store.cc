#include "store/local_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "store/local_blocks.h"
#include "store/local_lock.h"
#include "store/local_read.h"
#include "store/local_tree.h"
#include "store/local_write.h"
#include "store/posix_file.h"
#include "store/temp_name.h"

namespace h5zarr {
namespace {

class LocalStore : public Store {
 public:
  LocalStore(std::string root, const LocalStoreOptions& options)
      : root_(std::move(root)), options_(options), scratch_(options.coalesce_max_bytes) {
    while (!root_.empty() && root_.back() == '/') root_.pop_back();
  }

  std::string Describe() const override { return "file://" + (root_.empty() ? "/" : root_); }
  bool read_only() const override { return options_.read_only; }
  bool is_local_folder() const override { return true; }
  Status CheckThere() override;

  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override {
    return ReadLocalBatch(root_, options_, scratch_, ops, sink, executor);
  }
  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override;
  std::optional<ObjectState> StateNow(std::string_view key) override;
  Status Write(std::string_view key, ByteSpan bytes) override;
  Status WriteNamedLater(std::string_view key, ByteSpan bytes) override;
  Status SyncNames(std::span<const std::string> prefixes) override;
  Result<bool> WriteNew(std::string_view key, ByteSpan bytes, Generation* written) override;
  Result<bool> Replace(std::string_view key, ByteSpan bytes, const Generation& expected, Generation* written) override;
  Result<std::unique_ptr<ObjectWriter>> BeginWrite(std::string_view key) override;
  Result<bool> Delete(std::string_view key) override;
  Status DeletePrefix(std::string_view prefix) override;
  bool deletes_at_once() const override { return true; }
  Status RenamePrefix(std::string_view from, std::string_view to) override;
  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override;
  Result<std::vector<ListEntry>> List(std::string_view prefix) override;
  Status Walk(std::string_view prefix,
              const std::function<Status(std::string_view key, uint64_t bytes)>& visit) override;
  Result<std::shared_ptr<void>> Lock(std::string_view document_key, uint64_t resource) override;

 private:
  std::string PathOf(std::string_view key) const {
    if (key.empty()) return root_.empty() ? "/" : root_;
    return root_ + "/" + std::string(key);
  }

  Status CheckWritable(std::string_view key) const {
    if (!options_.read_only) return OkStatus();
    return PermissionDeniedError("'" + PathOf(key) + "': the store is open for reading only");
  }

  std::string root_;  // without a trailing '/'
  const LocalStoreOptions options_;
  ScratchPool scratch_;
  BlockPool blocks_;
};

// Names of unfinished writes are hidden, so an object must not be named like one. Below such a name is
// where things without a place are kept on purpose.
Status CheckWrittenKey(std::string_view key) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  const std::size_t slash = key.rfind('/');
  if (IsTempName(slash == std::string_view::npos ? key : key.substr(slash + 1))) {
    return InvalidArgumentError("key '" + std::string(key) + "' has the name of a temporary file");
  }
  return OkStatus();
}

Status LocalStore::CheckThere() {
  struct stat info;
  if (stat(PathOf("").c_str(), &info) == 0 || errno != ENOENT) return OkStatus();
  return Status(StatusCode::kIo, "'" + PathOf("") + "' has been removed while it was open", ENOENT);
}

Result<std::optional<Buffer>> LocalStore::Read(std::string_view key, Generation* generation) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  const std::string path = PathOf(key);
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<OpenObject> object, OpenForReading(path, WhenBlocked::kAbsent));
  if (generation != nullptr) *generation = object ? object->generation : Generation();
  if (!object) return std::optional<Buffer>();
  H5ZARR_ASSIGN_OR_RETURN(Buffer bytes, Buffer::Allocate(object->object_bytes));
  H5ZARR_RETURN_IF_ERROR(ReadExactly(object->file.fd(), 0, bytes.span(), path));
  return std::optional<Buffer>(std::move(bytes));
}

std::optional<ObjectState> LocalStore::StateNow(std::string_view key) {
  // Asked before every read of what is cached: no memory is allocated for the name.
  std::array<char, 512> short_path;
  std::string long_path;
  const char* path = short_path.data();
  if (root_.size() + 1 + key.size() < short_path.size()) {
    char* end = std::copy(root_.begin(), root_.end(), short_path.data());
    *end++ = '/';
    *std::copy(key.begin(), key.end(), end) = '\0';
  } else {
    long_path = PathOf(key);
    path = long_path.c_str();
  }
  struct stat info;
  if (stat(path, &info) != 0) {
    return MeansAbsent(errno, path) ? std::optional(ObjectState()) : std::nullopt;
  }
  if (S_ISDIR(info.st_mode)) return ObjectState();
  return ObjectState{GenerationOf(info), IsSettled(info)};
}

Status LocalStore::Write(std::string_view key, ByteSpan bytes) {
  H5ZARR_RETURN_IF_ERROR(CheckWrittenKey(key));
  H5ZARR_RETURN_IF_ERROR(CheckWritable(key));
  return WriteLocalObject(root_, key, bytes, options_, Names::kDurable, &blocks_);
}

Status LocalStore::WriteNamedLater(std::string_view key, ByteSpan bytes) {
  H5ZARR_RETURN_IF_ERROR(CheckWrittenKey(key));
  H5ZARR_RETURN_IF_ERROR(CheckWritable(key));
  return WriteLocalObject(root_, key, bytes, options_, Names::kLater, &blocks_);
}

Status LocalStore::SyncNames(std::span<const std::string> prefixes) {
  if (!options_.durable) return OkStatus();
  for (const std::string& prefix : prefixes) {
    H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
    H5ZARR_RETURN_IF_ERROR(SyncDirectory(PathOf(prefix)));
    if (!prefix.empty()) continue;
    // What the root lies in need not be ours to open: then the root is not of our making either.
    const Status synced = SyncDirectory(ParentPath(PathOf("")));
    if (!synced.ok() && synced.code() != StatusCode::kPermissionDenied) return synced;
  }
  return OkStatus();
}

Result<bool> LocalStore::WriteNew(std::string_view key, ByteSpan bytes, Generation* written) {
  H5ZARR_RETURN_IF_ERROR(CheckWrittenKey(key));
  H5ZARR_RETURN_IF_ERROR(CheckWritable(key));
  return WriteNewLocalObject(root_, key, bytes, options_.durable, written);
}

Result<bool> LocalStore::Replace(std::string_view key, ByteSpan bytes, const Generation& expected,
                                 Generation* written) {
  H5ZARR_RETURN_IF_ERROR(CheckWrittenKey(key));
  H5ZARR_RETURN_IF_ERROR(CheckWritable(key));
  return ReplaceLocalObject(root_, key, bytes, expected, options_.durable, written);
}

Result<std::unique_ptr<ObjectWriter>> LocalStore::BeginWrite(std::string_view key) {
  H5ZARR_RETURN_IF_ERROR(CheckWrittenKey(key));
  H5ZARR_RETURN_IF_ERROR(CheckWritable(key));
  return BeginLocalWrite(root_, key, options_, &blocks_);
}

Result<bool> LocalStore::Delete(std::string_view key) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  H5ZARR_RETURN_IF_ERROR(CheckWritable(key));
  const std::string path = PathOf(key);
  struct stat info;
  // A folder, or a link to one, is no object.
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return false;
  if (unlink(path.c_str()) != 0) {
    if (MeansAbsent(errno, path)) return false;
    return ErrnoError(errno, "cannot remove '" + path + "'");
  }
  if (options_.durable) H5ZARR_RETURN_IF_ERROR(SyncDirectory(ParentPath(path)));
  return true;
}

Status LocalStore::DeletePrefix(std::string_view prefix) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
  H5ZARR_RETURN_IF_ERROR(CheckWritable(prefix));
  // What the root lies in is not ours to put temporary names into.
  const std::string path = PathOf(prefix);
  H5ZARR_RETURN_IF_ERROR(prefix.empty() ? RemoveContents(path) : RemoveDirectory(path));
  if (!options_.durable) return OkStatus();
  const Status synced = SyncDirectory(ParentPath(path));
  return synced.code() == StatusCode::kNotFound ? OkStatus() : synced;
}

Status LocalStore::RenamePrefix(std::string_view from, std::string_view to) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(from));
  H5ZARR_RETURN_IF_ERROR(CheckKey(to));
  H5ZARR_RETURN_IF_ERROR(CheckWritable(to));
  return RenameLocalPrefix(root_, from, to, options_.durable);
}

Result<std::optional<uint64_t>> LocalStore::ObjectBytes(std::string_view key) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  const std::string path = PathOf(key);
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (MeansAbsent(errno, path)) return std::optional<uint64_t>();
    return ErrnoError(errno, "cannot get the size of '" + path + "'");
  }
  if (S_ISDIR(info.st_mode)) return std::optional<uint64_t>();
  if (!S_ISREG(info.st_mode)) return NotAFileError(path);
  return std::optional<uint64_t>(static_cast<uint64_t>(info.st_size));
}

Result<std::vector<ListEntry>> LocalStore::List(std::string_view prefix) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
  return ListDirectory(PathOf(prefix));
}

Status LocalStore::Walk(std::string_view prefix,
                        const std::function<Status(std::string_view key, uint64_t bytes)>& visit) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
  return WalkDirectory(PathOf(prefix), prefix, visit);
}

Result<std::shared_ptr<void>> LocalStore::Lock(std::string_view document_key, uint64_t resource) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(document_key));
  H5ZARR_RETURN_IF_ERROR(CheckWritable(document_key));
  return LockLocal(PathOf(document_key), resource);
}

}  // namespace

std::unique_ptr<Store> MakeLocalStore(std::string root, const LocalStoreOptions& options) {
  return std::make_unique<LocalStore>(std::move(root), options);
}

}  // namespace h5zarr
