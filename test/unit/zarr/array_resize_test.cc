#include "unit/zarr/array_fixture.h"

namespace h5zarr::zarr::test {
namespace {

void Resize(Array& array, std::vector<uint64_t> shape) { RequireOk(array.Resize(shape)); }

}  // namespace

TEST_CASE("what was cut off reads as fill after growing again") {
  for (const bool sharded : {false, true}) {
    Fixture f(Metadata({10}, {4}, DType::Uint(2),
                       sharded ? std::vector<CodecSpec>{Sharded({2}, {Gzip()})} : std::vector<CodecSpec>{Gzip()}));
    WriteBox(*f.array, {0}, {10}, Iota<uint16_t>(10, 1));
    Resize(*f.array, {5});
    CHECK_FALSE(f.store.Has("a/c/2"));
    Resize(*f.array, {12});
    const std::vector<uint16_t> expected = {1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0};
    CHECK(ReadBox<uint16_t>(*f.array, {0}, {12}) == expected);
    f.Reopen();
    CHECK(ReadBox<uint16_t>(*f.array, {0}, {12}) == expected);
  }
}

TEST_CASE("dirty chunks follow a resize") {
  Fixture f(Metadata({4, 4}, {2, 2}));
  WriteBox<uint16_t>(*f.array, {0, 0}, {1, 1}, {1});
  WriteBox<uint16_t>(*f.array, {2, 1}, {1, 1}, {2});
  WriteBox<uint16_t>(*f.array, {3, 3}, {1, 1}, {3});
  Resize(*f.array, {3, 9});
  Resize(*f.array, {4, 4});
  CHECK(ReadBox<uint16_t>(*f.array, {0, 0}, {4, 4}) ==
        std::vector<uint16_t>{1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("growing clears what another writer left beyond the extent") {
  for (const bool sharded : {false, true}) {
    Fixture f(
        Metadata({8}, {8}, DType::Uint(2), sharded ? std::vector<CodecSpec>{Sharded({2})} : std::vector<CodecSpec>{}));
    WriteBox(*f.array, {0}, {8}, Iota<uint16_t>(8, 1));
    // As zarr-python shrinks: the metadata only.
    f.metadata.shape = {3};
    f.Open();
    Resize(*f.array, {8});
    CHECK(ReadBox<uint16_t>(*f.array, {0}, {8}) == std::vector<uint16_t>{1, 2, 3, 0, 0, 0, 0, 0});
  }
}

TEST_CASE("appending looks at the edge once, not at every step") {
  Fixture f(Metadata({0}, {1000}, DType::Uint(2), {Gzip()}));
  for (uint64_t at = 0; at < 500; ++at) {
    Resize(*f.array, {at + 1});
    WriteBox<uint16_t>(*f.array, {at}, {1}, {static_cast<uint16_t>(at)});
  }
  CHECK(f.store.reads <= 1);
  CHECK(f.store.writes <= 1);
  CHECK(ReadBox<uint16_t>(*f.array, {0}, {500}) == Iota<uint16_t>(500));
}

TEST_CASE("a shrinking grid of millions of chunks costs what is stored") {
  Fixture f(Metadata({220'000'000, 10}, {1, 5}));
  WriteBox<uint16_t>(*f.array, {0, 0}, {1, 1}, {1});
  WriteBox<uint16_t>(*f.array, {200'000'000, 7}, {1, 1}, {2});
  RequireOk(f.array->Flush());
  f.store.ResetCounts();
  Resize(*f.array, {1000, 10});
  CHECK(f.store.walks == 1);
  CHECK(f.store.deletes == 1);
  CHECK(f.store.Count() == 1);
}

TEST_CASE("cutting off few chunks does not list the store") {
  Fixture f(Metadata({1000, 10}, {1, 5}));
  WriteBox<uint16_t>(*f.array, {999, 0}, {1, 1}, {1});
  RequireOk(f.array->Flush());
  f.store.ResetCounts();
  Resize(*f.array, {999, 10});
  CHECK(f.store.walks == 0);
  CHECK(f.store.Count() == 0);
}

TEST_CASE("a boundary chunk that is clean already is not rewritten") {
  Fixture f(Metadata({10}, {10}));
  WriteBox<uint16_t>(*f.array, {0}, {2}, {1, 2});
  RequireOk(f.array->Flush());
  f.store.ResetCounts();
  Resize(*f.array, {5});
  CHECK(f.store.writes == 0);
}

TEST_CASE("a resize that fails leaves the shape") {
  Fixture f(Metadata({10}, {4}));
  WriteBox(*f.array, {0}, {10}, Iota<uint16_t>(10, 1));
  f.store.fail = [](std::string_view operation, std::string_view) {
    return operation == "read" ? PermissionDeniedError("no") : OkStatus();
  };
  const uint64_t shape[] = {5};
  CHECK(f.array->Resize(shape).code() == StatusCode::kPermissionDenied);
  f.store.fail = nullptr;
  CHECK(ReadBox<uint16_t>(*f.array, {0}, {10}) == Iota<uint16_t>(10, 1));
  const uint64_t other_rank[] = {5, 5};
  CHECK(f.array->Resize(other_rank).code() == StatusCode::kInvalidArgument);
}

TEST_CASE("shrinking to nothing deletes every chunk") {
  Fixture f(Metadata({10, 3}, {4, 2}));
  WriteBox(*f.array, {0, 0}, {10, 3}, Iota<uint16_t>(30, 1));
  Resize(*f.array, {0, 3});
  CHECK(f.store.Count() == 0);
  Resize(*f.array, {2, 3});
  CHECK(ReadBox<uint16_t>(*f.array, {0, 0}, {2, 3}) == std::vector<uint16_t>(6, 0));
}

}  // namespace h5zarr::zarr::test
