// Selections, compared with what native HDF5 does with the same arguments.
#include <cstring>
#include <numeric>

#include "catch.h"
#include "unit/transfer/random_space.h"
#include "unit/transfer/twin.h"

namespace h5zarr::transfer {
namespace {

std::vector<int32_t> Numbers(uint64_t elems, int32_t first) {
  std::vector<int32_t> numbers(elems);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

hid_t IdOf(const Handle& space) { return space.valid() ? space.get() : H5S_ALL; }

uint64_t SelectedElems(const Handle& file, const Twin& twin) {
  return file.valid() ? static_cast<uint64_t>(H5Sget_select_npoints(file.get())) : twin.elems();
}

// What native HDF5 1.14 is a model for: chunked datasets misplace elements under H5Soffset_simple
// (they apply an offset of memory twice, and refuse a negative one); contiguous ones misplace them
// where the file space's extent is not the dataset's. So each kind is compared without what it gets
// wrong.
bool HasOffsets(uint32_t seed) { return seed % 2 == 1; }

Twin RandomTwin(RandomSpaces& random, hid_t type, bool offsets) {
  const std::vector<uint64_t> extent = random.Shape(random.Below(4) + 1, 1, 11);
  return Twin(type, extent, random.Within(extent), offsets ? Twin::Native::kContiguous : Twin::Native::kChunked);
}

void CheckReads(uint32_t seed, hid_t stored_type, hid_t mem_type) {
  BindHdf5();
  RandomSpaces random(seed, HasOffsets(seed));
  Twin twin = RandomTwin(random, stored_type, HasOffsets(seed));
  const std::vector<int32_t> numbers = Numbers(twin.elems(), 1);
  REQUIRE(twin.NativeWrite(H5T_NATIVE_INT, {}, numbers.data()) >= 0);
  REQUIRE(twin.Write(H5T_NATIVE_INT, {}, numbers.data()).ok());
  for (int i = 0; i < 40; ++i) {
    const Handle file = random.File(twin.extent());
    uint64_t elems = SelectedElems(file, twin);
    if (random.Below(25) == 0) ++elems;
    const RandomSpaces::Memory mem = random.ForMemory(twin.extent(), IdOf(file), elems);
    const Twin::Space space{IdOf(file), mem.id()};
    const uint64_t size_bytes = (mem.buffer_elems + 1) * H5Tget_size(mem_type);
    std::vector<std::byte> expected(size_bytes, std::byte{0xAB});
    std::vector<std::byte> actual(expected);
    const bool native_ok = twin.NativeRead(mem_type, space, expected.data()) >= 0;
    const Status status = twin.Read(mem_type, space, actual.data());
    INFO("seed " << seed << " selection " << i << ": " << status.message());
    INFO("file: " << Describe(space.file));
    INFO("memory: " << Describe(space.mem));
    REQUIRE(status.ok() == native_ok);
    REQUIRE(actual == expected);
  }
}

void CheckWrites(uint32_t seed, hid_t stored_type, hid_t mem_type) {
  BindHdf5();
  RandomSpaces random(seed, HasOffsets(seed));
  Twin twin = RandomTwin(random, stored_type, HasOffsets(seed));
  for (int i = 0; i < 20; ++i) {
    const Handle file = random.File(twin.extent());
    uint64_t elems = SelectedElems(file, twin);
    if (random.Below(25) == 0) ++elems;
    const RandomSpaces::Memory mem = random.ForMemory(twin.extent(), IdOf(file), elems);
    const Twin::Space space{IdOf(file), mem.id()};
    const std::vector<int32_t> numbers = Numbers(2 * mem.buffer_elems + 2, 1000 * i);
    std::vector<std::byte> source(numbers.size() * sizeof(double));
    std::memcpy(source.data(), numbers.data(), numbers.size() * sizeof(int32_t));
    H5Tconvert(H5T_NATIVE_INT, mem_type, numbers.size(), source.data(), nullptr, H5P_DEFAULT);
    const bool native_ok = twin.NativeWrite(mem_type, space, source.data()) >= 0;
    const Status status = twin.Write(mem_type, space, source.data());
    INFO("seed " << seed << " selection " << i << ": " << status.message());
    INFO("file: " << Describe(space.file));
    INFO("memory: " << Describe(space.mem));
    REQUIRE(status.ok() == native_ok);
    std::vector<int32_t> expected(twin.elems(), -1);
    std::vector<int32_t> actual(twin.elems(), -2);
    REQUIRE(twin.NativeRead(H5T_NATIVE_INT, {}, expected.data()) >= 0);
    REQUIRE(twin.Read(H5T_NATIVE_INT, {}, actual.data()).ok());
    REQUIRE(actual == expected);
  }
}

}  // namespace

TEST_CASE("random selections read what native HDF5 reads", "[selection]") {
  BindHdf5();
  for (uint32_t seed = 0; seed < 60; ++seed) CheckReads(seed, H5T_STD_I32LE, H5T_STD_I32LE);
}

TEST_CASE("random selections read what native HDF5 reads, byte order swapped", "[selection]") {
  BindHdf5();
  for (uint32_t seed = 100; seed < 130; ++seed) CheckReads(seed, H5T_STD_I32LE, H5T_STD_I32BE);
}

TEST_CASE("random selections read what native HDF5 reads, converted", "[selection]") {
  BindHdf5();
  for (uint32_t seed = 200; seed < 230; ++seed) CheckReads(seed, H5T_STD_I32LE, H5T_NATIVE_DOUBLE);
}

TEST_CASE("random selections write what native HDF5 writes", "[selection]") {
  BindHdf5();
  for (uint32_t seed = 300; seed < 360; ++seed) CheckWrites(seed, H5T_STD_I32LE, H5T_STD_I32LE);
}

TEST_CASE("random selections write what native HDF5 writes, byte order swapped", "[selection]") {
  BindHdf5();
  for (uint32_t seed = 400; seed < 430; ++seed) CheckWrites(seed, H5T_STD_I32LE, H5T_STD_I32BE);
}

TEST_CASE("random selections write what native HDF5 writes, converted", "[selection]") {
  BindHdf5();
  for (uint32_t seed = 500; seed < 530; ++seed) CheckWrites(seed, H5T_STD_I32LE, H5T_NATIVE_DOUBLE);
}

TEST_CASE("a scalar dataset is one element", "[selection]") {
  BindHdf5();
  Twin twin(H5T_STD_I32LE, {}, {});
  const int32_t written = 42;
  REQUIRE(twin.Write(H5T_NATIVE_INT, {}, &written).ok());
  int32_t read[2] = {0, 7};
  SECTION("read whole") {
    REQUIRE(twin.Read(H5T_NATIVE_INT, {}, read).ok());
    CHECK(read[0] == 42);
    CHECK(read[1] == 7);
  }
  SECTION("read into one element of a row") {
    const Handle mem = SimpleSpace({2});
    const uint64_t second = 1;
    H5Sselect_elements(mem.get(), H5S_SELECT_SET, 1, &second);
    REQUIRE(twin.Read(H5T_NATIVE_INT, {H5S_ALL, mem.get()}, read).ok());
    CHECK(read[0] == 0);
    CHECK(read[1] == 42);
  }
  SECTION("nothing selected needs no buffer") {
    const Handle none = SimpleSpace({});
    H5Sselect_none(none.get());
    CHECK(twin.Read(H5T_NATIVE_INT, {none.get(), none.get()}, nullptr).ok());
  }
}

TEST_CASE("elements selected need a buffer", "[selection]") {
  BindHdf5();
  Twin twin(H5T_STD_I32LE, {4}, {2});
  CHECK_FALSE(twin.Read(H5T_NATIVE_INT, {}, nullptr).ok());
  CHECK_FALSE(twin.Write(H5T_NATIVE_INT, {}, nullptr).ok());
}

TEST_CASE("a file space that reaches beyond the extent is refused", "[selection]") {
  BindHdf5();
  Twin twin(H5T_STD_I32LE, {4, 4}, {2, 2});
  const Handle file = SimpleSpace({4, 6});
  std::vector<int32_t> buffer(24, 5);
  SECTION("all of it") {
    const Status status = twin.Read(H5T_NATIVE_INT, {file.get(), H5S_ALL}, buffer.data());
    CHECK(status.code() == StatusCode::kOutOfRange);
  }
  SECTION("a point") {
    const uint64_t point[] = {0, 4};
    H5Sselect_elements(file.get(), H5S_SELECT_SET, 1, point);
    const Status status = twin.Read(H5T_NATIVE_INT, {file.get(), H5S_ALL}, buffer.data());
    CHECK(status.code() == StatusCode::kOutOfRange);
  }
  SECTION("but a selection within is served") {
    const uint64_t start[] = {1, 1};
    const uint64_t count[] = {2, 3};
    H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, start, nullptr, count, nullptr);
    CHECK(twin.Read(H5T_NATIVE_INT, {file.get(), H5S_ALL}, buffer.data()).ok());
    CHECK(buffer[7] == 0);
    CHECK(buffer[4] == 5);
  }
}

TEST_CASE("a box is read in the order of what selects it", "[selection]") {
  BindHdf5();
  Twin twin(H5T_STD_I32LE, {6, 2}, {4, 2});
  const std::vector<int32_t> numbers = Numbers(12, 1);
  REQUIRE(twin.NativeWrite(H5T_NATIVE_INT, {}, numbers.data()) >= 0);
  REQUIRE(twin.Write(H5T_NATIVE_INT, {}, numbers.data()).ok());
  const Handle file = SimpleSpace({6, 2});
  const Handle mem = SimpleSpace({4});
  SECTION("points, in theirs") {
    const uint64_t points[] = {2, 1, 2, 0, 3, 0, 3, 1};
    H5Sselect_elements(file.get(), H5S_SELECT_SET, 4, points);
  }
  SECTION("points, one of them twice") {
    const uint64_t points[] = {2, 0, 2, 1, 3, 0, 3, 0};
    H5Sselect_elements(file.get(), H5S_SELECT_SET, 4, points);
  }
  SECTION("hyperslabs side by side, in that of the array") {
    const uint64_t second[] = {2, 1}, first[] = {2, 0}, count[] = {2, 1};
    H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, second, nullptr, count, nullptr);
    H5Sselect_hyperslab(file.get(), H5S_SELECT_OR, first, nullptr, count, nullptr);
  }
  std::vector<int32_t> expected(4), actual(4);
  REQUIRE(twin.NativeRead(H5T_NATIVE_INT, {file.get(), mem.get()}, expected.data()) >= 0);
  REQUIRE(twin.Read(H5T_NATIVE_INT, {file.get(), mem.get()}, actual.data()).ok());
  CHECK(actual == expected);
}

