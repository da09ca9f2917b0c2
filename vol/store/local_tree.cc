#include "store/local_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "store/posix_file.h"
#include "store/temp_name.h"

namespace h5zarr {
namespace {

// Links to folders followed within one walk. Far more than anybody makes by hand; ends a walk that
// links send round in ever new ways.
constexpr int kMaxFollowedLinks = 100'000;

enum class EntryType { kFile, kDirectory, kOther };

struct Entry {
  std::string name;
  EntryType type = EntryType::kOther;
  bool is_link = false;
};

// An open folder that is read name by name.
class Directory {
 public:
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    if (stream_ != nullptr) closedir(stream_);
  }

  // The folder `name` in the folder `at_fd` (or AT_FDCWD), opened with `flags` besides the usual.
  Directory(int at_fd, const std::string& name, int flags) {
    const int fd = OpenAt(at_fd, name.c_str(), O_RDONLY | O_DIRECTORY | flags);
    if (fd >= 0) stream_ = fdopendir(fd);
    if (stream_ != nullptr) return;
    error_ = errno;
    if (fd >= 0) close(fd);
  }

  bool is_open() const { return stream_ != nullptr; }
  int error() const { return error_; }  // the errno, when not open
  int fd() const { return dirfd(stream_); }

  // All entries but "." and "..". Links have the type of what they lead to when `follow` is set,
  // else they are kOther.
  Result<std::vector<Entry>> Entries(const std::string& path, bool follow) {
    std::vector<Entry> entries;
    while (true) {
      errno = 0;
      const struct dirent* const found = readdir(stream_);
      if (found == nullptr) {
        if (errno != 0) return ErrnoError(errno, "cannot read folder '" + path + "'");
        return entries;
      }
      Entry entry;
      entry.name = found->d_name;
      if (entry.name == "." || entry.name == "..") continue;
      SetType(found->d_type, follow, entry);
      entries.push_back(std::move(entry));
    }
  }

 private:
  void SetType(unsigned char d_type, bool follow, Entry& entry) const {
    if (d_type == DT_UNKNOWN) {
      struct stat info;
      if (fstatat(fd(), entry.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
      d_type = IFTODT(info.st_mode);
    }
    if (d_type == DT_LNK) {
      entry.is_link = true;
      struct stat info;
      if (!follow) return;
      if (fstatat(fd(), entry.name.c_str(), &info, 0) != 0) {
        // Who opens what must not be looked at gets to know why.
        if (errno == EACCES) entry.type = EntryType::kDirectory;
        return;
      }
      d_type = IFTODT(info.st_mode);
    }
    if (d_type == DT_REG) entry.type = EntryType::kFile;
    if (d_type == DT_DIR) entry.type = EntryType::kDirectory;
  }

  DIR* stream_ = nullptr;
  int error_ = 0;
};

class Walker {
 public:
  explicit Walker(const std::function<Status(std::string_view, uint64_t)>& visit) : visit_(visit) {}

  // The folder `path`, whose key is `prefix`, opened as `name` in `at_fd`.
  Status Walk(int at_fd, const std::string& name, const std::string& path, const std::string& prefix) {
    Directory directory(at_fd, name, 0);
    if (!directory.is_open()) {
      // Removed since it was listed, or never there.
      if (directory.error() != ENOTDIR && MeansAbsent(directory.error(), path)) return OkStatus();
      return ErrnoError(directory.error(), "cannot open folder '" + path + "'");
    }
    struct stat info;
    if (fstat(directory.fd(), &info) != 0) {
      return ErrnoError(errno, "cannot get the state of folder '" + path + "'");
    }
    const std::pair<dev_t, ino_t> identity(info.st_dev, info.st_ino);
    if (std::find(above_.begin(), above_.end(), identity) != above_.end()) return OkStatus();
    above_.push_back(identity);
    const Status status = WalkEntries(directory, path, prefix);
    above_.pop_back();
    return status;
  }

 private:
  Status WalkEntries(Directory& directory, const std::string& path, const std::string& prefix) {
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<Entry> entries, directory.Entries(path, true));
    for (const Entry& entry : entries) {
      if (IsTempName(entry.name)) continue;
      const std::string key = prefix.empty() ? entry.name : prefix + "/" + entry.name;
      if (entry.type == EntryType::kFile) {
        struct stat info;
        if (fstatat(directory.fd(), entry.name.c_str(), &info, 0) != 0) {
          if (errno == ENOENT) continue;  // removed meanwhile
          return ErrnoError(errno, "cannot get the size of '" + path + "/" + entry.name + "'");
        }
        if (S_ISREG(info.st_mode)) {
          H5ZARR_RETURN_IF_ERROR(visit_(key, static_cast<uint64_t>(info.st_size)));
        }
      } else if (entry.type == EntryType::kDirectory) {
        const std::string below = path + "/" + entry.name;
        if (entry.is_link && ++followed_links_ > kMaxFollowedLinks) {
          return OutOfRangeError("'" + below + "': too many links to folders");
        }
        H5ZARR_RETURN_IF_ERROR(Walk(directory.fd(), entry.name, below, key));
      }
    }
    return OkStatus();
  }

  const std::function<Status(std::string_view, uint64_t)>& visit_;
  std::vector<std::pair<dev_t, ino_t>> above_;  // the folders that lead to the current one
  int followed_links_ = 0;
};

// The folders that lead to a path, as its names do.
class FoldersAbove {
 public:
  // `path` itself is the first.
  explicit FoldersAbove(const std::string& path) : path_(path) {}

