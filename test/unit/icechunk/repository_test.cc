// Repositories in stores: made, changed and read; and one snapshot shown as a store.
#include "icechunk/repository.h"

#include <cstring>

#include "catch.h"
#include "icechunk/content_hash.h"
#include "icechunk/icechunk_store.h"
#include "store/local_store.h"
#include "store/memory_store.h"
#include "store/traced_store.h"
#include "unit/store/temp_directory.h"

namespace h5zarr::icechunk {
namespace {

NodeId NodeNumber(uint8_t number) {
  NodeId id;
  id.bytes[0] = number;
  return id;
}

std::unique_ptr<Store> Place(const std::string& kind, const TempDirectory& directory) {
  if (kind == "memory") return MakeMemoryStore();
  auto local = MakeLocalStore(directory / "repo");
  return kind == "traced" ? MakeTracedStore(std::move(local)) : std::move(local);
}

Node Group(const std::string& path, uint8_t number) {
  Node node;
  node.id = NodeNumber(number);
  node.path = path;
  node.document = "group " + path;
  return node;
}

// One version: groups "/", "/g", "/g-2", array "/g/a" of 3 chunks in one object.
Snapshot CommitOne(Repository& repository) {
  const ObjectId pack = IdOf(*HashOf(AsBytes("aaBBBc")));
  REQUIRE(repository.store().Write(ChunkKey(pack), AsBytes("aaBBBc")).ok());
  const std::vector<NewChunk> chunks = {{{0, 0}, pack, 0, 2}, {{0, 1}, pack, 2, 3}, {{1, 0}, pack, 5, 1}};
  const auto encoded = EncodeManifest(NodeNumber(4), chunks);
  REQUIRE(encoded.ok());
  Snapshot snapshot;
  snapshot.parent = kFirstSnapshot;
  snapshot.message = "one";
  snapshot.flushed_at_us = 5;
  Node array = Group("/g/a", 4);
  array.is_array = true;
  array.dimensions = {{8, 4, std::nullopt}, {8, 4, std::nullopt}};
  array.manifests = {{encoded->id, {{0, 2}, {0, 2}}}};
  snapshot.nodes = {Group("/", 1), Group("/g", 2), Group("/g-2", 3), array};
  snapshot.manifests = {*repository.WriteManifest(*encoded, chunks.size())};
  Transaction transaction;
  transaction.new_arrays = {NodeNumber(4)};
  const Status written = repository.WriteSnapshot(&snapshot, transaction);
  INFO(written.message());
  REQUIRE(written.ok());
  return snapshot;
}

std::optional<std::string> TextAt(Store& store, const std::string& key) {
  const auto bytes = store.Read(key);
  INFO(bytes.status().message());
  REQUIRE(bytes.ok());
  return *bytes ? std::optional(std::string(AsText(**bytes))) : std::nullopt;
}

TEST_CASE("a repository is made once, and a version is seen when its ref is set") {
  const TempDirectory directory;
  const auto place = Place(GENERATE(as<std::string>(), "memory", "local"), directory);
  CHECK(Repository::Open(place.get()).status().code() == StatusCode::kNotFound);
  auto repository = Repository::OpenOrCreate(place.get());
  INFO(repository.status().message());
  REQUIRE(repository.ok());
  CHECK(*repository->Resolve("") == kFirstSnapshot);
  const Snapshot snapshot = CommitOne(*repository);
  CHECK(*repository->Resolve("") == kFirstSnapshot);
  CHECK(*repository->SetTag("v1", snapshot.id));
  CHECK(*repository->SetBranch("main", snapshot.id));
  CHECK(!*repository->SetTag("v1", snapshot.id));
  CHECK(!*repository->SetBranch("main", snapshot.id));
  const auto again = Repository::OpenOrCreate(place.get());
  REQUIRE(again.ok());
  CHECK(*again->Resolve("") == snapshot.id);
  CHECK(*again->Resolve("v1") == snapshot.id);
  CHECK(*again->Resolve("main") == snapshot.id);
  CHECK(again->Resolve("v2").status().code() == StatusCode::kNotFound);
  CHECK(again->Tags()->size() == 1);
  CHECK(again->Branches()->count("main") == 1);
}

TEST_CASE("a tag never changes, and names are checked") {
  const auto place = MakeMemoryStore();
  auto repository = Repository::OpenOrCreate(place.get());
  const Snapshot snapshot = CommitOne(*repository);
  REQUIRE(repository->SetTag("v", snapshot.id).ok());
  CHECK(repository->SetTag("v", kFirstSnapshot).status().code() == StatusCode::kAlreadyExists);
  REQUIRE(place->Write("refs/tag.old/ref.json.deleted", {}).ok());
  CHECK(repository->SetTag("old", snapshot.id).status().code() == StatusCode::kAlreadyExists);
  for (const char* name : {"", "a/b", "a\nb"}) {
    CHECK(repository->SetTag(name, snapshot.id).status().code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("refs in folders have the names that icechunk gives them, and in buckets their own") {
  const TempDirectory directory;
  const std::string kind = GENERATE(as<std::string>(), "memory", "local", "traced");
  const auto place = Place(kind, directory);
  auto repository = Repository::OpenOrCreate(place.get());
  const Snapshot snapshot = CommitOne(*repository);
  const std::string name = "\xC3\xA9 50% [a]~b";
  REQUIRE(repository->SetTag(name, snapshot.id).ok());
  REQUIRE(repository->SetBranch(name, snapshot.id).ok());
  const std::string folder = kind == "memory" ? name : "%C3%A9 50%25 %5Ba%5D%7Eb";
  CHECK(TextAt(*place, "refs/tag." + folder + "/ref.json"));
  CHECK(TextAt(*place, "refs/branch." + folder + "/ref.json"));
  CHECK(*repository->Resolve("tag:" + name) == snapshot.id);
  CHECK(*repository->Resolve("branch:" + name) == snapshot.id);
  CHECK(repository->Tags()->count(name) == 1);
  CHECK(repository->Branches()->count(name) == 1);
  CHECK(*repository->SetBranch(name, kFirstSnapshot));
  CHECK(*repository->Resolve("branch:" + name) == kFirstSnapshot);
  REQUIRE(repository->DeleteTag(name).ok());
  CHECK(*repository->IsDeletedTag(name));
  CHECK(repository->Tags()->empty());
  CHECK(TextAt(*place, "refs/tag." + folder + "/ref.json.deleted"));
}

TEST_CASE("what stands for another ref is none itself") {
  const TempDirectory directory;
  const auto place = Place("local", directory);
  auto repository = Repository::OpenOrCreate(place.get());
  const Snapshot snapshot = CommitOne(*repository);
  REQUIRE(repository->SetTag("\xC3\xA9", snapshot.id).ok());
  CHECK(!*repository->FindTag("%C3%A9"));
  // A folder that no encoding gives is seen under its own name, so that nothing takes what it leads to for garbage.
  const std::string ref = *TextAt(*place, "refs/tag.%C3%A9/ref.json");
  REQUIRE(place->Write("refs/tag.\xC3\xA8/ref.json", AsBytes(ref)).ok());
  CHECK(repository->Tags()->size() == 2);
  CHECK(*repository->Resolve("\xC3\xA8") == snapshot.id);
}

TEST_CASE("writing what is there writes nothing") {
  const auto place = MakeMemoryStore();
  auto repository = Repository::OpenOrCreate(place.get());
  Snapshot snapshot = CommitOne(*repository);
  Written written;
  REQUIRE(repository->WriteSnapshot(&snapshot, {}, &written).ok());
  CHECK(written.objects == 0);
}

TEST_CASE("a ref that is none, and a snapshot under another's name, are errors") {
  const auto place = MakeMemoryStore();
  auto repository = Repository::OpenOrCreate(place.get());
  const Snapshot snapshot = CommitOne(*repository);
  for (const char* text : {"", "{}", "[]", "{\"snapshot\": 3}", "{\"snapshot\": \"../../x\"}"}) {
    REQUIRE(place->Write("refs/tag.bad/ref.json", AsBytes(text)).ok());
    CHECK(repository->Resolve("bad").status().code() == StatusCode::kCorrupt);
  }
  const auto first = place->Read(SnapshotKey(kFirstSnapshot));
  REQUIRE(place->Write(SnapshotKey(snapshot.id), (*first)->span()).ok());
  CHECK(repository->ReadSnapshot(snapshot.id).status().code() == StatusCode::kCorrupt);
}

TEST_CASE("a snapshot shows as a store") {
  const TempDirectory directory;
  const std::string kind = GENERATE(as<std::string>(), "memory", "local");
  auto place = Place(kind, directory);
  {
    auto repository = Repository::OpenOrCreate(place.get());
    REQUIRE(repository->SetTag("v1", CommitOne(*repository).id).ok());
  }
  auto opened = OpenSnapshot(std::move(place), "v1", "");
  INFO(opened.status().message());
  REQUIRE(opened.ok());
  Store& store = **opened;
  CHECK(store.read_only());

  SECTION("documents and chunks are under their keys") {
    CHECK(TextAt(store, "zarr.json") == "group /");
    CHECK(TextAt(store, "g/a/zarr.json") == "group /g/a");
    CHECK(TextAt(store, "g/a/c/0/1") == "BBB");
    CHECK(TextAt(store, "g/a/c/1/0") == "c");
    CHECK(*store.ObjectBytes("g/a/c/0/1") == 3);
  }
  SECTION("what is not there is absent") {
    for (const char* key : {"g/a/c/1/1", "x/zarr.json", ".zgroup", "g/.zarray", "g/a/.zarray", "x"}) {
      CHECK(!TextAt(store, key).has_value());
    }
  }
  SECTION("a key that no chunk of the array has is an error, never fill") {
    for (const char* key : {"g/a/0/1", "g/a/c/0", "g/a/c/0/1/2", "g/a/c/0.1", "g/a/c.0.1", "g/a/c/-1/0",
                            "g/a/c/0/99999999999", "g/a/c0/1"}) {
      CHECK(store.Read(key).status().code() == StatusCode::kCorrupt);
    }
  }
  SECTION("listings have children, also beside names that sort between a group and its children") {
    const auto names = [&](const std::string& prefix) {
      std::string text;
      const auto entries = store.List(prefix);
      for (const ListEntry& entry : *entries) {
        text += entry.name + (entry.is_prefix ? "/ " : " ");
      }
      return text;
    };
    CHECK(names("") == "g/ g-2/ zarr.json ");
    CHECK(names("g") == "a/ zarr.json ");
    CHECK(names("g/a") == "c/ zarr.json ");
    CHECK(names("nothing").empty());
  }
  SECTION("a walk visits everything below") {
    uint64_t total = 0;
    int objects = 0;
    const auto count = [&](std::string_view, uint64_t bytes) {
      total += bytes;
      ++objects;
      return OkStatus();
    };
    REQUIRE(store.Walk("g/a", count).ok());
    CHECK(objects == 4);
    CHECK(total == 6 + std::strlen("group /g/a"));
    REQUIRE(store.Walk("g/a/c/0", count).ok());
    CHECK(objects == 6);
  }
  SECTION("ranges are of the chunk, not of the object it lies in") {
    char target[2] = {};
    std::vector<ReadOp> ops(3);
    for (ReadOp& op : ops) op.key = "g/a/c/0/1";
    ops[0].range = ByteRange::Span(1, 2);
    ops[0].target = MutableByteSpan(reinterpret_cast<std::byte*>(target), 2);
    ops[1].range = ByteRange::Suffix(1);
    std::vector<std::string> texts(3);
    std::vector<uint64_t> bytes(3);
    Executor executor(2);
    const ReadSink sink = [&](std::size_t i, const ReadResult& result) {
      texts[i] = AsText(*result.bytes);
      bytes[i] = result.object_bytes;
      return OkStatus();
    };
    REQUIRE(store.ReadBatch(ops, sink, executor).ok());
    CHECK(texts == std::vector<std::string>{"BB", "B", "BBB"});
    CHECK(bytes == std::vector<uint64_t>{3, 3, 3});
    CHECK(std::string(target, 2) == "BB");
    for (const ByteRange range : {ByteRange::Span(1, 3), ByteRange::Suffix(4), ByteRange::Span(UINT64_MAX, 2)}) {
      ReadOp beyond;
      beyond.key = "g/a/c/0/1";
      beyond.range = range;
      CHECK(store.ReadBatch({&beyond, 1}, sink, executor).code() == StatusCode::kCorrupt);
    }
  }
  SECTION("nothing is written") {
    CHECK(store.Write("zarr.json", {}).code() == StatusCode::kPermissionDenied);
    CHECK(store.Delete("zarr.json").status().code() == StatusCode::kPermissionDenied);
    CHECK(store.DeletePrefix("g").code() == StatusCode::kPermissionDenied);
    CHECK(store.RenamePrefix("g", "h").code() == StatusCode::kPermissionDenied);
  }
}

TEST_CASE("a node of a snapshot can be the root") {
  auto place = MakeMemoryStore();
  {
    auto repository = Repository::OpenOrCreate(place.get());
    REQUIRE(repository->SetBranch("main", CommitOne(*repository).id).ok());
  }
  auto opened = OpenSnapshot(std::move(place), "", "g");
  REQUIRE(opened.ok());
  CHECK(TextAt(**opened, "zarr.json") == "group /g");
  CHECK(TextAt(**opened, "a/c/0/0") == "aa");
  CHECK(!TextAt(**opened, "g-2/zarr.json").has_value());
}

TEST_CASE("a chunk whose object is gone, or too short, is an error") {
  auto place = MakeMemoryStore();
  Store& inside = *place;
  {
    auto repository = Repository::OpenOrCreate(place.get());
    REQUIRE(repository->SetBranch("main", CommitOne(*repository).id).ok());
  }
  auto opened = OpenSnapshot(std::move(place), "", "");
  REQUIRE(opened.ok());
  const std::string key = ChunkKey(IdOf(*HashOf(AsBytes("aaBBBc"))));
  REQUIRE(inside.Write(key, AsBytes("aaB")).ok());
  CHECK((*opened)->Read("g/a/c/0/1").status().code() == StatusCode::kCorrupt);
  REQUIRE(inside.Delete(key).ok());
  CHECK((*opened)->Read("g/a/c/0/1").status().code() == StatusCode::kCorrupt);
}

}  // namespace
}  // namespace h5zarr::icechunk
