// The names that versioned-hdf5 gives to its datasets. (Mappings are test_native_virtual_reads.py's.)
#include "transfer/versioned_map.h"

#include "catch.h"

namespace h5zarr::transfer {
namespace {

TEST_CASE("a dataset of a version has its chunks in raw_data") {
  CHECK(RawDataPath("/_version_data/versions/r1/a/b") == "/_version_data/a/b/raw_data");
  CHECK(RawDataPath("/x/_version_data/versions/r1/d") == "/x/_version_data/d/raw_data");
}

TEST_CASE("other paths are of no version") {
  for (const char* path : {"", "/", "/d", "/versions/r1/d", "/_version_data/d/raw_data", "/_version_data/versions",
                           "/_version_data/versions/r1", "/_version_data/versions/r1/"}) {
    INFO(path);
    CHECK_FALSE(RawDataPath(path));
  }
}

}  // namespace
}  // namespace h5zarr::transfer
