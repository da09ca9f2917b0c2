// Reading of LZF (filter 32000), which h5py brings along and no other HDF5 has.
#include <hdf5.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tools/hdf5_files.h"

namespace h5zarr::tools {
namespace {

constexpr H5Z_filter_t kLzf = 32000;
constexpr std::size_t kChunkBytesWord = 2;  // of cd_values: the size of a decoded chunk
constexpr std::size_t kMostTimes = 128;     // as many bytes as there were: three give 264 at most

// Decodes `from` into `to`; how many bytes that gave, 0 when `from` is damaged or gives more than fit.
// A piece begins with a byte: under 32, one more literal byte than that follows; else its high 3 bits are
// a length (7: another byte adds to it), its low 5 with a last byte how far back to copy from.
std::size_t DecodeLzf(const uint8_t* from, std::size_t from_bytes, uint8_t* to, std::size_t to_bytes) {
  std::size_t in = 0;
  std::size_t out = 0;
  while (in < from_bytes) {
    const std::size_t control = from[in++];
    if (control < 32) {
      const std::size_t literal = control + 1;
      if (literal > from_bytes - in || literal > to_bytes - out) return 0;
      std::memcpy(to + out, from + in, literal);
      in += literal;
      out += literal;
      continue;
    }
    std::size_t length = control >> 5;
    if (length == 7) {
      if (in == from_bytes) return 0;
      length += from[in++];
    }
    length += 2;
    if (in == from_bytes) return 0;
    const std::size_t back = ((control & 31) << 8 | from[in++]) + 1;
    if (back > out || length > to_bytes - out) return 0;
    // Byte by byte: what is copied may be what this piece itself made.
    for (; length > 0; --length, ++out) to[out] = to[out - back];
  }
  return out;
}

std::size_t FilterLzf(unsigned flags, std::size_t words, const unsigned* cd_values, std::size_t bytes,
                      std::size_t* buffer_bytes, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;
  // Of elements of variable length the file does not say how large a decoded chunk is: HDF5 lets filters know nothing
  // of those when a dataset is made.
  const std::size_t told_bytes = words > kChunkBytesWord ? cd_values[kChunkBytesWord] : 0;
  std::size_t decoded_bytes = told_bytes != 0 ? told_bytes : 4 * bytes + 64;
  for (;; decoded_bytes *= 2) {
    auto* decoded = static_cast<uint8_t*>(std::malloc(decoded_bytes));
    if (decoded == nullptr) return 0;
    const std::size_t found = DecodeLzf(static_cast<const uint8_t*>(*buffer), bytes, decoded, decoded_bytes);
    if (found != 0) {
      std::free(*buffer);
      *buffer = decoded;
      *buffer_bytes = decoded_bytes;
      return found;
    }
    std::free(decoded);
    if (told_bytes != 0 || decoded_bytes / kMostTimes >= bytes) return 0;
  }
}

// (It says that it encodes, and fails to: HDF5 makes no dataset without that, not even the shadow of one.)
const H5Z_class2_t kLzfClass = {H5Z_CLASS_T_VERS, kLzf, 1, 1, "lzf", nullptr, nullptr, FilterLzf};

}  // namespace

bool RegisterLzf() { return H5Zfilter_avail(kLzf) > 0 || H5Zregister(&kLzfClass) >= 0; }

}  // namespace h5zarr::tools
