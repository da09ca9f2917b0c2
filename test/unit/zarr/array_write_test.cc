#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "unit/zarr/array_fixture.h"

namespace h5zarr::zarr::test {

TEST_CASE("wholly covered chunks are stored without reading anything") {
  Fixture f(Metadata({10}, {4}, DType::Uint(2), {Gzip()}));
  WriteBox(*f.array, {0}, {10}, Iota<uint16_t>(10, 1));
  CHECK(f.store.reads == 0);
  CHECK(f.store.writes == 3);
  CHECK_FALSE(f.array->dirty());
  f.Reopen();
  CHECK(ReadBox<uint16_t>(*f.array, {0}, {10}) == Iota<uint16_t>(10, 1));
}

TEST_CASE("a partly covered chunk keeps its neighbours and is stored by a flush") {
  Fixture f(Metadata({10}, {10}, DType::Uint(2), {Gzip()}));
  WriteBox(*f.array, {0}, {10}, Iota<uint16_t>(10, 1));
  f.Open();
  f.store.ResetCounts();
  WriteBox<uint16_t>(*f.array, {3}, {2}, {100, 101});
  CHECK(f.store.writes == 0);
  CHECK(f.array->dirty());
  CHECK(ReadBox<uint16_t>(*f.array, {2}, {4}) == std::vector<uint16_t>{3, 100, 101, 6});
  RequireOk(f.array->Flush());
  CHECK(f.store.writes == 1);
  CHECK_FALSE(f.array->dirty());
  f.Open();
  CHECK(ReadBox<uint16_t>(*f.array, {2}, {4}) == std::vector<uint16_t>{3, 100, 101, 6});
}

TEST_CASE("chunks that become nothing but fill are deleted") {
  Fixture f(Metadata({8}, {4}));
  WriteBox(*f.array, {0}, {8}, Iota<uint16_t>(8, 1));
  CHECK(f.store.Count() == 2);
  WriteBox(*f.array, {0}, {4}, std::vector<uint16_t>(4, 0));
  CHECK(f.store.Count() == 1);
  CHECK(ReadBox<uint16_t>(*f.array, {0}, {5}) == std::vector<uint16_t>{0, 0, 0, 0, 5});
}

TEST_CASE("chunks of an array whose fill is undefined are never left out") {
  ArrayMetadata metadata = Metadata({8}, {4});
  metadata.zarr_format = 2;
  metadata.fill.defined = false;
  Fixture f(metadata);
  WriteBox(*f.array, {0}, {8}, std::vector<uint16_t>(8, 0));
  CHECK(f.store.Count() == 2);
}

TEST_CASE("a chunk filled piece by piece is stored when it is complete") {
  Fixture f(Metadata({10, 10}, {5, 10}, DType::Uint(2), {Gzip()}));
  for (uint64_t row = 0; row < 7; ++row) {
    WriteBox(*f.array, {row, 0}, {1, 10}, Iota<uint16_t>(10, 10 * row + 1));
  }
  CHECK(f.store.writes == 1);
  CHECK(f.array->dirty());
}

TEST_CASE("a shard filled chunk by chunk is written once, without reading") {
  Fixture f(Metadata({20}, {20}, DType::Uint(2), {Sharded({5}, {Gzip()})}));
  f.store.ResetCounts();
  for (uint64_t at = 0; at < 20; at += 5) {
    WriteBox(*f.array, {at}, {5}, Iota<uint16_t>(5, at + 1));
  }
  CHECK(f.store.writes == 1);
  CHECK(f.store.reads == 0);
  CHECK(f.store.locks == 0);
  CHECK_FALSE(f.array->dirty());
}

TEST_CASE("a shard as large as the memory setting is written once, row by row") {
  Fixture f(Metadata({64, 64}, {64, 64}, DType::Uint(2), {Sharded({16, 16}, {Gzip()})}));
  f.options.cache_bytes = 100;
  f.options.memory_bytes = 64 * 64 * 2;
  f.Open();
  for (uint64_t row = 0; row < 64; ++row) {
    WriteBox(*f.array, {row, 0}, {1, 64}, Iota<uint16_t>(64, row + 1));
    CHECK(f.store.writes == (row == 63));
  }
  CHECK(f.store.read_bytes == 0);  // there was nothing
}

// The shard that the same elements make where each inner chunk is stored by itself.
std::string ShardOfSingleChunks(const ArrayMetadata& metadata, const std::vector<uint16_t>& values, uint64_t inner) {
  Fixture f(metadata);
  for (uint64_t at = 0; at < values.size(); at += inner) {
    const uint64_t end = std::min(at + inner, values.size());
    WriteBox<uint16_t>(*f.array, {at}, {end - at}, {values.begin() + at, values.begin() + end});
  }
  RequireOk(f.array->Flush());
  return f.store.Bytes("a/c/0");
}

TEST_CASE("inner chunks that are taken together make the same shard as one by one") {
  for (const char* location : {"end", "start"}) {
    for (const uint64_t extent : {32, 30}) {  // the last one is whole, or reaches beyond the array
      const ArrayMetadata metadata = Metadata({extent}, {32}, DType::Uint(2), {Sharded({4}, {}, location)});
      for (const std::set<uint64_t>& fill : std::vector<std::set<uint64_t>>{{}, {0}, {3, 4}, {7}, {0, 2, 7}}) {
        auto values = Iota<uint16_t>(extent, 1);
        for (const uint64_t chunk : fill) {
          for (uint64_t i = chunk * 4; i < std::min(chunk * 4 + 4, extent); ++i) values[i] = 0;
        }
        Fixture f(metadata);
        WriteBox<uint16_t>(*f.array, {0}, {extent}, values);
        CHECK(f.store.writes == 1);
        CHECK(f.store.Bytes("a/c/0") == ShardOfSingleChunks(metadata, values, 4));
        f.Reopen();
        CHECK(ReadBox<uint16_t>(*f.array, {0}, {extent}) == values);
      }
    }
  }
}

TEST_CASE("the hook runs once, before anything is stored") {
  Fixture f(Metadata({10}, {5}));
  int calls = 0;
  f.array->SetBeforeFirstWrite([&]() -> Status {
    CHECK(f.store.writes == 0);
    return ++calls == 1 ? PermissionDeniedError("not yet") : OkStatus();
  });
  CHECK_FALSE(TryWriteBox(*f.array, {0}, {10}, Iota<uint16_t>(10, 1)).ok());
  CHECK(f.store.writes == 0);
  WriteBox(*f.array, {0}, {10}, Iota<uint16_t>(10, 1));
  WriteBox(*f.array, {0}, {10}, Iota<uint16_t>(10, 2));
  CHECK(calls == 2);
}

TEST_CASE("dirty chunks are stored when the cache is over its budget") {
  Fixture f(Metadata({1000}, {100}));
  f.options.cache_bytes = 450;
  f.Open();
  for (uint64_t chunk = 0; chunk < 10; ++chunk) {
    WriteBox<uint16_t>(*f.array, {chunk * 100}, {1}, {5});
  }
  CHECK(f.store.writes >= 6);
  for (uint64_t chunk = 0; chunk < 10; ++chunk) {
    CHECK(ReadBox<uint16_t>(*f.array, {chunk * 100}, {1})[0] == 5);
  }
}

TEST_CASE("what a failed eviction could not store is stored by a later flush") {
  Fixture f(Metadata({1000}, {100}));
  f.options.cache_bytes = 100;
  f.Open();
  f.store.fail = [](std::string_view operation, std::string_view) {
    return operation == "write" ? NoSpaceError("disk full") : OkStatus();
  };
  CHECK(TryWriteBox<uint16_t>(*f.array, {3}, {1}, {7}).code() == StatusCode::kNoSpace);
  CHECK(f.array->Flush().code() == StatusCode::kNoSpace);
  CHECK(f.array->dirty());
  f.store.fail = nullptr;
  RequireOk(f.array->Flush());
  f.Reopen();
  CHECK(ReadBox<uint16_t>(*f.array, {3}, {1})[0] == 7);
}

TEST_CASE("a flush stores what it can when one chunk fails") {
  Fixture f(Metadata({30}, {10}));
  for (uint64_t at : {0, 10, 20}) WriteBox<uint16_t>(*f.array, {at}, {1}, {7});
  f.store.fail = [](std::string_view operation, std::string_view key) {
    return operation == "write" && key == "a/c/0" ? NoSpaceError("disk full") : OkStatus();
  };
  CHECK(f.array->Flush().code() == StatusCode::kNoSpace);
  CHECK(f.store.Count() == 2);
}

TEST_CASE("of overlapping elements the last wins") {
  Fixture f(Metadata({10}, {5}));
  const auto values = Iota<uint16_t>(10, 1);
  const Selection runs = RunSelection{{4, 8, 3}, {0, 0, 4}, {3, 14, 3}};
  WriteRequest request{f.array.get(), &runs, reinterpret_cast<const std::byte*>(values.data())};
  RequireOk(Array::Write({&request, 1}));
  CHECK(ReadBox<uint16_t>(*f.array, {0}, {8}) == std::vector<uint16_t>{1, 2, 3, 8, 9, 10, 7, 0});
}

TEST_CASE("a whole write replaces what was dirty") {
  Fixture f(Metadata({4}, {4}, DType::Uint(2), {Gzip()}));
  WriteBox<uint16_t>(*f.array, {1}, {1}, {99});
  WriteBox<uint16_t>(*f.array, {0}, {4}, {1, 2, 3, 4});
  CHECK_FALSE(f.array->dirty());
  RequireOk(f.array->Flush());
  CHECK(ReadBox<uint16_t>(*f.array, {0}, {4}) == std::vector<uint16_t>{1, 2, 3, 4});
}

TEST_CASE("an array open for reading only refuses to be written") {
  Fixture f(Metadata({4}, {4}));
  f.options.read_only = true;
  f.Open();
  CHECK(TryWriteBox<uint16_t>(*f.array, {0}, {1}, {1}).code() == StatusCode::kPermissionDenied);
  const uint64_t shape[] = {3};
  CHECK(f.array->Resize(shape).code() == StatusCode::kPermissionDenied);
}

TEST_CASE("a stored chunk is passed verbatim") {
  Fixture f(Metadata({8}, {4}, DType::Uint(2), {Gzip()}));
  const uint64_t coords[] = {1};
  const Buffer encoded = Value(f.array->EncodeStoredChunk(AsBytes("abcdefgh")));
  RequireOk(f.array->WriteStoredChunk(coords, encoded.span()));
  CHECK(f.store.Bytes("a/c/1") == AsText(encoded.span()));
  CHECK(AsText(Value(f.array->ReadStoredChunk(coords))->span()) == AsText(encoded.span()));
  CHECK(Value(f.array->StoredChunkBytes(coords)) == encoded.size_bytes());
  CHECK(AsText(Value(f.array->DecodeStoredChunk(encoded.span())).span()) == "abcdefgh");
  CHECK(Value(f.array->StoredBytes()) == encoded.size_bytes());
  const uint64_t outside[] = {2};
  CHECK(f.array->ReadStoredChunk(outside).status().code() == StatusCode::kOutOfRange);
}

TEST_CASE("an array that was moved writes to its new place") {
  Fixture f(Metadata({4}, {4}));
  WriteBox<uint16_t>(*f.array, {0}, {1}, {1});
  f.array->MovedTo(&f.store, "new/place");
  RequireOk(f.array->Flush());
  CHECK(f.store.Has("new/place/c/0"));
  CHECK_FALSE(f.store.Has("a/c/0"));
}

}  // namespace h5zarr::zarr::test
