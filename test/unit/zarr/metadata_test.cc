#include "zarr/metadata.h"

#include "catch.h"

namespace h5zarr::zarr {
namespace {

using Shape = std::vector<uint64_t>;

Json J(std::string_view text) { return *ParseJson(text, "test"); }

// A v3 array document with some members replaced.
std::string ArrayV3(std::string_view changes = "{}") {
  Json document = J(R"({"zarr_format": 3, "node_type": "array", "shape": [6, 8], "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4]}},
    "chunk_key_encoding": {"name": "default"}, "fill_value": 7,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]})");
  const Json members = J(changes);
  for (const auto& [name, value] : members.items()) document[name] = value;
  return document.dump();
}

std::string ArrayV2(std::string_view changes = "{}") {
  Json document = J(R"({"zarr_format": 2, "shape": [6, 8], "chunks": [4, 4], "dtype": "<i4",
    "fill_value": 7, "order": "C", "filters": null, "compressor": null})");
  const Json members = J(changes);
  for (const auto& [name, value] : members.items()) document[name] = value;
  return document.dump();
}

ArrayMetadata V3(std::string_view changes = "{}") {
  auto metadata = ParseArrayV3(ArrayV3(changes), "a/zarr.json");
  INFO(metadata.status().message());
  REQUIRE(metadata.ok());
  return *metadata;
}

ArrayMetadata V2(std::string_view changes = "{}", std::string_view attributes = "") {
  auto metadata = ParseArrayV2(ArrayV2(changes), attributes, "a/.zarray");
  INFO(metadata.status().message());
  REQUIRE(metadata.ok());
  return *metadata;
}

// The failure; `text` must be in its message.
StatusCode FailureV3(std::string_view changes, std::string_view text) {
  const Status status = ParseArrayV3(ArrayV3(changes), "a/zarr.json").status();
  INFO(changes << " -> " << status.message());
  CHECK(status.message().find(text) != std::string::npos);
  CHECK(status.message().starts_with("a/zarr.json"));
  return status.code();
}

StatusCode FailureV2(std::string_view changes, std::string_view text) {
  const Status status = ParseArrayV2(ArrayV2(changes), "", "a/.zarray").status();
  INFO(changes << " -> " << status.message());
  CHECK(status.message().find(text) != std::string::npos);
  return status.code();
}

std::vector<std::string> Names(const std::vector<CodecSpec>& codecs) {
  std::vector<std::string> names;
  for (const CodecSpec& codec : codecs) names.push_back(codec.name);
  return names;
}

Json Written(const ArrayMetadata& metadata) {
  const auto texts = FormatArray(metadata);
  INFO(texts.status().message());
  REQUIRE(texts.ok());
  return J(texts->document);
}

std::vector<std::string> MemberNames(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

constexpr auto kCorrupt = StatusCode::kCorrupt;
constexpr auto kUnsupported = StatusCode::kUnsupported;
using Strings = std::vector<std::string>;

TEST_CASE("a v3 array document is read") {
  const ArrayMetadata metadata = V3(R"({"dimension_names": ["x", null], "attributes": {"k": [1]}})");
  CHECK(metadata.shape == Shape{6, 8});
  CHECK(metadata.chunk_shape == Shape{4, 4});
  CHECK(metadata.dtype == DType::Int(4));
  CHECK(metadata.codecs.empty());
  CHECK(metadata.dimension_names[0] == "x");
  CHECK_FALSE(metadata.dimension_names[1]);
  CHECK(metadata.attributes == J(R"({"k": [1]})"));
}

TEST_CASE("v3 chunk key encodings are read in every spelling") {
  using Kind = ChunkKeyEncoding::Kind;
  const auto encoding = [](const char* value) {
    return V3(std::string(R"({"chunk_key_encoding": )") + value + "}").key_encoding;
  };
  CHECK(encoding(R"("default")") == ChunkKeyEncoding{Kind::kDefault, '/'});
  CHECK(encoding(R"({"name": "default", "configuration": {}})") == ChunkKeyEncoding{Kind::kDefault, '/'});
  CHECK(encoding(R"({"name": "default", "configuration": {"separator": "."}})") ==
        ChunkKeyEncoding{Kind::kDefault, '.'});
  CHECK(encoding(R"("v2")") == ChunkKeyEncoding{Kind::kV2, '.'});
  CHECK(encoding(R"({"name": "v2", "configuration": {"separator": "/"}})") == ChunkKeyEncoding{Kind::kV2, '/'});
  CHECK(FailureV3(R"({"chunk_key_encoding": "hash"})", "hash") == kUnsupported);
  CHECK(FailureV3(R"({"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "-"}}})", "separator") ==
        kCorrupt);
}

