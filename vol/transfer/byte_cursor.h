// ByteCursor: little-endian numbers and texts, one after the other, from bytes that are not trusted.
#ifndef H5ZARR_TRANSFER_BYTE_CURSOR_H_
#define H5ZARR_TRANSFER_BYTE_CURSOR_H_

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/buffer.h"

namespace h5zarr::transfer {

// What lies beyond the end is 0 or empty, and ok() false from then on.
class ByteCursor {
 public:
  explicit ByteCursor(ByteSpan bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return rest_.size(); }

  // Of 1 to 8 bytes.
  uint64_t Number(std::size_t bytes) {
    const ByteSpan taken = Take(bytes);
    uint64_t value = 0;
    for (std::size_t i = taken.size(); i-- > 0;) {
      value = value << 8 | std::to_integer<uint64_t>(taken[i]);
    }
    return value;
  }
  ByteSpan Take(std::size_t bytes) {
    if (bytes > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const ByteSpan taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  // Up to a byte of 0, which goes as well.
  std::string_view Text() {
    const void* const end = rest_.empty() ? nullptr : std::memchr(rest_.data(), 0, rest_.size());
    if (end == nullptr) {
      ok_ = false;
      return {};
    }
    const auto bytes = static_cast<std::size_t>(static_cast<const std::byte*>(end) - rest_.data());
    const std::string_view text = AsText(rest_.first(bytes));
    rest_ = rest_.subspan(bytes + 1);
    return text;
  }

 private:
  ByteSpan rest_;
  bool ok_ = true;
};

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_BYTE_CURSOR_H_
