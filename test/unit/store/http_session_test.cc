// What is sent along with requests, and to whom.
#include "store/http_session.h"

#include <cstdlib>

#include "catch.h"
#include "temp_directory.h"

namespace h5zarr {
namespace {

using Headers = std::vector<std::string>;

Url UrlOf(const char* text) { return ParseUrl(text).value(); }

Headers HeadersFor(const HttpSession& session, const char* url) {
  return session.HeadersFor({"GET", UrlOf(url)}).value();
}

TEST_CASE("a key of DANDI is sent to its servers alone") {
  setenv("DANDI_API_KEY", "hush", 1);
  const auto session = HttpSession::Make(UrlOf("https://api.dandiarchive.org/api/assets/1/download/"), {});
  const auto other = HttpSession::Make(UrlOf("https://elsewhere.org/refs.json"), {});
  unsetenv("DANDI_API_KEY");
  for (const auto& each : {session, other}) {
    REQUIRE(each.ok());
    CHECK(HeadersFor(**each, "https://api.dandiarchive.org/api/assets/1/") == Headers{"Authorization: token hush"});
    CHECK(!(*each)->UsesNetrc(UrlOf("https://api.dandiarchive.org/api/")));
    for (const char* url : {"http://api.dandiarchive.org/api/", "https://api.dandiarchive.org:8443/",
                            "https://api-staging.dandiarchive.org/api/", "https://dandiarchive.org/",
                            "https://api.dandiarchive.org.evil.org/", "https://elsewhere.org/refs.json",
                            "https://dandiarchive.s3.amazonaws.com/blobs/1?X-Amz-Signature=1"}) {
      INFO(url);
      CHECK(HeadersFor(**each, url).empty());
      CHECK((*each)->UsesNetrc(UrlOf(url)));
    }
  }
}

TEST_CASE("a key that would begin another header is not sent") {
  setenv("DANDI_API_KEY", "hush\r\nX-Other: 1", 1);
  const auto session = HttpSession::Make(UrlOf("https://api.dandiarchive.org/"), {});
  unsetenv("DANDI_API_KEY");
  CHECK(HeadersFor(**session, "https://api.dandiarchive.org/").empty());
}

TEST_CASE("headers of a file go to the store's own server, before a key of the environment") {
  const TempDirectory folder;
  PutFile(folder / "headers", "Authorization: token own\nX-More: 1\n");
  HttpOptions options;
  options.headers_file = folder / "headers";
  setenv("DANDI_API_KEY", "hush", 1);
  const auto session = HttpSession::Make(UrlOf("https://api.dandiarchive.org/"), options);
  unsetenv("DANDI_API_KEY");
  CHECK(HeadersFor(**session, "https://api.dandiarchive.org/x") == Headers{"Authorization: token own", "X-More: 1"});
  CHECK(HeadersFor(**session, "https://elsewhere.org/").empty());
}

TEST_CASE("a redirect is remembered until its signature expires") {
  CHECK(UrlOf("https://h/x?X-Amz-Expires=3600&X-Amz-Signature=1").SignedFor() == std::chrono::hours(1));
  CHECK(!UrlOf("https://h/x?X-Amz-Expires=soon").SignedFor());
  CHECK(!UrlOf("https://h/x").SignedFor());
  const auto session = HttpSession::Make(UrlOf("https://h/"), {}).value();
  session->NoteLocation("https://h/a", UrlOf("https://b/a?X-Amz-Signature=1"));
  CHECK(session->Find("https://h/a")->location->Text() == "https://b/a?X-Amz-Signature=1");
  session->ForgetLocation("https://h/a");
  CHECK(!session->Find("https://h/a")->location);
}

}  // namespace
}  // namespace h5zarr
