// What an open array makes of objects, and of its document, that another process replaces meanwhile.
#include <cerrno>

#include "unit/zarr/array_fixture.h"

namespace h5zarr::zarr::test {
namespace {

using Values = std::vector<uint16_t>;

Status Read(Fixture& f, uint64_t start, uint64_t count, Values* values) {
  return TryReadBox(*f.array, {start}, {count}, values);
}

Values Read(Fixture& f, uint64_t start, uint64_t count) { return ReadBox<uint16_t>(*f.array, {start}, {count}); }

// What another process does to the array.
void WriteElsewhere(Fixture& f, uint64_t start, const Values& values) {
  auto other = Value(Array::Open(&f.store, "a", f.metadata, f.options));
  WriteBox(*other, {start}, {values.size()}, values);
  RequireOk(other->Flush());
}

// 40 elements in 2 objects.
ArrayMetadata Plain() { return Metadata({40}, {20}, DType::Uint(2), {Gzip()}); }
// Too large for a shard that is read at once.
ArrayMetadata Shards() { return Metadata({40'000}, {20'000}, DType::Uint(2), {Sharded({1000}, {Gzip()})}); }

void PutDocument(Fixture& f, const ArrayMetadata& metadata) {
  f.store.Put("a/zarr.json", Value(FormatArray(metadata)).document);
}

// An array whose document is stored, and elements: their own indices.
void Store(Fixture& f) {
  PutDocument(f, f.metadata);
  WriteBox(*f.array, {0}, {f.metadata.shape[0]}, Iota<uint16_t>(f.metadata.shape[0]));
  f.Open();
  f.array->DocumentStored(f.store.StateNow("a/zarr.json")->generation);
}

bool Says(const Status& status, std::string_view text) { return status.message().find(text) != std::string::npos; }

}  // namespace

TEST_CASE("a cached chunk is read anew once its object has been replaced") {
  for (const bool sharded : {false, true}) {
    Fixture f(sharded ? Shards() : Plain());
    WriteElsewhere(f, 0, Values(f.metadata.shape[0], 1));
    CHECK(Read(f, 3, 2) == Values(2, 1));
    WriteElsewhere(f, 0, Values(f.metadata.shape[0], 2));
    CHECK(Read(f, 3, 2) == Values(2, 2));  // by the short way
    WriteElsewhere(f, 0, Values(f.metadata.shape[0], 3));
    CHECK(Read(f, 1, 30) == Values(30, 3));  // and along with others
    Read(f, 3, 2);
    f.store.ResetCounts();
    CHECK(Read(f, 3, 2) == Values(2, 3));
    CHECK(f.store.batches == 0);  // what nobody replaced is cached
  }
}

TEST_CASE("an object is asked for once a read, however many of its chunks are cached") {
  Fixture f(Shards());
  WriteElsewhere(f, 0, Iota<uint16_t>(40'000));
  for (uint64_t start = 5; start < 20'000; start += 1000) Read(f, start, 1);
  f.store.ResetCounts();
  CHECK(Read(f, 5, 19'900) == Iota<uint16_t>(19'900, 5));
  CHECK(f.store.batches == 0);
  CHECK(f.store.states == 1);
}

TEST_CASE("a chunk that was read in the moment it was written is not trusted later") {
  Fixture f(Plain());
  WriteElsewhere(f, 0, Iota<uint16_t>(40));
  f.store.settled = false;
  Read(f, 3, 2);
  f.store.ResetCounts();
  CHECK(Read(f, 3, 2) == Iota<uint16_t>(2, 3));
  CHECK(f.store.batches == 1);
  f.store.settled = true;
  Read(f, 3, 2);
  f.store.ResetCounts();
  Read(f, 3, 2);
  CHECK(f.store.batches == 0);
}

TEST_CASE("a store that cannot tell keeps its cached chunks, and is asked for no document") {
  Fixture f(Plain());
  f.store.tells_states = false;
  Store(f);
  f.store.ResetCounts();
  Read(f, 3, 2);
  Read(f, 3, 2);
  CHECK(f.store.batches == 1);
  CHECK(f.store.whole_reads == 0);
}

TEST_CASE("chunks of a shard that are read together are of one state of it") {
  Fixture f(Shards());
  WriteElsewhere(f, 0, Values(40'000, 1));
  CHECK(Read(f, 500, 1) == Values(1, 1));  // one is cached, and the index
  int batch = 0;
  f.store.before_batch = [&](std::span<ReadOp>) {
    if (++batch != 1) return;
    f.store.before_batch = nullptr;
    WriteElsewhere(f, 0, Values(40'000, 2));
  };
  CHECK(Read(f, 0, 19'999) == Values(19'999, 2));
  // The same where the index is not known any more.
  CHECK(Read(f, 500, 1) == Values(1, 2));
  f.store.tells_states = false;
  WriteElsewhere(f, 0, Values(40'000, 3));
  CHECK(Read(f, 0, 19'999) == Values(19'999, 3));
}

TEST_CASE("an inner chunk that was absent is there once another process has written it") {
  Fixture f(Shards());
  WriteElsewhere(f, 0, Values(1000, 1));
  CHECK(Read(f, 5000, 2) == Values(2, 0));
  WriteElsewhere(f, 5000, Values(1000, 2));
  CHECK(Read(f, 5000, 2) == Values(2, 2));
}

TEST_CASE("elements that are not stored yet stay, whatever others do to their chunk") {
  Fixture f(Plain());
  WriteElsewhere(f, 0, Values(40, 1));
  WriteBox<uint16_t>(*f.array, {3}, {1}, {7});
  WriteElsewhere(f, 0, Values(40, 2));
  CHECK(Read(f, 3, 1) == Values{7});
  RequireOk(f.array->Flush());
  f.Open();
  CHECK(Read(f, 3, 1) == Values{7});
}

TEST_CASE("what others wrote since a chunk was read survives a change of it") {
  Fixture f(Plain());
  WriteElsewhere(f, 0, Values(40, 1));
  for (const bool short_way : {false, true}) {
    Read(f, 3, 1);
    WriteElsewhere(f, 10, {8});
    if (short_way) {
      WriteBox<uint16_t>(*f.array, {3}, {1}, {7});
    } else {
      WriteBox<uint16_t>(*f.array, {3}, {20}, Values(20, 7));
    }
    RequireOk(f.array->Flush());
    f.Open();
    CHECK(Read(f, 10, 1) == Values{static_cast<uint16_t>(short_way ? 8 : 7)});
    CHECK(Read(f, 3, 1) == Values{7});
    CHECK(Read(f, 0, 1) == Values{1});
  }
}

TEST_CASE("chunks of an array that was replaced by another are not read as the old one's") {
  struct Change {
    const char* says;
    std::function<void(ArrayMetadata*)> make;
  };
  const Change changes[] = {
      {"data type \"int16\" (little endian), was \"uint16\" (little endian)",
       [](auto* a) { a->dtype = DType::Int(2); }},
      {"data type \"uint16\" (big endian)", [](auto* a) { a->dtype.endian = Endian::kBig; }},
      {"chunk shape [10], was [20]", [](auto* a) { a->chunk_shape = {10}; }},
      {"codecs [], was [{\"name\":\"gzip\"", [](auto* a) { a->codecs.clear(); }},
      {"fill value 9, was 0", [](auto* a) { a->fill.bytes[0] = std::byte{9}; }},
      {"chunk key encoding default with '.', was default with '/'", [](auto* a) { a->key_encoding.separator = '.'; }},
      {"shape [8,5], was [40]",
       [](auto* a) {
         a->shape = {8, 5}, a->chunk_shape = {4, 5};
       }},
  };
  for (const Change& change : changes) {
    Fixture f(Plain());
    Store(f);
    ArrayMetadata other = f.metadata;
    change.make(&other);
    PutDocument(f, other);
    Values values;
    const Status status = Read(f, 3, 2, &values);
    INFO(status.message());
    CHECK(status.code() == StatusCode::kChanged);
    CHECK(Says(status, "was replaced while it was open: a/zarr.json: "));
    CHECK(Says(status, change.says));
    CHECK(Says(status, "array 'a' of counting:"));
    const int objects = f.store.Count();
    CHECK(TryWriteBox<uint16_t>(*f.array, {0}, {40}, Values(40, 9)).code() == StatusCode::kChanged);
    CHECK(f.array->ReadStoredChunk(std::vector<uint64_t>{0}).status().code() == StatusCode::kChanged);
    CHECK(f.store.Count() == objects);
    PutDocument(f, f.metadata);  // replaced by itself
    CHECK(Read(f, 3, 2) == Iota<uint16_t>(2, 3));
  }
}

TEST_CASE("a group or rubbish in the place of an array is named, a removed array too") {
  Fixture f(Plain());
  Store(f);
  Values values;
  f.store.Put("a/zarr.json", R"({"zarr_format": 3, "node_type": "group"})");
  Status status = Read(f, 3, 2, &values);
  CHECK((status.code() == StatusCode::kChanged && Says(status, "a/zarr.json: it is a group now")));
  f.store.Put("a/zarr.json", "{");
  status = Read(f, 3, 2, &values);
  CHECK((status.code() == StatusCode::kChanged && Says(status, "a/zarr.json")));
  CHECK(Value(f.store.Delete("a/zarr.json")));
  status = Read(f, 3, 2, &values);
  CHECK((status.errno_value() == ENOENT && Says(status, "a/zarr.json has been removed")));
}

TEST_CASE("another process may change an array's attributes and let it grow") {
  Fixture f(Plain());
  Store(f);
  ArrayMetadata other = f.metadata;
  other.attributes["x"] = 1;
  other.shape = {60};
  PutDocument(f, other);
  f.store.ResetCounts();
  CHECK(Read(f, 3, 2) == Iota<uint16_t>(2, 3));
  CHECK(Read(f, 23, 2) == Iota<uint16_t>(2, 23));
  CHECK(f.store.whole_reads == 1);  // of the document, once
}

TEST_CASE("elements that a shrunk array has lost are an error and not fill") {
  Fixture f(Plain());
  Store(f);
  ArrayMetadata other = f.metadata;
  other.shape = {20};
  PutDocument(f, other);
  CHECK(Value(f.store.Delete("a/c/1")));
  CHECK(Read(f, 3, 2) == Iota<uint16_t>(2, 3));
  Values values;
  const Status status = Read(f, 3, 30, &values);
  CHECK(status.code() == StatusCode::kChanged);
  CHECK(Says(status, "has shrunk while it was open: a/zarr.json: shape [20], was [40]"));
  other.shape = {50};
  PutDocument(f, other);
  CHECK(Read(f, 23, 2) == Values(2, 0));
}

TEST_CASE("an array that has grown here is not taken for one that shrank elsewhere") {
  Fixture f(Plain());
  Store(f);
  RequireOk(f.array->Resize(std::vector<uint64_t>{60}));
  ArrayMetadata other = f.metadata;  // still of 40 elements
  other.attributes["x"] = 1;
  PutDocument(f, other);
  CHECK(Read(f, 38, 4) == Values{38, 39, 0, 0});
}

}  // namespace h5zarr::zarr::test
