// ReadHistory: what reads of a chunk that did not keep it have cost so far. Once that is as much as
// reading all of the chunk into the cache, the next read had better do so: whoever returns to a chunk
// mostly returns again, and whoever does not has lost little.
#ifndef H5ZARR_ZARR_READ_HISTORY_H_
#define H5ZARR_ZARR_READ_HISTORY_H_

#include <cstdint>
#include <unordered_map>

namespace h5zarr::zarr {

class ReadHistory {
 public:
  // True when chunk `id` has earned its place in the cache. Else the read is taken to go past it, and
  // counted. Estimates, in nanoseconds: of this read, and of one that keeps the chunk.
  bool Earned(uint64_t id, double read_ns, double keep_ns) {
    double& spent_ns = spent_ns_[id];
    if (spent_ns >= keep_ns) {
      spent_ns_.erase(id);
      return true;
    }
    spent_ns += read_ns;
    if (spent_ns_.size() > kMaxChunks) spent_ns_.clear();
    return false;
  }

 private:
  static constexpr std::size_t kMaxChunks = 1024;
  std::unordered_map<uint64_t, double> spent_ns_;
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_READ_HISTORY_H_
