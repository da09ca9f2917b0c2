// SparseBytes: the bytes of a file in memory of which few were ever written, at addresses far apart.
#ifndef H5ZARR_VIEW_SPARSE_BYTES_H_
#define H5ZARR_VIEW_SPARSE_BYTES_H_

#include <cstdint>
#include <unordered_map>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr::view {

class SparseBytes {
 public:
  // kNoSpace when there is no memory.
  Status Write(uint64_t at, ByteSpan bytes);
  // Zeros where nothing was written.
  void Read(uint64_t at, MutableByteSpan out) const;
  // Memory that is held.
  uint64_t held_bytes() const { return pages_.size() * kPageBytes; }

 private:
  static constexpr uint64_t kPageBytes = 16 << 10;

  std::unordered_map<uint64_t, Buffer> pages_;  // by address / kPageBytes
};

}  // namespace h5zarr::view

#endif  // H5ZARR_VIEW_SPARSE_BYTES_H_
