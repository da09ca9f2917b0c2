// SignV4 against examples that Amazon published: of its manual for S3, and of its test suite.
#include "store/aws_signature.h"

#include <algorithm>
#include <ctime>

#include "base/sha256.h"
#include "catch.h"

namespace h5zarr {
namespace {

std::time_t At(int year, int month, int day, int hour, int minute) {
  std::tm time{};
  time.tm_year = year - 1900;
  time.tm_mon = month - 1;
  time.tm_mday = day;
  time.tm_hour = hour;
  time.tm_min = minute;
  return timegm(&time);
}

std::string SignatureIn(const Result<std::vector<std::string>>& headers) {
  REQUIRE(headers.ok());
  const std::string& authorization = headers->back();
  REQUIRE(authorization.starts_with("Authorization: AWS4-HMAC-SHA256 Credential="));
  return authorization.substr(authorization.find("Signature=") + 10);
}

// Of the manual: "Authenticating Requests: Using the Authorization Header".
std::string OfManual(RequestHead head) {
  const AwsCredentials keys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", 0};
  return SignatureIn(SignV4(head, keys, {"us-east-1", "s3"}, At(2013, 5, 24, 0, 0)));
}

// Of the suite for all services.
std::string OfSuite(RequestHead head) {
  const AwsCredentials keys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", 0};
  return SignatureIn(SignV4(head, keys, {"us-east-1", "service"}, At(2015, 8, 30, 12, 36)));
}

Url UrlOf(const char* text) { return ParseUrl(text).value(); }

TEST_CASE("a request for a range of an object of S3 is signed as in Amazon's manual") {
  CHECK(OfManual({"GET", UrlOf("https://examplebucket.s3.amazonaws.com/test.txt"), {"Range: bytes=0-9"}}) ==
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_CASE("writing an object with an odd name is signed as in Amazon's manual") {
  const std::string hash = HexOf(Sha256Of(AsBytes("Welcome to Amazon S3.")).value());
  CHECK(OfManual({"PUT",
                  UrlOf("https://examplebucket.s3.amazonaws.com/test%24file.text"),
                  {"Date: Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class: REDUCED_REDUNDANCY"},
                  hash}) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_CASE("queries without a value, and in another order, are signed as in Amazon's manual") {
  CHECK(OfManual({"GET", UrlOf("https://examplebucket.s3.amazonaws.com/?lifecycle")}) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  CHECK(OfManual({"GET", UrlOf("https://examplebucket.s3.amazonaws.com/?prefix=J&max-keys=2")}) ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_CASE("requests to other services are signed as in Amazon's suite") {
  CHECK(OfSuite({"GET", UrlOf("https://example.amazonaws.com/")}) ==
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  CHECK(OfSuite({"POST", UrlOf("https://example.amazonaws.com/")}) ==
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  CHECK(OfSuite({"GET", UrlOf("https://example.amazonaws.com/?Param2=value2&Param1=value1")}) ==
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}

TEST_CASE("a session's token is sent and signed; headers that are not to be sent are not") {
  const auto headers = SignV4({"PUT", UrlOf("https://b.s3.amazonaws.com/k"), {"Expect:"}},
                              {"AKID", "secret", "token", 0}, {"eu-west-1", "s3"}, At(2026, 1, 1, 0, 0));
  REQUIRE(headers.ok());
  CHECK(std::count(headers->begin(), headers->end(), "x-amz-security-token: token") == 1);
  CHECK(headers->back().find("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,") !=
        std::string::npos);
  CHECK(headers->back().find("20260101/eu-west-1/s3/aws4_request") != std::string::npos);
}

TEST_CASE("HMAC is that of RFC 4231, with keys short and longer than a block") {
  CHECK(HexOf(HmacSha256(AsBytes("Jefe"), AsBytes("what do ya want for nothing?")).value()) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  const std::string long_key(131, '\xaa');
  CHECK(
      HexOf(HmacSha256(AsBytes(long_key), AsBytes("Test Using Larger Than Block-Size Key - Hash Key First")).value()) ==
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace h5zarr
