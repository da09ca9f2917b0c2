// The files of a DiskCache: one range of an object each, with checksums, and their names.
//
// Within store/ only.
#ifndef H5ZARR_STORE_CACHED_RANGE_H_
#define H5ZARR_STORE_CACHED_RANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "store/disk_cache.h"

namespace h5zarr {

struct CachedRange {
  DiskCache::State state;
  uint64_t begin = 0;
  uint64_t end = 0;

  // The file's name: all of the above. Nothing else in the folder has such a name.
  std::string FileName() const;
  static std::optional<CachedRange> FromFileName(std::string_view name);
  // What the file takes.
  uint64_t file_bytes() const;
};

// ETags that can be part of a file's name: strong ones of usual length.
bool CanBeCached(const std::string& etag);

enum class CachedRead { kDone, kGone, kDamaged };
// Fills `target` with the bytes from `offset` of the object on, all of which are in the file at `path`, and notes that
// the file was used.
CachedRead ReadCachedRange(const std::string& path, const CachedRange& range, uint64_t offset, MutableByteSpan target);

// Makes the file at `path`, which nobody sees before it is whole: by way of a temporary name in the same folder.
// An errno, or 0.
int WriteCachedRange(const std::string& path, ByteSpan bytes);

// Removes what was used longest ago from a cache's folder until at most `most_bytes` are left, and what writers that
// were killed left behind. The bytes that are left.
uint64_t SweepCache(const std::string& folder, uint64_t most_bytes);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_CACHED_RANGE_H_
