// Buffer: owned, cache-line aligned, uninitialised bytes; and the span aliases used everywhere.
//
// Not a growable string: a Buffer is allocated once at its exact size (or shrunk), because growing
// is what made other shard writers slow.
#ifndef H5ZARR_BASE_BUFFER_H_
#define H5ZARR_BASE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"

namespace h5zarr {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

inline ByteSpan AsBytes(std::string_view text) {
  return ByteSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}
inline std::string_view AsText(ByteSpan bytes) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class Buffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() = default;

  // `size_bytes` uninitialised bytes, aligned to `alignment` (a power of two, at least kAlignment).
  // kNoSpace when the system has no memory for it.
  static Result<Buffer> Allocate(uint64_t size_bytes, std::size_t alignment = kAlignment);
  // A copy of `bytes`.
  static Result<Buffer> CopyOf(ByteSpan bytes);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size_bytes() const { return size_bytes_; }
  bool empty() const { return size_bytes_ == 0; }
  MutableByteSpan span() { return {data_.get(), size_bytes_}; }
  ByteSpan span() const { return {data_.get(), size_bytes_}; }
  operator ByteSpan() const { return span(); }  // NOLINT: a Buffer reads as its bytes

  // Forgets the bytes behind the first `size_bytes`. REQUIRES: size_bytes <= size_bytes().
  void Shrink(std::size_t size_bytes) { size_bytes_ = size_bytes; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_bytes_ = 0;
};

}  // namespace h5zarr

#endif  // H5ZARR_BASE_BUFFER_H_
