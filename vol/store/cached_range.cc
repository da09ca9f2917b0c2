#include "store/cached_range.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "store/posix_file.h"
#include "store/temp_name.h"

namespace h5zarr {
namespace {

namespace fs = std::filesystem;

// A file is this, a checksum of each block, and the blocks.
constexpr std::string_view kMagic = "h5zarr-1";
constexpr uint64_t kBlockBytes = 64 << 10;
constexpr uint64_t kSumBytes = sizeof(uint32_t);
constexpr std::size_t kMaxEtagBytes = 80;
constexpr char kDigits[] = "0123456789abcdef";
// The time of a file's last use is not noted more often than this.
constexpr time_t kUseSeconds = 5;
constexpr time_t kAbandonedSeconds = 3600;

uint64_t BlocksOf(uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }
uint64_t HeadBytesOf(uint64_t bytes) { return kMagic.size() + BlocksOf(bytes) * kSumBytes; }
uint32_t SumOf(ByteSpan bytes) { return libdeflate_crc32(0, bytes.data(), bytes.size()); }

bool TakeNumber(std::string_view* text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  return true;
}

bool TakeDash(std::string_view* text) {
  if (!text->starts_with('-')) return false;
  text->remove_prefix(1);
  return true;
}

// Reads blocks [first, last) of the file into `target`, whose size is theirs, and compares their checksums.
bool ReadBlocks(int fd, const std::string& path, uint64_t range_bytes, uint64_t first, uint64_t last,
                MutableByteSpan target) {
  std::vector<uint32_t> sums(last - first);
  const uint64_t head_bytes = HeadBytesOf(range_bytes);
  if (!ReadExactly(fd, kMagic.size() + first * kSumBytes, std::as_writable_bytes(std::span(sums)), path).ok() ||
      !ReadExactly(fd, head_bytes + first * kBlockBytes, target, path).ok()) {
    return false;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const uint64_t at = i * kBlockBytes;
    if (SumOf(target.subspan(at, std::min(kBlockBytes, target.size() - at))) != sums[i]) return false;
  }
  return true;
}

}  // namespace

bool CanBeCached(const std::string& etag) {
  return etag.size() >= 3 && etag.size() <= kMaxEtagBytes && etag.front() == '"' && etag.back() == '"';
}

std::string CachedRange::FileName() const {
  std::string name;
  for (const char c : state.etag) {
    name += kDigits[static_cast<unsigned char>(c) >> 4];
    name += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return name + "-" + std::to_string(state.object_bytes) + "-" + std::to_string(begin) + "-" + std::to_string(end);
}

std::optional<CachedRange> CachedRange::FromFileName(std::string_view name) {
  CachedRange range;
  const std::string_view digits = kDigits;
  while (name.size() >= 2 && name[0] != '-') {
    const std::size_t high = digits.find(name[0]), low = digits.find(name[1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    range.state.etag += static_cast<char>(high << 4 | low);
    name.remove_prefix(2);
  }
  const bool whole = TakeDash(&name) && TakeNumber(&name, &range.state.object_bytes) && TakeDash(&name) &&
                     TakeNumber(&name, &range.begin) && TakeDash(&name) && TakeNumber(&name, &range.end) &&
                     name.empty();
  if (!whole || !CanBeCached(range.state.etag)) return std::nullopt;
  if (range.begin >= range.end || range.end > range.state.object_bytes) return std::nullopt;
  return range;
}

uint64_t CachedRange::file_bytes() const { return HeadBytesOf(end - begin) + (end - begin); }

CachedRead ReadCachedRange(const std::string& path, const CachedRange& range, uint64_t offset, MutableByteSpan target) {
  const FileHandle file(OpenAt(AT_FDCWD, path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat info;
  if (!file.is_open() || fstat(file.fd(), &info) != 0) return CachedRead::kGone;
  std::string magic(kMagic.size(), '\0');
  const bool whole =
      S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) == range.file_bytes() &&
      ReadExactly(file.fd(), 0, std::as_writable_bytes(std::span(magic.data(), magic.size())), path).ok() &&
      magic == kMagic;
  if (!whole) return CachedRead::kDamaged;
  const uint64_t range_bytes = range.end - range.begin, within = offset - range.begin;
  const uint64_t first = within / kBlockBytes, last = BlocksOf(within + target.size());
  const uint64_t from = first * kBlockBytes, to = std::min(last * kBlockBytes, range_bytes);
  if (from == within && to == within + target.size()) {
    if (!ReadBlocks(file.fd(), path, range_bytes, first, last, target)) return CachedRead::kDamaged;
  } else {
    Result<Buffer> blocks = Buffer::Allocate(to - from);
    if (!blocks.ok()) return CachedRead::kGone;
    if (!ReadBlocks(file.fd(), path, range_bytes, first, last, blocks->span())) return CachedRead::kDamaged;
    std::memcpy(target.data(), blocks->data() + (within - from), target.size());
  }
  if (time(nullptr) - info.st_mtim.tv_sec > kUseSeconds) (void)futimens(file.fd(), nullptr);
  return CachedRead::kDone;
}

int WriteCachedRange(const std::string& path, ByteSpan bytes) {
  const std::string temporary = ParentPath(path) + "/" + NextTempName();
  FileHandle file(OpenAt(AT_FDCWD, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (!file.is_open()) return errno;
  std::vector<uint32_t> sums;
  for (uint64_t at = 0; at < bytes.size(); at += kBlockBytes) {
    sums.push_back(SumOf(bytes.subspan(at, std::min(kBlockBytes, bytes.size() - at))));
  }
  int error = 0;
  for (const ByteSpan part : {AsBytes(kMagic), std::as_bytes(std::span(sums)), bytes}) {
    const Status written = WriteAll(file.fd(), part, temporary);
    if (error == 0 && !written.ok()) error = written.errno_value() != 0 ? written.errno_value() : EIO;
  }
  const int closed = file.Close();
  if (error == 0) error = closed;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) unlink(temporary.c_str());
  return error;
}

uint64_t SweepCache(const std::string& folder, uint64_t most_bytes) {
  struct Entry {
    struct timespec used;
    uint64_t bytes;
    std::string path;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  const time_t now = time(nullptr);
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    struct stat info;
    if (lstat(at->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const std::string name = at->path().filename();
    if (IsTempName(name) && now - info.st_mtim.tv_sec > kAbandonedSeconds) unlink(at->path().c_str());
    if (!CachedRange::FromFileName(name)) continue;
    entries.push_back({info.st_mtim, static_cast<uint64_t>(info.st_size), at->path()});
    total += entries.back().bytes;
  }
  if (total <= most_bytes) return total;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Entry& entry : entries) {
    if (total <= most_bytes) break;
    if (unlink(entry.path.c_str()) == 0) total -= entry.bytes;
    (void)rmdir(ParentPath(entry.path).c_str());  // where it was the last in it
  }
  return total;
}

}  // namespace h5zarr