TEST_CASE("spaces that HDF5 refuses are refused", "[selection]") {
  BindHdf5();
  Twin twin(H5T_STD_I32LE, {4}, {2});
  std::vector<int32_t> buffer(16);
  const auto refused = [&](hid_t file, hid_t mem) {
    CHECK(twin.NativeRead(H5T_NATIVE_INT, {file, mem}, buffer.data()) < 0);
    return !twin.Read(H5T_NATIVE_INT, {file, mem}, buffer.data()).ok();
  };
  CHECK(refused(H5S_BLOCK, H5S_ALL));
  CHECK(refused(H5S_ALL, H5S_PLIST));
  CHECK(refused(H5T_NATIVE_INT, H5S_ALL));
  const Handle no_extent(H5Screate(H5S_SIMPLE));
  CHECK(refused(no_extent.get(), no_extent.get()));
  const Handle null(H5Screate(H5S_NULL));
  CHECK(refused(H5S_ALL, null.get()));
  const Handle space = SimpleSpace({4});
  const uint64_t start = 0, stride = 2, count = H5S_UNLIMITED, block = 1;
  H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, &stride, &count, &block);
  CHECK(refused(space.get(), H5S_ALL));
}

TEST_CASE("more than a million runs are transferred in pieces", "[selection]") {
  BindHdf5();
  const uint64_t points = 1'100'000;
  Twin twin(H5T_STD_I32LE, {2 * points}, {100'000});
  const Handle file = SimpleSpace({2 * points});
  std::vector<uint64_t> coords(points);
  for (uint64_t p = 0; p < points; ++p) coords[p] = 2 * (points - 1 - p);
  H5Sselect_elements(file.get(), H5S_SELECT_SET, points, coords.data());
  const std::vector<int32_t> numbers = Numbers(points, 1);
  REQUIRE(twin.Write(H5T_NATIVE_INT, {file.get(), H5S_BLOCK}, numbers.data()).ok());
  std::vector<int32_t> whole(2 * points, -1);
  REQUIRE(twin.Read(H5T_NATIVE_INT, {}, whole.data()).ok());
  for (uint64_t i = 0; i < whole.size(); ++i) {
    const int32_t expected = i % 2 == 0 ? static_cast<int32_t>(points - i / 2) : 0;
    if (whole[i] != expected) REQUIRE(i == whole.size());
  }
  std::vector<int32_t> read(points);
  REQUIRE(twin.Read(H5T_NATIVE_INT, {file.get(), H5S_BLOCK}, read.data()).ok());
  CHECK(read == numbers);
}

TEST_CASE("an offset moves memory of another rank than the file", "[selection]") {
  BindHdf5();
  Twin twin(H5T_STD_I32LE, {2}, {2});
  const std::vector<int32_t> numbers = Numbers(2, 1);
  REQUIRE(twin.Write(H5T_NATIVE_INT, {}, numbers.data()).ok());
  const Handle mem = SimpleSpace({3, 3});
  const uint64_t start[] = {1, 1}, count[] = {1, 2};
  H5Sselect_hyperslab(mem.get(), H5S_SELECT_SET, start, nullptr, count, nullptr);
  const hssize_t offset[] = {1, -1};
  H5Soffset_simple(mem.get(), offset);
  std::vector<int32_t> read(9);
  REQUIRE(twin.Read(H5T_NATIVE_INT, {H5S_ALL, mem.get()}, read.data()).ok());
  CHECK(read == std::vector<int32_t>{0, 0, 0, 0, 0, 0, 1, 2, 0});
}

TEST_CASE("points that an offset moves behind the extent are refused", "[selection]") {
  BindHdf5();
  Twin twin(H5T_STD_I32LE, {4}, {2});
  const Handle file = SimpleSpace({3});
  const uint64_t last = 2;
  H5Sselect_elements(file.get(), H5S_SELECT_SET, 1, &last);
  const hssize_t offset = 1;
  H5Soffset_simple(file.get(), &offset);
  int32_t number = 0;
  const Status status = twin.Read(H5T_NATIVE_INT, {file.get(), H5S_BLOCK}, &number);
  CHECK(status.code() == StatusCode::kOutOfRange);
}

TEST_CASE("several datasets are read and written in one call", "[selection]") {
  BindHdf5();
  Twin plain(H5T_STD_I32LE, {6}, {4});
  Twin converted(H5T_IEEE_F64LE, {3}, {2});
  const std::vector<int32_t> numbers = Numbers(6, 10);
  const auto transfers = [&](const int32_t* source, int32_t* target) {
    std::vector<DatasetTransfer> all = {plain.Transfer(H5T_NATIVE_INT, {}), converted.Transfer(H5T_NATIVE_INT, {})};
    all[0].write_buffer = all[1].write_buffer = source;
    all[0].read_buffer = target;
    all[1].read_buffer = target + 6;
    return all;
  };
  auto all = transfers(numbers.data(), nullptr);
  REQUIRE(WriteDatasets(all, H5P_DEFAULT).ok());
  std::vector<int32_t> read(9);
  all = transfers(nullptr, read.data());
  REQUIRE(ReadDatasets(all, H5P_DEFAULT).ok());
  CHECK(read == std::vector<int32_t>{10, 11, 12, 13, 14, 15, 10, 11, 12});
}

}  // namespace h5zarr::transfer
