#include "store/posix_file.h"

#include <fcntl.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace h5zarr {
namespace {

// Linux moves at most 2 GiB less a page in one call.
constexpr std::size_t kMaxCallBytes = 1 << 30;

uint64_t Nanoseconds(const struct timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

int FileHandle::Close() {
  const int fd = Release();
  if (fd < 0) return 0;
  // Linux has closed the descriptor even when it was interrupted.
  return close(fd) == 0 || errno == EINTR ? 0 : errno;
}

int OpenAt(int directory_fd, const char* path, int flags, mode_t mode) {
  int fd;
  do {
    fd = openat(directory_fd, path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

Generation GenerationOf(const struct stat& info) {
  Generation generation;
  generation.words[0] = info.st_ino;
  generation.words[1] = static_cast<uint64_t>(info.st_size);
  generation.words[2] = Nanoseconds(info.st_mtim);
  generation.words[3] = Nanoseconds(info.st_ctim) ^ (static_cast<uint64_t>(info.st_dev) << 32);
  return generation;
}

bool IsSettled(const struct stat& info) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0) return false;
  // A file system that counts in whole seconds, or in two.
  const uint64_t tick_ns = info.st_ctim.tv_nsec == 0 ? 2'000'000'000u : 0;
  return Nanoseconds(now) > Nanoseconds(info.st_ctim) + tick_ns;
}

bool MeansAbsent(int errno_value, std::string_view path) {
  if (errno_value == ENOENT || errno_value == ENOTDIR) return true;
  if (errno_value != ENAMETOOLONG) return false;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > NAME_MAX) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

Status NotAFileError(const std::string& path) {
  return CorruptError("'" + path + "' is neither a regular file nor a folder");
}

Status BlockedError(int errno_value, const std::string& path) {
  return ErrnoError(errno_value, errno_value == EISDIR ? "a folder is where the object '" + path + "' would be"
                                                       : "a file is where a folder of '" + path + "' would be");
}

Result<std::optional<OpenObject>> OpenForReading(const std::string& path, WhenBlocked when_blocked) {
  FileHandle file(OpenAt(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) {
    const int error = errno;
    if (error == ENOTDIR && when_blocked == WhenBlocked::kError) return BlockedError(error, path);
    if (MeansAbsent(error, path)) return std::optional<OpenObject>();
    if (error == ENXIO) return NotAFileError(path);  // a socket, or a device without a driver
    return ErrnoError(error, "cannot open '" + path + "'");
  }
  struct stat info;
  if (fstat(file.fd(), &info) != 0) {
    return ErrnoError(errno, "cannot get the size of '" + path + "'");
  }
  if (S_ISDIR(info.st_mode)) {
    if (when_blocked == WhenBlocked::kError) return BlockedError(EISDIR, path);
    return std::optional<OpenObject>();
  }
  if (!S_ISREG(info.st_mode)) return NotAFileError(path);
  OpenObject object;
  object.file = std::move(file);
  object.object_bytes = static_cast<uint64_t>(info.st_size);
  object.generation = GenerationOf(info);
  object.settled = IsSettled(info);
  return std::optional<OpenObject>(std::move(object));
}

Status ReadExactly(int fd, uint64_t offset, MutableByteSpan target, const std::string& path) {
  std::size_t done_bytes = 0;
  while (done_bytes < target.size()) {
    const ssize_t got = pread(fd, target.data() + done_bytes, std::min(target.size() - done_bytes, kMaxCallBytes),
                              static_cast<off_t>(offset + done_bytes));
    if (got < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(errno, "cannot read " + NameRange(path, offset, target.size()));
    }
    if (got == 0) {
      return CorruptError(NameRange(path, offset, target.size()) + ": the file ends at byte " +
                          std::to_string(offset + done_bytes) + ", it has shrunk meanwhile");
    }
    done_bytes += static_cast<std::size_t>(got);
  }
  return OkStatus();
}

Status WriteAll(int fd, ByteSpan bytes, const std::string& path) {
  std::size_t done_bytes = 0;
  while (done_bytes < bytes.size()) {
    const ssize_t put = write(fd, bytes.data() + done_bytes, std::min(bytes.size() - done_bytes, kMaxCallBytes));
    if (put < 0 && errno == EINTR) continue;
    // A device that takes nothing and says nothing would make this endless.
    if (put <= 0) return ErrnoError(put < 0 ? errno : EIO, "cannot write '" + path + "'");
    done_bytes += static_cast<std::size_t>(put);
  }
  return OkStatus();
}

Status SyncDirectory(const std::string& path) {
  FileHandle directory(OpenAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY));
  if (!directory.is_open()) return ErrnoError(errno, "cannot open folder '" + path + "'");
  while (fsync(directory.fd()) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == EROFS || errno == ENOTSUP) break;
    return ErrnoError(errno, "cannot sync folder '" + path + "'");
  }
  return OkStatus();
}

std::string ParentPath(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string NameRange(const std::string& path, uint64_t offset, uint64_t length) {
  return "'" + path + "', bytes [" + std::to_string(offset) + ", " + std::to_string(offset + length) + ")";
}

}  // namespace h5zarr
