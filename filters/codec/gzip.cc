// gzip (Zarr v3 core, numcodecs GZip): DEFLATE in gzip framing, one member; several are read.
#include <algorithm>
#include <cstring>

#include "codec/codec_errors.h"
#include "codec/compressor.h"
#include "codec/factories.h"
#include "codec/inflate.h"
#include "codec/little_endian.h"

namespace h5zarr::codec {
namespace {

class Gzip final : public Compressor {
 public:
  explicit Gzip(int level) : level_(level) {}
  std::string_view name() const override { return "gzip"; }
  Result<uint64_t> MaxEncodedBytes(uint64_t decoded_bytes) const override {
    // The bound is below 2 n + 64 for every n.
    H5ZARR_RETURN_IF_ERROR(BoundedSum(name(), decoded_bytes, 64, UINT64_MAX / 2).status());
    return DeflateBound(DeflateFraming::kGzip, decoded_bytes);
  }
  PartialDecoding partial_decoding() const override { return {.slowdown = kInflateSlowdown}; }
  Status DecodePart(ByteSpan encoded, uint64_t, uint64_t, MutableByteSpan part) const override {
    return InflatePrefix(DeflateFraming::kGzip, encoded, part).WithContext(name());
  }
  CodecCost cost() const override { return {1.8, level_ <= 1 ? 8.0 : level_ <= 6 ? 25.0 : 60.0}; }

 protected:
  Result<uint64_t> DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const override {
    Result<uint64_t> written = Inflate(DeflateFraming::kGzip, encoded, target);
    return written.ok() ? written : written.status().WithContext(name());
  }
  uint64_t GuessDecodedBytes(ByteSpan encoded) const override {
    if (encoded.size() < 18) return 0;
    // The last four bytes are the size modulo 2^32 of the last member, which is nearly always the
    // only one. DEFLATE expands by less than 1,032.
    const uint64_t stored = LoadLe32(encoded.data() + encoded.size() - 4);
    return std::min<uint64_t>(stored, encoded.size() * uint64_t{1032});
  }
  Result<uint64_t> EncodeTo(ByteSpan decoded, MutableByteSpan encoded) const override {
    return Deflate(DeflateFraming::kGzip, level_, decoded, encoded);
  }

 private:
  int level_;
};

}  // namespace

Result<AnyCodec> MakeGzip(const CodecRequest& request, ConfigReader& config) {
  if (config.Bool("useZlib", false)) return MakeZlib(request, config);  // so n5-zarr has written it
  const int level = static_cast<int>(config.Int("level", -1, -1, 9));
  return MakeAs<BytesCodec, Gzip>(level < 0 ? 6 : level);  // -1 is zlib's word for its default, 6
}

}  // namespace h5zarr::codec
