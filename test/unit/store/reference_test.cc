#include <string>

#include "catch.h"
#include "store/reference_index.h"
#include "store/reference_template.h"

namespace h5zarr {
namespace {

TemplateValues Values() {
  TemplateValues values;
  values.texts["u"] = "http://host/x";
  values.numbers = {{"i", 3}, {"j", -7}};
  return values;
}

TEST_CASE("names and integer expressions are replaced") {
  const auto expanded = [](std::string_view text) {
    const auto result = Expand(text, Values());
    INFO(text);
    REQUIRE(result.ok());
    return *result;
  };
  CHECK(expanded("plain {} text") == "plain {} text");
  CHECK(expanded("{{u}}/a{{ i }}") == "http://host/x/a3");
  CHECK(expanded("{{4 + i * 64}}") == "196");
  CHECK(expanded("{{(4+i)*(2 - -2)}}") == "28");
  CHECK(expanded("{{j // 2}} {{j % 2}} {{7/2}}") == "-4 1 3");
}

TEST_CASE("what is no template is refused, whatever it is") {
  for (const char* text : {"{{", "{{}}", "{{v}}", "{{i|int}}", "{{u + 1}}", "{{f(c='x')}}", "{{1 +}}", "{{(1}}",
                           "{{i / 0}}", "{{9223372036854775807 + 1}}", "{{99999999999999999999}}"}) {
    INFO(text);
    CHECK_FALSE(Expand(text, Values()).ok());
  }
  CHECK_FALSE(Expand("{{" + std::string(100000, '(') + "}}", Values()).ok());
}

TEST_CASE("strings are unescaped as JSON says") {
  CHECK(*UnescapeJson(R"(a\u0002\"\\\/\n\u00e9\ud83d\ude00)") == "a\x02\"\\/\né😀");
  for (const char* raw : {"\\", "\\x", "\\u12", "\\ud800", "\\ude00", "\\ud800\\u0041"}) {
    INFO(raw);
    CHECK_FALSE(UnescapeJson(raw).ok());
  }
}

TEST_CASE("reference files are told from other JSON") {
  CHECK(LooksLikeReferences(R"( {"version": 1, "refs": {)"));
  CHECK(LooksLikeReferences(R"({".zgroup": "{}")"));
  CHECK(LooksLikeReferences(R"({"a/.zarray" : {)"));
  CHECK_FALSE(LooksLikeReferences(R"({"name": "refs"})"));
  CHECK_FALSE(LooksLikeReferences(R"(["refs"])"));
  CHECK_FALSE(LooksLikeReferences(""));
}

Result<std::unique_ptr<ReferenceIndex>> Parsed(std::string_view text) {
  Buffer padded = *Buffer::Allocate(text.size() + ReferenceIndex::kPaddingBytes);
  std::fill(padded.span().begin(), padded.span().end(), std::byte{0});
  std::copy(AsBytes(text).begin(), AsBytes(text).end(), padded.span().begin());
  return ReferenceIndex::Parse(std::move(padded), text.size());
}

TEST_CASE("each key is found with what it stands for, the later of two with one name") {
  const auto index = Parsed(R"({"refs": {"a/.zarray": {"x": [1, {"y": 2}]}, "a/0": ["{{u}}", 5, 7], "t": "te\u0078t",
      "a\/1": ["whole"], "b": "base64:AAEC", "t": "text"}, "templates": {"u": "file"}, "version": 1})");
  INFO(index.status().message());
  REQUIRE(index.ok());
  Reference memory;
  const auto text_of = [&](std::string_view key) {
    REQUIRE((*index)->Find(key, &memory) != nullptr);
    const auto bytes = ReferenceIndex::Decode(memory);
    REQUIRE(bytes.ok());
    return std::string(AsText(*bytes));
  };
  CHECK(text_of("a/.zarray") == R"({"x": [1, {"y": 2}]})");
  CHECK(text_of("t") == "text");
  CHECK(text_of("b") == std::string("\0\1\2", 3));
  REQUIRE((*index)->Find("a/0", &memory) != nullptr);
  CHECK(memory.kind == Reference::Kind::kSpan);
  CHECK(*(*index)->Resolve(memory.url) == "file");
  CHECK(memory.offset == 5);
  CHECK(memory.length == 7);
  REQUIRE((*index)->Find("a/1", &memory) != nullptr);
  CHECK(memory.kind == Reference::Kind::kWhole);
  CHECK((*index)->Find("a/2", &memory) == nullptr);
  CHECK((*index)->documents().size() == 1);
}

TEST_CASE("URLs and inline bytes may be escaped, and bad escapes are refused") {
  const auto index =
      Parsed(R"({"a": ["s\u0033:\/\/b\/\"x\\", 0, 4], "b": ["s3:\/\/b/\u0022x\\", 4, 4], "t": "\ud83d\ude00\\"})");
  INFO(index.status().message());
  REQUIRE(index.ok());
  Reference memory;
  for (const char* key : {"a", "b"}) {
    REQUIRE((*index)->Find(key, &memory) != nullptr);
    CHECK(memory.url == R"(s3://b/"x\)");
  }
  REQUIRE((*index)->Find("t", &memory) != nullptr);
  CHECK(AsText(*ReferenceIndex::Decode(memory)) == "😀\\");
  for (const char* bad : {R"({"a": ["\x", 0, 4]})", R"({"a": ["\ud83d", 0, 4]})", R"({"a": "\x"})", R"({"\x": "a"})"}) {
    INFO(bad);
    CHECK_FALSE(Parsed(bad).ok());
  }
}

TEST_CASE("a file that ends anywhere is refused, or read as far as it is whole") {
  const std::string whole =
      R"({"version": 1, "templates": {"u": "x"}, "refs": {"a": "b\n", "c": ["{{u}}", 1, 2], "d": {"e": 1}},)"
      R"("gen": [{"key": "g{{i}}", "url": "h", "dimensions": {"i": {"stop": 2}}}]})";
  REQUIRE(Parsed(whole).ok());
  CHECK((*Parsed(whole))->size() == 5);
  for (std::size_t end = 0; end < whole.size(); ++end) CHECK_FALSE(Parsed(whole.substr(0, end)).ok());
}

TEST_CASE("no byte that is changed makes the parser fail otherwise than with an error") {
  const std::string whole = R"({"version": 1, "refs": {"a": "b", "c": ["u", 1, 2], "d": {"e": 1}}})";
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char c : {'"', '{', '}', '[', ']', ',', ':', '\\', '\0', '\x80', '9', '-'}) {
      std::string changed = whole;
      changed[at] = c;
      (void)Parsed(changed).ok();
    }
  }
}

}  // namespace
}  // namespace h5zarr
