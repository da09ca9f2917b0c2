#include "codec/shard_index.h"

#include "catch.h"

namespace h5zarr::codec {
namespace {

const ShardIndex kIndex = {{0, 100}, {}, {100, 0}, {UINT64_C(1) << 40, 7}};

std::vector<std::byte> Encoded(const ShardIndex& index, const ShardIndexFormat& format) {
  std::vector<std::byte> encoded(format.EncodedBytes(index.size()));
  REQUIRE(EncodeShardIndex(index, format, encoded).ok());
  return encoded;
}

TEST_CASE("a shard index comes back in every format") {
  for (const Endian endian : {Endian::kLittle, Endian::kBig}) {
    for (const bool crc32c : {false, true}) {
      const ShardIndexFormat format{endian, crc32c, false};
      const auto encoded = Encoded(kIndex, format);
      Result<ShardIndex> decoded = DecodeShardIndex(encoded, kIndex.size(), format);
      REQUIRE(decoded.ok());
      CHECK(*decoded == kIndex);
      CHECK((*decoded)[1].missing());
    }
  }
}

// What zarr-python 3.1.6 writes for one shard of two inner chunks, the first at [0, 5), the second
// absent: numpy.array([0, 5, 2**64-1, 2**64-1], "<u8").tobytes() and google_crc32c's value.
TEST_CASE("a shard index has the bytes zarr-python writes") {
  const ShardIndex index = {{0, 5}, {}};
  const auto encoded = Encoded(index, {});
  const unsigned char expected[] = {0,    0,    0,    0,    0,    0,    0,    0,    5,    0,    0,    0,
                                    0,    0,    0,    0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x04, 0xc5, 0x66, 0x7f};
  REQUIRE(encoded.size() == sizeof(expected));
  for (std::size_t i = 0; i < sizeof(expected); ++i) {
    CHECK(static_cast<unsigned>(encoded[i]) == expected[i]);
  }
}

TEST_CASE("a shard index of another size is corrupt") {
  const ShardIndexFormat format;
  auto encoded = Encoded(kIndex, format);
  CHECK(DecodeShardIndex(encoded, 3, format).status().code() == StatusCode::kCorrupt);
  CHECK(DecodeShardIndex(encoded, 5, format).status().code() == StatusCode::kCorrupt);
  CHECK(DecodeShardIndex({}, 0, format).status().code() == StatusCode::kCorrupt);
  encoded.pop_back();
  CHECK(DecodeShardIndex(encoded, 4, format).status().code() == StatusCode::kCorrupt);
}

TEST_CASE("a count of entries whose bytes overflow is corrupt") {
  const std::vector<std::byte> encoded(4);
  CHECK(DecodeShardIndex(encoded, UINT64_C(1) << 60, {}).status().code() == StatusCode::kCorrupt);
}

TEST_CASE("a shard index with one bit wrong is corrupt") {
  const ShardIndexFormat format;
  for (std::size_t bit = 0; bit < 68 * 8; bit += 5) {
    auto encoded = Encoded(kIndex, format);
    encoded[bit / 8] ^= std::byte{1} << (bit % 8);
    const Status status = DecodeShardIndex(encoded, 4, format).status();
    CHECK(status.code() == StatusCode::kCorrupt);
    CHECK(status.message().find("stored is") != std::string::npos);
  }
}

TEST_CASE("a place outside the shard is corrupt and named") {
  struct Case {
    ShardEntry entry;
    bool valid;
  };
  const Case cases[] = {
      {{0, 100}, true},         {{100, 0}, true},  {{99, 1}, true},
      {{99, 2}, false},         {{101, 0}, false}, {{UINT64_MAX, 5}, false},
      {{5, UINT64_MAX}, false}, {{}, true},        {{1, UINT64_MAX - 1}, false},
  };
  for (const Case& one : cases) {
    INFO(one.entry.offset << " + " << one.entry.length);
    const Status status = ValidateShardIndex({{0, 0}, one.entry}, 100);
    CHECK(status.ok() == one.valid);
    if (!one.valid) CHECK(status.message().find("entry 1") != std::string::npos);
  }
}

TEST_CASE("a shard index is not written to a target of another size") {
  std::vector<std::byte> target(67);
  CHECK(EncodeShardIndex(kIndex, {}, target).code() == StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace h5zarr::codec
