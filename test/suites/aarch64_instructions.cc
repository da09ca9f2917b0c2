// What the codecs have in instructions of each machine, against its definition; for an emulator (see aarch64.py).
// Prints what is wrong, or the number of comparisons.
#include <cstdio>
#include <vector>

#include "codec/byte_shuffle.h"
#include "codec/crc32c.h"

namespace {

using Bytes = std::vector<std::byte>;

Bytes Noise(std::size_t bytes) {
  Bytes noise(bytes);
  uint32_t state = 9;
  for (std::byte& byte : noise) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  return noise;
}

bool ShufflesAsDefined(std::size_t elems, std::size_t elem_bytes) {
  const Bytes data = Noise(elems * elem_bytes);
  Bytes expected(data.size());
  for (std::size_t i = 0; i < elems; ++i) {
    for (std::size_t k = 0; k < elem_bytes; ++k) expected[k * elems + i] = data[i * elem_bytes + k];
  }
  Bytes shuffled(data.size());
  h5zarr::codec::ByteShuffle(data.data(), shuffled.data(), elems, elem_bytes);
  Bytes unshuffled(data.size());
  h5zarr::codec::ByteUnshuffle(shuffled.data(), unshuffled.data(), elems, elem_bytes);
  if (shuffled == expected && unshuffled == data) return true;
  std::printf("shuffle: %zu elements of %zu bytes are wrong\n", elems, elem_bytes);
  return false;
}

bool SumsAsDefined(const Bytes& data, std::size_t offset, std::size_t bytes) {
  const auto part = h5zarr::ByteSpan(data).subspan(offset, bytes);
  if (h5zarr::codec::Crc32c(part) == h5zarr::codec::Crc32cPortable(part)) return true;
  std::printf("crc32c: %zu bytes at %zu are wrong\n", bytes, offset);
  return false;
}

}  // namespace

int main() {
  int compared = 0;
  int wrong = 0;
  for (std::size_t elem_bytes = 1; elem_bytes <= 33; ++elem_bytes) {
    for (const std::size_t elems : {0, 1, 15, 16, 17, 31, 32, 47, 64, 300, 1000}) {
      ++compared;
      wrong += !ShufflesAsDefined(elems, elem_bytes);
    }
  }
  const Bytes data = Noise(10'000);
  for (std::size_t bytes = 0; bytes + 8 <= data.size(); bytes += bytes < 80 ? 1 : 331) {
    for (std::size_t offset = 0; offset < 8; ++offset) {
      ++compared;
      wrong += !SumsAsDefined(data, offset, bytes);
    }
  }
  std::printf("%d comparisons, %d wrong\n", compared, wrong);
  return wrong != 0;
}
