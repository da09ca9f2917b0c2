#include "zarr/shard.h"

#include "unit/zarr/array_fixture.h"

namespace h5zarr::zarr::test {
namespace {

ArrayMetadata ShardedMetadata(const std::string& location = "end") {
  return Metadata({20}, {20}, DType::Uint(2), {Sharded({5}, {Gzip()}, location)});
}

}  // namespace

TEST_CASE("a partial shard write keeps its neighbours") {
  for (const char* location : {"start", "end"}) {
    Fixture f(ShardedMetadata(location));
    WriteBox(*f.array, {0}, {20}, Iota<uint16_t>(20, 1));
    f.Open();
    f.store.ResetCounts();
    WriteBox<uint16_t>(*f.array, {6}, {2}, {100, 101});
    RequireOk(f.array->Flush());
    CHECK(f.store.writes == 1);
    CHECK(f.store.locks == 1);
    f.Open();
    auto expected = Iota<uint16_t>(20, 1);
    expected[6] = 100, expected[7] = 101;
    CHECK(ReadBox<uint16_t>(*f.array, {0}, {20}) == expected);
  }
}

TEST_CASE("all dirty inner chunks of a shard go out in one write") {
  Fixture f(ShardedMetadata());
  WriteBox<uint16_t>(*f.array, {1}, {1}, {1});
  WriteBox<uint16_t>(*f.array, {6}, {1}, {2});
  WriteBox<uint16_t>(*f.array, {11}, {1}, {3});
  RequireOk(f.array->Flush());
  CHECK(f.store.writes == 1);
}

TEST_CASE("a shard left without inner chunks is deleted") {
  Fixture f(ShardedMetadata());
  WriteBox<uint16_t>(*f.array, {1}, {1}, {1});
  RequireOk(f.array->Flush());
  CHECK(f.store.Has("a/c/0"));
  WriteBox<uint16_t>(*f.array, {1}, {1}, {0});
  RequireOk(f.array->Flush());
  CHECK_FALSE(f.store.Has("a/c/0"));
  WriteBox(*f.array, {0}, {20}, std::vector<uint16_t>(20, 0));
  CHECK(f.store.Count() == 0);
}

TEST_CASE("a partial write to a truncated shard fails and leaves its bytes") {
  Fixture f(ShardedMetadata());
  WriteBox(*f.array, {0}, {20}, Iota<uint16_t>(20, 1));
  f.Open();
  const std::string truncated = f.store.Bytes("a/c/0").substr(0, 30);
  f.store.Put("a/c/0", truncated);
  // Covers an inner chunk, so that nothing is read before the flush.
  WriteBox<uint16_t>(*f.array, {5}, {5}, {1, 2, 3, 4, 5});
  CHECK(f.array->Flush().code() == StatusCode::kCorrupt);
  CHECK(f.array->dirty());
  CHECK(f.store.Bytes("a/c/0") == truncated);
  CHECK(TryWriteBox<uint16_t>(*f.array, {1}, {1}, {1}).code() == StatusCode::kCorrupt);
  CHECK(f.store.Bytes("a/c/0") == truncated);
}

TEST_CASE("a whole shard write heals a truncated shard") {
  Fixture f(ShardedMetadata());
  f.store.Put("a/c/0", "short");
  WriteBox(*f.array, {0}, {20}, Iota<uint16_t>(20, 1));
  CHECK(f.store.reads == 0);
  CHECK(ReadBox<uint16_t>(*f.array, {0}, {20}) == Iota<uint16_t>(20, 1));
}

TEST_CASE("two writers of different inner chunks do not undo each other") {
  Fixture f(ShardedMetadata());
  WriteBox(*f.array, {0}, {20}, std::vector<uint16_t>(20, 9));
  auto other = Value(Array::Open(&f.store, "a", f.metadata, f.options));
  WriteBox<uint16_t>(*f.array, {1}, {1}, {1});
  WriteBox<uint16_t>(*other, {11}, {1}, {2});
  RequireOk(f.array->Flush());
  RequireOk(other->Flush());
  f.Open();
  const auto values = ReadBox<uint16_t>(*f.array, {0}, {20});
  CHECK(values[1] == 1);
  CHECK(values[11] == 2);
  CHECK(values[19] == 9);
}

TEST_CASE("a shard is exactly as large as what it holds") {
  Fixture f(Metadata({20}, {20}, DType::Uint(2), {Sharded({5})}));
  WriteBox(*f.array, {0}, {20}, Iota<uint16_t>(20, 1));
  CHECK(f.store.Bytes("a/c/0").size() == 40 + 4 * 16 + 4);
  std::vector<uint16_t> half(20, 0);
  half[12] = 1;
  WriteBox(*f.array, {0}, {20}, half);
  CHECK(f.store.Bytes("a/c/0").size() == 10 + 4 * 16 + 4);
}

TEST_CASE("a flipped bit in an index is an error") {
  Fixture f(ShardedMetadata());
  WriteBox(*f.array, {0}, {20}, Iota<uint16_t>(20, 1));
  f.Open();
  std::string shard = f.store.Bytes("a/c/0");
  shard[shard.size() - 20] ^= 1;
  f.store.Put("a/c/0", shard);
  std::vector<uint16_t> values;
  const Status status = TryReadBox(*f.array, {0}, {20}, &values);
  CHECK(status.code() == StatusCode::kCorrupt);
  CHECK(status.message().find("a/c/0") != std::string::npos);
}

TEST_CASE("an index that fits another size of inner chunk is an error") {
  Fixture f(Metadata({8}, {8}, DType::Uint(2), {Sharded({4}, {}, "end", {{"bytes", Json()}})}));
  WriteBox(*f.array, {0}, {8}, Iota<uint16_t>(8, 1));
  std::string shard = f.store.Bytes("a/c/0");
  shard[16 + 8] = 7;  // the first length: 7 of 8 bytes
  f.store.Put("a/c/0", shard);
  f.Open();
  std::vector<uint16_t> values;
  CHECK(TryReadBox(*f.array, {0}, {8}, &values).code() == StatusCode::kCorrupt);
}

TEST_CASE("a shard of zarr-python is read") {
  // zarr-python 3.1.6: shape (4,) uint16, shards (4,), chunks (2,), no compressor, fill 0; [1, 2,
  // 0, 0].
  std::string shard("\x01\x00\x02\x00", 4);
  shard += std::string("\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00", 16);
  shard += std::string(16, '\xff');
  shard += "\x8a\x07\x29\xc5";
  Fixture f(Metadata({4}, {4}, DType::Uint(2), {Sharded({2})}));
  f.store.Put("a/c/0", shard);
  CHECK(ReadBox<uint16_t>(*f.array, {0}, {4}) == std::vector<uint16_t>{1, 2, 0, 0});
  f.store.Put("a/c/0", "");
  WriteBox<uint16_t>(*f.array, {0}, {4}, {1, 2, 0, 0});
  CHECK(f.store.Bytes("a/c/0") == shard);
}

}  // namespace h5zarr::zarr::test
