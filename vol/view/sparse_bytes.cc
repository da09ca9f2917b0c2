#include "view/sparse_bytes.h"

#include <algorithm>
#include <cstring>

namespace h5zarr::view {

Status SparseBytes::Write(uint64_t at, ByteSpan bytes) {
  while (!bytes.empty()) {
    const uint64_t within = at % kPageBytes;
    const std::size_t count = std::min<uint64_t>(bytes.size(), kPageBytes - within);
    Buffer& page = pages_[at / kPageBytes];
    if (page.empty()) {
      H5ZARR_ASSIGN_OR_RETURN(page, Buffer::Allocate(kPageBytes));
      std::memset(page.data(), 0, kPageBytes);
    }
    std::memcpy(page.data() + within, bytes.data(), count);
    bytes = bytes.subspan(count);
    at += count;
  }
  return OkStatus();
}

void SparseBytes::Read(uint64_t at, MutableByteSpan out) const {
  while (!out.empty()) {
    const uint64_t within = at % kPageBytes;
    const std::size_t count = std::min<uint64_t>(out.size(), kPageBytes - within);
    const auto page = pages_.find(at / kPageBytes);
    if (page == pages_.end() || page->second.empty()) {
      std::memset(out.data(), 0, count);
    } else {
      std::memcpy(out.data(), page->second.data() + within, count);
    }
    out = out.subspan(count);
    at += count;
  }
}

}  // namespace h5zarr::view
