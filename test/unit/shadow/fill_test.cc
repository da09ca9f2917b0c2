// Fill values of property lists → metadata → text → metadata → property lists.
#include <cstring>

#include "unit/shadow/dataset_fixture.h"

namespace h5zarr::shadow {
namespace {

TEST_CASE("the default fill is Zarr's zero and stays a default") {
  const DatasetPlan v3 = Created(H5T_STD_I32LE, Space({8}), Dcpl());
  CHECK(v3.metadata.fill.defined);
  CHECK(v3.metadata.attributes["_hdf5"]["fill"] == "default");
  const DatasetPlan v2 = Created(H5T_STD_I32LE, Space({8}), Dcpl(), V2());
  CHECK(!v2.metadata.fill.defined);
  for (const auto* plan : {&v3, &v2}) {
    H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
    H5Pfill_value_defined(ShadowDcpl(Opened(Stored(plan->metadata))).get(), &defined);
    CHECK(defined == H5D_FILL_VALUE_DEFAULT);
  }
}

TEST_CASE("a program's fill is converted to the stored type") {
  const Handle dcpl = Dcpl();
  const double fill = 7;
  REQUIRE(H5Pset_fill_value(dcpl.get(), H5T_NATIVE_DOUBLE, &fill) >= 0);
  REQUIRE(H5Pset_fill_time(dcpl.get(), H5D_FILL_TIME_NEVER) >= 0);
  const DatasetPlan plan = Created(H5T_STD_I16BE, Space({8}), dcpl);
  // HDF5 never fills with it, so no reader of Zarr may; the program's list still says it.
  CHECK(plan.metadata.fill.bytes == std::vector<std::byte>{std::byte{0}, std::byte{0}});
  const Handle reported = ShadowDcpl(Opened(Stored(plan.metadata)));
  int32_t again = 0;
  REQUIRE(H5Pget_fill_value(reported.get(), H5T_NATIVE_INT32, &again) >= 0);
  CHECK(again == 7);
  H5D_fill_time_t time = H5D_FILL_TIME_ERROR;
  H5Pget_fill_time(reported.get(), &time);
  CHECK(time == H5D_FILL_TIME_NEVER);
}

TEST_CASE("an undefined fill stays undefined") {
  const Handle dcpl = Dcpl();
  REQUIRE(H5Pset_fill_value(dcpl.get(), H5T_STD_I32LE, nullptr) >= 0);
  for (const Config& config : {Config(), V2()}) {
    const DatasetPlan plan = Created(H5T_STD_I32LE, Space({8}), dcpl, config);
    const Handle reported = ShadowDcpl(Opened(Stored(plan.metadata)));
    H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
    H5Pfill_value_defined(reported.get(), &defined);
    CHECK(defined == H5D_FILL_VALUE_UNDEFINED);
  }
}

TEST_CASE("a fill text comes back") {
  const Handle text = MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8);
  for (const Config& config : {Config(), V2()}) {
    const Handle dcpl = Chunked({4});
    const char* fill = "none";
    REQUIRE(H5Pset_fill_value(dcpl.get(), text.get(), &fill) >= 0);
    const DatasetPlan plan = Created(text.get(), Space({8}), dcpl, config);
    CHECK(plan.metadata.fill.bytes.size() == 4);
    const Handle reported = ShadowDcpl(Opened(Stored(plan.metadata)));
    char* again = nullptr;
    REQUIRE(H5Pget_fill_value(reported.get(), text.get(), &again) >= 0);
    REQUIRE(again != nullptr);
    CHECK(std::string(again) == "none");
    H5free_memory(again);
  }
}

TEST_CASE("a fill sequence and a fill of a compound with text come back") {
  const Handle sequence(H5Tvlen_create(H5T_STD_I16LE));
  const Handle dcpl = Dcpl();
  int16_t items[] = {1, -2};
  const hvl_t fill{2, items};
  REQUIRE(H5Pset_fill_value(dcpl.get(), sequence.get(), &fill) >= 0);
  const DatasetPlan plan = Created(sequence.get(), Space({8}), dcpl);
  CHECK(plan.metadata.fill.bytes.size() == 4);
  hvl_t again{};
  const Handle reported = ShadowDcpl(Opened(Stored(plan.metadata)));
  REQUIRE(H5Pget_fill_value(reported.get(), sequence.get(), &again) >= 0);
  REQUIRE(again.len == 2);
  CHECK(static_cast<int16_t*>(again.p)[1] == -2);
  H5free_memory(again.p);

  const Handle text = MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8);
  Handle compound(H5Tcreate(H5T_COMPOUND, sizeof(char*)));
  H5Tinsert(compound.get(), "t", 0, text.get());
  const Handle second = Dcpl();
  const char* word = "none";
  REQUIRE(H5Pset_fill_value(second.get(), compound.get(), &word) >= 0);
  const DatasetPlan json = Created(compound.get(), Space({8}), second);
  CHECK(json.metadata.fill.bytes.size() == std::strlen("[\"none\"]"));
  char* read = nullptr;
  REQUIRE(H5Pget_fill_value(ShadowDcpl(Opened(Stored(json.metadata))).get(), compound.get(), &read) >= 0);
  CHECK(std::string(read) == "none");
  H5free_memory(read);
}

TEST_CASE("a fill whose array elements differ comes back, and is refused where chunks would be too many") {
  const hsize_t dims[] = {2};
  const Handle type(H5Tarray_create2(H5T_STD_I16LE, 1, dims));
  const Handle dcpl = Dcpl();
  const int16_t same[] = {5, 5};
  REQUIRE(H5Pset_fill_value(dcpl.get(), type.get(), same) >= 0);
  const DatasetPlan plan = Created(type.get(), Space({8}), dcpl);
  int16_t again[2] = {};
  REQUIRE(H5Pget_fill_value(ShadowDcpl(Opened(Stored(plan.metadata))).get(), type.get(), again) >= 0);
  CHECK(again[1] == 5);
  const int16_t different[] = {5, 6};
  REQUIRE(H5Pset_fill_value(dcpl.get(), type.get(), different) >= 0);
  for (const Config& config : {Config(), V2()}) {
    const DatasetPlan other = Created(type.get(), Space({8}), dcpl, config);
    CHECK(other.metadata.fill.bytes == std::vector<std::byte>(2));
    const DatasetHeader header = Opened(Stored(other.metadata));
    CHECK(header.fill_block == other.metadata.fill.block);
    REQUIRE(H5Pget_fill_value(ShadowDcpl(header).get(), type.get(), again) >= 0);
    CHECK(std::memcmp(again, different, sizeof again) == 0);
    CHECK(std::memcmp(header.fill_block.data(), different, sizeof different) == 0);
  }
  const auto refused = PlanCreate(type.get(), Space({1 << 30}).get(), dcpl.get(), Config());
  REQUIRE(!refused.ok());
  CHECK(refused.status().code() == StatusCode::kUnsupported);
}

TEST_CASE("a foreign UTF-32 fill is shown as UTF-8") {
  auto metadata = Foreign({4}, {2});
  metadata.dtype = DType::Utf32(3);
  metadata.fill.bytes.assign(12, std::byte{0});
  metadata.fill.bytes[0] = std::byte{0xe9};
  metadata.fill.bytes[4] = std::byte{'a'};
  const DatasetHeader header = Opened(metadata);
  char fill[12] = {};
  REQUIRE(H5Pget_fill_value(ShadowDcpl(header).get(), header.type.get(), fill) >= 0);
  CHECK(std::string(fill) ==
        "\xc3\xa9"
        "a");
}

}  // namespace
}  // namespace h5zarr::shadow
