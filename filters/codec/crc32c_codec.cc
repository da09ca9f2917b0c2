// crc32c (Zarr v3 core, numcodecs CRC32C): CRC-32C, at the end unless the configuration says start.
#include "codec/checksum_codec.h"
#include "codec/crc32c.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

class Crc32cCodec final : public ChecksumCodec {
 public:
  using ChecksumCodec::ChecksumCodec;
  std::string_view name() const override { return "crc32c"; }
  CodecCost cost() const override { return {0.07, 0.07}; }

 protected:
  uint32_t Checksum(ByteSpan bytes) const override { return Crc32c(bytes); }
};

}  // namespace

Result<AnyCodec> MakeCrc32c(const CodecRequest&, ConfigReader& config) {
  return MakeAs<BytesCodec, Crc32cCodec>(ReadChecksumPlace(config, ChecksumPlace::kEnd));
}

}  // namespace h5zarr::codec
