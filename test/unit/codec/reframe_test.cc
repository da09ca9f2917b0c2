#include "codec/reframe.h"

#include <string>
#include <vector>

#include "catch.h"
#include "codec/inflate.h"

namespace h5zarr::codec {
namespace {

std::string Text() {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * i % 997) + ' ';
  return text;
}

Buffer Encoded(DeflateFraming framing, std::string_view text) {
  Buffer room = Buffer::Allocate(DeflateBound(framing, text.size())).value();
  room.Shrink(Deflate(framing, 6, AsBytes(text), room.span()).value());
  return room;
}

std::string Decoded(DeflateFraming framing, ByteSpan encoded, std::size_t bytes) {
  std::string text(bytes, '\0');
  MutableByteSpan target(reinterpret_cast<std::byte*>(text.data()), text.size());
  REQUIRE(Inflate(framing, encoded, target).value() == bytes);
  return text;
}

TEST_CASE("a stream keeps its bytes in the other framing and back") {
  const std::string text = Text();
  std::vector<std::byte> room(text.size());
  const Buffer zlib = Encoded(DeflateFraming::kZlib, text);
  const Buffer gzip = ZlibToGzip(zlib, room).value();
  CHECK(gzip.size_bytes() == zlib.size_bytes() + 12);
  CHECK(Decoded(DeflateFraming::kGzip, gzip, text.size()) == text);
  const Buffer again = GzipToZlib(gzip, room).value();
  CHECK(AsText(again.span().subspan(2)) == AsText(zlib.span().subspan(2)));
  CHECK(Decoded(DeflateFraming::kZlib, again, text.size()) == text);
}

TEST_CASE("what a gzip head may hold besides is left out") {
  const std::string text = Text();
  std::vector<std::byte> room(text.size());
  const Buffer plain = Encoded(DeflateFraming::kGzip, text);
  std::string member(AsText(plain.span()));
  member[3] = 4 | 8 | 16 | 2;  // extra field, name, comment, checksum of the head
  member.insert(10, std::string("\x03\x00"
                                "abc"
                                "name\0"
                                "comment\0"
                                "\x12\x34",
                                20));
  const Buffer zlib = GzipToZlib(AsBytes(member), room).value();
  CHECK(Decoded(DeflateFraming::kZlib, zlib, text.size()) == text);
}

TEST_CASE("several members are refused, and what is damaged or of another size is corrupt") {
  const std::string text = Text();
  std::vector<std::byte> room(text.size());
  const std::string member(AsText(Encoded(DeflateFraming::kGzip, text).span()));
  const std::string empty(AsText(Encoded(DeflateFraming::kGzip, "").span()));
  CHECK(GzipToZlib(AsBytes(member + empty), room).status().code() == StatusCode::kUnsupported);
  CHECK(GzipToZlib(AsBytes(empty + member), room).status().code() == StatusCode::kUnsupported);
  CHECK(GzipToZlib(AsBytes(empty), room).status().code() == StatusCode::kCorrupt);
  CHECK(GzipToZlib(AsBytes(member.substr(0, member.size() - 1)), room).status().code() == StatusCode::kCorrupt);
  std::string wrong = member;
  wrong[wrong.size() - 6] ^= 1;  // its checksum
  CHECK(GzipToZlib(AsBytes(wrong), room).status().code() == StatusCode::kCorrupt);
  CHECK(ZlibToGzip(AsBytes(member), room).status().code() == StatusCode::kCorrupt);
  CHECK(!ZlibToGzip(AsBytes(std::string()), room).ok());
}

}  // namespace
}  // namespace h5zarr::codec
