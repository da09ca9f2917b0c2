#include "codec/crc32c.h"

#include "catch.h"
#include "conformance/codec/codec_subjects.h"

namespace h5zarr::codec {
namespace {

TEST_CASE("CRC-32C gives the values of RFC 3720") {
  CHECK(Crc32c(AsBytes("123456789")) == 0xe3069283);
  CHECK(Crc32c(Bytes(32)) == 0x8a9136aa);
  CHECK(Crc32c(Bytes(32, std::byte{0xff})) == 0x62a8ab43);
  CHECK(Crc32c({}) == 0);
}

TEST_CASE("the processor's CRC-32C equals the portable one at every length and alignment") {
  const Bytes data = Noise(10000, 2);
  for (std::size_t bytes = 0; bytes < data.size(); bytes += bytes < 40 ? 1 : 331) {
    for (const std::size_t offset : {0, 1, 7}) {
      if (offset + bytes > data.size()) continue;
      const ByteSpan part = ByteSpan(data).subspan(offset, bytes);
      INFO(bytes << " bytes at " << offset);
      CHECK(Crc32c(part) == Crc32cPortable(part));
    }
  }
}

TEST_CASE("a CRC-32C continues where another ended") {
  const ByteSpan text = AsBytes("123456789");
  CHECK(Crc32c(text.subspan(4), Crc32c(text.first(4))) == 0xe3069283);
  CHECK(Crc32cPortable(text.subspan(4), Crc32cPortable(text.first(4))) == 0xe3069283);
}

}  // namespace
}  // namespace h5zarr::codec
