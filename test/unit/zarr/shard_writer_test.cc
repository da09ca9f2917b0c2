#include "zarr/shard_writer.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "unit/zarr/array_fixture.h"

namespace h5zarr::zarr::test {
namespace {

// A chain with shards of eight inner chunks of two bytes.
CodecChain Chain(const std::string& location) {
  FillValue fill;
  fill.defined = true;
  fill.bytes.resize(1);
  return Value(CodecChain::Make(DType::Uint(1), {16}, {Sharded({2}, {}, location)}, fill));
}

// Inner chunk `entry` of bytes 'a' + entry, alone in its group.
EncodedGroup OneChunk(uint64_t entry) {
  EncodedGroup group;
  group.owner = Value(Buffer::Allocate(2));
  std::fill_n(group.owner.data(), 2, static_cast<std::byte>('a' + entry));
  group.bytes = group.owner.span();
  group.chunks = {{entry, 2, 1}};
  return group;
}

struct Written {
  CountingStore store;
  ScratchPool scratch;
  CodecChain chain;
  ShardWriter writer;
  explicit Written(const std::string& location = "end", uint64_t groups = 8, uint64_t max_waiting_bytes = 100)
      : chain(Chain(location)), writer(&store, "k", *chain.sharding(), groups, max_waiting_bytes, &scratch) {}
};

}  // namespace

TEST_CASE("groups that arrive in any order make the same shard") {
  for (const char* location : {"end", "start"}) {
    Written in_order(location), reversed(location);
    for (uint64_t entry = 0; entry < 8; ++entry) {
      RequireOk(in_order.writer.Put(entry, OneChunk(entry)));
      CHECK(in_order.store.Has("k") == (entry == 7));
    }
    for (uint64_t entry = 8; entry-- > 0;) RequireOk(reversed.writer.Put(entry, OneChunk(entry)));
    const std::string shard = in_order.store.Bytes("k");
    CHECK(shard == reversed.store.Bytes("k"));
    CHECK(shard.size() == 16 + 8 * 16 + 4);
    CHECK(shard.find("aabbccddeeffgghh") == (std::string(location) == "end" ? 0 : 8 * 16 + 4));
    const auto index = Value(in_order.chain.sharding()->IndexOf(AsBytes(shard)));
    for (uint64_t entry = 0; entry < 8; ++entry) CHECK(index[entry].length == 2);
  }
}

TEST_CASE("who is ahead of its turn waits while too much waits already") {
  Written w("end", 8, 3);
  RequireOk(w.writer.Put(1, OneChunk(1)));
  RequireOk(w.writer.Put(2, OneChunk(2)));
  std::atomic<bool> returned{false};
  Status outcome;
  EncodedGroup third = OneChunk(3);
  std::thread ahead([&] {
    outcome = w.writer.Put(3, std::move(third));
    returned = true;
  });
  CHECK_FALSE(returned);
  RequireOk(w.writer.Put(0, OneChunk(0)));
  ahead.join();
  RequireOk(outcome);
  for (uint64_t entry = 4; entry < 8; ++entry) RequireOk(w.writer.Put(entry, OneChunk(entry)));
  CHECK(w.store.Bytes("k").substr(0, 16) == "aabbccddeeffgghh");
}

TEST_CASE("a shard that is given up is not stored, and nobody waits for it") {
  Written w("end", 8, 1);
  RequireOk(w.writer.Put(1, OneChunk(1)));
  Status outcome;
  EncodedGroup second = OneChunk(2);
  std::thread ahead([&] { outcome = w.writer.Put(2, std::move(second)); });
  w.writer.Fail(NoSpaceError("no"));
  ahead.join();
  CHECK(outcome.code() == StatusCode::kNoSpace);
  CHECK(w.writer.Put(0, OneChunk(0)).code() == StatusCode::kNoSpace);
  CHECK_FALSE(w.store.Has("k"));
}

TEST_CASE("a shard without inner chunks deletes what was there") {
  Written w;
  w.store.Put("k", "old");
  for (uint64_t group = 0; group < 8; ++group) RequireOk(w.writer.Put(group, EncodedGroup()));
  CHECK_FALSE(w.store.Has("k"));
}

TEST_CASE("a failing store fails the shard") {
  Written w;
  w.store.fail = [](std::string_view operation, std::string_view) {
    return operation == "write" ? NoSpaceError("disk full") : OkStatus();
  };
  for (uint64_t entry = 0; entry < 7; ++entry) RequireOk(w.writer.Put(entry, OneChunk(entry)));
  CHECK(w.writer.Put(7, OneChunk(7)).code() == StatusCode::kNoSpace);
  CHECK(w.writer.failed());
}

TEST_CASE("a large shard goes to the store in groups, with and without codecs") {
  for (const bool compressed : {false, true}) {
    std::vector<CodecSpec> inner;
    if (compressed) inner.push_back(Gzip());
    Fixture f(Metadata({64, 256, 256}, {64, 256, 256}, DType::Uint(2), {Sharded({16, 64, 64}, inner)}));
    auto values = Iota<uint16_t>(uint64_t{64} * 256 * 256);
    std::fill_n(values.begin(), 16 * 256 * 256, uint16_t{0});  // the first inner chunks: fill
    WriteBox(*f.array, {0, 0, 0}, {64, 256, 256}, values);
    CHECK(f.store.writes == 1);
    const std::string first = f.store.Bytes("a/c/0/0/0");
    WriteBox(*f.array, {0, 0, 0}, {64, 256, 256}, values);
    CHECK(f.store.Bytes("a/c/0/0/0") == first);
    f.Reopen();
    CHECK(ReadBox<uint16_t>(*f.array, {0, 0, 0}, {64, 256, 256}) == values);
  }
}

TEST_CASE("one object that fails does not keep the others from being stored") {
  for (const bool sharded : {false, true}) {
    std::vector<CodecSpec> codecs;
    if (sharded) codecs.push_back(Sharded({5}));
    Fixture f(Metadata({30}, {10}, DType::Uint(2), codecs));
    f.store.fail = [](std::string_view operation, std::string_view key) {
      return operation == "write" && key == "a/c/1" ? NoSpaceError("disk full") : OkStatus();
    };
    CHECK(TryWriteBox(*f.array, {0}, {30}, Iota<uint16_t>(30, 1)).code() == StatusCode::kNoSpace);
    CHECK(f.store.Count() == 2);
  }
}

}  // namespace h5zarr::zarr::test
