#include "mirror/file_stamp.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

#include "mirror/source_file.h"

namespace h5zarr::mirror {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
// File systems that keep fractions of a second are far finer than this.
constexpr int64_t kLeastAgeNs = kNsPerSecond;

int64_t Ns(const timespec& time) { return int64_t{time.tv_sec} * kNsPerSecond + time.tv_nsec; }

}  // namespace

std::optional<std::string> StampOf(hid_t file) {
  const std::optional<int> fd = DescriptorOf(file);
  struct stat info;
  timespec now{};
  if (!fd || fstat(*fd, &info) != 0 || !S_ISREG(info.st_mode) || clock_gettime(CLOCK_REALTIME, &now) != 0) {
    return std::nullopt;
  }
  const int64_t written = Ns(info.st_mtim), changed = Ns(info.st_ctim);
  if (info.st_mtim.tv_nsec == 0 || info.st_ctim.tv_nsec == 0) return std::nullopt;  // whole seconds
  if (Ns(now) - std::max(written, changed) < kLeastAgeNs) return std::nullopt;
  return "inode " + std::to_string(info.st_ino) + ", " + std::to_string(info.st_size) + " bytes, written " +
         std::to_string(written) + ", changed " + std::to_string(changed);
}

}  // namespace h5zarr::mirror
