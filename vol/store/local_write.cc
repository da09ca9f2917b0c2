#include "store/local_write.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

#include "store/posix_file.h"
#include "store/temp_name.h"

namespace h5zarr {
namespace {

constexpr int kMaxAttempts = 100;

// renameat2(RENAME_NOREPLACE), or where the file system has none, a check before a plain rename.
// An errno, or 0.
int RenameWithoutReplacing(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  struct stat info;
  if (lstat(to.c_str(), &info) == 0) return EEXIST;
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// Whether files can be made without a name and be named later: tried once a process, as a file system may have no such
// files, and a system may not let them be named.
enum class Nameless { kUntried, kWork, kDoNot };
std::atomic<Nameless> nameless_files{Nameless::kUntried};

// A new file on its target's file system that has no name, or another than its target: it is gone again unless it was
// put in place.
class TempFile {
 public:
  TempFile() = default;
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }

  // An errno, or 0. A file without a name spares the folder two of three changes.
  int Create(const std::string& directory, bool nameless) {
    directory_ = directory;
    if (nameless && nameless_files != Nameless::kDoNot) {
      file_ = FileHandle(OpenAt(AT_FDCWD, directory.c_str(), O_WRONLY | O_TMPFILE, 0666));
      if (!file_.is_open() && errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return errno;
      if (file_.is_open() && nameless_files == Nameless::kWork) return 0;
      if (file_.is_open() && LinkBeside() == 0) {
        nameless_files = Nameless::kWork;
        return 0;
      }
      nameless_files = Nameless::kDoNot;
    }
    return TakeName([this](const std::string& path) {
      FileHandle file(OpenAt(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666));
      if (!file.is_open()) return errno;
      file_ = std::move(file);
      return 0;
    });
  }

  FileHandle& file() { return file_; }
  bool is_nameless() const { return path_.empty(); }

  // Says what went wrong in writing that was not told yet: an errno, or 0.
  int Close() {
    if (!path_.empty()) return file_.Close();
    return FileHandle(fcntl(file_.fd(), F_DUPFD_CLOEXEC, 0)).Close();  // (it has to be open to be named)
  }

  // Puts the closed file at `path`, in place of what is there. An errno, or 0.
  int MoveTo(const std::string& path) {
    if (path_.empty()) {
      if (const int error = Link(path); error != EEXIST) return error;
      // Somebody was first: it is replaced as others are.
      if (const int error = LinkBeside(); error != 0) return error;
    }
    if (rename(path_.c_str(), path.c_str()) != 0) return errno;
    path_.clear();
    return 0;
  }

  // The same where nothing is at `path`, else EEXIST.
  int MoveToNew(const std::string& path) {
    if (path_.empty()) return Link(path);
    const int error = RenameWithoutReplacing(path_, path);
    if (error == 0) path_.clear();
    return error;
  }

 private:
  // Has `make` (which returns an errno, or 0) make the file be there under a temporary name: one that is free, as
  // others may have left theirs.
  template <typename Make>
  int TakeName(Make&& make) {
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      std::string path = directory_ + "/" + NextTempName();
      const int error = make(path);
      if (error == 0) path_ = std::move(path);
      if (error != EEXIST) return error;
    }
    return EEXIST;
  }

  int LinkBeside() {
    return TakeName([this](const std::string& path) { return Link(path); });
  }

  // Gives the file a name. By its descriptor only some processes may.
  int Link(const std::string& path) {
    const std::string own = "/proc/self/fd/" + std::to_string(file_.fd());
    if (linkat(AT_FDCWD, own.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return 0;
    if (errno != ENOENT || access(own.c_str(), F_OK) == 0) return errno;
    return linkat(file_.fd(), "", AT_FDCWD, path.c_str(), AT_EMPTY_PATH) == 0 ? 0 : errno;
  }

  FileHandle file_;
  std::string directory_;
  std::string path_;  // empty: it has none
};

Status MakeDirectory(const std::string& path, bool durable) {
  if (mkdir(path.c_str(), 0777) != 0) {
    // Also when it is no folder: what is done in it next fails and says so.
    if (errno == EEXIST) return OkStatus();
    return ErrnoError(errno, "cannot make folder '" + path + "'");
  }
  return durable ? SyncDirectory(ParentPath(path)) : OkStatus();
}

Status SyncFile(int fd, const std::string& path) {
  while (fsync(fd) != 0) {
    if (errno != EINTR) return ErrnoError(errno, "cannot sync '" + path + "'");
  }
  return OkStatus();
}

// What an object's file would replace.
struct Place {
  std::string path;   // behind symbolic links
  struct stat there;  // of what is there
  bool is_taken = false;
};

// A link that leads to itself is a place as any other: what is done there fails and says so.
Place FindPlace(std::string path) {
  constexpr int kMaxLinks = 40;
  Place place;
  place.path = std::move(path);
  for (int link = 0; link < kMaxLinks; ++link) {
    place.is_taken = lstat(place.path.c_str(), &place.there) == 0;
    if (!place.is_taken || !S_ISLNK(place.there.st_mode)) return place;
    char target[PATH_MAX];
    const ssize_t target_bytes = readlink(place.path.c_str(), target, sizeof target);
    if (target_bytes <= 0) return place;
    const std::string_view leads_to(target, static_cast<std::size_t>(target_bytes));
    place.path = leads_to[0] == '/' ? std::string(leads_to) : ParentPath(place.path) + "/" + std::string(leads_to);
  }
  return place;
}

class LocalWriter : public ObjectWriter {
 public:
  LocalWriter(const std::string& root, std::string_view key, bool durable, Names names)
      : root_(root),
        key_(key),
        place_(FindPlace(root_ + "/" + key_)),
        path_(place_.path),
        directory_(ParentPath(path_)),
        durable_(durable),
        syncs_name_(durable && names == Names::kDurable) {}

  // An errno, or 0. (What file systems promise of names that come after fsync differs: durable files have one before.)
  int Create() { return temp_.Create(directory_, !durable_ && !place_.is_taken); }
  const std::string& path() const { return path_; }
  // From now on by way of blocks. REQUIRES: created, and nothing appended.
  void UseBlocks(bool direct, BlockPool* pool) {
    blocks_ = std::make_unique<BlockWriter>(temp_.file().fd(), path_, direct, pool);
  }

  Status Append(ByteSpan bytes) override {
    return blocks_ != nullptr ? blocks_->Append(bytes) : WriteAll(temp_.file().fd(), bytes, path_);
  }

  Status Commit() override {
    H5ZARR_RETURN_IF_ERROR(Finish());
    return Replace();
  }

  // Commit where nothing is in the place; else false. `written`: see Store::WriteNew.
  Result<bool> CommitNew(Generation* written) {
    if (written != nullptr) NoteInode();
    H5ZARR_RETURN_IF_ERROR(Finish());
    const int error = PutInPlace(&TempFile::MoveToNew);
    if (error == EEXIST) return false;
    if (error != 0) return NotInPlace(error);
    H5ZARR_RETURN_IF_ERROR(SyncName());
    if (written != nullptr) *written = Written();
    return true;
  }

  // Commit where what is in the place is in state `expected`; else false.
  Result<bool> CommitOver(const Generation& expected, Generation* written) {
    if (written != nullptr) NoteInode();
    H5ZARR_RETURN_IF_ERROR(Finish());
    struct stat now;
    if (stat(path_.c_str(), &now) != 0) {
      if (MeansAbsent(errno, path_)) return false;
      return ErrnoError(errno, "cannot get the state of '" + path_ + "'");
    }
    if (GenerationOf(now) != expected) return false;
    H5ZARR_RETURN_IF_ERROR(Replace());
    if (written != nullptr) *written = Written();
    return true;
  }

 private:
  void NoteInode() {
    struct stat own;
    if (fstat(temp_.file().fd(), &own) == 0) inode_ = own.st_ino;
  }

  // The state of the file that was put in place, unless another is there by now.
  Generation Written() const {
    struct stat now;
    if (stat(path_.c_str(), &now) != 0 || now.st_ino != inode_) return Generation();
    return GenerationOf(now);
  }

  // Who may read and write what is replaced may do so afterwards. A file system without permissions, or an owner
  // that this process may not give, is no failure.
  void TakeOverPermissions() {
    constexpr mode_t kPermissions = 0777;
    struct stat own;
    const struct stat& there = place_.there;
    const int fd = temp_.file().fd();
    if (!place_.is_taken || !S_ISREG(there.st_mode) || fstat(fd, &own) != 0) return;
    if (own.st_uid != there.st_uid || own.st_gid != there.st_gid) {
      constexpr auto kSameOwner = static_cast<uid_t>(-1);
      if (fchown(fd, there.st_uid, there.st_gid) != 0 && fchown(fd, kSameOwner, there.st_gid) != 0) errno = 0;
    }
    if (((own.st_mode ^ there.st_mode) & kPermissions) != 0 && fchmod(fd, there.st_mode & kPermissions) != 0) errno = 0;
  }

  Status Finish() {
    TakeOverPermissions();
    if (blocks_ != nullptr) {
      H5ZARR_RETURN_IF_ERROR(blocks_->Finish());
      blocks_.reset();
    }
    if (durable_) H5ZARR_RETURN_IF_ERROR(SyncFile(temp_.file().fd(), path_));
    if (const int error = temp_.Close(); error != 0) {
      return ErrnoError(error, "cannot write '" + path_ + "'");
    }
    return OkStatus();
  }

  // An errno, or 0.
  int PutInPlace(int (TempFile::*move)(const std::string& path)) {
    int error = (temp_.*move)(path_);
    // A file without a name does not keep others from removing its folder.
    for (int attempt = 0; error == ENOENT && temp_.is_nameless() && attempt < 3; ++attempt) {
      if (!MakeParents(root_, key_, durable_).ok()) break;
      error = (temp_.*move)(path_);
    }
    return error;
  }

  Status NotInPlace(int error) const { return ErrnoError(error, "cannot put '" + path_ + "' in place"); }

  Status Replace() {
    if (const int error = PutInPlace(&TempFile::MoveTo); error != 0) return NotInPlace(error);
    return SyncName();
  }

  Status SyncName() { return syncs_name_ ? SyncDirectory(directory_) : OkStatus(); }

  const std::string root_;
  const std::string key_;
  const Place place_;
  const std::string path_;
  const std::string directory_;
  const bool durable_;
  const bool syncs_name_;
  TempFile temp_;
  ino_t inode_ = 0;                      // of the temporary file, once noted
  std::unique_ptr<BlockWriter> blocks_;  // null: through the page cache, call by call
};

Result<std::unique_ptr<LocalWriter>> Begin(const std::string& root, std::string_view key, bool durable,
                                           Names names = Names::kDurable) {
  auto writer = std::make_unique<LocalWriter>(root, key, durable, names);
  int error = writer->Create();
  // Somebody may remove the folder again before the file is in it.
  for (int attempt = 0; error == ENOENT && attempt < 3; ++attempt) {
    H5ZARR_RETURN_IF_ERROR(MakeParents(root, key, durable && names == Names::kDurable));
    error = writer->Create();
  }
  if (error != 0) return ErrnoError(error, "cannot create '" + writer->path() + "'");
  return writer;
}

}  // namespace

Status MakeParents(const std::string& root, std::string_view key, bool durable) {
  const std::string path = root + "/" + std::string(key);
  // Upwards to the first that can be made, or is there: most often all but the last one or two are.
  std::vector<std::size_t> missing;  // where in `path` the names of those below it end
  std::size_t end = path.rfind('/');
  for (; end > 0; end = path.rfind('/', end - 1)) {
    const Status made = MakeDirectory(path.substr(0, end), durable);
    if (made.ok()) break;
    if (made.errno_value() != ENOENT || end <= root.size()) return made;
    missing.push_back(end);
  }
  for (auto below = missing.rbegin(); below != missing.rend(); ++below) {
    H5ZARR_RETURN_IF_ERROR(MakeDirectory(path.substr(0, *below), durable));
  }
  return OkStatus();
}

Result<std::unique_ptr<ObjectWriter>> BeginLocalWrite(const std::string& root, std::string_view key,
                                                      const LocalStoreOptions& options, BlockPool* blocks) {
  H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<LocalWriter> writer, Begin(root, key, options.durable));
  if (options.io != LocalStoreOptions::Io::kPageCache) {
    writer->UseBlocks(options.io == LocalStoreOptions::Io::kDirect, blocks);
  }
  return std::unique_ptr<ObjectWriter>(std::move(writer));
}

Status WriteLocalObject(const std::string& root, std::string_view key, ByteSpan bytes, const LocalStoreOptions& options,
                        Names names, BlockPool* blocks) {
  H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<LocalWriter> writer, Begin(root, key, options.durable, names));
  const bool large = bytes.size() >= BlockPool::kBlockBytes;
  if (large && options.io != LocalStoreOptions::Io::kPageCache) {
    writer->UseBlocks(options.io == LocalStoreOptions::Io::kDirect, blocks);
  }
  H5ZARR_RETURN_IF_ERROR(writer->Append(bytes));
  return writer->Commit();
}

Result<bool> WriteNewLocalObject(const std::string& root, std::string_view key, ByteSpan bytes, bool durable,
                                 Generation* written) {
  H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<LocalWriter> writer, Begin(root, key, durable));
  H5ZARR_RETURN_IF_ERROR(writer->Append(bytes));
  return writer->CommitNew(written);
}

