// Elements of variable length, compared with native HDF5 where it has the same elements.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "catch.h"
#include "unit/transfer/twin.h"

namespace h5zarr::transfer {
namespace {

Handle StringType(H5T_cset_t cset = H5T_CSET_UTF8) {
  Handle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), cset);
  return type;
}

void Reclaim(hid_t type, const std::vector<uint64_t>& extent, void* buffer) {
  const Handle space = SimpleSpace(extent);
  H5Treclaim(type, space.get(), H5P_DEFAULT, buffer);
}

hvl_t Sequence(std::vector<int32_t>& numbers) { return {numbers.size(), numbers.data()}; }

// Counts what it hands out.
struct Counter {
  int allocated = 0;
  int freed = 0;
};
void* CountedAllocate(std::size_t size, void* info) {
  ++static_cast<Counter*>(info)->allocated;
  return std::malloc(size);
}
void CountedFree(void* memory, void* info) {
  ++static_cast<Counter*>(info)->freed;
  std::free(memory);
}

}  // namespace

TEST_CASE("strings of any length come back", "[vlen]") {
  BindHdf5();
  const Handle type = StringType();
  Twin twin(type.get(), {5}, {3});
  const std::string large(100'000, 'x');
  const char* written[] = {"one", "", nullptr, "\xC3\xA9", large.c_str()};
  REQUIRE(twin.Write(type.get(), {}, written).ok());
  char* read[5];
  REQUIRE(twin.Read(type.get(), {}, read).ok());
  CHECK(read[0] == std::string("one"));
  CHECK(read[1] == std::string());
  CHECK(read[2] == std::string());  // Zarr has no null
  CHECK(read[3] == std::string("\xC3\xA9"));
  CHECK(read[4] == large);
  Reclaim(type.get(), {5}, read);
}

TEST_CASE("strings never written are empty", "[vlen]") {
  BindHdf5();
  const Handle type = StringType();
  Twin twin(type.get(), {2}, {2});
  char* read[2];
  REQUIRE(twin.Read(type.get(), {}, read).ok());
  CHECK(read[1] == std::string());
  Reclaim(type.get(), {2}, read);
}

TEST_CASE("selected strings leave the others in memory", "[vlen]") {
  BindHdf5();
  const Handle type = StringType();
  Twin twin(type.get(), {6}, {4});
  const char* written[] = {"0", "1", "2", "3", "4", "5"};
  REQUIRE(twin.Write(type.get(), {}, written).ok());
  const Handle file = SimpleSpace({6});
  const uint64_t points[] = {5, 2};
  H5Sselect_elements(file.get(), H5S_SELECT_SET, 2, points);
  char* read[6] = {};
  const Handle mem = SimpleSpace({6});
  const uint64_t start = 1, stride = 3, count = 2;
  H5Sselect_hyperslab(mem.get(), H5S_SELECT_SET, &start, &stride, &count, nullptr);
  REQUIRE(twin.Read(type.get(), {file.get(), mem.get()}, read).ok());
  CHECK(read[0] == nullptr);
  CHECK(read[1] == std::string("5"));
  CHECK(read[4] == std::string("2"));
  std::free(read[1]);
  std::free(read[4]);
}

TEST_CASE("strings go where the transfer list says", "[vlen]") {
  BindHdf5();
  const Handle type = StringType(H5T_CSET_ASCII);
  Twin twin(type.get(), {2}, {2});
  Counter counter;
  const Handle dxpl(H5Pcreate(H5P_DATASET_XFER));
  H5Pset_vlen_mem_manager(dxpl.get(), CountedAllocate, &counter, CountedFree, &counter);
  char* read[2];
  REQUIRE(twin.Read(type.get(), {}, read, dxpl.get()).ok());
  CHECK(counter.allocated == 2);
  const Handle space = SimpleSpace({2});
  H5Treclaim(type.get(), space.get(), dxpl.get(), read);
  CHECK(counter.freed == 2);
}

TEST_CASE("strings do not convert to anything else", "[vlen]") {
  BindHdf5();
  const Handle type = StringType();
  Twin twin(type.get(), {2}, {2});
  const Handle fixed(H5Tcopy(H5T_C_S1));
  H5Tset_size(fixed.get(), 8);
  char buffer[64];
  CHECK(twin.NativeRead(fixed.get(), {}, buffer) < 0);
  CHECK_FALSE(twin.Read(fixed.get(), {}, buffer).ok());
  CHECK(twin.NativeRead(H5T_NATIVE_INT, {}, buffer) < 0);
  CHECK_FALSE(twin.Read(H5T_NATIVE_INT, {}, buffer).ok());
}

TEST_CASE("sequences come back", "[vlen]") {
  BindHdf5();
  const Handle type(H5Tvlen_create(H5T_STD_I32LE));
  Twin twin(type.get(), {3}, {2});
  std::vector<int32_t> first = {1, 2, 3}, third = {-4};
  const hvl_t written[] = {Sequence(first), {0, nullptr}, Sequence(third)};
  REQUIRE(twin.Write(type.get(), {}, written).ok());
  SECTION("of the same items") {
    hvl_t read[3];
    REQUIRE(twin.Read(type.get(), {}, read).ok());
    REQUIRE(read[0].len == 3);
    CHECK(std::memcmp(read[0].p, first.data(), 12) == 0);
    CHECK(read[1].len == 0);
    CHECK(read[1].p == nullptr);
    REQUIRE(read[2].len == 1);
    CHECK(*static_cast<int32_t*>(read[2].p) == -4);
    Reclaim(type.get(), {3}, read);
  }
  SECTION("of items of another type") {
    const Handle doubles(H5Tvlen_create(H5T_NATIVE_DOUBLE));
    hvl_t read[3];
    REQUIRE(twin.Read(doubles.get(), {}, read).ok());
    REQUIRE(read[0].len == 3);
    CHECK(static_cast<double*>(read[0].p)[2] == 3.0);
    REQUIRE(read[2].len == 1);
    CHECK(*static_cast<double*>(read[2].p) == -4.0);
    REQUIRE(twin.Write(doubles.get(), {}, read).ok());
    Reclaim(doubles.get(), {3}, read);
    REQUIRE(twin.Read(type.get(), {}, read).ok());
    REQUIRE(read[0].len == 3);
    CHECK(static_cast<int32_t*>(read[0].p)[1] == 2);
    Reclaim(type.get(), {3}, read);
  }
  SECTION("but not as numbers") {
    int32_t numbers[3];
    CHECK(twin.NativeRead(H5T_NATIVE_INT, {}, numbers) < 0);
    CHECK_FALSE(twin.Read(H5T_NATIVE_INT, {}, numbers).ok());
  }
}

TEST_CASE("object references are stored as paths", "[vlen]") {
  BindHdf5();
  Twin twin(H5T_STD_REF_OBJ, {3}, {2});
  twin.references.to_path = [](const void* reference) {
    hobj_ref_t value;
    std::memcpy(&value, reference, sizeof value);
    return "/object" + std::to_string(value);
  };
  twin.references.from_path = [](const std::string& path, void* reference) {
    if (path == "/object9") return false;  // deleted meanwhile
    const hobj_ref_t value = std::stoull(path.substr(7));
    std::memcpy(reference, &value, sizeof value);
    return true;
  };
  const hobj_ref_t written[] = {7, 0, 9};
  REQUIRE(twin.Write(H5T_STD_REF_OBJ, {}, written).ok());
  hobj_ref_t read[] = {1, 1, 1};
  REQUIRE(twin.Read(H5T_STD_REF_OBJ, {}, read).ok());
  CHECK(read[0] == 7);
  CHECK(read[1] == 0);
  CHECK(read[2] == 0);
  CHECK_FALSE(twin.Read(H5T_NATIVE_INT64, {}, read).ok());
  // As any kind of reference they are read, but not written.
  twin.references.from_json = [](const zarr::Json& json, hid_t, void* reference) {
    std::memset(reference, 0, sizeof(H5R_ref_t));
    const std::string path = json.get<std::string>();
    std::memcpy(reference, path.data(), path.size());
    return OkStatus();
  };
  H5R_ref_t references[3];
  REQUIRE(twin.Read(H5T_STD_REF, {}, references).ok());
  CHECK(std::memcmp(&references[0], "/object7", 9) == 0);
  CHECK(std::memcmp(&references[1], "", 1) == 0);
  CHECK_FALSE(twin.Write(H5T_STD_REF, {}, references).ok());
}

namespace {

struct Named {
  int32_t number;
  char* name;
};

Handle NamedType(hid_t number, bool with_name = true) {
  const Handle text = StringType();
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Named)));
  H5Tinsert(type.get(), "number", offsetof(Named, number), number);
  if (with_name) H5Tinsert(type.get(), "name", offsetof(Named, name), text.get());
  return type;
}

}  // namespace

