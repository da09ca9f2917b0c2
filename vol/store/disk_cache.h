// DiskCache: bytes of remote objects in a folder of this machine, which any number of processes share.
//
// Within store/ only. It keeps ranges of objects in a certain state (a strong ETag and a length), and never says
// whether an object still is in that state: who uses the bytes has asked the server (cached_fetch). Objects are
// known by a hash of their names, so that no URL stands in the folder.
//
// A range is a file with checksums, put in place whole by a rename: one that is cut off or damaged is removed, and
// not there. Those used longest ago are removed when there are more than `max_bytes`. Nothing fails because of the
// cache: where the folder cannot be written to, what is there is used, and nothing is added.
//
// Thread-safe.
#ifndef H5ZARR_STORE_DISK_CACHE_H_
#define H5ZARR_STORE_DISK_CACHE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr {

class DiskCache {
 public:
  // A state of an object.
  struct State {
    std::string etag;
    uint64_t object_bytes = 0;
    bool operator==(const State&) const = default;
  };

  // The cache in `folder`, an absolute path, which is made for its user alone where it is not there. Null where it
  // cannot be made. kInvalidArgument for what is no absolute path or no folder; kPermissionDenied for a folder
  // of somebody else, or that others may write in: they could put there what they like.
  static Result<std::shared_ptr<DiskCache>> Open(const std::string& folder, uint64_t max_bytes);

  // The states of the object `name` of which something is kept: mostly one, or none.
  std::vector<State> StatesOf(const std::string& name);
  // Whether [begin, end) of it is kept, in one range or several.
  bool Has(const std::string& name, const State& state, uint64_t begin, uint64_t end);
  // Fills `target` with the bytes from `offset` on; false, and anything in `target`, where they are not there, or
  // not what they were when they were kept. Blocks.
  bool Read(const std::string& name, const State& state, uint64_t offset, MutableByteSpan target);
  // Keeps `bytes`, which are those from `offset` on, in place of all that is kept of other states. Blocks.
  void Keep(const std::string& name, const State& state, uint64_t offset, ByteSpan bytes);

 private:
  using Ranges = std::map<uint64_t, uint64_t>;  // end by begin; they may overlap
  // What is kept of one object.
  struct Listing {
    std::string folder;
    std::chrono::steady_clock::time_point seen;
    std::vector<std::pair<State, Ranges>> states;
  };

  DiskCache(std::string folder, uint64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  Listing* Find(const std::string& name);
  static Ranges* RangesOf(Listing* listing, const State& state);
  // The longest range that holds byte `at`, or nothing.
  static std::optional<std::pair<uint64_t, uint64_t>> RangeAt(const Ranges& ranges, uint64_t at);
  void Forget(const std::string& name, const State& state, uint64_t begin);
  bool MakeRoom(uint64_t bytes);
  void GiveUp(const char* what, int error);

  const std::string folder_;
  const uint64_t max_bytes_;
  std::atomic<bool> takes_more_ = true;
  std::mutex mutex_;
  std::unordered_map<std::string, Listing> listings_;  // guarded by mutex_; by name
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_DISK_CACHE_H_