Result<bool> ReplaceLocalObject(const std::string& root, std::string_view key, ByteSpan bytes,
                                const Generation& expected, bool durable, Generation* written) {
  H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<LocalWriter> writer, Begin(root, key, durable));
  H5ZARR_RETURN_IF_ERROR(writer->Append(bytes));
  return writer->CommitOver(expected, written);
}

Status RenameLocalPrefix(const std::string& root, std::string_view from, std::string_view to, bool durable) {
  const std::string from_path = root + "/" + std::string(from);
  const std::string to_path = root + "/" + std::string(to);
  struct stat info;
  if (stat(from_path.c_str(), &info) != 0) {
    return ErrnoError(errno, "cannot rename '" + from_path + "'");
  }
  if (!S_ISDIR(info.st_mode)) return ErrnoError(ENOTDIR, "cannot rename '" + from_path + "'");
  int error = RenameWithoutReplacing(from_path, to_path);
  if (error == ENOENT) {
    H5ZARR_RETURN_IF_ERROR(MakeParents(root, to, durable));
    error = RenameWithoutReplacing(from_path, to_path);
  } else if (error == EEXIST && rmdir(to_path.c_str()) == 0) {
    error = RenameWithoutReplacing(from_path, to_path);
  }
  if (error != 0) {
    return ErrnoError(error, "cannot rename '" + from_path + "' to '" + to_path + "'");
  }
  if (!durable) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(SyncDirectory(ParentPath(to_path)));
  return SyncDirectory(ParentPath(from_path));
}

}  // namespace h5zarr
