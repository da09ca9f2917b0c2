// Open files of a local file system, with the system's interruptions and short counts taken care
// of.
//
// Within store/ only. Paths are absolute (or relative to a directory's descriptor where one is
// named).
#ifndef H5ZARR_STORE_POSIX_FILE_H_
#define H5ZARR_STORE_POSIX_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/buffer.h"
#include "base/status.h"
#include "store/store.h"

namespace h5zarr {

// Owns a file descriptor.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileHandle() { Close(); }

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  // The errno of close(2), which on some file systems is where a failed write is reported; else 0.
  int Close();

 private:
  int fd_ = -1;
};

// openat(2), begun again when interrupted; close-on-exec always. Negative: see errno.
int OpenAt(int directory_fd, const char* path, int flags, mode_t mode = 0);

struct OpenObject {
  FileHandle file;
  uint64_t object_bytes = 0;
  Generation generation;
  bool settled = true;  // see ReadResult
};

// The state of the file that `info` describes. A file that is replaced by rename has another inode;
// one that is written in place has another time.
Generation GenerationOf(const struct stat& info);

// Whether a file that `info`, just taken, describes will have another generation after any change: the clock by
// which files are stamped has moved on since it changed. (Inodes of replaced files are soon used again.)
bool IsSettled(const struct stat& info);

// What a folder at an object's place means, or a file where a folder of its path should be: that
// there is no object, as in any store of keys, or that somebody damaged the store.
enum class WhenBlocked { kAbsent, kError };

// Opens the regular file at `path` for reading; nothing where there is none. Anything else there (a
// FIFO, a device) is an error, and never waited for.
Result<std::optional<OpenObject>> OpenForReading(const std::string& path, WhenBlocked when_blocked);

// True when `errno_value`, from a call that names `path`, means that nothing is there: also when
// a name in it is longer than any that could have been made.
bool MeansAbsent(int errno_value, std::string_view path);

// kCorrupt: `path` is neither a regular file nor a folder.
Status NotAFileError(const std::string& path);

// Fills `target` from `offset`. kCorrupt when the file ends before; messages name `path`.
Status ReadExactly(int fd, uint64_t offset, MutableByteSpan target, const std::string& path);

// Writes all of `bytes` at the file's position.
Status WriteAll(int fd, ByteSpan bytes, const std::string& path);

// Makes what was created, renamed or removed in a folder durable. File systems that cannot are
// passed over.
Status SyncDirectory(const std::string& path);

// `path` without its last segment ("/" for a path directly below it).
std::string ParentPath(const std::string& path);

// "'<path>', bytes [offset, offset + length)".
std::string NameRange(const std::string& path, uint64_t offset, uint64_t length);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_POSIX_FILE_H_
