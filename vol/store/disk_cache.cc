#include "store/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/sha256.h"
#include "base/trace.h"
#include "store/cached_range.h"
#include "store/posix_file.h"

namespace h5zarr {
namespace {

// What others added is not looked for more often than this.
constexpr std::chrono::seconds kListingLifetime{5};
constexpr std::size_t kMaxListings = 20'000;
// An object must not push out all others.
constexpr uint64_t kLargestShare = 4;
// A sweep goes on a little below the limit, so that it is not soon needed again.
constexpr uint64_t kSweptShare = 10;
// Holds how many bytes there are, by the last count and what was added since; locked by who changes it.
constexpr char kTotalFile[] = "/total";

int MakeFolder(const std::string& path) { return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno; }

// Missing parents are made as well.
int MakeFolders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string above = path.substr(0, slash);
    struct stat info;
    if (stat(above.c_str(), &info) == 0) continue;
    if (const int error = MakeFolder(above); error != 0) return error;
  }
  return MakeFolder(path);
}

}  // namespace

Result<std::shared_ptr<DiskCache>> DiskCache::Open(const std::string& folder, uint64_t max_bytes) {
  std::string path = folder.substr(0, folder.find_last_not_of('/') + 1);
  if (!path.starts_with('/')) return InvalidArgumentError("cache_dir '" + folder + "' is not an absolute path");
  // (Without libcrypto objects have no names.)
  const int error = Sha256Of({}).ok() ? MakeFolders(path) : ENOSYS;
  struct stat info;
  if (error != 0 || stat(path.c_str(), &info) != 0) {
    if (Tracing(TraceLevel::kDecisions)) {
      Trace("cache_dir '" + path + "' is not used: " + std::strerror(error != 0 ? error : errno));
    }
    return std::shared_ptr<DiskCache>();
  }
  if (!S_ISDIR(info.st_mode)) return InvalidArgumentError("cache_dir '" + folder + "' is no folder");
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return PermissionDeniedError("cache_dir '" + folder + "' is another user's folder, or others may write in it");
  }
  return std::shared_ptr<DiskCache>(new DiskCache(std::move(path), max_bytes));
}

void DiskCache::GiveUp(const char* what, int error) {
  if (!takes_more_.exchange(false) || !Tracing(TraceLevel::kDecisions)) return;
  Trace("cache_dir '" + folder_ + "' takes no more: " + what + ": " + std::strerror(error));
}

// --- what is there ---------------------------------------------------------------------------------

// REQUIRES: mutex_ is held. Null where there is no name for it.
DiskCache::Listing* DiskCache::Find(const std::string& name) {
  const auto now = std::chrono::steady_clock::now();
  if (listings_.size() > kMaxListings) listings_.clear();
  Listing& listing = listings_[name];
  if (!listing.folder.empty() && now - listing.seen < kListingLifetime) return &listing;
  if (listing.folder.empty()) {
    const Result<Sha256Digest> digest = Sha256Of(AsBytes(name));
    if (!digest.ok()) {
      listings_.erase(name);
      return nullptr;
    }
    const std::string hash = HexOf(*digest);
    listing.folder = folder_ + "/" + hash.substr(0, 2) + "/" + hash.substr(2);
  }
  listing.seen = now;
  listing.states.clear();
  DIR* const directory = opendir(listing.folder.c_str());
  if (directory == nullptr) return &listing;
  while (const dirent* entry = readdir(directory)) {
    const std::optional<CachedRange> range = CachedRange::FromFileName(entry->d_name);
    if (!range) continue;
    Ranges* ranges = RangesOf(&listing, range->state);
    if (ranges == nullptr) ranges = &listing.states.emplace_back(range->state, Ranges()).second;
    uint64_t& end = (*ranges)[range->begin];
    end = std::max(end, range->end);
  }
  closedir(directory);
  return &listing;
}

DiskCache::Ranges* DiskCache::RangesOf(Listing* listing, const State& state) {
  for (auto& [one, ranges] : listing->states) {
    if (one == state) return &ranges;
  }
  return nullptr;
}

std::optional<std::pair<uint64_t, uint64_t>> DiskCache::RangeAt(const Ranges& ranges, uint64_t at) {
  std::optional<std::pair<uint64_t, uint64_t>> best;
  // (They are of about one size: what begins far before does not reach here.)
  constexpr int kMostBefore = 16;
  auto next = ranges.upper_bound(at);
  for (int i = 0; i < kMostBefore && next != ranges.begin(); ++i) {
    --next;
    if (next->second > at && (!best || next->second > best->second)) best = *next;
  }
  return best;
}

