// lz4 (numcodecs LZ4): the decoded size as u32 little-endian, then one LZ4 block. Not HDF5's 32004.
#include <lz4.h>

#include "codec/codec_errors.h"
#include "codec/compressor.h"
#include "codec/factories.h"
#include "codec/little_endian.h"

namespace h5zarr::codec {
namespace {

constexpr std::size_t kHeaderBytes = 4;

class Lz4 final : public Compressor {
 public:
  explicit Lz4(int acceleration) : acceleration_(acceleration) {}
  std::string_view name() const override { return "lz4"; }
  Result<uint64_t> MaxEncodedBytes(uint64_t decoded_bytes) const override {
    H5ZARR_RETURN_IF_ERROR(BoundedSum(name(), decoded_bytes, 0, LZ4_MAX_INPUT_SIZE).status());
    return kHeaderBytes + static_cast<uint64_t>(LZ4_compressBound(static_cast<int>(decoded_bytes)));
  }
  CodecCost cost() const override { return {0.4, 1.8}; }
  PartialDecoding partial_decoding() const override { return {.slowdown = 2}; }
  Status DecodePart(ByteSpan encoded, uint64_t decoded_bytes, uint64_t, MutableByteSpan part) const override {
    H5ZARR_ASSIGN_OR_RETURN(const uint32_t claimed, ClaimedBytes(encoded));
    H5ZARR_RETURN_IF_ERROR(CheckDecodedSize(name(), claimed, decoded_bytes));
    if (part.empty()) return OkStatus();
    const int wanted = static_cast<int>(part.size());
    const int written = LZ4_decompress_safe_partial(reinterpret_cast<const char*>(encoded.data() + kHeaderBytes),
                                                    reinterpret_cast<char*>(part.data()),
                                                    static_cast<int>(encoded.size() - kHeaderBytes), wanted, wanted);
    return written == wanted ? OkStatus()
                             : Corrupt("the block does not hold its first " + std::to_string(part.size()) + " bytes");
  }

 protected:
  Result<uint64_t> DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const override {
    H5ZARR_ASSIGN_OR_RETURN(const uint32_t claimed, ClaimedBytes(encoded));
    if (claimed > target.size()) return OutOfRangeError("target too small");
    const int written = LZ4_decompress_safe(reinterpret_cast<const char*>(encoded.data() + kHeaderBytes),
                                            reinterpret_cast<char*>(target.data()),
                                            static_cast<int>(encoded.size() - kHeaderBytes), static_cast<int>(claimed));
    if (written < 0 || static_cast<uint32_t>(written) != claimed) {
      return Corrupt("the block does not hold the " + std::to_string(claimed) + " bytes it claims");
    }
    return claimed;
  }
  uint64_t GuessDecodedBytes(ByteSpan encoded) const override {
    if (encoded.size() < kHeaderBytes) return 0;
    const uint64_t most = encoded.size() * uint64_t{255};
    const uint64_t claimed = LoadLe32(encoded.data());
    return claimed < most ? claimed : most;
  }
  Result<uint64_t> EncodeTo(ByteSpan decoded, MutableByteSpan encoded) const override {
    const uint64_t room = encoded.size() - kHeaderBytes;
    StoreLe32(encoded.data(), static_cast<uint32_t>(decoded.size()));
    const int written = LZ4_compress_fast(
        reinterpret_cast<const char*>(decoded.data()), reinterpret_cast<char*>(encoded.data() + kHeaderBytes),
        static_cast<int>(decoded.size()), static_cast<int>(room < INT32_MAX ? room : INT32_MAX), acceleration_);
    if (written <= 0) return InternalError("lz4: a block needs more than its bound");
    return kHeaderBytes + static_cast<uint64_t>(written);
  }

 private:
  // The decoded size that the header says.
  Result<uint32_t> ClaimedBytes(ByteSpan encoded) const {
    if (encoded.size() < kHeaderBytes || encoded.size() - kHeaderBytes > INT32_MAX) {
      return Corrupt(std::to_string(encoded.size()) + " bytes, expected 4 to 2^31 + 3");
    }
    const uint32_t claimed = LoadLe32(encoded.data());
    if (claimed > LZ4_MAX_INPUT_SIZE) {
      return Corrupt("a size of " + std::to_string(claimed) + " is more than a block can hold");
    }
    return claimed;
  }

  int acceleration_;
};

}  // namespace

Result<AnyCodec> MakeLz4(const CodecRequest&, ConfigReader& config) {
  // 0 and below mean the default to the library.
  const int acceleration = static_cast<int>(config.Int("acceleration", 1, INT32_MIN, INT32_MAX));
  return MakeAs<BytesCodec, Lz4>(acceleration);
}

}  // namespace h5zarr::codec
