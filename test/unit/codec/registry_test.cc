// Names and configurations: which make a codec, and what the others are told.
#include "codec/registry.h"

#include <string>

#include "catch.h"

namespace h5zarr::codec {
namespace {

const ChunkSpec kInts{DType::Int(4), {2, 3}};
const ChunkSpec kStrings{DType::String(), {4}};

Status Make(const char* name, const char* configuration, const ChunkSpec& input = kInts) {
  return MakeCodec(name, Json::parse(configuration), input).status();
}

bool Mentions(const Status& status, const char* word) {
  INFO(status.message());
  return status.message().find(word) != std::string::npos;
}

TEST_CASE("a codec is known with and without numcodecs' prefix") {
  for (const char* name : {"gzip", "zlib", "zstd", "blosc", "lz4", "bz2", "lzma", "shuffle", "crc32c", "crc32",
                           "adler32", "fletcher32", "jenkins_lookup3"}) {
    INFO(name);
    CHECK(Make(name, "null").ok());
    CHECK(Make((std::string("numcodecs.") + name).c_str(), "{}").ok());
  }
}

TEST_CASE("an unknown codec is unsupported and named") {
  const Status status = Make("numcodecs.nonesuch", "{}");
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(Mentions(status, "numcodecs.nonesuch"));
}

TEST_CASE("codecs that exist elsewhere only are unsupported and named") {
  for (const char* name :
       {"numcodecs.pcodec", "numcodecs.zfpy", "zfp", "n5_default", "categorize", "msgpack2", "reshape"}) {
    const Status status = Make(name, "{}", kStrings);
    CHECK(status.code() == StatusCode::kUnsupported);
    CHECK(Mentions(status, name));
  }
}

TEST_CASE("pickle is refused with the reason") {
  const Status status = Make("pickle", R"({"protocol": 5})", kStrings);
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(Mentions(status, "unpickling"));
}

TEST_CASE("an unknown member of a configuration is named") {
  for (const char* name : {"gzip", "zstd", "blosc", "fletcher32", "shuffle", "lzma", "delta"}) {
    const Status status = Make(name, R"({"surprise": 1})");
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(Mentions(status, "surprise"));
  }
}

TEST_CASE("members of n5-zarr that say nothing of the bytes are no unknown ones") {
  CHECK(Make("blosc", R"({"cname": "zstd", "shuffle": "shuffle", "typesize": 0, "nthreads": 1})").ok());
  CHECK(Make("zstd", R"({"level": 3, "nbWorkers": 2})").ok());
  CHECK(Make("gzip", R"({"level": -1, "useZlib": false})").ok());
  CHECK(Mentions(Make("gzip", R"({"level": 5, "useZlib": "no"})"), "useZlib"));
}

TEST_CASE("v2's id among the parameters is no unknown member") {
  CHECK(Make("zlib", R"({"id": "zlib", "level": 4})").ok());
}

TEST_CASE("a member that is null counts as absent") {
  CHECK(Make("lzma", R"({"format": 1, "check": -1, "preset": null, "filters": null})").ok());
  CHECK(Make("jenkins_lookup3", R"({"initval": 0, "prefix": null})").ok());
}

TEST_CASE("a member of the wrong type or out of range is named with its value") {
  struct Case {
    const char* name;
    const char* configuration;
    const char* member;
  };
  constexpr Case kCases[] = {
      {"gzip", R"({"level": 10})", "level"},
      {"gzip", R"({"level": "high"})", "level"},
      {"zstd", R"({"level": 99})", "level"},
      {"zstd", R"({"checksum": 1})", "checksum"},
      {"blosc", R"({"shuffle": "sideways"})", "sideways"},
      {"blosc", R"({"shuffle": 3})", "shuffle"},
      {"blosc", R"({"clevel": 10})", "clevel"},
      {"bz2", R"({"level": 0})", "level"},
      {"lzma", R"({"format": 4})", "format"},
      {"lzma", R"({"format": 3})", "filters"},
      {"lzma", R"({"format": 2, "filters": [{"id": 33}]})", "filters"},
      {"lzma", R"({"filters": [{"id": 99}]})", "id"},
      {"lzma", R"({"filters": [{"id": 33, "lc": 9}]})", "filters"},
      {"lzma", R"({"preset": 3, "filters": [{"id": 33}]})", "preset"},
      {"crc32c", R"({"location": "middle"})", "location"},
      {"shuffle", R"({"elementsize": -4})", "elementsize"},
      {"delta", R"({"dtype": 4})", "dtype"},
      {"delta", R"({"dtype": "<i8"})", "dtype"},
      {"quantize", R"({"digits": 2})", "dtype"},
      {"astype", R"({"decode_dtype": "<i4"})", "encode_dtype"},
      {"transpose", R"({})", "order"},
      {"transpose", R"({"order": [0]})", "order"},
      {"transpose", R"({"order": [0, 0]})", "order"},
      {"transpose", R"({"order": [0, 2]})", "order"},
      {"transpose", R"({"order": [0, -1]})", "order"},
  };
  for (const Case& wrong : kCases) {
    INFO(wrong.name << " " << wrong.configuration);
    const Status status = Make(wrong.name, wrong.configuration);
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(Mentions(status, wrong.member));
  }
}

TEST_CASE("a configuration that is no object is refused") {
  CHECK(Make("gzip", "[1]").code() == StatusCode::kInvalidArgument);
  CHECK(Make("gzip", "5").code() == StatusCode::kInvalidArgument);
}

TEST_CASE("a compressor that blosc lacks is unsupported and named") {
  const Status status = Make("blosc", R"({"cname": "lzx"})");
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(Mentions(status, "lzx"));
}

TEST_CASE("number codecs refuse elements that are no numbers") {
  CHECK(Make("delta", "{}", kStrings).code() == StatusCode::kUnsupported);
  CHECK(Make("delta", R"({"dtype": "<M8[ns]"})").code() == StatusCode::kUnsupported);
  CHECK(Make("bitround", R"({"keepbits": 3})", kStrings).code() == StatusCode::kUnsupported);
  CHECK(Make("numcodecs.packbits", "{}").code() == StatusCode::kInvalidArgument);
  CHECK(Make("packbits", "{}", kStrings).code() == StatusCode::kUnsupported);
  CHECK(Make("scale_offset", "{}", kStrings).code() == StatusCode::kUnsupported);
  CHECK(Make("cast_value", R"({"data_type": "int8"})", kStrings).code() == StatusCode::kUnsupported);
  CHECK(Make("cast_value", R"({"data_type": "complex64"})").code() == StatusCode::kUnsupported);
}

TEST_CASE("vlen codecs refuse elements of fixed size") {
  for (const char* name : {"vlen-utf8", "vlen-bytes", "json2"}) {
    CHECK(Make(name, "{}").code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("the packbits of zarr-extensions is not taken for numcodecs'") {
  const ChunkSpec bools{DType::Bool(), {8}};
  CHECK(Make("packbits", R"({"padding_encoding": "none"})", bools).ok());
  CHECK(Make("numcodecs.packbits", R"({"padding_encoding": "none"})", bools).code() == StatusCode::kInvalidArgument);
  CHECK(Make("packbits", R"({"padding_encoding": "some"})", bools).code() == StatusCode::kInvalidArgument);
  CHECK(Make("packbits", R"({"first_bit": 1, "last_bit": 0})").code() == StatusCode::kInvalidArgument);
  CHECK(Make("packbits", R"({"last_bit": 1})", bools).code() == StatusCode::kInvalidArgument);
}

TEST_CASE("numcodecs' lzma filters with a hostile dictionary are refused at once") {
  CHECK(Make("lzma", R"({"format": 3, "filters": [{"id": 33, "dict_size": 4294967295}]})").code() != StatusCode::kOk);
}

TEST_CASE("numcodecs' byte order is the array's in Zarr v3 and the configuration's in v2") {
  const ChunkSpec big{DType::Int(2, Endian::kBig), {2}};
  const Json configuration = Json::parse(R"({"dtype": "<i2", "astype": "<i4"})");
  const auto encoded_endian = [&](const char* name) {
    Result<AnyCodec> made = MakeCodec(name, configuration, big);
    REQUIRE(made.ok());
    return std::get<std::unique_ptr<ArrayCodec>>(*made)->encoded_spec().dtype.endian;
  };
  CHECK(encoded_endian("numcodecs.delta") == Endian::kBig);
  CHECK(encoded_endian("delta") == Endian::kLittle);
}

}  // namespace
}  // namespace h5zarr::codec
