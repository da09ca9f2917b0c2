#include "store/http_headers.h"

#include "catch.h"

namespace h5zarr {
namespace {

TEST_CASE("a Content-Range says which bytes of how many") {
  const auto range = ParseContentRange("bytes 3-5/10");
  REQUIRE(range);
  CHECK(range->first == 3u);
  CHECK(range->last == 5u);
  CHECK(range->total == 10u);
  CHECK_FALSE(ParseContentRange("bytes 0-4/*")->total);
  CHECK_FALSE(ParseContentRange("bytes */7")->first);
  CHECK(ParseContentRange("bytes */7")->total == 7u);
}

TEST_CASE("a Content-Range that makes no sense is none") {
  for (const char* value : {"", "bytes", "bytes 3-5", "bytes 5-3/10", "bytes 3-10/10", "bytes x-5/10", "bytes -1-5/10",
                            "items 0-1/2", "bytes 0-1/99999999999999999999"}) {
    INFO(value);
    CHECK_FALSE(ParseContentRange(value));
  }
}

TEST_CASE("the header of the answer follows those of interim answers") {
  HttpHeaders headers;
  for (const char* line : {"HTTP/1.1 100 Continue\r\n", "ETag: \"old\"\r\n", "\r\n", "HTTP/1.1 206 Partial Content\r\n",
                           "eTaG:  \"x\"  \r\n", "Content-Length: 12\r\n", "Retry-After: 2\r\n", "no header\r\n"}) {
    headers.AddLine(line);
  }
  CHECK(headers.status == 206);
  CHECK(headers.etag == "\"x\"");
  CHECK(headers.content_length == 12u);
  CHECK(headers.retry_after_s == 2);
}

}  // namespace
}  // namespace h5zarr
