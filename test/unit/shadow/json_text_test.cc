// Text that is not what it says.
#include "shadow/json_text.h"

#include <cstring>

#include "catch.h"

namespace h5zarr::shadow {
namespace {

TEST_CASE("only strict UTF-8 is text") {
  CHECK(IsValidUtf8("caf\xc3\xa9 \xf0\x9f\x98\x80"));
  CHECK(!IsValidUtf8("\xc0\x80"));
  CHECK(!IsValidUtf8("\xed\xa0\x80"));
  CHECK(!IsValidUtf8("\xf4\x90\x80\x80"));
  CHECK(!IsValidUtf8("\xe2\x82"));
  CHECK(TextFromJson(TextToJson("\xff")) == "\xff");
  CHECK(!TextFromJson(Json{{"base64", "?"}}));
}

TEST_CASE("UTF-32 of either order becomes UTF-8 of the same size") {
  char little[] = "\xe9\0\0\0\x00\xf6\1\0\0\0\0";  // U+E9, U+1F600, padding
  Utf32ToUtf8({reinterpret_cast<std::byte*>(little), 12}, Endian::kLittle);
  CHECK(std::memcmp(little, "\xc3\xa9\xf0\x9f\x98\x80\0\0\0\0\0", 12) == 0);
  char big[] = "\0\0\0a\0\xff\xff\xff";
  Utf32ToUtf8({reinterpret_cast<std::byte*>(big), 8}, Endian::kBig);
  CHECK(std::string(big) == "a\xef\xbf\xbd");
}

}  // namespace
}  // namespace h5zarr::shadow