TEST_CASE("an unknown v3 member is refused unless it may be ignored") {
  CHECK(FailureV3(R"({"extra": 1})", "'extra'") == kUnsupported);
  CHECK(FailureV3(R"({"extra": {"must_understand": true}})", "'extra'") == kUnsupported);
  V3(R"({"extra": {"must_understand": false, "x": 1}})");
  V3(R"({"storage_transformers": []})");
  CHECK(FailureV3(R"({"storage_transformers": [{"name": "x"}]})", "storage_transformers") == kUnsupported);
}

TEST_CASE("v3 documents with wrong members are refused") {
  CHECK(FailureV3(R"({"zarr_format": 2})", "zarr_format") == kCorrupt);
  CHECK(FailureV3(R"({"node_type": "group"})", "node_type") == kCorrupt);
  CHECK(FailureV3(R"({"shape": [6, -8]})", "-8") == kCorrupt);
  CHECK(FailureV3(R"({"shape": [6, 8.5]})", "8.5") == kCorrupt);
  CHECK(FailureV3(R"({"shape": 6})", "shape") == kCorrupt);
  CHECK(FailureV3(R"({"shape": [6, 8, 2]})", "rank") == kCorrupt);
  CHECK(FailureV3(R"({"data_type": "int33"})", "int33") == kUnsupported);
  CHECK(FailureV3(R"({"fill_value": "x"})", "fill_value") == kCorrupt);
  CHECK(FailureV3(R"({"chunk_grid": {"name": "rectilinear"}})", "rectilinear") == kUnsupported);
  CHECK(FailureV3(R"({"codecs": [{"configuration": {}}]})", "codec") == kCorrupt);
  CHECK(FailureV3(R"({"dimension_names": ["x"]})", "dimension_names") == kCorrupt);
  CHECK(FailureV3(R"({"attributes": 3})", "attributes") == kCorrupt);
  for (const char* member : {"zarr_format", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value"}) {
    Json document = J(ArrayV3());
    document.erase(member);
    const Status status = ParseArrayV3(document.dump(), "a").status();
    CHECK(status.code() == kCorrupt);
    CHECK(status.message().find(member) != std::string::npos);
  }
}

TEST_CASE("sizes beyond what can be addressed are refused") {
  CHECK(FailureV3(R"({"shape": [4294967296, 4294967296]})", "2^63") == kUnsupported);
  CHECK(FailureV3(R"({"shape": [6, 18446744073709551615]})", "shape") == kCorrupt);
  CHECK(FailureV3(R"({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2147483648, 1073741824]}}})",
                  "2^63") == kUnsupported);
  std::string ones = "[1";
  for (int i = 0; i < 32; ++i) ones += ", 1";
  ones += "]";
  CHECK(FailureV3(R"({"shape": )" + ones + "}", "32") == kUnsupported);
}

TEST_CASE("a chunk extent of 0 is read as 1 where the dimension is empty") {
  const char* kGrid = R"("chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 0]}})";
  CHECK(V3(std::string(R"({"shape": [6, 0], )") + kGrid + "}").chunk_shape == Shape{4, 1});
  CHECK(FailureV3(std::string("{") + kGrid + "}", "extent 0") == kCorrupt);
  CHECK(V2(R"({"shape": [0, 0], "chunks": [0, 0]})").chunk_shape == Shape{1, 1});
  CHECK(FailureV2(R"({"chunks": [4, 0]})", "extent 0") == kCorrupt);
}

TEST_CASE("a chunk extent of 0 does not stay in a document once the array has grown") {
  ArrayMetadata metadata = V2(R"({"shape": [0, 8], "chunks": [0, 4]})");
  metadata.shape = {6, 8};
  CHECK(Written(metadata)["chunks"] == J("[1, 4]"));
}

