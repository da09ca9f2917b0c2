// Documents that zarr-python and tensorstore wrote: test/golden/metadata/make.py.
#include "catch.h"
#include "unit/zarr/golden.h"
#include "zarr/metadata.h"

namespace h5zarr::zarr {
namespace {

using test::Describe;
using test::Hex;
using test::ReadGolden;

Json Documents() {
  const Json index = *ParseJson(ReadGolden("index.json"), "index.json");
  REQUIRE(index["documents"].size() > 60);
  return index["documents"];
}

// The codecs whatever the order of members in their configurations.
nlohmann::json Unordered(const std::vector<CodecSpec>& codecs) {
  nlohmann::json list = nlohmann::json::array();
  for (const CodecSpec& codec : codecs) {
    list.push_back({codec.name, nlohmann::json::parse(codec.configuration.dump())});
  }
  return list;
}

Result<ArrayMetadata> Parse(const std::string& file) {
  const std::string text = ReadGolden(file);
  const bool is_v2 = file.starts_with("v2-");
  return is_v2 ? ParseArrayV2(text, "", "a/.zarray") : ParseArrayV3(text, "a/zarr.json");
}

TEST_CASE("documents of other writers are read as they mean") {
  const Json documents = Documents();
  for (const Json& expected : documents) {
    const auto file = expected["file"].get<std::string>();
    INFO(file);
    const auto metadata = Parse(file);
    INFO(metadata.status().message());
    REQUIRE(metadata.ok());
    CHECK(Describe(metadata->dtype) == expected["dtype"].get<std::string>());
    CHECK(Hex(metadata->fill.bytes) == expected["fill"].get<std::string>());
    CHECK(metadata->fill.defined == expected["defined"].get<bool>());
    Json codecs = Json::array();
    for (const CodecSpec& codec : metadata->codecs) codecs.push_back(codec.name);
    CHECK(codecs == expected["codecs"]);
  }
}

TEST_CASE("unchanged documents are written back as they were") {
  const Json documents = Documents();
  for (const Json& expected : documents) {
    const auto file = expected["file"].get<std::string>();
    INFO(file);
    const auto texts = FormatArray(*Parse(file));
    INFO(texts.status().message());
    REQUIRE(texts.ok());
    CHECK(*ParseJson(texts->document, "written") == *ParseJson(ReadGolden(file), "golden"));
  }
}

TEST_CASE("documents written anew say the same") {
  const Json documents = Documents();
  for (const Json& expected : documents) {
    const auto file = expected["file"].get<std::string>();
    INFO(file);
    ArrayMetadata metadata = *Parse(file);
    metadata.document = nullptr;
    const auto texts = FormatArray(metadata);
    INFO(texts.status().message());
    REQUIRE(texts.ok());
    INFO(texts->document);
    const auto again =
        metadata.zarr_format == 2 ? ParseArrayV2(texts->document, "", "again") : ParseArrayV3(texts->document, "again");
    INFO(again.status().message());
    REQUIRE(again.ok());
    CHECK(again->shape == metadata.shape);
    CHECK(again->chunk_shape == metadata.chunk_shape);
    CHECK(again->dtype == metadata.dtype);
    CHECK(again->fill == metadata.fill);
    CHECK(again->key_encoding == metadata.key_encoding);
    CHECK(Unordered(again->codecs) == Unordered(metadata.codecs));
  }
}

}  // namespace
}  // namespace h5zarr::zarr
