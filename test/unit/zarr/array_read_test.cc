#include <unistd.h>

#include "store/local_store.h"
#include "unit/zarr/array_fixture.h"

namespace h5zarr::zarr::test {

TEST_CASE("who returns to a large chunk without codecs soon reads it from the cache") {
  Fixture f(Metadata({200'000}, {100'000}));
  WriteBox(*f.array, {0}, {200'000}, Iota<uint16_t>(200'000, 1));
  f.Open();
  f.store.ResetCounts();
  for (int round = 0; round < 50; ++round) {
    CHECK(ReadBox<uint16_t>(*f.array, {100}, {3}) == std::vector<uint16_t>{101, 102, 103});
  }
  CHECK(f.store.batches > 1);  // at first only what is asked for
  CHECK(f.store.batches < 20);
  f.store.ResetCounts();
  CHECK(ReadBox<uint16_t>(*f.array, {150'000}, {1})[0] == static_cast<uint16_t>(150'001));
  CHECK(f.store.read_bytes < 1000);
}

TEST_CASE("a chunk that is read whole again and again is kept") {
  for (const bool compressed : {false, true}) {
    std::vector<CodecSpec> codecs;
    if (compressed) codecs.push_back(Gzip());
    Fixture f(Metadata({20'000}, {10'000}, DType::Uint(2), codecs));
    WriteBox(*f.array, {0}, {20'000}, Iota<uint16_t>(20'000, 1));
    f.Open();
    f.store.ResetCounts();
    for (int round = 0; round < 10; ++round) {
      CHECK(ReadBox<uint16_t>(*f.array, {10'000}, {10'000}) == Iota<uint16_t>(10'000, 10'001));
    }
    CHECK(f.store.batches == 2);
  }
}

TEST_CASE("a few chunks that are read whole again and again are kept where the store tells of changes") {
  for (const bool compressed : {false, true}) {
    std::vector<CodecSpec> codecs;
    if (compressed) codecs.push_back(Gzip());
    Fixture f(Metadata({10'000}, {1'000}, DType::Uint(2), codecs));
    WriteBox(*f.array, {0}, {10'000}, Iota<uint16_t>(10'000, 1));
    f.store.Put("a/zarr.json", "");
    f.Open();
    const auto read_often = [&] {
      f.store.ResetCounts();
      for (int round = 0; round < 10; ++round) {
        CHECK(ReadBox<uint16_t>(*f.array, {0}, {10'000}) == Iota<uint16_t>(10'000, 1));
      }
    };
    read_often();
    CHECK(f.store.batches == 10);
    f.array->DocumentStored(f.store.StateNow("a/zarr.json")->generation);
    read_often();
    CHECK(f.store.batches == 2);
    // One of them is another now.
    f.store.Put("a/c/3", f.store.Bytes("a/c/4"));
    std::vector<uint16_t> expected = Iota<uint16_t>(10'000, 1);
    std::copy_n(expected.begin() + 4'000, 1'000, expected.begin() + 3'000);
    CHECK(ReadBox<uint16_t>(*f.array, {0}, {10'000}) == expected);
  }
}

TEST_CASE("many small chunks are not kept by who reads all of them again") {
  Fixture f(Metadata({10'000}, {100}));
  WriteBox(*f.array, {0}, {10'000}, Iota<uint16_t>(10'000, 1));
  f.store.Put("a/zarr.json", "");
  f.Open();
  f.array->DocumentStored(f.store.StateNow("a/zarr.json")->generation);
  f.store.ResetCounts();
  for (int round = 0; round < 4; ++round) ReadBox<uint16_t>(*f.array, {0}, {10'000});
  CHECK(f.store.batches == 4);
}

// Two chunks of 8 planes of 64 KiB, which do not compress.
struct Planes : Fixture {
  explicit Planes(const CodecSpec& codec, std::vector<uint64_t> chunk_shape = {8, 256, 128})
      : Fixture(Metadata({16, 256, 128}, std::move(chunk_shape), DType::Uint(2), {codec})) {
    std::vector<uint16_t> values(16 * 256 * 128);
    uint32_t state = 1;
    for (uint16_t& value : values) {
      state = state * 1664525 + 1013904223;
      value = static_cast<uint16_t>(state >> 16);
    }
    WriteBox(*array, {0, 0, 0}, {16, 256, 128}, values);
    Open();
  }
  std::vector<uint16_t> Plane(uint64_t plane) { return ReadBox<uint16_t>(*array, {plane, 0, 0}, {1, 256, 128}); }
  // From the byte on that is the `share`-th part.
  void DamageLast(const std::string& key, double share) {
    std::string bytes = store.Bytes(key);
    const auto size = static_cast<double>(bytes.size());
    for (auto i = static_cast<std::size_t>(size * share); i < bytes.size(); ++i) bytes[i] ^= 0x5a;
    store.Put(key, bytes);
  }
};

TEST_CASE("who wants the front of a large chunk decodes that much of it, and who returns all of it") {
  // LZ4 blocks, of which blosc's are by default, have nothing that tells of damage.
  for (const auto& [name, notices] :
       {std::pair{"gzip", true}, {"zstd", true}, {"numcodecs.lz4", false}, {"blosc", false}}) {
    INFO(name);
    Planes f({name, Json::object()});
    const std::vector<uint16_t> plane = f.Plane(8);
    f.Open();
    f.DamageLast("a/c/1/0/0", 0.5);
    CHECK(f.Plane(8) == plane);
    std::vector<uint16_t> again;
    const Status status = TryReadBox(*f.array, {8, 0, 0}, {1, 256, 128}, &again);
    CHECK(status.code() == (notices ? StatusCode::kCorrupt : StatusCode::kOk));
  }
}

TEST_CASE("of a large inner chunk whose front is wanted little more than that is read") {
  for (const char* name : {"gzip", "zstd", "numcodecs.lz4"}) {
    INFO(name);
    Planes f(Sharded({16, 256, 128}, {{name, Json::object()}}), {16, 256, 128});
    f.store.ResetCounts();
    const std::vector<uint16_t> plane = f.Plane(0);
    CHECK(f.store.read_bytes < 350'000);  // of a million
    const std::vector<uint16_t> all = ReadBox<uint16_t>(*f.array, {0, 0, 0}, {16, 256, 128});
    CHECK(plane == std::vector<uint16_t>(all.begin(), all.begin() + 256 * 128));
  }
}

TEST_CASE("a front that compresses worse than the rest is read again with the rest") {
  for (const char* name : {"gzip", "zstd", "numcodecs.lz4"}) {
    INFO(name);
    Fixture f(Metadata({1 << 22}, {1 << 22}, DType::Uint(1), {Sharded({1 << 22}, {{name, Json::object()}})}));
    std::vector<uint8_t> values(1 << 22);
    uint32_t state = 1;
    for (std::size_t i = 0; i < 1 << 18; ++i) {
      state = state * 1664525 + 1013904223;
      values[i] = static_cast<uint8_t>(state >> 24);
    }
    WriteBox(*f.array, {0}, {1 << 22}, values);
    f.Open();
    f.store.ResetCounts();
    const auto front = ReadBox<uint8_t>(*f.array, {5}, {100'000});
    CHECK(front == std::vector<uint8_t>(values.begin() + 5, values.begin() + 100'005));
    CHECK(f.store.reads == 3);  // index, front, all
    CHECK(f.store.read_bytes < 400'000);
  }
}

TEST_CASE("a chunk that goes while all of it is fetched after its front reads as fill") {
  const ArrayMetadata metadata =
      Metadata({1 << 23}, {1 << 23}, DType::Uint(1), {Sharded({1 << 22}, {{"zstd", Json::object()}})});
  std::vector<uint8_t> values(1 << 22);
  uint32_t state = 1;
  for (std::size_t i = 0; i < 1 << 18; ++i) {
    state = state * 1664525 + 1013904223;
    values[i] = static_cast<uint8_t>(state >> 24);
  }
  Fixture f(metadata), without(metadata);
  WriteBox(*f.array, {0}, {1 << 22}, values);
  RequireOk(f.array->Flush());
  WriteBox(*without.array, {1 << 22}, {1 << 22}, values);
  RequireOk(without.array->Flush());
  f.Open();
  int batches = 0;
  f.store.before_batch = [&](std::span<ReadOp>) {  // index, front, all
    if (++batches == 3) f.store.Put("a/c/0", without.store.Bytes("a/c/0"));
  };
  CHECK(ReadBox<uint8_t>(*f.array, {0}, {100'000}) == std::vector<uint8_t>(100'000));
  CHECK(batches == 4);  // and the index that is there now
}

TEST_CASE("who reads plane after plane of large chunks fetches each chunk twice") {
  Planes f({"zstd", Json::object()});
  f.store.ResetCounts();
  for (uint64_t plane = 0; plane < 16; ++plane) f.Plane(plane);
  CHECK(f.store.reads == 4);
}

TEST_CASE("rows in the middle of a large blosc chunk decode by themselves") {
  Planes f({"blosc", Json{{"blocksize", 32768}}});
  const std::vector<uint16_t> rows = ReadBox<uint16_t>(*f.array, {5, 3, 0}, {1, 4, 128});
  f.Open();
  f.DamageLast("a/c/0/0/0", 0.9);
  CHECK(ReadBox<uint16_t>(*f.array, {5, 3, 0}, {1, 4, 128}) == rows);
}

TEST_CASE("an element of a small chunk is decoded with the whole of it") {
  Fixture f(Metadata({100'000}, {100'000}, DType::Uint(2), {{"zstd", Json::object()}}));
  WriteBox(*f.array, {0}, {100'000}, Iota<uint16_t>(100'000));
  f.Open();
  f.store.ResetCounts();
  for (uint64_t i = 0; i < 10; ++i) ReadBox<uint16_t>(*f.array, {i}, {1});
  CHECK(f.store.reads == 1);
}

TEST_CASE("absent chunks read as fill") {
  ArrayMetadata metadata = Metadata({5, 7}, {2, 3});
  metadata.fill.bytes = {std::byte{9}, std::byte{0}};
  Fixture f(metadata);
  CHECK(ReadBox<uint16_t>(*f.array, {1, 2}, {3, 4}) == std::vector<uint16_t>(12, 9));
}

TEST_CASE("all chunks of a batch over several arrays are read in one go") {
  Fixture f(Metadata({100'000}, {10'000}, DType::Uint(2), {Gzip()}));
  ArrayMetadata sharded = Metadata({100'000}, {20'000}, DType::Uint(2), {Sharded({5'000}, {Gzip()})});
  auto other = Value(Array::Open(&f.store, "b", sharded, f.options));
  const auto values = Iota<uint16_t>(100'000, 1);
  WriteBox(*f.array, {0}, {100'000}, values);
  WriteBox(*other, {0}, {100'000}, values);
  f.Open();
  other = Value(Array::Open(&f.store, "b", sharded, f.options));
  f.store.ResetCounts();
  std::vector<uint16_t> first(100'000), second(100'000);
  const Selection all = Box({0}, {100'000}, 2);
  ReadRequest requests[] = {{f.array.get(), &all, reinterpret_cast<std::byte*>(first.data()), {}},
                            {other.get(), &all, reinterpret_cast<std::byte*>(second.data()), {}}};
  RequireOk(Array::Read(requests));
  CHECK(first == values);
  CHECK(second == values);
  CHECK(f.store.batches == 2);  // indexes, then data
  CHECK(f.store.reads == 5 + 10 + 20);
}

TEST_CASE("a small shard is read along with its index") {
  for (const bool compressed : {false, true}) {
    std::vector<CodecSpec> codecs;
    if (compressed) codecs.push_back(Gzip());
    for (const char* location : {"start", "end"}) {
      Fixture f(Metadata({2000}, {200}, DType::Uint(2), {Sharded({50}, codecs, location)}));
      WriteBox(*f.array, {0}, {1850}, Iota<uint16_t>(1850, 1));
      RequireOk(f.array->Flush());
      f.Open();
      f.store.ResetCounts();
      auto expected = Iota<uint16_t>(1850, 1);
      expected.resize(2000, 0);
      CHECK(ReadBox<uint16_t>(*f.array, {0}, {2000}) == expected);
      CHECK(f.store.batches == 1);
      CHECK(f.store.reads == 10);
      f.store.ResetCounts();
      CHECK(ReadBox<uint16_t>(*f.array, {75}, {1}) == std::vector<uint16_t>{76});
      CHECK(f.store.reads == 1);  // its index is known by now
    }
  }
}

TEST_CASE("a small shard that is damaged is an error that names it") {
  Fixture f(Metadata({200}, {200}, DType::Uint(2), {Sharded({50}, {Gzip()})}));
  WriteBox(*f.array, {0}, {200}, Iota<uint16_t>(200, 1));
  std::string shard = f.store.Bytes("a/c/0");
  shard[3] = static_cast<char>(~shard[3]);
  f.store.Put("a/c/0", shard);
  f.Open();
  std::vector<uint16_t> values(200);
  const Selection all = Box({0}, {200}, 2);
  ReadRequest request{f.array.get(), &all, reinterpret_cast<std::byte*>(values.data()), {}};
  const Status status = Array::Read({&request, 1});
  CHECK(status.code() == StatusCode::kCorrupt);
  CHECK(status.message().find("c/0, inner chunk 0") != std::string::npos);
}

TEST_CASE("a shard's index is fetched once") {
  Fixture f(Metadata({20'000}, {20'000}, DType::Uint(2), {Sharded({1000}, {Gzip()})}));
  WriteBox(*f.array, {0}, {20'000}, Iota<uint16_t>(20'000, 1));
  f.options.cache_bytes = 0;
  f.Open();
  f.store.ResetCounts();
  for (uint64_t at = 0; at < 20'000; at += 2000) ReadBox<uint16_t>(*f.array, {at}, {10});
  CHECK(f.store.batches == 11);
}

TEST_CASE("element by element readers fetch and decode a chunk once") {
  Fixture f(Metadata({1000}, {100}, DType::Uint(2), {Gzip()}));
  WriteBox(*f.array, {0}, {1000}, Iota<uint16_t>(1000));
  f.Open();
  f.store.ResetCounts();
  for (uint64_t i = 0; i < 1000; ++i) {
    CHECK(ReadBox<uint16_t>(*f.array, {i}, {1}) == std::vector<uint16_t>{static_cast<uint16_t>(i)});
  }
  CHECK(f.store.batches == 10);
}

TEST_CASE("wholly read chunks do not push others out of the cache") {
  Fixture f(Metadata({1000}, {100}, DType::Uint(2), {Gzip()}));
  WriteBox(*f.array, {0}, {1000}, Iota<uint16_t>(1000));
  f.options.cache_bytes = 250;
  f.Open();
  ReadBox<uint16_t>(*f.array, {5}, {1});
  ReadBox<uint16_t>(*f.array, {100}, {900});
  f.store.ResetCounts();
  ReadBox<uint16_t>(*f.array, {6}, {1});
  CHECK(f.store.batches == 0);
}

TEST_CASE("only the rows wanted of a large chunk without codecs are read") {
  const uint64_t rows = 64, row = 4096;
  Fixture f(Metadata({rows, row}, {rows, row}));
  WriteBox(*f.array, {0, 0}, {rows, row}, Iota<uint16_t>(rows * row));
  f.Open();
  f.store.ResetCounts();
  CHECK(ReadBox<uint16_t>(*f.array, {7, 0}, {2, row}) == Iota<uint16_t>(2 * row, 7 * row));
  CHECK(f.store.reads == 1);
  CHECK(f.store.read_bytes == 2 * row * 2);
  f.store.ResetCounts();
  ReadBox<uint16_t>(*f.array, {7, 100}, {1, 2000});
  CHECK(f.store.read_bytes == 4000);
}

TEST_CASE("short rows of a large chunk without codecs are read together") {
  const uint64_t rows = 4096, row = 64;
  Fixture f(Metadata({rows, row}, {rows, row}));
  WriteBox(*f.array, {0, 0}, {rows, row}, Iota<uint16_t>(rows * row));
  f.Open();
  f.store.ResetCounts();
  const auto column = ReadBox<uint16_t>(*f.array, {0, 3}, {rows, 1});
  for (uint64_t i = 0; i < rows; ++i) CHECK(column[i] == static_cast<uint16_t>(i * row + 3));
  CHECK(f.store.reads == 2);
}

TEST_CASE("a column of a chunk without codecs is picked from ranges that a core's cache holds") {
  const uint64_t rows = 10'000, row = 300;
  Fixture f(Metadata({rows, row}, {rows, row}));
  WriteBox(*f.array, {0, 0}, {rows, row}, Iota<uint16_t>(rows * row));
  f.Open();
  uint64_t longest_bytes = 0, all_bytes = 0;
  f.store.before_batch = [&](std::span<ReadOp> ops) {
    for (const ReadOp& op : ops) {
      longest_bytes = std::max(longest_bytes, op.range.length);
      all_bytes += op.range.length;
    }
  };
  const auto column = ReadBox<uint16_t>(*f.array, {1, 3}, {rows - 1, 2});
  for (uint64_t i = 1; i < rows; ++i) {
    CHECK(column[2 * i - 2] == static_cast<uint16_t>(i * row + 3));
    CHECK(column[2 * i - 1] == static_cast<uint16_t>(i * row + 4));
  }
  CHECK(longest_bytes <= 256 << 10);
  CHECK(all_bytes <= rows * row * 2);
}

TEST_CASE("planes across the chunks of a shard without codecs are right along every dimension") {
  const uint64_t n = 96, inner = 48;
  Fixture f(Metadata({n, n, n}, {n, n, n}, DType::Uint(2), {Sharded({inner, inner, inner})}));
  WriteBox(*f.array, {0, 0, 0}, {n, n, n}, Iota<uint16_t>(n * n * n));
  for (std::size_t dim = 0; dim < 3; ++dim) {
    std::vector<uint64_t> start(3, 0), count(3, n);
    start[dim] = 50;
    count[dim] = 1;
    f.Open();
    const auto plane = ReadBox<uint16_t>(*f.array, start, count);
    uint64_t wrong = 0, at = 0;
    for (uint64_t i = start[0]; i < start[0] + count[0]; ++i) {
      for (uint64_t j = start[1]; j < start[1] + count[1]; ++j) {
        for (uint64_t k = start[2]; k < start[2] + count[2]; ++k) {
          wrong += plane[at++] != static_cast<uint16_t>((i * n + j) * n + k);
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("small inner chunks that lie as they are wanted are one read") {
  Fixture f(Metadata({40'000}, {20'000}, DType::Uint(2), {Sharded({10})}));
  WriteBox(*f.array, {0}, {40'000}, Iota<uint16_t>(40'000));
  f.Open();
  std::vector<uint64_t> lengths;
  f.store.before_batch = [&](std::span<ReadOp> ops) {
    for (const ReadOp& op : ops) {
      if (op.range.kind == ByteRange::Kind::kSpan) lengths.push_back(op.range.length);
    }
  };
  CHECK(ReadBox<uint16_t>(*f.array, {100}, {30'000}) == Iota<uint16_t>(30'000, 100));
  CHECK(lengths == std::vector<uint64_t>{39'800, 20'200});
}

TEST_CASE("rows of an inner chunk without codecs are found within its shard") {
  const uint64_t row = 40000;
  Fixture f(Metadata({4, row}, {4, row}, DType::Uint(2), {Sharded({2, row})}));
  WriteBox(*f.array, {0, 0}, {4, row}, Iota<uint16_t>(4 * row));
  f.Open();
  f.store.ResetCounts();
  CHECK(ReadBox<uint16_t>(*f.array, {3, 0}, {1, row}) == Iota<uint16_t>(row, 3 * row));
  CHECK(f.store.read_bytes == row * 2 + 2 * 16 + 4);
}

TEST_CASE("a truncated chunk is an error that names it, never fill") {
  for (const bool compressed : {false, true}) {
    Fixture f(Metadata({100000}, {50000}, DType::Uint(2),
                       compressed ? std::vector<CodecSpec>{Gzip()} : std::vector<CodecSpec>{}));
    WriteBox(*f.array, {0}, {100000}, Iota<uint16_t>(100000));
    f.Open();
    std::string bytes = f.store.Bytes("a/c/1");
    bytes.resize(bytes.size() - 1);
    f.store.Put("a/c/1", bytes);
    std::vector<uint16_t> values;
    for (const uint64_t start : {50000u, 60000u}) {
      const Status status = TryReadBox(*f.array, {start}, {100}, &values);
      CHECK(status.code() == StatusCode::kCorrupt);
      CHECK(status.message().find("a/c/1") != std::string::npos);
    }
  }
}

TEST_CASE("a chunk without codecs that is too long is an error") {
  for (const uint64_t count : {10, 3}) {
    Fixture f(Metadata({10}, {10}));
    f.store.Put("a/c/0", std::string(21, 'x'));
    std::vector<uint16_t> values;
    CHECK(TryReadBox(*f.array, {0}, {count}, &values).code() == StatusCode::kCorrupt);
  }
}

TEST_CASE("an empty or short shard is an error, never fill") {
  Fixture f(Metadata({10}, {10}, DType::Uint(2), {Sharded({5})}));
  for (const uint64_t length : {0, 1, 35}) {
    f.store.Put("a/c/0", std::string(length, '\xff'));
    std::vector<uint16_t> values;
    CHECK(TryReadBox(*f.array, {0}, {10}, &values).code() == StatusCode::kCorrupt);
  }
}

TEST_CASE("a shard replaced between index and data is read anew") {
  Fixture f(Metadata({20'000}, {20'000}, DType::Uint(2), {Sharded({1000}, {Gzip()})}));
  WriteBox(*f.array, {0}, {20'000}, std::vector<uint16_t>(20'000, 1));
  const std::string old_shard = f.store.Bytes("a/c/0");
  WriteBox(*f.array, {0}, {20'000}, Iota<uint16_t>(20'000, 500));
  const std::string new_shard = f.store.Bytes("a/c/0");
  REQUIRE(old_shard != new_shard);
  f.store.Put("a/c/0", old_shard);
  f.Open();
  int batch = 0;
  f.store.before_batch = [&](std::span<ReadOp>) {
    if (++batch == 2) f.store.Put("a/c/0", new_shard);
  };
  CHECK(ReadBox<uint16_t>(*f.array, {0}, {20'000}) == Iota<uint16_t>(20'000, 500));
  CHECK(batch == 4);
}

TEST_CASE("an index kept from an earlier read is dropped when the shard has changed") {
  Fixture f(Metadata({100}, {100}, DType::Uint(2), {Sharded({5}, {Gzip()})}));
  f.options.cache_bytes = 0;
  f.Open();
  WriteBox(*f.array, {0}, {100}, std::vector<uint16_t>(100, 1));
  ReadBox<uint16_t>(*f.array, {0}, {3});
  auto other = Value(Array::Open(&f.store, "a", f.metadata, f.options));
  WriteBox(*other, {0}, {100}, Iota<uint16_t>(100, 500));
  CHECK(ReadBox<uint16_t>(*f.array, {50}, {3}) == Iota<uint16_t>(3, 550));
}

TEST_CASE("memory between strided elements stays untouched") {
  Fixture f(Metadata({4, 4}, {4, 4}));
  WriteBox(*f.array, {0, 0}, {4, 4}, Iota<uint16_t>(16));
  std::vector<uint16_t> memory(40, 77);
  const Selection selection = GridSelection{{{0, 2, 2, 1}, {1, 1, 1, 2}}, {-20, 4}};
  ReadRequest request{f.array.get(), &selection, reinterpret_cast<std::byte*>(memory.data() + 20), {}};
  RequireOk(Array::Read({&request, 1}));
  std::vector<uint16_t> expected(40, 77);
  expected[20] = 1, expected[22] = 2, expected[10] = 9, expected[12] = 10;
  CHECK(memory == expected);
}

TEST_CASE("an array of 10^12 elements in chunks of one reads what is asked for") {
  Fixture f(Metadata({1'000'000'000'000}, {1}));
  WriteBox<uint16_t>(*f.array, {999'999'999'999}, {1}, {42});
  f.Reopen();
  CHECK(ReadBox<uint16_t>(*f.array, {999'999'999'998}, {2}) == std::vector<uint16_t>{0, 42});
  CHECK(Value(f.array->ListStoredChunks()).size() == 1);
}

TEST_CASE("a chunk of 8 GiB without codecs is read in part") {
  // A sparse file stands for the chunk.
  const std::string root = std::string("/tmp/h5zarr_array_read_test.") + std::to_string(getpid());
  auto store = MakeLocalStore(root);
  Executor executor(2);
  ArrayOptions options;
  options.executor = &executor;
  const uint64_t side = uint64_t{1} << 16;
  ArrayMetadata metadata = Metadata({side, side}, {side, side});
  auto array = Value(Array::Open(store.get(), "a", metadata, options));
  RequireOk(store->Write("a/c/0/0", {}));
  REQUIRE(truncate((root + "/a/c/0/0").c_str(), static_cast<off_t>(side * side * 2)) == 0);
  CHECK(ReadBox<uint16_t>(*array, {side - 1, 5}, {1, 3}) == std::vector<uint16_t>(3, 0));
  CHECK(ReadBox<uint16_t>(*array, {0, side - 1}, {100, 1}) == std::vector<uint16_t>(100, 0));
  RequireOk(store->DeletePrefix(""));
}

TEST_CASE("text keeps alive what its elements refer to") {
  ArrayMetadata metadata = Metadata({4}, {2}, DType::String(), {{"vlen-utf8", Json()}, Gzip()});
  metadata.fill.bytes = {std::byte{'-'}};
  Fixture f(metadata);
  const std::string words[] = {"alpha", ""};
  const VlenRef refs[] = {{5, reinterpret_cast<const std::byte*>(words[0].data())}, {}};
  const Selection two = Box({0}, {2}, sizeof(VlenRef));
  WriteRequest write{f.array.get(), &two, reinterpret_cast<const std::byte*>(refs)};
  RequireOk(Array::Write({&write, 1}));
  f.Open();
  VlenRef out[4];
  const Selection all = Box({0}, {4}, sizeof(VlenRef));
  ReadRequest read{f.array.get(), &all, reinterpret_cast<std::byte*>(out), {}};
  RequireOk(Array::Read({&read, 1}));
  f.array.reset();
  auto text = [](const VlenRef& ref) { return std::string(reinterpret_cast<const char*>(ref.data), ref.size_bytes); };
  CHECK(text(out[0]) == "alpha");
  CHECK(text(out[1]).empty());
  CHECK(text(out[3]) == "-");
}

TEST_CASE("fill text read from a cached chunk outlives the array") {
  ArrayMetadata metadata = Metadata({4}, {4}, DType::String(), {{"vlen-utf8", Json()}});
  metadata.fill.bytes.assign(100, std::byte{'-'});
  Fixture f(metadata);
  const Selection first = Box({0}, {1}, sizeof(VlenRef));
  const VlenRef empty;
  WriteRequest write{f.array.get(), &first, reinterpret_cast<const std::byte*>(&empty)};
  RequireOk(Array::Write({&write, 1}));
  VlenRef out;
  const Selection last = Box({3}, {1}, sizeof(VlenRef));
  ReadRequest read{f.array.get(), &last, reinterpret_cast<std::byte*>(&out), {}};
  f.store.ResetCounts();
  RequireOk(Array::Read({&read, 1}));
  CHECK(f.store.reads == 0);
  f.array.reset();
  CHECK(std::string(reinterpret_cast<const char*>(out.data), out.size_bytes) == std::string(100, '-'));
}

TEST_CASE("a read much larger than its memory budget is done in slices") {
  Fixture f(Metadata({10000}, {10}, DType::Uint(2), {Gzip()}));
  f.options.memory_bytes = 100;
  f.options.cache_bytes = 1 << 20;
  f.Open();
  WriteBox(*f.array, {0}, {10000}, Iota<uint16_t>(10000));
  f.Open();
  f.store.ResetCounts();
  std::vector<uint16_t> half(5000);
  const Selection odd = GridSelection{{{1, 2, 5000, 1}}, {2}};
  ReadRequest request{f.array.get(), &odd, reinterpret_cast<std::byte*>(half.data()), {}};
  RequireOk(Array::Read({&request, 1}));
  CHECK(half[4999] == 9999);
  CHECK(f.store.batches > 100);
}

}  // namespace h5zarr::zarr::test