TEST_CASE("rank 0 arrays are read in both formats") {
  const ArrayMetadata metadata =
      V3(R"({"shape": [], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}}})");
  CHECK(metadata.rank() == 0);
  CHECK(V2(R"({"shape": [], "chunks": [], "order": "F"})").codecs.empty());
}

TEST_CASE("the bytes codec becomes the type's byte order") {
  CHECK(V3(R"({"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "gzip"}]})").dtype.endian ==
        Endian::kBig);
  const ArrayMetadata metadata = V3(R"({"codecs": ["bytes", {"name": "gzip", "configuration": {"level": 1}}]})");
  CHECK(metadata.dtype.endian == Endian::kLittle);
  CHECK(Names(metadata.codecs) == Strings{"gzip"});
  CHECK(FailureV3(R"({"codecs": [{"name": "bytes", "configuration": {"endian": "middle"}}]})", "middle") == kCorrupt);
}

TEST_CASE("codecs of known roles stand in their order") {
  CHECK(FailureV3(R"({"codecs": ["gzip", "bytes"]})", "gzip") == kCorrupt);
  CHECK(FailureV3(R"({"codecs": ["gzip", {"name": "transpose", "configuration": {"order": [1, 0]}}]})", "transpose") ==
        kCorrupt);
  CHECK(FailureV3(R"({"codecs": ["bytes", {"name": "transpose", "configuration": {"order": [1, 0]}}]})", "transpose") ==
        kCorrupt);
  CHECK(FailureV3(R"({"codecs": ["bytes", "vlen-utf8"]})", "vlen-utf8") == kCorrupt);
  CHECK(Names(V3(R"({"codecs": ["mystery", "gzip"]})").codecs) == Strings{"mystery", "gzip"});
}

TEST_CASE("a chain without an array to bytes codec is one of little endian numbers, as old GDAL means it") {
  for (const char* chain : {"[]", R"(["gzip"])", R"([{"name": "transpose", "configuration": {"order": [1, 0]}}])"}) {
    const ArrayMetadata metadata = V3(R"({"codecs": )" + std::string(chain) + "}");
    CHECK(metadata.dtype == DType::Int(4, Endian::kLittle));
    CHECK(Names(metadata.codecs).size() == J(chain).size());
  }
  Json document = J(ArrayV3());
  document.erase("codecs");
  CHECK(ParseArrayV3(document.dump(), "a/zarr.json").ok());
  CHECK(FailureV3(R"({"data_type": "string", "fill_value": "", "codecs": ["gzip"]})", "array to bytes") == kCorrupt);
}

// A sharding codec of int32 with the given inner chunk shape and inner codecs.
std::string Sharding(const std::string& chunk_shape, const std::string& codecs) {
  return R"({"name": "sharding_indexed", "configuration": {"chunk_shape": )" + chunk_shape + R"(, "codecs": )" +
         codecs + R"(, "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}})";
}

TEST_CASE("the innermost bytes codec of shards gives the byte order") {
  const std::string kBig = R"([{"name": "bytes", "configuration": {"endian": "big"}}])";
  const std::string nested = Sharding("[2, 4]", "[" + Sharding("[2, 2]", kBig) + "]");
  const ArrayMetadata metadata = V3(R"({"codecs": [)" + nested + "]}");
  CHECK(metadata.dtype.endian == Endian::kBig);
  CHECK(Names(metadata.codecs) == Strings{"sharding_indexed"});
}

TEST_CASE("inner chunks must divide the shard at every level") {
  const std::string kLittle = R"([{"name": "bytes", "configuration": {"endian": "little"}}])";
  const auto failure = [](const std::string& sharding) {
    return FailureV3(R"({"codecs": [)" + sharding + "]}", "divide");
  };
  CHECK(failure(Sharding("[3, 4]", kLittle)) == kCorrupt);
  CHECK(failure(Sharding("[4]", kLittle)) == kCorrupt);
  CHECK(failure(Sharding("[0, 4]", kLittle)) == kCorrupt);
  CHECK(failure(Sharding("[2, 4]", "[" + Sharding("[2, 3]", kLittle) + "]")) == kCorrupt);
}

