// What every Store promises of reads.
#include <algorithm>
#include <atomic>
#include <random>
#include <stdexcept>

#include "conformance/store/test_stores.h"

namespace h5zarr {
namespace {

std::string Letters(std::size_t count_bytes) {
  std::string text(count_bytes, ' ');
  for (std::size_t i = 0; i < count_bytes; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 97) % 26);
  return text;
}

MutableByteSpan Into(std::string& text) {
  return MutableByteSpan(reinterpret_cast<std::byte*>(text.data()), text.size());
}

TEST_CASE("store: what was written is read back", "[store]") {
  EachStore store;
  store.Put("a/b/c", "old");
  store.Put("a/b/c", "newer");
  CHECK(store.Get("a/b/c") == "newer");
  store.Put("empty", "");
  CHECK(store.Get("empty") == "");
}

TEST_CASE("store: it says whether it is a folder of this machine", "[store]") {
  EachStore store;
  CHECK(store->is_local_folder() == (store.kind() != "memory"));
}

TEST_CASE("store: absence is a value, not an error", "[store]") {
  EachStore store;
  CHECK(store.Get("a") == std::nullopt);
  store.Put("a/b", "x");
  CHECK(store.Get("a") == std::nullopt);      // a prefix is no object
  CHECK(store.Get("a/b/c") == std::nullopt);  // nor is anything below an object
  CHECK(*store->ObjectBytes("a") == std::nullopt);
  CHECK(*store->ObjectBytes("a/b") == 1u);
}

TEST_CASE("store: a name too long to exist is absent", "[store]") {
  EachStore store;
  const std::string name(300, 'n');
  store.Put("a", "x");
  CHECK(store.Get(name) == std::nullopt);
  CHECK(store.Get(name + "/zarr.json") == std::nullopt);
  CHECK(*store->ObjectBytes(name) == std::nullopt);
  CHECK(store->List(name)->empty());
}

TEST_CASE("store: malformed keys are refused by every operation", "[store]") {
  EachStore store;
  for (const std::string key : {"/a", "a/", "a//b", ".", "..", "a/../b", "a/./b"}) {
    INFO(key);
    const auto refused = [](const Status& status) { return status.code() == StatusCode::kInvalidArgument; };
    CHECK(refused(store->Read(key).status()));
    CHECK(refused(store->Write(key, {})));
    CHECK(refused(store->Delete(key).status()));
    CHECK(refused(store->DeletePrefix(key)));
    CHECK(refused(store->RenamePrefix(key, "b")));
    CHECK(refused(store->RenamePrefix("b", key)));
    CHECK(refused(store->ObjectBytes(key).status()));
    CHECK(refused(store->List(key).status()));
    CHECK(refused(store->Walk(key, [](std::string_view, uint64_t) { return OkStatus(); })));
    CHECK(refused(store->Lock(key, 1).status()));
    CHECK(refused(ReadAll(*store, {Op(key, ByteRange::Whole())}).status));
  }
}

TEST_CASE("store: a batch delivers whole objects, spans and suffixes", "[store]") {
  EachStore store;
  store.Put("k", "0123456789");
  std::string target(4, '?');
  const Delivered got =
      ReadAll(*store, {Op("k", ByteRange::Whole()), Op("k", ByteRange::Span(2, 3)), Op("k", ByteRange::Suffix(4)),
                       Op("gone", ByteRange::Whole()), Op("k", ByteRange::Span(6, 4), Into(target)),
                       Op("k", ByteRange::Span(10, 0))});
  INFO(got.status.message());
  REQUIRE(got.status.ok());
  CHECK(got.calls == 6);
  CHECK(got.texts.at(0) == "0123456789");
  CHECK(got.texts.at(1) == "234");
  CHECK(got.texts.at(2) == "6789");
  CHECK(got.texts.at(3) == std::nullopt);
  CHECK(got.texts.at(4) == "6789");
  CHECK(target == "6789");
  CHECK(got.texts.at(5) == "");
  CHECK(got.object_bytes.at(1) == 10);
  CHECK(got.object_bytes.at(3) == 0);
}

TEST_CASE("store: every op of a large mixed batch gets its own bytes, once", "[store]") {
  EachStore store;
  std::mt19937 random(3);
  std::vector<std::string> objects;
  for (int k = 0; k < 5; ++k) {
    objects.push_back(Letters(300'000 + random() % 1000));
    store.Put("c/" + std::to_string(k), objects.back());
  }
  std::vector<std::string> targets(5000);
  std::vector<std::string> expected;
  std::vector<ReadOp> ops;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::size_t k = random() % 6;
    const uint64_t length = random() % (i % 50 == 0 ? 200'000 : 300);
    const uint64_t offset = random() % (300'000 - length);
    targets[i].resize(i % 2 == 0 ? length : 0);
    ops.push_back(Op("c/" + std::to_string(k), ByteRange::Span(offset, length), Into(targets[i])));
    ops.back().sink_cost_ns = static_cast<double>(random() % 20'000);
    expected.push_back(k < 5 ? objects[k].substr(offset, length) : "absent");
  }
  Executor executor(4);
  const Delivered got = ReadAll(*store, ops, executor);
  INFO(got.status.message());
  REQUIRE(got.status.ok());
  CHECK(got.calls == ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (got.texts.at(i).value_or("absent") != expected[i]) FAIL("op " << i << " got other bytes");
    if (!targets[i].empty() && got.texts.at(i) && targets[i] != expected[i]) {
      FAIL("op " << i << " has other bytes in its target");
    }
  }
}

TEST_CASE("store: a very large target is filled whole and delivered once", "[store]") {
  EachStore store;
  const std::string object = Letters((13 << 20) + 77);
  store.Put("raw", object);
  std::string whole(object.size(), '?');
  std::string part(object.size() - 1000, '?');
  const Delivered got = ReadAll(
      *store, {Op("raw", ByteRange::Whole(), Into(whole)), Op("raw", ByteRange::Span(500, part.size()), Into(part))});
  REQUIRE(got.status.ok());
  CHECK(got.calls == 2);
  CHECK((whole == object));
  CHECK((part == object.substr(500, part.size())));
  std::string absent(20 << 20, '?');
  const Delivered none = ReadAll(*store, {Op("none", ByteRange::Whole(), Into(absent))});
  CHECK(none.status.ok());
  CHECK(none.calls == 1);
}

TEST_CASE("store: an object shorter than its range is corrupt, and named", "[store]") {
  EachStore store;
  store.Put("k", "0123456789");
  std::string target(11, '?');
  for (const ReadOp& op :
       {Op("k", ByteRange::Span(5, 6)), Op("k", ByteRange::Span(11, 0)), Op("k", ByteRange::Suffix(11)),
        Op("k", ByteRange::Whole(), Into(target)), Op("k", ByteRange::Span(1ull << 62, 1ull << 61)),
        Op("k", ByteRange::Span(0, 11), Into(target))}) {
    const Delivered got = ReadAll(*store, {op});
    CHECK(got.status.code() == StatusCode::kCorrupt);
    CHECK(got.status.message().find("k'") != std::string::npos);
    CHECK(got.status.message().find("10") != std::string::npos);
    CHECK(got.calls == 0);
  }
}

TEST_CASE("store: one short range among good ones fails the batch", "[store]") {
  EachStore store;
  store.Put("k", "0123456789");
  const Delivered got =
      ReadAll(*store, {Op("k", ByteRange::Span(0, 2)), Op("k", ByteRange::Span(4, 2)), Op("k", ByteRange::Span(8, 3))});
  CHECK(got.status.code() == StatusCode::kCorrupt);
}

TEST_CASE("store: ranges beyond any object and targets of another size are refused", "[store]") {
  EachStore store;
  store.Put("k", "0123456789");
  std::string target(3, '?');
  for (const ReadOp& op : {Op("k", ByteRange::Span(UINT64_MAX, 2)), Op("k", ByteRange::Span(2, UINT64_MAX)),
                           Op("k", ByteRange::Suffix(UINT64_MAX)), Op("k", ByteRange::Span(0, 4), Into(target)),
                           Op("k", ByteRange::Suffix(2), Into(target))}) {
    CHECK(ReadAll(*store, {op}).status.code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("store: an unchanged object has the same generation, a replaced one another", "[store]") {
  EachStore store;
  store.Put("k", "one");
  Generation first;
  REQUIRE(store->Read("k", &first).ok());
  CHECK(first.known());
  const Delivered same = ReadAll(*store, {Op("k", ByteRange::Whole())});
  CHECK(same.generations.at(0) == first);
  store.Put("k", "two");
  Generation second;
  REQUIRE(store->Read("k", &second).ok());
  CHECK_FALSE(first == second);
  Generation none = first;
  REQUIRE(store->Read("absent", &none).ok());
  CHECK_FALSE(none.known());
}

TEST_CASE("store: an object's state is told as reads find it", "[store]") {
  EachStore store;
  store.Put("k/l", "one");
  Generation generation;
  REQUIRE(store->Read("k/l", &generation).ok());
  const auto state = store->StateNow("k/l");
  REQUIRE(state.has_value());
  CHECK(state->generation == generation);
  store.Put("k/l", "two");
  CHECK(store->StateNow("k/l")->generation != generation);
  for (const char* absent : {"k", "absent", "k/l/m"}) {
    const auto none = store->StateNow(absent);
    REQUIRE(none.has_value());
    CHECK_FALSE(none->generation.known());
  }
}

TEST_CASE("store: a read that expects another state fails as changed", "[store]") {
  EachStore store;
  store.Put("k", "one");
  Generation generation;
  REQUIRE(store->Read("k", &generation).ok());
  ReadOp op = Op("k", ByteRange::Span(0, 3));
  op.expected = generation;
  CHECK(ReadAll(*store, {op}).status.ok());
  store.Put("k", "two");
  CHECK(ReadAll(*store, {op}).status.code() == StatusCode::kChanged);
  REQUIRE(*store->Delete("k"));
  CHECK(ReadAll(*store, {op}).status.code() == StatusCode::kChanged);
}

TEST_CASE("store: a sink's failure or exception ends the batch", "[store]") {
  EachStore store;
  for (int k = 0; k < 200; ++k) store.Put(std::to_string(k), "x");
  std::vector<ReadOp> ops;
  for (int k = 0; k < 200; ++k) ops.push_back(Op(std::to_string(k), ByteRange::Whole()));
  for (const double cost_ns : {0.0, 1e6}) {
    for (ReadOp& op : ops) op.sink_cost_ns = cost_ns;
    Executor executor(2);
    std::atomic<int> calls{0};
    const Status failed = store->ReadBatch(
        ops,
        [&](std::size_t index, const ReadResult&) {
          ++calls;
          return index == 3 ? CorruptError("bad chunk") : OkStatus();
        },
        executor);
    CHECK(failed.message() == "bad chunk");
    CHECK(calls < 200);
    const Status thrown = store->ReadBatch(
        ops, [](std::size_t, const ReadResult&) -> Status { throw std::runtime_error("thrown"); }, executor);
    CHECK(thrown.code() == StatusCode::kInternal);
  }
}

TEST_CASE("store: an empty batch is done", "[store]") {
  EachStore store;
  CHECK(ReadAll(*store, {}).status.ok());
}

}  // namespace
}  // namespace h5zarr
