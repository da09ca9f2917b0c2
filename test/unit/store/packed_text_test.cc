// Texts that are kept packed: whole ones are read, of others no byte is believed.
#include "store/packed_text.h"

#include <zlib.h>
#include <zstd.h>

#include <string>

#include "catch.h"

namespace h5zarr {
namespace {

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

// Of some length, and not all the same.
std::string SomeText(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += "line " + std::to_string(i * 7919 % 104729) + "\n";
  return text;
}

TEST_CASE("a packed text is read, in one part or several") {
  const std::string text = SomeText(200'000);  // more than is unpacked at a time
  for (const auto& pack : {Gzip, Zstd}) {
    CHECK(IsPackedText(pack(text).substr(0, 4)));
    CHECK(*UnpackText(pack(text), text.size() + 1) == text);
    CHECK(*UnpackText(pack(text) + pack("and more"), text.size() + 100) == text + "and more");
    CHECK(UnpackText(pack(""), 10)->empty());
  }
  CHECK_FALSE(IsPackedText("{}"));
}

TEST_CASE("parts without a text, and zeros behind a gzip file, are skipped") {
  const std::string text = SomeText(100);
  for (const auto& pack : {Gzip, Zstd}) {
    std::string packed;
    for (int i = 0; i < 1000; ++i) packed += pack("");
    CHECK(*UnpackText(packed + pack(text), 1 << 20) == text);
  }
  CHECK(*UnpackText(Gzip(text) + std::string(512, '\0'), 1 << 20) == text);
  CHECK(UnpackText(Gzip(text) + std::string(512, 'x'), 1 << 20).status().code() == StatusCode::kCorrupt);
}

TEST_CASE("the beginning of a text is in the beginning of what is packed") {
  const std::string text = SomeText(20'000);
  for (const auto& pack : {Gzip, Zstd}) {
    const std::string packed = pack(text);
    CHECK(BeginningOfPackedText(packed, 100) == text.substr(0, 100));
    CHECK(text.starts_with(BeginningOfPackedText(packed.substr(0, packed.size() / 2), 1 << 20)));
    CHECK(BeginningOfPackedText(packed.substr(0, 5), 100).empty());
  }
  CHECK(BeginningOfPackedText("{\"refs\": {}}", 100).empty());
}

TEST_CASE("a packed text that is cut off, damaged or too long is refused") {
  const std::string text = SomeText(100);
  for (const auto& pack : {Gzip, Zstd}) {
    const std::string packed = pack(text);
    for (std::size_t bytes = 4; bytes < packed.size(); ++bytes) {
      CHECK(UnpackText(packed.substr(0, bytes), 1 << 20).status().code() == StatusCode::kCorrupt);
    }
    for (std::size_t at = 4; at < packed.size(); ++at) {
      std::string damaged = packed;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      const auto unpacked = UnpackText(damaged, 1 << 20);  // (zstd's own checksum is off: it may be another text)
      CHECK((unpacked.ok() || unpacked.status().code() == StatusCode::kCorrupt ||
             unpacked.status().code() == StatusCode::kOutOfRange));
    }
    CHECK(UnpackText(packed, text.size() - 1).status().code() == StatusCode::kOutOfRange);
  }
}

}  // namespace
}  // namespace h5zarr