TEST_CASE("a transpose before the sharding permutes what inner chunks divide") {
  const std::string kLittle = R"([{"name": "bytes", "configuration": {"endian": "little"}}])";
  const std::string kSwap = R"({"name": "transpose", "configuration": {"order": [1, 0]}}, )";
  const char* kGrid = R"(, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}}})";
  V3(R"({"codecs": [)" + kSwap + Sharding("[6, 2]", kLittle) + "]" + kGrid);
  CHECK(FailureV3(R"({"codecs": [)" + kSwap + Sharding("[2, 6]", kLittle) + "]" + kGrid, "divide") == kCorrupt);
  const std::string kF = R"({"name": "transpose", "configuration": {"order": "F"}}, )";
  V3(R"({"codecs": [)" + kF + Sharding("[6, 2]", kLittle) + "]" + kGrid);
  CHECK(FailureV3(R"({"codecs": [)" + kF + Sharding("[2, 6]", kLittle) + "]" + kGrid, "divide") == kCorrupt);
  for (const char* order : {"[0, 0]", "\"f\""}) {
    CHECK(FailureV3(R"({"codecs": [{"name": "transpose", "configuration": {"order": )" + std::string(order) +
                        R"(}}, "bytes"]})",
                    "permutation") == kCorrupt);
  }
}

TEST_CASE("of objects that are not read the reason is said") {
  CHECK(FailureV2(R"({"dtype": "|O", "fill_value": null, "filters": [{"id": "pickle"}]})", "whatever code") ==
        kUnsupported);
  CHECK(FailureV2(R"({"dtype": "|O", "fill_value": null, "filters": [{"id": "msgpack2"}]})", "not implemented") ==
        kUnsupported);
}

TEST_CASE("v2 order, filters and compressor become one chain") {
  const ArrayMetadata metadata = V2(R"({"order": "F", "filters": [{"id": "delta", "dtype": "<i4"}],
                                        "compressor": {"id": "zlib", "level": 1}})");
  CHECK(Names(metadata.codecs) == Strings{"transpose", "delta", "zlib"});
  CHECK(metadata.codecs[0].configuration == J(R"({"order": [1, 0]})"));
  CHECK(metadata.codecs[1].configuration == J(R"({"dtype": "<i4"})"));
  CHECK(V2(R"({"filters": []})").codecs.empty());
  CHECK(FailureV2(R"({"order": "A"})", "order") == kCorrupt);
  CHECK(FailureV2(R"({"compressor": {"level": 1}})", "id") == kCorrupt);
  CHECK(V2(R"({"compressor": {"type": "raw"}})").codecs.empty());
  CHECK(FailureV2(R"({"compressor": {"type": "gzip"}})", "id") == kCorrupt);
}

TEST_CASE("v2 separators default to a dot") {
  CHECK(V2().key_encoding.separator == '.');
  CHECK(V2(R"({"dimension_separator": "/"})").key_encoding.separator == '/');
  CHECK(FailureV2(R"({"dimension_separator": "x"})", "dimension_separator") == kCorrupt);
}

TEST_CASE("v2 object arrays are what their object codec says") {
  const auto kind = [](const std::string& id) {
    return V2(R"({"dtype": "|O", "fill_value": 0, "filters": [{"id": ")" + id + R"("}]})").dtype.kind;
  };
  CHECK(kind("vlen-utf8") == DType::Kind::kString);
  CHECK(kind("json2") == DType::Kind::kString);
  CHECK(kind("vlen-bytes") == DType::Kind::kVlenBytes);
  CHECK(kind("vlen-array") == DType::Kind::kVlenBytes);
  CHECK(FailureV2(R"({"dtype": "|O", "filters": [{"id": "pickle"}]})", "pickle") == kUnsupported);
  CHECK(FailureV2(R"({"dtype": "|O", "filters": [{"id": "msgpack2"}]})", "msgpack2") == kUnsupported);
  CHECK(FailureV2(R"({"dtype": "|O"})", "object codec") == kUnsupported);
}

TEST_CASE("v2 attributes come from .zattrs, and a broken one is an error") {
  CHECK(V2("{}", R"({"a": NaN})").attributes.size() == 1);
  const Status status = ParseArrayV2(ArrayV2(), "{\"a\": ", "x/y/.zarray").status();
  CHECK(status.code() == kCorrupt);
  CHECK(status.message().starts_with("x/y/.zattrs"));
  CHECK(ParseGroupV2(R"({"zarr_format": 2})", "[1]", ".zgroup").status().code() == kCorrupt);
}

