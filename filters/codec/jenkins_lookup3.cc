// jenkins_lookup3 (numcodecs JenkinsLookup3): lookup3 behind the bytes.
#include "codec/checksum_codec.h"
#include "codec/factories.h"
#include "codec/lookup3.h"

namespace h5zarr::codec {
namespace {

class JenkinsLookup3 final : public ChecksumCodec {
 public:
  explicit JenkinsLookup3(uint32_t initial) : ChecksumCodec(ChecksumPlace::kEnd), initial_(initial) {}
  std::string_view name() const override { return "jenkins_lookup3"; }
  CodecCost cost() const override { return {0.35, 0.35}; }

 protected:
  uint32_t Checksum(ByteSpan bytes) const override { return Lookup3(bytes, initial_); }

 private:
  uint32_t initial_;
};

}  // namespace

Result<AnyCodec> MakeJenkinsLookup3(const CodecRequest&, ConfigReader& config) {
  const auto initial = static_cast<uint32_t>(config.Int("initval", 0, 0, UINT32_MAX));
  if (config.Get("prefix") != nullptr) {
    return UnsupportedError("codec jenkins_lookup3: \"prefix\" has no JSON form peers agree on");
  }
  return MakeAs<BytesCodec, JenkinsLookup3>(initial);
}

}  // namespace h5zarr::codec
