// Types: what is converted, and how, compared with native HDF5 where it has the same elements.
#include <cstddef>
#include <cstring>
#include <numeric>

#include "catch.h"
#include "unit/transfer/twin.h"

namespace h5zarr::transfer {
namespace {

struct Pair {
  int32_t a;
  double b;
};

// Members a: int32 and b: float64; big-endian a where `big`.
Handle PairType(bool with_a = true, bool with_b = true, bool big = false) {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Pair)));
  if (with_a) {
    H5Tinsert(type.get(), "a", offsetof(Pair, a), big ? H5T_STD_I32BE : H5T_STD_I32LE);
  }
  if (with_b) H5Tinsert(type.get(), "b", offsetof(Pair, b), H5T_IEEE_F64LE);
  return type;
}

std::vector<Pair> Pairs(std::size_t elems) {
  std::vector<Pair> pairs(elems);
  for (std::size_t i = 0; i < elems; ++i) {
    std::memset(&pairs[i], 0, sizeof(Pair));  // padding too, to compare bytes
    pairs[i].a = static_cast<int32_t>(i);
    pairs[i].b = 0.5 * static_cast<double>(i);
  }
  return pairs;
}

// Every second element of six.
Handle EverySecond() {
  Handle space = SimpleSpace({6});
  const uint64_t start = 0, stride = 2, count = 3;
  H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, &stride, &count, nullptr);
  return space;
}

}  // namespace

TEST_CASE("reading some members leaves the others in memory", "[type]") {
  BindHdf5();
  const Handle whole = PairType();
  const Handle part = PairType(true, false);
  Twin twin(whole.get(), {6}, {4});
  const std::vector<Pair> written = Pairs(6);
  REQUIRE(twin.NativeWrite(whole.get(), {}, written.data()) >= 0);
  REQUIRE(twin.Write(whole.get(), {}, written.data()).ok());
  std::vector<Pair> expected = Pairs(7);
  for (Pair& pair : expected) pair.b = 77;
  std::vector<Pair> actual(expected);
  const Handle file = EverySecond();
  REQUIRE(twin.NativeRead(part.get(), {file.get(), H5S_ALL}, expected.data()) >= 0);
  REQUIRE(twin.Read(part.get(), {file.get(), H5S_ALL}, actual.data()).ok());
  CHECK(std::memcmp(actual.data(), expected.data(), 7 * sizeof(Pair)) == 0);
  CHECK(actual[2].b == 77);
}

TEST_CASE("writing some members keeps the others in the file", "[type]") {
  BindHdf5();
  const Handle whole = PairType();
  const Handle part = PairType(false, true);
  Twin twin(whole.get(), {6}, {4});
  std::vector<Pair> pairs = Pairs(6);
  REQUIRE(twin.NativeWrite(whole.get(), {}, pairs.data()) >= 0);
  REQUIRE(twin.Write(whole.get(), {}, pairs.data()).ok());
  for (Pair& pair : pairs) pair = {-1, -2.5};
  const Handle file = EverySecond();
  REQUIRE(twin.NativeWrite(part.get(), {file.get(), H5S_BLOCK}, pairs.data()) >= 0);
  REQUIRE(twin.Write(part.get(), {file.get(), H5S_BLOCK}, pairs.data()).ok());
  std::vector<Pair> expected = Pairs(6), actual = Pairs(6);
  REQUIRE(twin.NativeRead(whole.get(), {}, expected.data()) >= 0);
  REQUIRE(twin.Read(whole.get(), {}, actual.data()).ok());
  CHECK(std::memcmp(actual.data(), expected.data(), 6 * sizeof(Pair)) == 0);
  CHECK(actual[2].a == 2);
  CHECK(actual[2].b == -2.5);
}

TEST_CASE("members convert one by one", "[type]") {
  BindHdf5();
  const Handle whole = PairType(true, true, true);
  const Handle native = PairType();
  Twin twin(whole.get(), {5}, {2});
  const std::vector<Pair> written = Pairs(5);
  REQUIRE(twin.Write(native.get(), {}, written.data()).ok());
  std::vector<Pair> read(Pairs(5));
  for (Pair& pair : read) pair.a = pair.b = 0;
  REQUIRE(twin.Read(native.get(), {}, read.data()).ok());
  CHECK(std::memcmp(read.data(), written.data(), 5 * sizeof(Pair)) == 0);
}