TEST_CASE("unknown members of v2 documents survive") {
  const ArrayMetadata metadata = V2(R"({"_nczarr_array": {"storage": "chunked"}})");
  CHECK(Written(metadata)["_nczarr_array"] == J(R"({"storage": "chunked"})"));
}

TEST_CASE("a changed member is replaced where it stands and the others keep their spelling") {
  ArrayMetadata metadata = V3(R"({"extra": {"must_understand": false}, "fill_value": 7.0,
                                  "attributes": {"z": 1}, "data_type": {"name": "int32"}})");
  metadata.shape = {10, 8};
  metadata.attributes["a"] = 2;
  const auto texts = FormatArray(metadata);
  REQUIRE(texts.ok());
  Json expected = J(ArrayV3(R"({"extra": {"must_understand": false}, "fill_value": 7.0,
                                "attributes": {"z": 1, "a": 2}, "data_type": {"name": "int32"}})"));
  expected["shape"] = Shape{10, 8};
  CHECK(J(texts->document).dump() == expected.dump());
}

TEST_CASE("attributes are not added to a v3 document that has none") {
  CHECK_FALSE(Written(V3()).contains("attributes"));
}

TEST_CASE("bare codec names are written as objects") {
  const ArrayMetadata metadata = V3(R"({"codecs": ["bytes", "crc32c"], "chunk_key_encoding": "v2"})");
  const Json document = Written(metadata);
  CHECK(document["codecs"] == J(R"([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}])"));
  CHECK(document["chunk_key_encoding"] == J(R"({"name": "v2", "configuration": {"separator": "."}})"));
}

TEST_CASE("the bytes codec is written behind array codecs and before byte codecs") {
  ArrayMetadata metadata = V3();
  metadata.document = nullptr;
  metadata.dtype = DType::Int(4, Endian::kBig);
  metadata.fill.bytes.assign(4, std::byte{0});
  metadata.codecs = {{"transpose", J(R"({"order": [1, 0]})")}, {"gzip", J(R"({"level": 5})")}};
  CHECK(Written(metadata)["codecs"] == J(R"([{"name": "transpose", "configuration": {"order": [1, 0]}},
              {"name": "bytes", "configuration": {"endian": "big"}},
              {"name": "gzip", "configuration": {"level": 5}}])"));
}

TEST_CASE("the bytes codec is written inside shards") {
  ArrayMetadata metadata = V3();
  metadata.document = nullptr;
  metadata.codecs = {{"sharding_indexed", J(R"({"chunk_shape": [2, 2], "codecs": [{"name": "zstd"}],
                                                "index_codecs": []})")}};
  CHECK(Written(metadata)["codecs"][0]["configuration"]["codecs"] ==
        J(R"([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}])"));
}

TEST_CASE("no bytes codec is written beside a variable-length codec") {
  ArrayMetadata metadata = V3();
  metadata.document = nullptr;
  metadata.dtype = DType::String();
  metadata.fill = {};
  CHECK(FormatArray(metadata).status().code() == StatusCode::kInvalidArgument);
  metadata.codecs = {{"vlen-utf8", nullptr}};
  CHECK(Written(metadata)["codecs"] == J(R"([{"name": "vlen-utf8"}])"));
}

TEST_CASE("a struct without a byte order is little endian and stays as it was written") {
  const char* kStruct =
      R"({"data_type": {"name": "structured", "configuration": {"fields": [["a", "int32"]]}},
                            "fill_value": "AQAAAA==", "codecs": [{"name": "bytes"}]})";
  ArrayMetadata metadata = V3(kStruct);
  CHECK(metadata.dtype.fields[0].dtype.endian == Endian::kLittle);
  CHECK(Written(metadata)["codecs"] == J(R"([{"name": "bytes"}])"));
  metadata.document = nullptr;
  CHECK(Written(metadata)["codecs"] == J(R"([{"name": "bytes", "configuration": {"endian": "little"}}])"));
}

