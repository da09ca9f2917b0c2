#include <array>

#include "catch.h"
#include "zarr/metadata.h"

namespace h5zarr::zarr {
namespace {

using Kind = ChunkKeyEncoding::Kind;
using Coords = std::vector<uint64_t>;

TEST_CASE("chunk keys are spelled as each encoding has them") {
  const Coords coords = {1, 0, 23};
  CHECK(ChunkKeyEncoding{Kind::kDefault, '/'}.Key(coords) == "c/1/0/23");
  CHECK(ChunkKeyEncoding{Kind::kDefault, '.'}.Key(coords) == "c.1.0.23");
  CHECK(ChunkKeyEncoding{Kind::kV2, '.'}.Key(coords) == "1.0.23");
  CHECK(ChunkKeyEncoding{Kind::kV2, '/'}.Key(coords) == "1/0/23");
  CHECK(ChunkKeyEncoding{Kind::kDefault, '/'}.Key({}) == "c");
  CHECK(ChunkKeyEncoding{Kind::kV2, '.'}.Key({}) == "0");
}

TEST_CASE("chunk keys parse back to their coordinates") {
  for (const auto kind : {Kind::kDefault, Kind::kV2}) {
    for (const char separator : {'/', '.'}) {
      const ChunkKeyEncoding encoding{kind, separator};
      for (const Coords& coords : {Coords{}, Coords{0}, Coords{7, 0}, Coords{UINT64_MAX, 10, 3}}) {
        INFO(encoding.Key(coords));
        CHECK(encoding.Parse(encoding.Key(coords), coords.size()) == coords);
      }
    }
  }
}

TEST_CASE("names that are no canonical chunk key do not parse") {
  const ChunkKeyEncoding v3{Kind::kDefault, '/'};
  for (const char* key : {"", "c", "c/", "c/1", "c/1/2/3", "c/01/2", "c/1/-2", "c/1/2/", "c.1.2", "1/2", "c//2",
                          "c/1/18446744073709551616", "c/1/ 2", "zarr.json", "cc/1/2", "c/+1/2"}) {
    INFO(key);
    CHECK_FALSE(v3.Parse(key, 2));
  }
  const ChunkKeyEncoding v2{Kind::kV2, '.'};
  for (const char* key : {"", "1", "1.", "1.2.3", "01.2", ".zarray", "1/2", "a.b"}) {
    INFO(key);
    CHECK_FALSE(v2.Parse(key, 2));
  }
  CHECK_FALSE(v2.Parse("00", 0));
  CHECK_FALSE(v3.Parse("c/0", 0));
}

}  // namespace
}  // namespace h5zarr::zarr