TEST_CASE("compounds with strings come back", "[vlen]") {
  BindHdf5();
  const Handle type = NamedType(H5T_STD_I32LE);
  Twin twin(type.get(), {3}, {2});
  char one[] = "one", empty[] = "";
  const Named written[] = {{1, one}, {2, empty}, {3, one}};
  REQUIRE(twin.Write(type.get(), {}, written).ok());
  Named read[3];
  SECTION("whole") {
    REQUIRE(twin.Read(type.get(), {}, read).ok());
    CHECK(read[2].number == 3);
    CHECK(read[0].name == std::string("one"));
    Reclaim(type.get(), {3}, read);
  }
  SECTION("with another type of number") {
    const Handle floats = NamedType(H5T_NATIVE_FLOAT);
    REQUIRE(twin.Read(floats.get(), {}, read).ok());
    float number;
    std::memcpy(&number, &read[2].number, sizeof number);
    CHECK(number == 3.0f);
    CHECK(read[2].name == std::string("one"));
    REQUIRE(twin.Write(floats.get(), {}, read).ok());
    Reclaim(floats.get(), {3}, read);
    REQUIRE(twin.Read(type.get(), {}, read).ok());
    CHECK(read[1].number == 2);
    CHECK(read[0].name == std::string("one"));
    Reclaim(type.get(), {3}, read);
  }
  SECTION("some members only") {
    const Handle part = NamedType(H5T_STD_I32LE, false);
    for (Named& named : read) named = {0, empty};
    REQUIRE(twin.Read(part.get(), {}, read).ok());
    CHECK(read[1].number == 2);
    CHECK(read[0].name == empty);
    const Named numbers[] = {{7, nullptr}, {8, nullptr}, {9, nullptr}};
    REQUIRE(twin.Write(part.get(), {}, numbers).ok());
    REQUIRE(twin.Read(type.get(), {}, read).ok());
    CHECK(read[2].number == 9);
    CHECK(read[0].name == std::string("one"));
    CHECK(read[1].name == std::string());
    Reclaim(type.get(), {3}, read);
  }
}

}  // namespace h5zarr::transfer