TEST_CASE("structs of mixed byte order are not written to v3") {
  ArrayMetadata metadata = V2(R"({"dtype": [["a", "<i4"], ["b", ">i4"]], "fill_value": null})");
  metadata.zarr_format = 3;
  metadata.document = nullptr;
  CHECK(FormatArray(metadata).status().code() == kUnsupported);
}

TEST_CASE("a document may ask for the registered struct spelling") {
  ArrayMetadata metadata = V3(R"({"data_type": {"name": "structured", "configuration": {"fields": [["a", "int32"]]}},
                                  "fill_value": "AQAAAA=="})");
  metadata.document = J(R"({"data_type": {"name": "struct", "configuration": {"fields": [
                            {"name": "a", "data_type": "int32"}]}}})");
  const Json document = Written(metadata);
  CHECK(document["data_type"]["name"] == "struct");
  CHECK(document["fill_value"] == J(R"({"a": 1})"));
  CHECK(ParseArrayV3(document.dump(), "again")->fill == metadata.fill);
}

TEST_CASE("an undefined fill is written as zero in v3") {
  ArrayMetadata metadata = V2(R"({"fill_value": null})");
  metadata.zarr_format = 3;
  metadata.document = nullptr;
  CHECK(Written(metadata)["fill_value"] == 0);
}

TEST_CASE("groups keep unknown members and the place of their attributes") {
  const char* kText =
      R"({"attributes": {"a": 1}, "zarr_format": 3, "x": {"must_understand": false}, "node_type": "group"})";
  auto group = ParseGroupV3(kText, "zarr.json");
  REQUIRE(group.ok());
  CHECK_FALSE(group->has_consolidated);
  CHECK(J(FormatGroup(*group)->document).dump() == J(kText).dump());
  CHECK(ParseGroupV3(R"({"zarr_format": 3, "node_type": "group", "x": 1})", "z").status().code() == kUnsupported);
}

TEST_CASE("new groups are written as zarr-python does") {
  CHECK(J(FormatGroup(GroupMetadata{})->document).dump() == R"({"attributes":{},"zarr_format":3,"node_type":"group"})");
  GroupMetadata group;
  group.zarr_format = 2;
  CHECK(J(FormatGroup(group)->document).dump() == R"({"zarr_format":2})");
  CHECK(FormatGroup(group)->attributes.empty());
  group.attributes["a"] = 1;
  CHECK(J(FormatGroup(group)->attributes).dump() == R"({"a":1})");
}

TEST_CASE("inline consolidated metadata are noticed and left out") {
  const auto group = ParseGroupV3(R"({"zarr_format": 3, "consolidated_metadata":
      {"kind": "inline", "metadata": {"a": {"node_type": "}\""}}}, "node_type": "group"})",
                                  "zarr.json");
  REQUIRE(group.ok());
  CHECK(group->has_consolidated);
  CHECK_FALSE(group->document.contains("consolidated_metadata"));
  CHECK_FALSE(ParseGroupV3(R"({"zarr_format": 3, "consolidated_metadata": null, "node_type": "group"})", "z")
                  ->has_consolidated);
}

TEST_CASE("the node type is told without parsing the document") {
  CHECK(*NodeTypeV3(ArrayV3(), "z") == "array");
  CHECK(*NodeTypeV3(R"({"consolidated_metadata": {"node_type": "array"}, "node_type": "group"})", "z") == "group");
  CHECK(NodeTypeV3("{}", "z").status().code() == kCorrupt);
  CHECK(NodeTypeV3(R"({"node_type": 3})", "z").status().code() == kCorrupt);
}

TEST_CASE("new array documents have zarr-python's members in its order") {
  ArrayMetadata metadata = V3(R"({"dimension_names": ["x", "y"]})");
  metadata.document = nullptr;
  CHECK(MemberNames(Written(metadata)) == Strings{"shape", "data_type", "chunk_grid", "chunk_key_encoding",
                                                  "fill_value", "codecs", "attributes", "dimension_names",
                                                  "zarr_format", "node_type", "storage_transformers"});
  metadata = V2();
  metadata.document = nullptr;
  CHECK(MemberNames(Written(metadata)) == Strings{"shape", "chunks", "dtype", "fill_value", "order", "filters",
                                                  "compressor", "dimension_separator", "zarr_format"});
}

}  // namespace
}  // namespace h5zarr::zarr
