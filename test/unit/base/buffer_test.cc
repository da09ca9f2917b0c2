#include "base/buffer.h"

#include "catch.h"

namespace h5zarr {
namespace {

TEST_CASE("a buffer has its exact size and is aligned") {
  Result<Buffer> buffer = Buffer::Allocate(1001);
  REQUIRE(buffer.ok());
  CHECK(buffer->size_bytes() == 1001);
  CHECK(reinterpret_cast<uintptr_t>(buffer->data()) % Buffer::kAlignment == 0);
  Result<Buffer> page = Buffer::Allocate(10, 4096);
  REQUIRE(page.ok());
  CHECK(reinterpret_cast<uintptr_t>(page->data()) % 4096 == 0);
}

TEST_CASE("a size that no machine has is a failure, not a crash") {
  CHECK(Buffer::Allocate(UINT64_MAX).status().code() == StatusCode::kNoSpace);
}

TEST_CASE("a copy holds the same bytes, and no bytes are an empty buffer") {
  Result<Buffer> copy = Buffer::CopyOf(AsBytes("zarr"));
  REQUIRE(copy.ok());
  CHECK(AsText(*copy) == "zarr");
  REQUIRE(Buffer::CopyOf({}).ok());
  CHECK(Buffer::CopyOf({})->empty());
}

TEST_CASE("a shrunk buffer forgets its tail") {
  Result<Buffer> buffer = Buffer::CopyOf(AsBytes("zarr"));
  REQUIRE(buffer.ok());
  buffer->Shrink(2);
  CHECK(AsText(*buffer) == "za");
}

}  // namespace
}  // namespace h5zarr
