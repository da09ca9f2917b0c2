// crc32 (numcodecs CRC32): zlib's CRC-32, at the start unless the configuration says end.
#include <libdeflate.h>

#include "codec/checksum_codec.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

class Crc32 final : public ChecksumCodec {
 public:
  using ChecksumCodec::ChecksumCodec;
  std::string_view name() const override { return "crc32"; }
  CodecCost cost() const override { return {0.1, 0.1}; }

 protected:
  uint32_t Checksum(ByteSpan bytes) const override {
    // A null buffer asks the library for the initial value, which is that of no bytes as well.
    return libdeflate_crc32(0, bytes.data(), bytes.size());
  }
};

}  // namespace

Result<AnyCodec> MakeCrc32(const CodecRequest&, ConfigReader& config) {
  return MakeAs<BytesCodec, Crc32>(ReadChecksumPlace(config, ChecksumPlace::kStart));
}

}  // namespace h5zarr::codec
