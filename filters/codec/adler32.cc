// adler32 (numcodecs Adler32): zlib's Adler-32, at the start unless the configuration says end.
#include <libdeflate.h>

#include "codec/checksum_codec.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

class Adler32 final : public ChecksumCodec {
 public:
  using ChecksumCodec::ChecksumCodec;
  std::string_view name() const override { return "adler32"; }
  CodecCost cost() const override { return {0.07, 0.07}; }

 protected:
  uint32_t Checksum(ByteSpan bytes) const override {
    // A null buffer asks the library for the initial value, which is that of no bytes as well.
    return libdeflate_adler32(1, bytes.data(), bytes.size());
  }
};

}  // namespace

Result<AnyCodec> MakeAdler32(const CodecRequest&, ConfigReader& config) {
  return MakeAs<BytesCodec, Adler32>(ReadChecksumPlace(config, ChecksumPlace::kStart));
}

}  // namespace h5zarr::codec
