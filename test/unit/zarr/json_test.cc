#include "zarr/json.h"

#include <cmath>

#include "catch.h"

namespace h5zarr::zarr {
namespace {

Json Parsed(std::string_view text) {
  auto json = ParseJson(text, "doc");
  INFO(json.status().message());
  REQUIRE(json.ok());
  return *json;
}

std::string Failure(std::string_view text) {
  const Status status = ParseJson(text, "a/zarr.json").status();
  CHECK(status.code() == StatusCode::kCorrupt);
  return status.message();
}

TEST_CASE("integers of 64 bits keep their exact value") {
  const Json json = Parsed("[18446744073709551615, -9223372036854775808, 9007199254740993]");
  CHECK(json[0].get<uint64_t>() == UINT64_MAX);
  CHECK(json[1].get<int64_t>() == INT64_MIN);
  CHECK(json[2].get<uint64_t>() == 9007199254740993u);
  CHECK(DumpJson(json, -1) == "[18446744073709551615,-9223372036854775808,9007199254740993]");
}

TEST_CASE("what has no value in Json is kept as it was spelled") {
  const std::string text =
      R"({"a":[18446744073709551616,-9223372036854775809,1e400,-1e400],"b":{"c":"a\ud800b"},"d":{}})";
  const Json json = Parsed(text);
  CHECK(DumpJson(json, -1) == text);
  CHECK(DumpJson(json).find("[\n    18446744073709551616,\n    -9223372036854775809,") != std::string::npos);
  const Json plain = PlainJson(json);
  CHECK(plain["a"][0].get<double>() == 0x1p64);
  CHECK(plain["a"][3].get<double>() == -HUGE_VAL);
  CHECK(plain["b"]["c"].get<std::string>() == "a\uFFFDb");
}

TEST_CASE("numbers keep being integers or floats, and the sign of zero") {
  const std::string text = "[1.0,1,-0.0,0.1,1e+22]";
  CHECK(DumpJson(Parsed(text), -1) == text);
}

TEST_CASE("bare NaN and Infinity are floats, and stay bare where they were") {
  const Json json = Parsed(R"({"a": [NaN, Infinity, -Infinity]})");
  CHECK(std::isnan(json["a"][0].get<double>()));
  CHECK(json["a"][2].get<double>() == -HUGE_VAL);
  CHECK(DumpJson(json, -1) == R"({"a":[NaN,Infinity,-Infinity]})");
}

TEST_CASE("members keep their order and the last of the same name wins") {
  CHECK(DumpJson(Parsed(R"({"z": 1, "a": 2, "z": 3})"), -1) == R"({"z":3,"a":2})");
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"m" + std::to_string(i % 60) + "\": " + std::to_string(i) + ",";
  many.back() = '}';
  const Json json = Parsed(many);
  CHECK(json.size() == 60);
  CHECK(json["m5"] == 65);
  CHECK(json["m59"] == 59);
}

TEST_CASE("escapes become UTF-8") {
  CHECK(Parsed(R"("\u00e9\ud83d\ude00\n\/")").get<std::string>() == "\u00e9\U0001F600\n/");
}

TEST_CASE("an escaped lone surrogate becomes the replacement character") {
  CHECK(PlainJson(Parsed(R"("a\ud800b")")).get<std::string>() == "a\uFFFDb");
  CHECK(PlainJson(Parsed(R"("\ud800\u0041")")).get<std::string>() ==
        "\uFFFD"
        "A");
}

TEST_CASE("damaged text is refused with its place") {
  CHECK(Failure("{\"a\": 1} x").find("a/zarr.json: not JSON: text behind the end") == 0);
  CHECK(Failure("[1,]").find("at byte 3 of 4") != std::string::npos);
  for (const char* text : {"",
                           "[1 2]",
                           "{\"a\"}",
                           "{a: 1}",
                           "\"abc",
                           "01",
                           "1.",
                           "-",
                           "tru",
                           "+1",
                           "[",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"a\nb\"",
                           ".5",
                           "nan",
                           "\"\xC3\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xC0\x80\"",
                           "{\"a\":1,}"}) {
    INFO(text);
    Failure(text);
  }
}

TEST_CASE("nesting beyond 200 levels is refused") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  Parsed(nested(200));
  CHECK(Failure(nested(201)).find("200 levels") != std::string::npos);
  Failure(std::string(1000000, '['));
}

TEST_CASE("a member's text is found whatever its value holds") {
  const std::string value = R"({"x": ["}", "\"", "\\"], "consolidated_metadata": 2})";
  const std::string text =
      R"({"a": "consolidated_metadata", "b": 1, "consolidated_metadata": )" + value + R"(, "node_type": "group"})";
  CHECK(FindMemberText(text, "consolidated_metadata") == std::string_view(value));
  CHECK(FindMemberText(text, "node_type") == std::string_view("\"group\""));
  CHECK(FindMemberText(text, "b") == std::string_view("1"));
  CHECK_FALSE(FindMemberText(text, "x"));
}

TEST_CASE("a member's text is not found in broken documents") {
  for (const char* text : {"", "[]", "{", "{\"a", "{\"a\"", "{\"a\":", "{\"a\": \"b", "{\"a\": [1", "{\"a\": \"\\"}) {
    INFO(text);
    CHECK_FALSE(FindMemberText(text, "a"));
  }
}

TEST_CASE("brief texts never end within a character") {
  CHECK(BriefJson(Json("\u00e9\u00e9"), 4) == "\"\u00e9...");
  CHECK(BriefJson(Json("ab")) == "\"ab\"");
  CHECK(BriefJson(*ParseJson("[18446744073709551616]", "x")) == "[18446744073709551616]");
}

}  // namespace
}  // namespace h5zarr::zarr
