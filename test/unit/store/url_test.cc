#include "store/url.h"

#include "catch.h"

namespace h5zarr {
namespace {

Url Parsed(std::string_view text) {
  const Result<Url> url = ParseUrl(text);
  INFO(text);
  REQUIRE(url.ok());
  return *url;
}

TEST_CASE("a URL keeps its parts") {
  const Url url = Parsed("HTTPS://ann:pw@Host:8443/a/x.zarr?sig=1#part");
  CHECK(url.scheme == "https");
  CHECK(url.authority == "ann:pw@Host:8443");
  CHECK(url.path == "/a/x.zarr");
  CHECK(url.query == "?sig=1");
  CHECK(url.Text() == "https://ann:pw@Host:8443/a/x.zarr?sig=1");
}

TEST_CASE("what is shown of a URL has no secret") {
  CHECK(Parsed("http://ann:pw@host/x?token=abc").Shown() == "http://host/x?…");
  CHECK(ShownName("https://u@h/x") == "https://h/x");
  CHECK(ShownName("/a/b?c") == "/a/b?c");
}

TEST_CASE("one server has one origin") {
  CHECK(Parsed("http://Host:80/x").Origin() == "http://host");
  CHECK(Parsed("https://a@host:443").Origin() == "https://host");
  CHECK(Parsed("https://host:80").Origin() == "https://host:80");
}

TEST_CASE("bytes that no URL may hold are encoded, and nothing twice") {
  CHECK(Parsed("http://h/sp ace%20/ü").Text() == "http://h/sp%20ace%20/%C3%BC");
}

TEST_CASE("a key is encoded whole, before the query") {
  CHECK(Parsed("http://h/x.zarr/?v=1").WithKey("sp ace%41/+ü").Text() == "http://h/x.zarr/sp%20ace%2541/%2B%C3%BC?v=1");
  CHECK(Parsed("http://h").WithKey("a").Text() == "http://h/a");
}

TEST_CASE("what is no http URL is refused") {
  for (const char* text : {"", "ftp://h/x", "http://", "http:///x", "https://u@/x", "s3://b/x"}) {
    INFO(text);
    CHECK(ParseUrl(text).status().code() == StatusCode::kInvalidArgument);
  }
  CHECK_FALSE(ParseUrl(std::string_view("http://h/\0x", 11)).ok());
}

TEST_CASE("references resolve as in RFC 3986") {
  const Url base = Parsed("http://a/b/c/d?q");
  const auto resolved = [&](std::string_view reference) {
    const Result<Url> url = ResolveUrl(base, reference);
    REQUIRE(url.ok());
    return url->Text();
  };
  CHECK(resolved("g") == "http://a/b/c/g");
  CHECK(resolved("./g") == "http://a/b/c/g");
  CHECK(resolved("g/") == "http://a/b/c/g/");
  CHECK(resolved("/g") == "http://a/g");
  CHECK(resolved("//g") == "http://g");
  CHECK(resolved("g?y") == "http://a/b/c/g?y");
  CHECK(resolved("?y") == "http://a/b/c/d?y");
  CHECK(resolved("..") == "http://a/b/");
  CHECK(resolved("../g") == "http://a/b/g");
  CHECK(resolved("../../../g") == "http://a/g");
  CHECK(resolved("https://z/x") == "https://z/x");
  CHECK_FALSE(ResolveUrl(base, "file:///etc/passwd").ok());
}

TEST_CASE("signed links are known by their queries") {
  CHECK(Parsed("https://h/x?X-Amz-Date=1&X-Amz-Signature=2").IsPresigned());
  CHECK(Parsed("https://h/x?sig=2").IsPresigned());
  CHECK_FALSE(Parsed("https://h/x?design=2").IsPresigned());
}

}  // namespace
}  // namespace h5zarr
