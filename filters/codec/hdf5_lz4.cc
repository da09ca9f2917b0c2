// hdf5_lz4: HDF5's filter 32004, decoding only. The decoded size (u64) and the size of a block (u32),
// then each block's encoded size (u32) and bytes; all numbers big-endian. A block that would not shrink is
// stored as it is. No Zarr metadata name it: it is for chunks of native HDF5 files.
#include <lz4.h>

#include <algorithm>
#include <cstring>

#include "codec/codec_errors.h"
#include "codec/compressor.h"
#include "codec/factories.h"
#include "codec/little_endian.h"

namespace h5zarr::codec {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kBlockHeaderBytes = 4;

uint64_t LoadBe64(const std::byte* from) { return __builtin_bswap64(LoadLe64(from)); }
uint32_t LoadBe32(const std::byte* from) { return __builtin_bswap32(LoadLe32(from)); }

class Hdf5Lz4 final : public Compressor {
 public:
  std::string_view name() const override { return "hdf5_lz4"; }
  Result<uint64_t> MaxEncodedBytes(uint64_t decoded_bytes) const override {
    // Of blocks of one byte each, the least there can be.
    const auto blocks = CheckedMul(decoded_bytes, 1 + kBlockHeaderBytes);
    if (!blocks) return OutOfRangeError("hdf5_lz4: too many bytes");
    return BoundedSum(name(), *blocks, kHeaderBytes);
  }
  CodecCost cost() const override { return {0.4, 1.8}; }

 protected:
  Result<uint64_t> DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const override;
  uint64_t GuessDecodedBytes(ByteSpan encoded) const override {
    if (encoded.size() < kHeaderBytes) return 0;
    return std::min(LoadBe64(encoded.data()), encoded.size() * uint64_t{255});
  }
  Result<uint64_t> EncodeTo(ByteSpan, MutableByteSpan) const override {
    return UnsupportedError("hdf5_lz4 is decoded only");
  }
};

Result<uint64_t> Hdf5Lz4::DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const {
  if (encoded.size() < kHeaderBytes) return Corrupt("no header");
  const uint64_t claimed = LoadBe64(encoded.data());
  const uint64_t block_bytes = LoadBe32(encoded.data() + 8);
  if (block_bytes == 0 || block_bytes > LZ4_MAX_INPUT_SIZE) {
    return Corrupt("blocks of " + std::to_string(block_bytes) + " bytes");
  }
  if (claimed > target.size()) return OutOfRangeError("target too small");
  encoded = encoded.subspan(kHeaderBytes);
  for (uint64_t done = 0; done < claimed;) {
    const uint64_t wanted = std::min(block_bytes, claimed - done);
    if (encoded.size() < kBlockHeaderBytes) return Corrupt("a block is missing");
    const uint64_t stored = LoadBe32(encoded.data());
    encoded = encoded.subspan(kBlockHeaderBytes);
    if (stored > encoded.size() || stored > INT32_MAX) return Corrupt("a block breaks off");
    if (stored == wanted) {
      std::memcpy(target.data() + done, encoded.data(), wanted);
    } else {
      const int written = LZ4_decompress_safe(reinterpret_cast<const char*>(encoded.data()),
                                              reinterpret_cast<char*>(target.data() + done), static_cast<int>(stored),
                                              static_cast<int>(wanted));
      if (written < 0 || static_cast<uint64_t>(written) != wanted) {
        return Corrupt("a block does not hold " + std::to_string(wanted) + " bytes");
      }
    }
    encoded = encoded.subspan(stored);
    done += wanted;
  }
  return claimed;
}

}  // namespace

Result<AnyCodec> MakeHdf5Lz4(const CodecRequest&, ConfigReader&) { return MakeAs<BytesCodec, Hdf5Lz4>(); }

}  // namespace h5zarr::codec
