// Reads and writes in the background, while the caller goes on.
#include <atomic>
#include <memory>
#include <thread>

#include "unit/zarr/array_fixture.h"

namespace h5zarr::zarr::test {
namespace {

struct LaterFixture : Fixture {
  Background background{1 << 20};
  explicit LaterFixture(ArrayMetadata array_metadata) : Fixture(std::move(array_metadata)) {
    options.background = &background;
    Open();
  }
  ~LaterFixture() { array.reset(); }
};

// A box of values that live as long as the job.
struct KeptBox {
  Selection selection;
  std::vector<uint16_t> values;
};

Result<JobPtr> WriteBoxLater(Array& array, uint64_t start, std::vector<uint16_t> values, Array::Report report) {
  auto keep = std::make_shared<KeptBox>();
  keep->selection = Box({start}, {values.size()}, 2);
  keep->values = std::move(values);
  WriteRequest request{&array, &keep->selection, reinterpret_cast<const std::byte*>(keep->values.data())};
  return Array::WriteLater({request}, keep, keep->values.size() * 2, report);
}

// Holds every write of the store until opened.
struct Dam {
  std::atomic<bool> open{false};
  Status operator()(std::string_view operation, std::string_view) const {
    while (operation == "write" && !open) std::this_thread::yield();
    return OkStatus();
  }
};

}  // namespace

TEST_CASE("a write in the background is seen by the next read, and dirty until it is done") {
  LaterFixture f(Metadata({100}, {10}, DType::Uint(2), {Gzip()}));
  auto dam = std::make_shared<Dam>();
  f.store.fail = [dam](std::string_view o, std::string_view k) { return (*dam)(o, k); };
  const JobPtr job = Value(WriteBoxLater(*f.array, 0, Iota<uint16_t>(100, 1), Array::Report::kJob));
  CHECK(f.store.writes == 0);
  CHECK_FALSE(job->WaitFor(0));
  CHECK(f.array->dirty());
  dam->open = true;
  CHECK(ReadBox<uint16_t>(*f.array, {0}, {100}) == Iota<uint16_t>(100, 1));
  CHECK(job->WaitFor(0));
  CHECK_FALSE(f.array->dirty());
  CHECK(f.store.writes == 10);
}

TEST_CASE("background writes of one array keep their order") {
  LaterFixture f(Metadata({100}, {100}));
  for (uint16_t round = 1; round <= 50; ++round) {
    (void)Value(WriteBoxLater(*f.array, round, std::vector<uint16_t>(50, round), Array::Report::kNextCall));
  }
  RequireOk(f.array->Flush());
  const auto values = ReadBox<uint16_t>(*f.array, {0}, {100});
  for (uint64_t i = 1; i <= 50; ++i) CHECK(values[i] == i);
  CHECK(values[99] == 50);
}

TEST_CASE("what failed in the background is returned by the next call, once") {
  LaterFixture f(Metadata({100}, {10}));
  f.store.fail = [](std::string_view operation, std::string_view) {
    return operation == "write" ? NoSpaceError("disk full") : OkStatus();
  };
  for (const bool flush : {true, false}) {
    const JobPtr job = Value(WriteBoxLater(*f.array, 0, Iota<uint16_t>(100, 1), Array::Report::kNextCall));
    CHECK(job->Wait().code() == StatusCode::kNoSpace);
    CHECK(f.array->dirty());
    if (flush) {
      CHECK(f.array->Flush().code() == StatusCode::kNoSpace);
    } else {
      CHECK(WriteBoxLater(*f.array, 0, {1, 2}, Array::Report::kNextCall).status().code() == StatusCode::kNoSpace);
    }
    CHECK_FALSE(f.array->dirty());
    RequireOk(f.array->Flush());
  }
}

TEST_CASE("the failure of a job that somebody asks is not told twice") {
  LaterFixture f(Metadata({100}, {10}));
  f.store.fail = [](std::string_view operation, std::string_view) {
    return operation == "write" ? NoSpaceError("disk full") : OkStatus();
  };
  const JobPtr job = Value(WriteBoxLater(*f.array, 0, Iota<uint16_t>(100, 1), Array::Report::kJob));
  f.array->WaitForRequests();
  CHECK(job->WaitFor(0));
  RequireOk(f.array->Flush());
  CHECK(job->Wait().code() == StatusCode::kNoSpace);
}

TEST_CASE("a read in the background fills its buffer, after the writes before it") {
  LaterFixture f(Metadata({100}, {10}, DType::Uint(2), {Gzip()}));
  (void)Value(WriteBoxLater(*f.array, 0, Iota<uint16_t>(100, 1), Array::Report::kNextCall));
  auto keep = std::make_shared<KeptBox>();
  keep->selection = Box({0}, {100}, 2);
  std::vector<uint16_t> values(100);
  ReadRequest request{f.array.get(), &keep->selection, reinterpret_cast<std::byte*>(values.data()), {}};
  RequireOk(Value(Array::ReadLater({request}, keep))->Wait());
  CHECK(values == Iota<uint16_t>(100, 1));
}

TEST_CASE("the hook runs on the thread of the call, before the job") {
  LaterFixture f(Metadata({10}, {5}));
  std::thread::id called_on;
  f.array->SetBeforeFirstWrite([&] { return called_on = std::this_thread::get_id(), OkStatus(); });
  (void)Value(WriteBoxLater(*f.array, 0, {1, 2}, Array::Report::kJob));
  CHECK(called_on == std::this_thread::get_id());
}

TEST_CASE("arrays open for reading, and vlen arrays, are refused at once") {
  LaterFixture f(Metadata({10}, {5}));
  f.options.read_only = true;
  f.Open();
  CHECK(WriteBoxLater(*f.array, 0, {1}, Array::Report::kJob).status().code() == StatusCode::kPermissionDenied);
  LaterFixture texts(Metadata({10}, {5}, DType::String(), {{"vlen-utf8", Json()}}));
  const Selection selection = Box({0}, {1}, sizeof(VlenRef));
  VlenRef ref;
  WriteRequest request{texts.array.get(), &selection, reinterpret_cast<const std::byte*>(&ref)};
  CHECK_FALSE(Array::WriteLater({request}, nullptr, 0, Array::Report::kJob).ok());
}

}  // namespace h5zarr::zarr::test
