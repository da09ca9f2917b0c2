// fletcher32 (numcodecs Fletcher32, HDF5's filter 3): HDF5's Fletcher-32 behind the bytes.
#include <algorithm>

#include "codec/checksum_codec.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

// One's complement addition: carries come back in at the low end.
uint32_t Fold(uint64_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint32_t>(sum);
}

// Words are big-endian, an odd last byte is the high half of one. The sums are taken over blocks,
// in closed form (low += sum of words; high += blocks' words * low before + sum of weight * word),
// which compilers turn into vector code. Blocks are short enough for 64 bits by far.
uint32_t Fletcher32Of(ByteSpan bytes) {
  constexpr std::size_t kBlockWords = 4096;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  std::size_t words_left = bytes.size() / 2;
  uint64_t low = 0;
  uint64_t high = 0;
  while (words_left > 0) {
    const std::size_t words = std::min(words_left, kBlockWords);
    uint32_t sum = 0;       // < 2^12 * 2^16
    uint64_t weighted = 0;  // < 2^24 * 2^16
    for (std::size_t i = 0; i < words; ++i) {
      const uint32_t word = static_cast<uint32_t>(data[2 * i]) << 8 | data[2 * i + 1];
      sum += word;
      weighted += static_cast<uint64_t>(word) * (words - i);
    }
    high = Fold(high + words * low + weighted);
    low = Fold(low + sum);
    data += 2 * words;
    words_left -= words;
  }
  if (bytes.size() % 2 != 0) {
    low = Fold(low + (static_cast<uint32_t>(*data) << 8));
    high = Fold(high + low);
  }
  return static_cast<uint32_t>(high << 16 | low);
}

class Fletcher32 final : public ChecksumCodec {
 public:
  Fletcher32() : ChecksumCodec(ChecksumPlace::kEnd) {}
  std::string_view name() const override { return "fletcher32"; }
  CodecCost cost() const override { return {0.43, 0.43}; }

 protected:
  uint32_t Checksum(ByteSpan bytes) const override { return Fletcher32Of(bytes); }
  bool IsEquivalent(uint32_t stored, uint32_t computed) const override {
    // HDF5 up to 1.6.2 swapped the bytes of both halves, and every HDF5 since takes either.
    const uint32_t swapped = (computed & 0x00ff00ff) << 8 | (computed & 0xff00ff00) >> 8;
    return stored == computed || stored == swapped;
  }
};

}  // namespace

Result<AnyCodec> MakeFletcher32(const CodecRequest&, ConfigReader&) { return MakeAs<BytesCodec, Fletcher32>(); }

}  // namespace h5zarr::codec
