// What every Store promises of listings, removal, moves, locks and concurrency.
#include <algorithm>
#include <atomic>
#include <thread>

#include "conformance/store/test_stores.h"

namespace h5zarr {
namespace {

std::vector<std::string> NamesOf(Store& store, const std::string& prefix) {
  const auto entries = store.List(prefix);
  REQUIRE(entries.ok());
  std::vector<std::string> names;
  for (const ListEntry& entry : *entries) names.push_back(entry.name + (entry.is_prefix ? "/" : ""));
  return names;
}

std::map<std::string, uint64_t> WalkOf(Store& store, const std::string& prefix) {
  std::map<std::string, uint64_t> found;
  REQUIRE(store
              .Walk(prefix,
                    [&](std::string_view key, uint64_t bytes) {
                      found[std::string(key)] = bytes;
                      return OkStatus();
                    })
              .ok());
  return found;
}

TEST_CASE("store: a listing has the names directly below, sorted bytewise", "[store]") {
  EachStore store;
  for (const char* key : {"b", "a/x/1", "a/x/2", "a/y", "a-b/z", "B", "\xc3\xa9", ".zgroup"}) {
    store.Put(key, "1");
  }
  CHECK(NamesOf(*store, "") == std::vector<std::string>{".zgroup", "B", "a/", "a-b/", "b", "\xc3\xa9"});
  CHECK(NamesOf(*store, "a") == std::vector<std::string>{"x/", "y"});
  CHECK(NamesOf(*store, "none").empty());
  CHECK(NamesOf(*store, "b").empty());
}

TEST_CASE("store: a walk visits every object below with its size", "[store]") {
  EachStore store;
  store.Put("a/c/0/1", "four");
  store.Put("a/zarr.json", "{}");
  store.Put("ab", "x");
  CHECK(WalkOf(*store, "a") == std::map<std::string, uint64_t>{{"a/c/0/1", 4}, {"a/zarr.json", 2}});
  CHECK(WalkOf(*store, "").size() == 3);
  CHECK(WalkOf(*store, "none").empty());
}

TEST_CASE("store: objects whose names are made durable together are there at once", "[store]") {
  EachStore store;
  const std::string large((4 << 20) + 1, 'x');
  REQUIRE(store->WriteNamedLater("a/b/k", AsBytes("1")).ok());
  REQUIRE(store->WriteNamedLater("a/b/k", AsBytes("22")).ok());
  REQUIRE(store->WriteNamedLater("a/large", AsBytes(large)).ok());
  CHECK(store.Get("a/b/k") == "22");
  CHECK(store.Get("a/large") == large);
  const std::vector<std::string> prefixes = {"a/b", "a", ""};
  CHECK(store->SyncNames(prefixes).ok());
}

TEST_CASE("store: an object is written where there is none, and over the one that is expected", "[store]") {
  EachStore store;
  Generation first, second, now;
  CHECK(*store->WriteNew("a/k", AsBytes("1"), &first));
  CHECK_FALSE(*store->WriteNew("a/k", AsBytes("2")));
  REQUIRE(store->Read("a/k", &now).ok());
  if (first.known()) CHECK(first == now);
  CHECK(*store->Replace("a/k", AsBytes("33"), now, &second));
  CHECK_FALSE(*store->Replace("a/k", AsBytes("4"), now));
  const Generation before = now;
  const auto there = store->Read("a/k", &now);
  REQUIRE(there.ok());
  CHECK(AsText(**there) == "33");
  CHECK_FALSE(before == now);
  if (second.known()) CHECK(second == now);
  REQUIRE(store->Delete("a/k").ok());
  CHECK_FALSE(*store->Replace("a/k", AsBytes("5"), now));
  CHECK(*store->ObjectBytes("a/k") == std::nullopt);
}

TEST_CASE("store: a failure of the visitor ends the walk", "[store]") {
  EachStore store;
  store.Put("a", "x");
  store.Put("b", "x");
  int visits = 0;
  const Status status = store->Walk("", [&](std::string_view, uint64_t) {
    ++visits;
    return OutOfRangeError("enough");
  });
  CHECK(status.message() == "enough");
  CHECK(visits == 1);
}

TEST_CASE("store: deleting says whether there was an object", "[store]") {
  EachStore store;
  store.Put("a/b", "x");
  CHECK(*store->Delete("a/b"));
  CHECK_FALSE(*store->Delete("a/b"));
  CHECK_FALSE(*store->Delete("a/b/c"));
  store.Put("a/b/c", "x");
  CHECK_FALSE(*store->Delete("a/b"));
  CHECK(store.Get("a/b/c") == "x");
}

TEST_CASE("store: deleting a prefix keeps its neighbours", "[store]") {
  EachStore store;
  for (const char* key : {"a/x/1", "a/x/y/2", "a/x2", "a/x-", "b"}) store.Put(key, "1");
  CHECK(store->DeletePrefix("a/x").ok());
  CHECK(WalkOf(*store, "") == std::map<std::string, uint64_t>{{"a/x2", 1}, {"a/x-", 1}, {"b", 1}});
  CHECK(NamesOf(*store, "a") == std::vector<std::string>{"x-", "x2"});
  CHECK(store->DeletePrefix("a/x").ok());
  CHECK(store->DeletePrefix("b").ok());  // an object is not below itself
  CHECK(store.Get("b") == "1");
}

TEST_CASE("store: deleting the root's prefix empties the store, which can be used again", "[store]") {
  EachStore store;
  CHECK(store->DeletePrefix("").ok());
  store.Put("a/b", "1");
  store.Put("c", "1");
  CHECK(store->DeletePrefix("").ok());
  CHECK(WalkOf(*store, "").empty());
  store.Put("a/b", "2");
  CHECK(store.Get("a/b") == "2");
}

TEST_CASE("store: renaming moves everything below, making parents", "[store]") {
  EachStore store;
  store.Put("a/zarr.json", "{}");
  store.Put("a/c/0", "1");
  store.Put("ab", "x");
  CHECK(store->RenamePrefix("a", "new/place").ok());
  CHECK(WalkOf(*store, "") ==
        std::map<std::string, uint64_t>{{"new/place/zarr.json", 2}, {"new/place/c/0", 1}, {"ab", 1}});
}

TEST_CASE("store: renaming refuses an existing target, a missing source and its own inside", "[store]") {
  EachStore store;
  store.Put("a/x", "1");
  store.Put("b/x", "2");
  store.Put("file", "3");
  CHECK(store->RenamePrefix("a", "b").code() == StatusCode::kAlreadyExists);
  CHECK(store->RenamePrefix("a", "file").code() == StatusCode::kAlreadyExists);
  CHECK(store->RenamePrefix("none", "c").code() == StatusCode::kNotFound);
  CHECK(store->RenamePrefix("file", "c").code() == StatusCode::kNotFound);
  CHECK(store->RenamePrefix("a", "a/b").code() == StatusCode::kInvalidArgument);
  CHECK(store.Get("a/x") == "1");
  CHECK(store.Get("b/x") == "2");
  CHECK(store.Get("file") == "3");
}

TEST_CASE("store: a prefix whose last object was deleted can be renamed onto", "[store]") {
  EachStore store;
  store.Put("a/x", "1");
  store.Put("b/x", "2");
  REQUIRE(*store->Delete("b/x"));
  CHECK(store->RenamePrefix("a", "b").ok());
  CHECK(store.Get("b/x") == "1");
}

TEST_CASE("store: readers of a key that is being replaced see one state, whole", "[store]") {
  EachStore store;
  const std::string states[] = {std::string(50'000, 'a'), std::string(70'000, 'b')};
  store.Put("k", states[0]);
  std::atomic<bool> done{false};
  std::atomic<int> torn{0};
  std::thread reader([&] {
    while (!done) {
      const auto bytes = store->Read("k");
      if (!bytes.ok() || !*bytes) {
        ++torn;
        continue;
      }
      const std::string_view text = AsText((*bytes)->span());
      torn += text != states[0] && text != states[1];
    }
  });
  for (int round = 0; round < 100; ++round) store.Put("k", states[round % 2]);
  done = true;
  reader.join();
  CHECK(torn == 0);
}

TEST_CASE("store: threads may write different keys below new prefixes at once", "[store]") {
  EachStore store;
  std::atomic<int> failures{0};
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string key = "c/" + std::to_string(i) + "/" + std::to_string(t);
        failures += !store->Write(key, AsBytes(key)).ok();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(failures == 0);
  CHECK(WalkOf(*store, "c").size() == 100);
  CHECK(store.Get("c/7/3") == "c/7/3");
}

TEST_CASE("store: no update is lost between threads that hold the lock", "[store]") {
  EachStore store;
  store.Put("zarr.json", "{}");
  store.Put("count", "0");
  std::atomic<int> failures{0};
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        const auto guard = store->Lock("zarr.json", 7);
        failures += !guard.ok();
        const auto bytes = store->Read("count");
        failures += !bytes.ok();
        const int count = std::stoi(std::string(AsText((*bytes)->span())));
        failures += !store->Write("count", AsBytes(std::to_string(count + 1))).ok();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(failures == 0);
  CHECK(store.Get("count") == "100");
}

TEST_CASE("store: locks of other resources and other documents do not wait", "[store]") {
  EachStore store;
  store.Put("a/zarr.json", "{}");
  store.Put("b/zarr.json", "{}");
  // On one thread: this ends only if none of them waits.
  const auto first = store->Lock("a/zarr.json", 0);
  const auto second = store->Lock("a/zarr.json", 1);
  const auto third = store->Lock("a/zarr.json", (1ull << 62) - 1);
  const auto other = store->Lock("b/zarr.json", kWholeArray);
  CHECK(first.ok());
  CHECK(second.ok());
  CHECK(third.ok());
  CHECK(other.ok());
}

TEST_CASE("store: the lock of a whole array waits for those of its parts", "[store]") {
  EachStore store;
  store.Put("zarr.json", "{}");
  auto part = store->Lock("zarr.json", 5);
  REQUIRE(part.ok());
  std::atomic<bool> released{false};
  std::atomic<bool> early{false};
  std::thread writer([&] {
    const auto whole = store->Lock("zarr.json", kWholeArray);
    early = !whole.ok() || !released.load();
  });
  // Gives the other thread every chance to be wrong.
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  released = true;
  part->reset();
  writer.join();
  CHECK_FALSE(early);
}

TEST_CASE("store: without a document there is nothing to lock, and nothing waits", "[store]") {
  EachStore store;
  const auto first = store->Lock("zarr.json", 1);
  const auto second = store->Lock("zarr.json", 1);
  CHECK(first.ok());
  CHECK(second.ok());
}

TEST_CASE("an object written in pieces appears whole, at its commit") {
  EachStore store;
  store.Put("d/k", "old");
  auto writer = store->BeginWrite("d/k");
  REQUIRE(writer.ok());
  for (const char* piece : {"one ", "", "two"}) REQUIRE((*writer)->Append(AsBytes(piece)).ok());
  CHECK(store.Get("d/k") == "old");
  REQUIRE((*writer)->Commit().ok());
  CHECK(store.Get("d/k") == "one two");
}

TEST_CASE("an object written in pieces and given up leaves nothing") {
  EachStore store;
  {
    auto writer = store->BeginWrite("d/k");
    REQUIRE(writer.ok());
    REQUIRE((*writer)->Append(AsBytes("text")).ok());
  }
  CHECK_FALSE(store.Get("d/k").has_value());
  const auto entries = store->List("d");
  REQUIRE(entries.ok());
  CHECK(entries->empty());
}

}  // namespace
}  // namespace h5zarr
