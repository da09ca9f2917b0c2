// Unaligned little-endian words, on a machine of either order. Private to filters/codec.
#ifndef H5ZARR_CODEC_LITTLE_ENDIAN_H_
#define H5ZARR_CODEC_LITTLE_ENDIAN_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace h5zarr::codec {

inline uint32_t LoadLe32(const std::byte* from) {
  uint32_t word;
  std::memcpy(&word, from, sizeof(word));
  return std::endian::native == std::endian::little ? word : __builtin_bswap32(word);
}
inline uint64_t LoadLe64(const std::byte* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}
inline void StoreLe32(std::byte* to, uint32_t word) {
  if (std::endian::native != std::endian::little) word = __builtin_bswap32(word);
  std::memcpy(to, &word, sizeof(word));
}
inline void StoreLe64(std::byte* to, uint64_t word) {
  if (std::endian::native != std::endian::little) word = __builtin_bswap64(word);
  std::memcpy(to, &word, sizeof(word));
}

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_LITTLE_ENDIAN_H_
