// jenkins_lookup3 (numcodecs JenkinsLookup3): Bob Jenkins' lookup3 (hashlittle) behind the bytes.
#include <bit>

#include "codec/checksum_codec.h"
#include "codec/factories.h"
#include "codec/little_endian.h"

namespace h5zarr::codec {
namespace {

struct State {
  uint32_t a, b, c;
  void Mix() {
    a -= c; a ^= std::rotl(c, 4); c += b;
    b -= a; b ^= std::rotl(a, 6); a += c;
    c -= b; c ^= std::rotl(b, 8); b += a;
    a -= c; a ^= std::rotl(c, 16); c += b;
    b -= a; b ^= std::rotl(a, 19); a += c;
    c -= b; c ^= std::rotl(b, 4); b += a;
  }
  void Final() {
    c ^= b; c -= std::rotl(b, 14);
    a ^= c; a -= std::rotl(c, 11);
    b ^= a; b -= std::rotl(a, 25);
    c ^= b; c -= std::rotl(b, 16);
    a ^= c; a -= std::rotl(c, 4);
    b ^= a; b -= std::rotl(a, 14);
    c ^= b; c -= std::rotl(b, 24);
  }
};

uint32_t Lookup3(ByteSpan bytes, uint32_t initial) {
  constexpr std::size_t kRoundBytes = 12;
  const uint32_t start = 0xdeadbeef + static_cast<uint32_t>(bytes.size()) + initial;
  State state{start, start, start};
  if (bytes.empty()) return state.c;
  const std::byte* data = bytes.data();
  std::size_t left = bytes.size();
  for (; left > kRoundBytes; left -= kRoundBytes, data += kRoundBytes) {
    state.a += LoadLe32(data);
    state.b += LoadLe32(data + 4);
    state.c += LoadLe32(data + 8);
    state.Mix();
  }
  std::byte last[kRoundBytes] = {};  // 1 to 12 bytes are left, the rest counts as 0
  std::memcpy(last, data, left);
  state.a += LoadLe32(last);
  state.b += LoadLe32(last + 4);
  state.c += LoadLe32(last + 8);
  state.Final();
  return state.c;
}

class JenkinsLookup3 final : public ChecksumCodec {
 public:
  explicit JenkinsLookup3(uint32_t initial)
      : ChecksumCodec(ChecksumPlace::kEnd), initial_(initial) {}
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