TEST_CASE("arrays of compounds keep members that are not written", "[type]") {
  BindHdf5();
  const hsize_t two = 2;
  const Handle whole_pair = PairType();
  const Handle part_pair = PairType(true, false);
  const Handle whole(H5Tarray_create2(whole_pair.get(), 1, &two));
  const Handle part(H5Tarray_create2(part_pair.get(), 1, &two));
  Twin twin(whole.get(), {3}, {2});
  std::vector<Pair> pairs = Pairs(6);
  REQUIRE(twin.NativeWrite(whole.get(), {}, pairs.data()) >= 0);
  REQUIRE(twin.Write(whole.get(), {}, pairs.data()).ok());
  for (Pair& pair : pairs) pair.a += 100;
  REQUIRE(twin.NativeWrite(part.get(), {}, pairs.data()) >= 0);
  REQUIRE(twin.Write(part.get(), {}, pairs.data()).ok());
  std::vector<Pair> expected = Pairs(6), actual = Pairs(6);
  REQUIRE(twin.NativeRead(whole.get(), {}, expected.data()) >= 0);
  REQUIRE(twin.Read(whole.get(), {}, actual.data()).ok());
  CHECK(std::memcmp(actual.data(), expected.data(), 6 * sizeof(Pair)) == 0);
  CHECK(actual[5].a == 105);
  CHECK(actual[5].b == 2.5);
}

TEST_CASE("array elements are trailing dimensions of the array", "[type]") {
  BindHdf5();
  const hsize_t dims[] = {2, 3};
  const Handle type(H5Tarray_create2(H5T_STD_I16LE, 2, dims));
  const Handle wide(H5Tarray_create2(H5T_STD_I64LE, 2, dims));
  Twin twin(type.get(), {6}, {4});
  std::vector<int16_t> numbers(36);
  std::iota(numbers.begin(), numbers.end(), 0);
  REQUIRE(twin.Write(type.get(), {}, numbers.data()).ok());
  REQUIRE(twin.NativeWrite(type.get(), {}, numbers.data()) >= 0);
  const Handle file = EverySecond();
  SECTION("of the same type") {
    std::vector<int16_t> expected(18, -1), actual(18, -2);
    REQUIRE(twin.NativeRead(type.get(), {file.get(), H5S_BLOCK}, expected.data()) >= 0);
    REQUIRE(twin.Read(type.get(), {file.get(), H5S_BLOCK}, actual.data()).ok());
    CHECK(actual == expected);
  }
  SECTION("converted") {
    std::vector<int64_t> expected(18, -1), actual(18, -2);
    REQUIRE(twin.NativeRead(wide.get(), {file.get(), H5S_BLOCK}, expected.data()) >= 0);
    REQUIRE(twin.Read(wide.get(), {file.get(), H5S_BLOCK}, actual.data()).ok());
    CHECK(actual == expected);
  }
  SECTION("at points in any order") {
    const uint64_t points[] = {5, 0, 3, 3};
    H5Sselect_elements(file.get(), H5S_SELECT_SET, 4, points);
    std::vector<int16_t> expected(24, -1), actual(24, -2);
    REQUIRE(twin.NativeRead(type.get(), {file.get(), H5S_BLOCK}, expected.data()) >= 0);
    REQUIRE(twin.Read(type.get(), {file.get(), H5S_BLOCK}, actual.data()).ok());
    CHECK(actual == expected);
  }
}

TEST_CASE("values outside the range of the other type are clamped as by HDF5", "[type]") {
  BindHdf5();
  Twin twin(H5T_STD_I8LE, {4}, {4});
  const int64_t wide[] = {-1000, -5, 5, 1000};
  REQUIRE(twin.Write(H5T_NATIVE_INT64, {}, wide).ok());
  uint8_t read[4];
  REQUIRE(twin.Read(H5T_NATIVE_UINT8, {}, read).ok());
  CHECK(std::vector<uint8_t>(read, read + 4) == std::vector<uint8_t>{0, 0, 5, 127});
}

TEST_CASE("conversions larger than one temporary go in boxes", "[type]") {
  BindHdf5();
  const std::vector<uint64_t> extent = {2000, 1700};
  Twin twin(H5T_STD_I32LE, extent, {300, 500});
  const Handle file = SimpleSpace(extent);
  const uint64_t start[] = {3, 7}, stride[] = {5, 1}, count[] = {390, 1}, block[] = {4, 1650};
  H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, start, stride, count, block);
  std::vector<double> numbers(390 * 4 * 1650);
  std::iota(numbers.begin(), numbers.end(), 1);
  REQUIRE(twin.NativeWrite(H5T_NATIVE_DOUBLE, {file.get(), H5S_BLOCK}, numbers.data()) >= 0);
  REQUIRE(twin.Write(H5T_NATIVE_DOUBLE, {file.get(), H5S_BLOCK}, numbers.data()).ok());
  std::vector<int32_t> expected(2000 * 1700, -1), whole(expected.size(), -2);
  REQUIRE(twin.NativeRead(H5T_NATIVE_INT, {}, expected.data()) >= 0);
  REQUIRE(twin.Read(H5T_NATIVE_INT, {}, whole.data()).ok());
  CHECK(whole == expected);
  std::vector<double> read(numbers.size());
  REQUIRE(twin.Read(H5T_NATIVE_DOUBLE, {file.get(), H5S_BLOCK}, read.data()).ok());
  CHECK(read == numbers);
}

