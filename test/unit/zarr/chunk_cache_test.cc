#include "zarr/chunk_cache.h"

#include "unit/zarr/array_fixture.h"

namespace h5zarr::zarr::test {
namespace {

ChunkCache::Ptr Chunk(uint64_t id, uint64_t bytes, bool dirty = false) {
  auto chunk = std::make_shared<CachedChunk>();
  chunk->id = id;
  chunk->dirty = dirty;
  chunk->data.elems = Value(Buffer::Allocate(bytes));
  return chunk;
}

VlenRef Ref(const std::string& text) { return {text.size(), reinterpret_cast<const std::byte*>(text.data())}; }

std::string Text(const VlenRef& ref) { return std::string(reinterpret_cast<const char*>(ref.data), ref.size_bytes); }

}  // namespace

TEST_CASE("the least recently used clean chunk goes first") {
  ChunkCache cache(1);
  for (uint64_t id = 0; id < 3; ++id) cache.Insert(Chunk(id, 10));
  CHECK(cache.Find(0) != nullptr);
  cache.DropClean(20);
  CHECK(cache.Find(1) == nullptr);
  CHECK(cache.Find(0) != nullptr);
  CHECK(cache.Find(2) != nullptr);
  CHECK(cache.bytes() == 20);
}

TEST_CASE("dirty chunks are not dropped") {
  ChunkCache cache(1);
  cache.Insert(Chunk(0, 10, true));
  cache.Insert(Chunk(1, 10));
  cache.DropClean(0);
  CHECK(cache.Find(0) != nullptr);
  CHECK(cache.Find(1) == nullptr);
}

TEST_CASE("dirty chunks are counted by object") {
  ChunkCache cache(4);
  for (uint64_t id : {3, 4, 6}) cache.Insert(Chunk(id, 10, true));
  CHECK(cache.DirtyCount(0) == 1);
  CHECK(cache.DirtyCount(1) == 2);
  CHECK(cache.Dirty(4, 8).size() == 2);
  cache.MarkClean(cache.Find(4));
  CHECK(cache.DirtyCount(1) == 1);
  CHECK(cache.NextDirty(4) == 6);
  cache.EraseRange(0, 8);
  CHECK(cache.dirty_count() == 0);
  CHECK(cache.bytes() == 0);
}

TEST_CASE("renaming keeps order of use and drops what has no new name") {
  ChunkCache cache(1);
  for (uint64_t id = 0; id < 3; ++id) cache.Insert(Chunk(id, 10, id == 2));
  cache.Rename([](uint64_t id) { return id == 0 ? std::nullopt : std::optional(id + 10); });
  CHECK(cache.size() == 2);
  CHECK(cache.NextDirty(0) == 12);
  cache.DropClean(10);
  CHECK(cache.Find(11) == nullptr);
}

TEST_CASE("adopted contents do not depend on the writer's memory") {
  CachedChunk chunk;
  std::string first = "first", second = "second";
  std::vector<VlenRef> refs = {Ref(first), Ref(second), {}};
  RequireOk(chunk.AdoptContents(refs));
  first = "xxxxx";
  CHECK(Text(refs[0]) == "first");
  CHECK(Text(refs[1]) == "second");
  CHECK(refs[2].size_bytes == 0);
  CHECK(chunk.heap_bytes == chunk.data.heap_bytes());
}

TEST_CASE("compaction keeps live content only and leaves the old chunk alone") {
  CachedChunk chunk;
  chunk.data.elems = Value(Buffer::Allocate(sizeof(VlenRef)));
  auto* elem = reinterpret_cast<VlenRef*>(chunk.data.elems.data());
  std::string last;
  for (int i = 0; i < 10000 && !chunk.wants_compaction(); ++i) {
    last = "content number " + std::to_string(i);
    *elem = Ref(last);
    RequireOk(chunk.AdoptContents({elem, 1}));
  }
  REQUIRE(chunk.wants_compaction());
  const auto compacted = Value(chunk.Compacted());
  CHECK(compacted->heap_bytes < 10000);
  CHECK(Text(*reinterpret_cast<VlenRef*>(compacted->data.elems.data())) == last);
  CHECK(Text(*elem) == last);
  CHECK_FALSE(compacted->wants_compaction());
}

}  // namespace h5zarr::zarr::test
