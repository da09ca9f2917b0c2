#include "store/local_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "store/posix_file.h"
#include "store/store.h"

namespace h5zarr {
namespace {

// Resources are bytes from here to the largest offset: no document reaches as far.
constexpr uint64_t kFirstByte = uint64_t{1} << 62;

struct flock RangeOf(uint64_t resource, short type) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  if (resource == kWholeArray) return range;  // length 0: to the end, whatever that is
  range.l_start = static_cast<off_t>(kFirstByte + (resource & (kFirstByte - 1)));
  range.l_len = 1;
  return range;
}

// Holds the lock of one open file.
class Lock {
 public:
  Lock(FileHandle file, uint64_t resource) : file_(std::move(file)), resource_(resource), pid_(getpid()) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() {
    // Explicitly, since a child forked meanwhile keeps the file open. In that child, it is the
    // parent's lock.
    if (getpid() != pid_) return;
    struct flock range = RangeOf(resource_, F_UNLCK);
    fcntl(file_.fd(), F_OFD_SETLK, &range);
  }

  const FileHandle& file() const { return file_; }

 private:
  FileHandle file_;
  const uint64_t resource_;
  const pid_t pid_;
};

// An errno, or 0. Blocks.
int Acquire(int fd, uint64_t resource) {
  struct flock range = RangeOf(resource, F_WRLCK);
  while (fcntl(fd, F_OFD_SETLKW, &range) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

bool MeansNoLocks(int errno_value) {
  return errno_value == ENOLCK || errno_value == EINVAL || errno_value == ENOTSUP || errno_value == EBADF ||
         errno_value == ENOSYS;
}

}  // namespace

Result<std::shared_ptr<void>> LockLocal(const std::string& path, uint64_t resource) {
  while (true) {
    FileHandle file(OpenAt(AT_FDCWD, path.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY));
    if (!file.is_open()) {
      const int error = errno;
      if (MeansAbsent(error, path) || error == EISDIR) return std::shared_ptr<void>();
      return ErrnoError(error, "cannot open '" + path + "' to lock it");
    }
    if (const int error = Acquire(file.fd(), resource); error != 0) {
      if (MeansNoLocks(error)) return std::shared_ptr<void>();
      return ErrnoError(error, "cannot lock '" + path + "'");
    }
    auto lock = std::make_shared<Lock>(std::move(file), resource);
    struct stat locked;
    struct stat current;
    if (fstat(lock->file().fd(), &locked) != 0) {
      return ErrnoError(errno, "cannot get the state of '" + path + "'");
    }
    if (stat(path.c_str(), &current) != 0) {
      if (MeansAbsent(errno, path)) return std::shared_ptr<void>();
      return ErrnoError(errno, "cannot get the state of '" + path + "'");
    }
    if (locked.st_dev == current.st_dev && locked.st_ino == current.st_ino) {
      return std::shared_ptr<void>(std::move(lock));
    }
  }
}

}  // namespace h5zarr
