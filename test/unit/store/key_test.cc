#include "catch.h"
#include "store/store.h"
#include "store/temp_name.h"

namespace h5zarr {
namespace {

TEST_CASE("keys of any bytes but malformed segments are keys") {
  for (const char* key : {"a", "a/b", "...", ".zarray", "a/..b", " ", "\xff\xfe", "c/0/0", "a\\b"}) {
    INFO(key);
    CHECK(CheckKey(key).ok());
  }
}

TEST_CASE("keys that leave the store or are no names are refused") {
  using namespace std::string_view_literals;
  for (const std::string_view key :
       {""sv, "/"sv, "/a"sv, "a/"sv, "a//b"sv, ".."sv, "a/.."sv, "./a"sv, "a\0b"sv, "a/../../etc/passwd"sv}) {
    INFO(key);
    CHECK(CheckKey(key).code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("the empty key is the root where a prefix is meant") {
  CHECK(CheckKey("", true).ok());
  CHECK_FALSE(CheckKey("/", true).ok());
}

TEST_CASE("temporary names are recognised, and others are not") {
  const std::string name = NextTempName();
  CHECK(IsTempName(name));
  CHECK(name != NextTempName());
  CHECK(name.size() < 60);
  for (const char* other : {"zarr.json", ".h5zarr", ".h5zarr-1.tmp", ".h5zarr-1-2", ".h5zarr--.tmp", ".h5zarr-1-x.tmp",
                            ".h5zarr-1-2.tmp.tmp", "h5zarr-1-2.tmp"}) {
    INFO(other);
    CHECK_FALSE(IsTempName(other));
  }
}

}  // namespace
}  // namespace h5zarr
