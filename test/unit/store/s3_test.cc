// What is pure of stores in S3: names of objects, Amazon's files, listings.
#include <cstdlib>

#include "catch.h"
#include "store/aws_profile.h"
#include "store/s3_client.h"
#include "store/s3_listing.h"
#include "temp_directory.h"

namespace h5zarr {
namespace {

using Style = S3Options::Style;

std::string UrlText(const std::string& bucket, const std::string& endpoint, Style style, std::string_view key) {
  return S3Url(bucket, endpoint, "eu-west-1", style, key).value().Text();
}

TEST_CASE("a bucket's name is in the host at Amazon, where it can be, and in the path elsewhere") {
  CHECK(UrlText("bucket", "", Style::kAuto, "a/b") == "https://bucket.s3.eu-west-1.amazonaws.com/a/b");
  CHECK(UrlText("my.bucket", "", Style::kAuto, "a") == "https://s3.eu-west-1.amazonaws.com/my.bucket/a");
  CHECK(UrlText("bucket", "", Style::kPath, "a") == "https://s3.eu-west-1.amazonaws.com/bucket/a");
  CHECK(UrlText("bucket", "http://localhost:9000/", Style::kAuto, "a") == "http://localhost:9000/bucket/a");
  CHECK(UrlText("bucket", "https://s3.example.org", Style::kVirtual, "a") == "https://bucket.s3.example.org/a");
  CHECK(UrlText("bucket", "example.org", Style::kAuto, "a") == "https://example.org/bucket/a");
}

TEST_CASE("all bytes of a key but plain ones are encoded") {
  CHECK(UrlText("b", "http://h", Style::kPath, "a b+c%=\xc3\xbc?#&") == "http://h/b/a%20b%2Bc%25%3D%C3%BC%3F%23%26");
}

TEST_CASE("an endpoint that is no URL is refused") {
  CHECK(S3Url("b", "ftp://h", "r", Style::kAuto, "").status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("a page of a listing has objects, folders, and where it goes on") {
  const auto page = ParseS3Page(
      "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<Name>b</Name><Prefix>x/</Prefix><KeyCount>2</KeyCount><IsTruncated>true</IsTruncated>"
      "<Contents><Key>x/a&amp;b&#x1;&#252;</Key><Size>12</Size><Owner><ID>1</ID></Owner></Contents>"
      "<Contents><Key>x/c</Key><Size>0</Size></Contents>"
      "<CommonPrefixes><Prefix>x/d/</Prefix></CommonPrefixes>"
      "<NextContinuationToken>to/ken==</NextContinuationToken></ListBucketResult>",
      "test");
  REQUIRE(page.ok());
  REQUIRE(page->objects.size() == 2);
  CHECK(page->objects[0].key == "x/a&b\x01\xc3\xbc");
  CHECK(page->objects[0].size_bytes == 12);
  CHECK(page->prefixes == std::vector<std::string>{"x/d/"});
  CHECK(page->next_token == "to/ken==");
}

TEST_CASE("an empty listing is a listing, other answers are not") {
  CHECK(ParseS3Page("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>", "test").ok());
  for (const char* text :
       {"", "<html></html>", "<ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>x</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>&nothing;</Key><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"}) {
    CHECK(ParseS3Page(text, "test").status().code() == StatusCode::kCorrupt);
  }
}

TEST_CASE("Amazon's files: comments, blanks and nested settings") {
  const AwsSections sections = ParseAwsFile(
      "# all\n[default]\nregion = eu-west-1 # here\naws_access_key_id=AKID\r\n; no\n"
      "[profile two]\ns3 =\n  addressing_style = path\n\tendpoint_url=http://h\noutput = json\n"
      "not a setting\n[services mine]\ns3 = \n  endpoint_url = https://e\n");
  CHECK(sections.at("default").at("region") == "eu-west-1");
  CHECK(sections.at("default").at("aws_access_key_id") == "AKID");
  CHECK(sections.at("profile two").at("s3.addressing_style") == "path");
  CHECK(sections.at("profile two").at("s3.endpoint_url") == "http://h");
  CHECK(sections.at("profile two").at("output") == "json");
  CHECK(sections.at("services mine").at("s3.endpoint_url") == "https://e");
}

// The environment of one test, put back afterwards.
class Environment {
 public:
  explicit Environment(const TempDirectory& folder) {
    for (const char* name :
         {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION",
          "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_NO_SIGN_REQUEST"}) {
      unsetenv(name);
    }
    Set("AWS_CONFIG_FILE", folder.path() + "/config");
    Set("AWS_SHARED_CREDENTIALS_FILE", folder.path() + "/credentials");
  }
  ~Environment() {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  void Set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

 private:
  std::vector<std::string> set_;
};

TEST_CASE("without files and variables there are no keys, no region and no endpoint") {
  const TempDirectory folder;
  const Environment environment(folder);
  const auto profile = AwsProfile::Load();
  REQUIRE(profile.ok());
  CHECK(profile->Region().empty());
  CHECK(profile->S3Endpoint().empty());
  CHECK(!profile->Credentials().value());
}

TEST_CASE("keys come from the environment, else from the named profile's files") {
  const TempDirectory folder;
  Environment environment(folder);
  PutFile(folder.path() + "/config",
          "[profile two]\nregion=eu-west-2\nendpoint_url=http://two\n[profile three]\n"
          "credential_process = echo '{\"Version\": 1, \"AccessKeyId\": \"AK3\", \"SecretAccessKey\": \"s3\", "
          "\"SessionToken\": \"t3\", \"Expiration\": \"2026-11-30T12:00:00Z\"}'\n"
          "[profile four]\ncredential_process = false\n[profile five]\nrole_arn = arn\n"
          "[profile single]\nsso_session = on\n");
  PutFile(folder.path() + "/credentials",
          "[two]\naws_access_key_id=AK2\naws_secret_access_key=s2\naws_session_token=t2\n");
  environment.Set("AWS_PROFILE", "two");
  const auto two = AwsProfile::Load();
  REQUIRE(two.ok());
  CHECK(two->Region() == "eu-west-2");
  CHECK(two->S3Endpoint() == "http://two");
  REQUIRE(two->Credentials().value());
  CHECK(two->Credentials().value()->access_key == "AK2");
  CHECK(two->Credentials().value()->session_token == "t2");
  environment.Set("AWS_PROFILE", "three");
  const auto three = AwsProfile::Load().value().Credentials();
  REQUIRE(three.ok());
  CHECK((*three)->access_key == "AK3");
  CHECK((*three)->expires == 1796040000);
  environment.Set("AWS_PROFILE", "four");
  CHECK(AwsProfile::Load().value().Credentials().status().code() == StatusCode::kPermissionDenied);
  environment.Set("AWS_PROFILE", "five");  // a role, and no keys to take it on with
  CHECK(AwsProfile::Load().value().Credentials().status().code() == StatusCode::kPermissionDenied);
  environment.Set("AWS_PROFILE", "single");
  CHECK(AwsProfile::Load().value().Credentials().status().code() == StatusCode::kUnsupported);
  environment.Set("AWS_PROFILE", "six");
  CHECK(AwsProfile::Load().status().code() == StatusCode::kInvalidArgument);
  environment.Set("AWS_PROFILE", "two");
  environment.Set("AWS_ACCESS_KEY_ID", "AK1");
  environment.Set("AWS_SECRET_ACCESS_KEY", "s1");
  environment.Set("AWS_ENDPOINT_URL", "http://one");
  environment.Set("AWS_ENDPOINT_URL_S3", "http://s3");
  const auto one = AwsProfile::Load();
  CHECK((*one->Credentials())->access_key == "AK1");
  CHECK(one->S3Endpoint() == "http://s3");
  environment.Set("AWS_NO_SIGN_REQUEST", "YES");
  CHECK(!one->Credentials().value());
}

}  // namespace
}  // namespace h5zarr