  // Whether the link `name` in `directory`, the last folder, leads to one of them.
  bool AreReachedBy(const Directory& directory, const std::string& name) {
    struct stat info;
    if (fstatat(directory.fd(), name.c_str(), &info, 0) != 0) return false;
    if (identities_.empty()) Look();
    return std::find(identities_.begin(), identities_.end(), std::pair(info.st_dev, info.st_ino)) != identities_.end();
  }

 private:
  void Look() {
    for (std::string folder = path_;; folder = ParentPath(folder)) {
      struct stat info;
      if (stat(folder.c_str(), &info) == 0) identities_.emplace_back(info.st_dev, info.st_ino);
      if (folder == ParentPath(folder)) return;
    }
  }

  const std::string& path_;
  std::vector<std::pair<dev_t, ino_t>> identities_;
};

bool GoesBefore(const Entry& a, const Entry& b) {
  const bool a_is_hidden = a.name[0] == '.';
  const bool b_is_hidden = b.name[0] == '.';
  return a_is_hidden != b_is_hidden ? a_is_hidden : a.name > b.name;
}

Status RemoveEntries(Directory& directory, const std::string& path) {
  H5ZARR_ASSIGN_OR_RETURN(std::vector<Entry> entries, directory.Entries(path, false));
  std::sort(entries.begin(), entries.end(), GoesBefore);
  for (const Entry& entry : entries) {
    const std::string below = path + "/" + entry.name;
    const bool is_directory = entry.type == EntryType::kDirectory;
    if (is_directory) {
      Directory inner(directory.fd(), entry.name, O_NOFOLLOW);
      if (!inner.is_open()) {
        if (inner.error() == ENOENT) continue;
        return ErrnoError(inner.error(), "cannot open folder '" + below + "'");
      }
      H5ZARR_RETURN_IF_ERROR(RemoveEntries(inner, below));
    }
    if (unlinkat(directory.fd(), entry.name.c_str(), is_directory ? AT_REMOVEDIR : 0) != 0 && errno != ENOENT) {
      return ErrnoError(errno, "cannot remove '" + below + "'");
    }
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<ListEntry>> ListDirectory(const std::string& path) {
  Directory directory(AT_FDCWD, path, 0);
  if (!directory.is_open()) {
    if (MeansAbsent(directory.error(), path)) return std::vector<ListEntry>();
    return ErrnoError(directory.error(), "cannot open folder '" + path + "'");
  }
  H5ZARR_ASSIGN_OR_RETURN(std::vector<Entry> entries, directory.Entries(path, true));
  FoldersAbove above(path);
  std::vector<ListEntry> listed;
  for (Entry& entry : entries) {
    if (entry.type == EntryType::kOther || IsTempName(entry.name)) continue;
    const bool is_linked_folder = entry.is_link && entry.type == EntryType::kDirectory;
    if (is_linked_folder && above.AreReachedBy(directory, entry.name)) continue;
    listed.push_back({std::move(entry.name), entry.type == EntryType::kDirectory});
  }
  std::sort(listed.begin(), listed.end(), [](const ListEntry& a, const ListEntry& b) { return a.name < b.name; });
  return listed;
}

Status WalkDirectory(const std::string& path, std::string_view prefix,
                     const std::function<Status(std::string_view key, uint64_t bytes)>& visit) {
  return Walker(visit).Walk(AT_FDCWD, path, path, std::string(prefix));
}

Status RemoveContents(const std::string& path) {
  Directory directory(AT_FDCWD, path, 0);
  if (!directory.is_open()) {
    if (MeansAbsent(directory.error(), path)) return OkStatus();
    return ErrnoError(directory.error(), "cannot open folder '" + path + "'");
  }
  H5ZARR_RETURN_IF_ERROR(RemoveEntries(directory, path));
  // ENOTDIR: a link to a folder, which stays, as does a mount point (EBUSY).
  if (rmdir(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR && errno != EBUSY) {
    return ErrnoError(errno, "cannot remove folder '" + path + "'");
  }
  return OkStatus();
}

Status RemoveDirectory(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    if (MeansAbsent(errno, path)) return OkStatus();
    return ErrnoError(errno, "cannot get the state of '" + path + "'");
  }
  if (S_ISLNK(info.st_mode)) {
    struct stat target;
    if (stat(path.c_str(), &target) == 0 && !S_ISDIR(target.st_mode)) return OkStatus();
    if (unlink(path.c_str()) == 0 || errno == ENOENT) return OkStatus();
    return ErrnoError(errno, "cannot remove link '" + path + "'");
  }
  if (!S_ISDIR(info.st_mode)) return OkStatus();
  const std::string hidden = ParentPath(path) + "/" + NextTempName();
  if (rename(path.c_str(), hidden.c_str()) == 0) {
    return RemoveContents(hidden).WithContext("'" + path + "' is gone, but not all of it could be deleted");
  }
  if (errno == ENOENT) return OkStatus();
  // A mount point, or a file system that does not rename the folders of its lower layer.
  if (errno != EBUSY && errno != EXDEV) return ErrnoError(errno, "cannot remove '" + path + "'");
  return RemoveContents(path);
}

}  // namespace h5zarr
