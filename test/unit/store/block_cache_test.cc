#include "store/block_cache.h"

#include <string>

#include "catch.h"

namespace h5zarr {
namespace {

constexpr uint64_t kBytes = BlockCache::kBlockBytes;

std::string Block(char fill, std::size_t bytes = kBytes) { return std::string(bytes, fill); }
ByteSpan AsBytes(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }
std::string TextAt(BlockCache& cache, uint64_t block) {
  const ByteSpan bytes = cache.Find(block);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

TEST_CASE("blocks come back as they were put, also a short last one") {
  BlockCache cache(4 * kBytes);
  REQUIRE(cache.Insert(7, AsBytes(Block('a'))).ok());
  REQUIRE(cache.Insert(9, AsBytes(Block('z', 10))).ok());
  CHECK(TextAt(cache, 7) == Block('a'));
  CHECK(TextAt(cache, 9) == Block('z', 10));
  CHECK(TextAt(cache, 8).empty());
  CHECK_FALSE(cache.Has(8));
}

TEST_CASE("the block that was used least lately goes first") {
  BlockCache cache(3 * kBytes);
  for (const uint64_t block : {1, 2, 3}) REQUIRE(cache.Insert(block, AsBytes(Block('x'))).ok());
  CHECK(TextAt(cache, 1) == Block('x'));
  REQUIRE(cache.Insert(4, AsBytes(Block('y'))).ok());
  CHECK(cache.Has(1));
  CHECK_FALSE(cache.Has(2));
  CHECK((cache.Has(3) && cache.Has(4)));
}

TEST_CASE("a cache of no size keeps the newest block, and a block that is there stays") {
  BlockCache cache(0);
  REQUIRE(cache.Insert(1, AsBytes(Block('a'))).ok());
  REQUIRE(cache.Insert(1, AsBytes(Block('b'))).ok());
  CHECK(TextAt(cache, 1) == Block('a'));
  REQUIRE(cache.Insert(2, AsBytes(Block('c'))).ok());
  CHECK_FALSE(cache.Has(1));
  CHECK(cache.Has(2));
}

}  // namespace
}  // namespace h5zarr
