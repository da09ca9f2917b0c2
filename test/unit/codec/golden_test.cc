// What numcodecs, zarr-python, tensorstore and zarrs wrote decodes here, and what has only one
// encoding is encoded to the same bytes.
#include <algorithm>
#include <string>
#include <vector>

#include "catch.h"
#include "codec/registry.h"
#include "golden/codecs/codec_cases.h"

namespace h5zarr::codec {
namespace {

std::vector<std::byte> FromHex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string ToHex(ByteSpan bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text.push_back(kDigits[static_cast<unsigned>(byte) >> 4]);
    text.push_back(kDigits[static_cast<unsigned>(byte) & 15]);
  }
  return text;
}

DType DTypeOf(const Json& json) {
  const std::string kind = json["kind"];
  const uint64_t item_bytes = json["bytes"];
  const Endian endian = json["endian"] == "big" ? Endian::kBig : Endian::kLittle;
  if (kind == "b") return DType::Bool();
  if (kind == "i") return DType::Int(item_bytes, endian);
  if (kind == "u") return DType::Uint(item_bytes, endian);
  if (kind == "f") return DType::Float(item_bytes, endian);
  return DType::String();
}

struct Golden {
  explicit Golden(const char* text) : json(Json::parse(text)) {
    spec.dtype = DTypeOf(json["dtype"]);
    for (const Json& extent : json["shape"]) spec.shape.push_back(extent);
  }
  bool Is(const char* role) const { return json["role"] == role; }
  bool exact() const { return json["exact"]; }
  std::string Text(const char* member) const { return json[member].get<std::string>(); }
  std::vector<std::byte> Bytes(const char* member) const { return FromHex(json[member]); }
  // What decoding gives: the input, unless the codec loses something.
  std::string decoded() const { return Text(json.contains("decoded") ? "decoded" : "input"); }
  AnyCodec Codec() const {
    // By itself the name is that of zarr-extensions' packbits.
    const std::string name = json["name"] == "packbits" ? "numcodecs.packbits" : std::string(json["name"]);
    Result<AnyCodec> made = MakeCodec(name, json["configuration"], spec);
    INFO(made.status().message());
    REQUIRE(made.ok());
    return std::move(made).value();
  }
  Json json;
  ChunkSpec spec;
};

template <typename Function>
void ForEachGolden(const char* role, Function&& function) {
  int count = 0;
  for (const char* text : kCodecCases) {
    const Golden golden(text);
    if (!golden.Is(role)) continue;
    INFO(golden.json.dump().substr(0, 300));
    const AnyCodec codec = golden.Codec();
    function(golden, codec);
    ++count;
  }
  REQUIRE(count > 0);
}

TEST_CASE("byte codecs decode what peers wrote") {
  ForEachGolden("bytes", [](const Golden& golden, const AnyCodec& any) {
    const BytesCodec& codec = *std::get<std::unique_ptr<BytesCodec>>(any);
    const std::vector<std::byte> encoded = golden.Bytes("encoded");
    std::vector<std::byte> decoded(golden.Bytes("input").size());
    const Status status = codec.Decode(encoded, decoded);
    INFO(status.message());
    REQUIRE(status.ok());
    CHECK(ToHex(decoded) == golden.decoded());
    Result<Buffer> unsized = codec.DecodeUnsized(encoded, decoded.size());
    INFO(unsized.status().message());
    REQUIRE(unsized.ok());
    CHECK(ToHex(*unsized) == golden.decoded());
  });
}

TEST_CASE("byte codecs with one possible encoding encode as peers do") {
  ForEachGolden("bytes", [](const Golden& golden, const AnyCodec& any) {
    if (!golden.exact()) return;
    const BytesCodec& codec = *std::get<std::unique_ptr<BytesCodec>>(any);
    const std::vector<std::byte> input = golden.Bytes("input");
    std::vector<std::byte> encoded(codec.MaxEncodedBytes(input.size()).value());
    Result<uint64_t> written = codec.Encode(input, encoded);
    REQUIRE(written.ok());
    CHECK(ToHex(ByteSpan(encoded).first(*written)) == golden.Text("encoded"));
  });
}

TEST_CASE("array codecs give numcodecs' bits both ways") {
  ForEachGolden("array", [](const Golden& golden, const AnyCodec& any) {
    const ArrayCodec& codec = *std::get<std::unique_ptr<ArrayCodec>>(any);
    const std::vector<std::byte> input = golden.Bytes("input");
    std::vector<std::byte> encoded(codec.encoded_spec().size_bytes());
    const Status encode_status = codec.Encode(input, encoded);
    INFO(encode_status.message());
    REQUIRE(encode_status.ok());
    CHECK(ToHex(encoded) == golden.Text("encoded"));
    std::vector<std::byte> decoded(codec.decoded_spec().size_bytes());
    const Status decode_status = codec.Decode(golden.Bytes("encoded"), decoded);
    INFO(decode_status.message());
    REQUIRE(decode_status.ok());
    CHECK(ToHex(decoded) == golden.decoded());
  });
}

TEST_CASE("vlen codecs decode what numcodecs wrote, and encode as it does") {
  ForEachGolden("vlen", [](const Golden& golden, const AnyCodec& any) {
    const VlenCodec& codec = *std::get<std::unique_ptr<VlenCodec>>(any);
    const std::vector<std::byte> encoded = golden.Bytes("encoded");
    std::vector<VlenRef> elems(golden.spec.elems());
    Buffer heap;
    const Status status = codec.Decode(encoded, elems, &heap);
    INFO(status.message());
    REQUIRE(status.ok());
    for (std::size_t i = 0; i < elems.size(); ++i) {
      CHECK(ToHex(ByteSpan(elems[i].data, elems[i].size_bytes)) ==
            golden.json[golden.json.contains("decoded") ? "decoded" : "input"][i].get<std::string>());
    }
    Result<Buffer> again = codec.Encode(elems);
    REQUIRE(again.ok());
    if (golden.exact()) CHECK(ToHex(*again) == golden.Text("encoded"));
  });
}

}  // namespace
}  // namespace h5zarr::codec