std::vector<DiskCache::State> DiskCache::StatesOf(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<State> states;
  const Listing* const listing = Find(name);
  if (listing == nullptr) return states;
  for (const auto& [state, ranges] : listing->states) states.push_back(state);
  return states;
}

bool DiskCache::Has(const std::string& name, const State& state, uint64_t begin, uint64_t end) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Listing* const listing = Find(name);
  const Ranges* const ranges = listing != nullptr ? RangesOf(listing, state) : nullptr;
  if (ranges == nullptr) return false;
  for (uint64_t at = begin; at < end;) {
    const auto range = RangeAt(*ranges, at);
    if (!range) return false;
    at = range->second;
  }
  return true;
}

void DiskCache::Forget(const std::string& name, const State& state, uint64_t begin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto listing = listings_.find(name);
  if (listing == listings_.end()) return;
  if (Ranges* const ranges = RangesOf(&listing->second, state)) ranges->erase(begin);
}

bool DiskCache::Read(const std::string& name, const State& state, uint64_t offset, MutableByteSpan target) {
  const uint64_t end = offset + target.size();
  for (uint64_t at = offset; at < end;) {
    std::optional<std::pair<uint64_t, uint64_t>> range;
    std::string folder;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      Listing* const listing = Find(name);
      const Ranges* const ranges = listing != nullptr ? RangesOf(listing, state) : nullptr;
      if (ranges != nullptr) range = RangeAt(*ranges, at);
      if (range) folder = listing->folder;
    }
    if (!range) return false;
    const CachedRange file{state, range->first, range->second};
    const std::string path = folder + "/" + file.FileName();
    const uint64_t piece_end = std::min(end, range->second);
    const CachedRead read = ReadCachedRange(path, file, at, target.subspan(at - offset, piece_end - at));
    if (read != CachedRead::kDone) {
      if (read == CachedRead::kDamaged) {
        if (Tracing(TraceLevel::kDecisions)) Trace("'" + path + "' is damaged: removed");
        unlink(path.c_str());
      }
      Forget(name, state, range->first);
      return false;
    }
    at = piece_end;
  }
  return true;
}

// --- adding ----------------------------------------------------------------------------------------

// Counts `bytes` as being there, after a sweep where they would be too many.
bool DiskCache::MakeRoom(uint64_t bytes) {
  const std::string path = folder_ + kTotalFile;
  const FileHandle file(OpenAt(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (!file.is_open()) {
    GiveUp("its total", errno);
    return false;
  }
  while (flock(file.fd(), LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    GiveUp("a lock", errno);
    return false;
  }
  // (One that is damaged, or not there, counts as full.)
  uint64_t total = 0;
  if (pread(file.fd(), &total, sizeof total, 0) != sizeof total) total = UINT64_MAX;
  if (total > max_bytes_ || bytes > max_bytes_ - total) {
    total = SweepCache(folder_, max_bytes_ - std::max(bytes, max_bytes_ / kSweptShare));
  }
  total += bytes;
  if (pwrite(file.fd(), &total, sizeof total, 0) == sizeof total) return true;
  GiveUp("its total", errno);
  return false;
}

void DiskCache::Keep(const std::string& name, const State& state, uint64_t offset, ByteSpan bytes) {
  if (bytes.empty() || !takes_more_ || !CanBeCached(state.etag)) return;
  if (Has(name, state, offset, offset + bytes.size())) return;
  const CachedRange range{state, offset, offset + bytes.size()};
  if (range.file_bytes() > max_bytes_ / kLargestShare) return;
  std::string folder;
  std::vector<CachedRange> others;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Listing* const listing = Find(name);
    if (listing == nullptr) return;
    folder = listing->folder;
    for (const auto& [other, ranges] : listing->states) {
      if (other == state) continue;
      for (const auto& [begin, end] : ranges) others.push_back({other, begin, end});
    }
    std::erase_if(listing->states, [&](const auto& one) { return one.first != state; });
  }
  for (const CachedRange& other : others) unlink((folder + "/" + other.FileName()).c_str());
  if (!MakeRoom(range.file_bytes())) return;
  int error = MakeFolder(ParentPath(folder));
  if (error == 0) error = MakeFolder(folder);
  if (error == 0) error = WriteCachedRange(folder + "/" + range.FileName(), bytes);
  if (error == ENOENT) return;  // a sweep was faster: it may be kept the next time
  if (error != 0) {
    GiveUp("a file", error);
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  Listing* const listing = Find(name);
  if (listing == nullptr) return;
  Ranges* ranges = RangesOf(listing, state);
  if (ranges == nullptr) ranges = &listing->states.emplace_back(state, Ranges()).second;
  uint64_t& end = (*ranges)[range.begin];
  end = std::max(end, range.end);
}

}  // namespace h5zarr