TEST_CASE("types without a conversion are refused", "[type]") {
  BindHdf5();
  Twin twin(H5T_STD_I32LE, {0}, {2});
  const Handle text(H5Tcopy(H5T_C_S1));
  CHECK(twin.NativeRead(text.get(), {}, nullptr) < 0);
  const Status status = twin.Read(text.get(), {}, nullptr);
  CHECK(status.message() == "no appropriate function for conversion path");
  CHECK_FALSE(twin.Write(text.get(), {}, nullptr).ok());
  CHECK_FALSE(twin.Read(H5S_ALL, {}, nullptr).ok());
}

TEST_CASE("a data transform is refused, not ignored", "[type]") {
  BindHdf5();
  Twin twin(H5T_STD_I32LE, {2}, {2});
  const Handle dxpl(H5Pcreate(H5P_DATASET_XFER));
  int32_t numbers[2] = {};
  CHECK(twin.Read(H5T_NATIVE_INT, {}, numbers, dxpl.get()).ok());
  H5Pset_data_transform(dxpl.get(), "2*x");
  const Status status = twin.Read(H5T_NATIVE_INT, {}, numbers, dxpl.get());
  CHECK(status.code() == StatusCode::kUnsupported);
}

TEST_CASE("UTF-32 text is shown as UTF-8 of the same size", "[type]") {
  BindHdf5();
  const Endian endian = GENERATE(Endian::kLittle, Endian::kBig);
  shadow::ElementMap element;
  element.form = shadow::ElementMap::Form::kUtf32;
  element.dtype = DType::Utf32(3, endian);
  Twin twin(element, {2}, {2});
  const Handle same(H5Tcopy(H5T_C_S1));
  H5Tset_size(same.get(), 12);
  H5Tset_strpad(same.get(), H5T_STR_NULLPAD);
  H5Tset_cset(same.get(), H5T_CSET_UTF8);
  SECTION("text comes back") {
    const char written[24] = "a\xC3\xA9\xF0\x9F\x90\x8D\0\0\0\0\0z";
    REQUIRE(twin.Write(same.get(), {}, written).ok());
    char read[24];
    REQUIRE(twin.Read(same.get(), {}, read).ok());
    CHECK(std::memcmp(read, written, 24) == 0);
  }
  SECTION("text of another size is converted") {
    const Handle wide(H5Tcopy(same.get()));
    H5Tset_size(wide.get(), 16);
    const char written[32] = "\xC3\xA9\0\0\0\0\0\0\0\0\0\0\0\0\0\0xyz";
    REQUIRE(twin.Write(wide.get(), {}, written).ok());
    char read[32];
    REQUIRE(twin.Read(wide.get(), {}, read).ok());
    CHECK(std::memcmp(read, written, 32) == 0);
  }
  SECTION("too many code points are refused") {
    const char written[24] = "abcd";
    CHECK(twin.Write(same.get(), {}, written).code() == StatusCode::kOutOfRange);
  }
  SECTION("invalid UTF-8 is refused") {
    const char overlong[24] = "\xC0\x80", cut[24] = "\xE2\x82", surrogate[24] = "\xED\xA0\x80";
    CHECK(twin.Write(same.get(), {}, overlong).code() == StatusCode::kInvalidArgument);
    CHECK(twin.Write(same.get(), {}, cut).code() == StatusCode::kInvalidArgument);
    CHECK(twin.Write(same.get(), {}, surrogate).code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("UTF-32 members are shown as UTF-8", "[type]") {
  BindHdf5();
  shadow::ElementMap element;
  element.form = shadow::ElementMap::Form::kUtf32;
  element.dtype.kind = DType::Kind::kStruct;
  element.dtype.item_bytes = 12;
  element.dtype.fields = {{"number", 0, {}, DType::Int(4)}, {"text", 4, {}, DType::Utf32(2)}};
  Twin twin(element, {2}, {2});
  const Handle text(H5Tcopy(H5T_C_S1));
  H5Tset_size(text.get(), 8);
  H5Tset_strpad(text.get(), H5T_STR_NULLPAD);
  H5Tset_cset(text.get(), H5T_CSET_UTF8);
  const Handle whole(H5Tcreate(H5T_COMPOUND, 12));
  H5Tinsert(whole.get(), "number", 0, H5T_STD_I32LE);
  H5Tinsert(whole.get(), "text", 4, text.get());
  const Handle part(H5Tcreate(H5T_COMPOUND, 4));
  H5Tinsert(part.get(), "number", 0, H5T_STD_I32LE);
  char written[24] = "1234\xC3\xA9y";
  REQUIRE(twin.Write(whole.get(), {}, written).ok());
  REQUIRE(twin.Write(part.get(), {}, "abcdefgh").ok());  // keeps the texts
  char read[24];
  REQUIRE(twin.Read(whole.get(), {}, read).ok());
  CHECK(std::memcmp(read, "abcd\xC3\xA9y\0\0\0\0\0efgh\0\0\0\0\0\0\0\0", 24) == 0);
}

}  // namespace h5zarr::transfer
