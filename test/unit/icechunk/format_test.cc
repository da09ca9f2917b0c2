// The files of the format: identifiers, envelope, snapshots, manifests, transaction logs; there and
// back, and from bytes that mean harm.
#include <filesystem>
#include <random>
#include <set>

#include "catch.h"
#include "icechunk/content_hash.h"
#include "icechunk/envelope.h"
#include "icechunk/manifest.h"
#include "icechunk/message_pack.h"
#include "icechunk/snapshot.h"
#include "icechunk/transaction.h"
#include "unit/store/temp_directory.h"

namespace h5zarr::icechunk {
namespace {

std::filesystem::path GoldenRepository() { return std::filesystem::path(H5ZARR_GOLDEN) / "icechunk/repo.icechunk"; }

NodeId NodeNumber(uint8_t number) {
  NodeId id;
  id.bytes[7] = number;
  return id;
}

Snapshot TwoNodes() {
  Snapshot snapshot;
  snapshot.parent = kFirstSnapshot;
  snapshot.flushed_at_us = 1'700'000'000'000'000;
  snapshot.message = "a version";
  snapshot.metadata = {{"empty", ""}, {"long", std::string(70'000, 'x')}, {"name", "v1"}};
  Node root;
  root.id = NodeNumber(1);
  root.path = "/";
  root.document = "{}";
  Node array;
  array.id = NodeNumber(2);
  array.path = "/a";
  array.document = "{\"zarr_format\": 3}";
  array.is_array = true;
  array.dimensions = {{10, 4, "y"}, {uint64_t{1} << 40, 1, std::nullopt}};
  array.manifests = {{kFirstSnapshot, {{0, 3}, {5, 9}}}};
  snapshot.nodes = {root, array};
  snapshot.manifests = {{kFirstSnapshot, 1234, 7}};
  return snapshot;
}

TEST_CASE("an identifier's name is read back, and no other name is") {
  CHECK(ToText(kFirstSnapshot) == "1CECHNKREP0F1RSTCMT0");
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    ObjectId id;
    for (uint8_t& byte : id.bytes) byte = static_cast<uint8_t>(random());
    const Result<ObjectId> back = ParseObjectId(ToText(id));
    REQUIRE(back.ok());
    CHECK(*back == id);
  }
  for (const char* name : {"", "1CECHNKREP0F1RSTCMT", "1CECHNKREP0F1RSTCMT00", "1cechnkrep0f1rstcmt0",
                           "1CECHNKREP0F1RSTCMT1", "../../../../etc/pass", "UUUUUUUUUUUUUUUUUUUU"}) {
    CHECK(ParseObjectId(name).status().code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("SHA-256 is what others compute") {
  const Result<ContentHash> hash = HashOf(AsBytes("abc"));
  REQUIRE(hash.ok());
  CHECK((*hash)[0] == 0xba);
  CHECK((*hash)[1] == 0x78);
  CHECK((*hash)[31] == 0xad);
}

TEST_CASE("texts in MessagePack are read back, other values are none") {
  for (const std::size_t bytes : {0, 1, 31, 32, 255, 256, 65'535, 65'536}) {
    const std::string text(bytes, 'q');
    CHECK(TextFromMessagePack(TextToMessagePack(text)) == text);
  }
  for (const std::vector<uint8_t>& value :
       {std::vector<uint8_t>{}, {0x01}, {0xa3, 'a', 'b'}, {0xa1, 'a', 'b'}, {0xd9}, {0xdb, 0xff, 0xff, 0xff, 0xff}}) {
    CHECK(!TextFromMessagePack(value).has_value());
  }
}

TEST_CASE("a snapshot is read back") {
  Snapshot snapshot = TwoNodes();
  const Result<Buffer> file = EncodeSnapshot(&snapshot);
  REQUIRE(file.ok());
  const Result<Snapshot> back = DecodeSnapshot("s", *file);
  INFO(back.status().message());
  REQUIRE(back.ok());
  CHECK(back->id == snapshot.id);
  CHECK(back->parent == snapshot.parent);
  CHECK(back->flushed_at_us == snapshot.flushed_at_us);
  CHECK(back->message == snapshot.message);
  CHECK(back->metadata == snapshot.metadata);
  REQUIRE(back->nodes.size() == 2);
  CHECK(!back->nodes[0].is_array);
  const Node& array = back->nodes[1];
  CHECK(array.document == snapshot.nodes[1].document);
  REQUIRE(array.dimensions.size() == 2);
  CHECK(array.dimensions[1].array_elems == uint64_t{1} << 40);
  CHECK(array.dimensions[0].name == "y");
  CHECK(!array.dimensions[1].name.has_value());
  REQUIRE(array.manifests.size() == 1);
  CHECK(array.manifests[0].extents == std::vector<IndexRange>{{0, 3}, {5, 9}});
  REQUIRE(back->manifests.size() == 1);
  CHECK(back->manifests[0].bytes == 1234);
  CHECK(back->manifests[0].chunks == 7);
}

TEST_CASE("equal snapshots have one identifier, others have others") {
  Snapshot first = TwoNodes();
  Snapshot same = TwoNodes();
  Snapshot other = TwoNodes();
  other.nodes[1].document += " ";
  REQUIRE(EncodeSnapshot(&first).ok());
  REQUIRE(EncodeSnapshot(&same).ok());
  REQUIRE(EncodeSnapshot(&other).ok());
  CHECK(first.id == same.id);
  CHECK(first.id != other.id);
}

TEST_CASE("nodes out of order, and paths that are none, are refused") {
  Snapshot swapped = TwoNodes();
  std::swap(swapped.nodes[0], swapped.nodes[1]);
  CHECK(DecodeSnapshot("s", *EncodeSnapshot(&swapped)).status().code() == StatusCode::kCorrupt);
  for (const char* path : {"", "a", "//", "/a/", "/a//b", "/../a", "/a/."}) {
    Snapshot bad = TwoNodes();
    bad.nodes[1].path = path;
    CHECK(DecodeSnapshot("s", *EncodeSnapshot(&bad)).status().code() == StatusCode::kCorrupt);
  }
  Snapshot flat = TwoNodes();
  flat.nodes[1].manifests[0].extents.pop_back();
  CHECK(DecodeSnapshot("s", *EncodeSnapshot(&flat)).status().code() == StatusCode::kCorrupt);
}

TEST_CASE("every chunk of a manifest is found, and no other") {
  std::vector<NewChunk> chunks;
  for (uint32_t i = 0; i < 40; i += 2) {
    for (uint32_t j = 0; j < 5; ++j) chunks.push_back({{i, j}, kFirstSnapshot, i * 100, j});
  }
  const Result<EncodedManifest> encoded = EncodeManifest(NodeNumber(9), chunks);
  REQUIRE(encoded.ok());
  const Result<Manifest> manifest = Manifest::Decode("m", encoded->file);
  REQUIRE(manifest.ok());
  for (uint32_t i = 0; i < 42; ++i) {
    for (uint32_t j = 0; j < 6; ++j) {
      const auto place = manifest->Find(NodeNumber(9), std::vector<uint32_t>{i, j});
      REQUIRE(place.has_value() == (i % 2 == 0 && i < 40 && j < 5));
      if (!place) continue;
      CHECK(place->offset == i * 100);
      CHECK(place->length == j);
    }
  }
  CHECK(!manifest->Find(NodeNumber(9), std::vector<uint32_t>{0}).has_value());
  CHECK(!manifest->Find(NodeNumber(8), std::vector<uint32_t>{0, 0}).has_value());
}

TEST_CASE("chunks out of order, and ends beyond all offsets, are refused") {
  const auto decode = [](const std::vector<NewChunk>& chunks) {
    return Manifest::Decode("m", EncodeManifest(NodeNumber(1), chunks)->file).status().code();
  };
  CHECK(decode({{{1}, kFirstSnapshot, 0, 1}, {{0}, kFirstSnapshot, 0, 1}}) == StatusCode::kCorrupt);
  CHECK(decode({{{1}, kFirstSnapshot, 0, 1}, {{1}, kFirstSnapshot, 0, 1}}) == StatusCode::kCorrupt);
  CHECK(decode({{{1}, kFirstSnapshot, UINT64_MAX, 1}}) == StatusCode::kCorrupt);
}

TEST_CASE("a transaction log is read back") {
  Transaction transaction;
  transaction.new_groups = {NodeNumber(1)};
  transaction.new_arrays = {NodeNumber(2), NodeNumber(3)};
  transaction.deleted_arrays = {NodeNumber(4)};
  transaction.updated_arrays = {NodeNumber(5)};
  transaction.updated_chunks[NodeNumber(5)] = {{0, 1}, {2, 0}};
  const Result<Buffer> file = EncodeTransaction(kFirstSnapshot, transaction);
  REQUIRE(file.ok());
  const Result<Transaction> back = DecodeTransaction("t", *file);
  REQUIRE(back.ok());
  CHECK(back->new_groups == transaction.new_groups);
  CHECK(back->new_arrays == transaction.new_arrays);
  CHECK(back->deleted_groups.empty());
  CHECK(back->deleted_arrays == transaction.deleted_arrays);
  CHECK(back->updated_arrays == transaction.updated_arrays);
  CHECK(back->updated_chunks == transaction.updated_chunks);
}

TEST_CASE("an envelope of another type, version or compression is refused") {
  const Result<Buffer> good = MakeEnvelope(FileType::kManifest, AsBytes("payload"));
  REQUIRE(good.ok());
  CHECK(OpenEnvelope("k", *good, FileType::kManifest).ok());
  CHECK(OpenEnvelope("k", *good, FileType::kSnapshot).status().code() == StatusCode::kCorrupt);
  const auto changed = [&](std::size_t at, int value) {
    Buffer copy = *Buffer::CopyOf(*good);
    copy.data()[at] = static_cast<std::byte>(value);
    return OpenEnvelope("k", copy, FileType::kManifest).status().code();
  };
  CHECK(changed(0, 'J') == StatusCode::kCorrupt);
  CHECK(changed(36, 3) == StatusCode::kUnsupported);
  CHECK(changed(38, 2) == StatusCode::kUnsupported);
  for (std::size_t bytes = 0; bytes < good->size_bytes(); ++bytes) {
    CHECK(OpenEnvelope("k", good->span().first(bytes), FileType::kManifest).status().code() == StatusCode::kCorrupt);
  }
}

// What decoding accepts must also be safe to use.
void UseAll(FileType type, ByteSpan file) {
  if (type == FileType::kSnapshot) {
    static_cast<void>(DecodeSnapshot("s", file));
  } else if (type == FileType::kTransactionLog) {
    static_cast<void>(DecodeTransaction("t", file));
  } else {
    const Result<Manifest> manifest = Manifest::Decode("m", file);
    if (!manifest.ok()) return;
    static_cast<void>(manifest->Find(NodeNumber(1), std::vector<uint32_t>{0, 0}));
    static_cast<void>(manifest->ForEach(NodeNumber(1), [](auto, const auto&) { return OkStatus(); }));
  }
}

TEST_CASE("hostile FlatBuffers are refused or harmless") {
  // Changed behind the compression, where a changed byte is not noticed before the verifier.
  const struct {
    const char* folder;
    FileType type;
  } kinds[] = {{"snapshots", FileType::kSnapshot},
               {"manifests", FileType::kManifest},
               {"transactions", FileType::kTransactionLog}};
  std::mt19937 random(11);
  for (const auto& kind : kinds) {
    for (const auto& entry : std::filesystem::directory_iterator(GoldenRepository() / kind.folder)) {
      const std::string file = GetFile(entry.path());
      const Result<Payload> payload = OpenEnvelope("k", AsBytes(file), kind.type);
      REQUIRE(payload.ok());
      for (int round = 0; round < 300; ++round) {
        std::vector<uint8_t> bytes = payload->bytes;
        for (unsigned changes = random() % 4; changes-- > 0;) {
          // Mostly small and extreme numbers: offsets and lengths.
          const uint8_t values[] = {0, 1, 4, 0x7f, 0x80, 0xff, static_cast<uint8_t>(random())};
          bytes[random() % bytes.size()] = values[random() % std::size(values)];
        }
        if (random() % 4 == 0) bytes.resize(random() % bytes.size());
        const ByteSpan span(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
        UseAll(kind.type, *MakeEnvelope(kind.type, span));
      }
    }
  }
}

}  // namespace
}  // namespace h5zarr::icechunk
