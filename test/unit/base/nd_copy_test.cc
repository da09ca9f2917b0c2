#include "base/nd_copy.h"

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "catch.h"

namespace h5zarr {
namespace {

std::vector<std::byte> Numbered(std::size_t count_bytes) {
  std::vector<std::byte> bytes(count_bytes);
  for (std::size_t i = 0; i < count_bytes; ++i) bytes[i] = std::byte(i * 7 + i / 251);
  return bytes;
}

// The definition, one element at a time.
void CopyByDefinition(const std::byte* source, std::span<const int64_t> source_strides, std::byte* target,
                      std::span<const int64_t> target_strides, std::span<const uint64_t> counts, uint64_t elem_bytes) {
  if (counts.empty()) {
    std::memcpy(target, source, elem_bytes);
    return;
  }
  for (uint64_t i = 0; i < counts[0]; ++i) {
    CopyByDefinition(source + static_cast<int64_t>(i) * source_strides[0], source_strides.subspan(1),
                     target + static_cast<int64_t>(i) * target_strides[0], target_strides.subspan(1), counts.subspan(1),
                     elem_bytes);
  }
}

// Strides of a layout of `counts` within a padded array whose dimensions lie in `order`, and the
// bytes it spans; some dimensions run backwards, then `base` is where element (0, 0, …) lies.
struct Layout {
  std::vector<int64_t> strides;
  uint64_t span_bytes = 0;
  uint64_t base = 0;
};

Layout RandomLayout(std::span<const uint64_t> counts, uint64_t elem_bytes, std::mt19937& random) {
  Layout layout;
  layout.strides.resize(counts.size());
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  if (random() % 2) std::shuffle(order.begin(), order.end(), random);
  uint64_t stride = elem_bytes * (random() % 3 == 0 ? 2 : 1);
  for (std::size_t d : order) {
    layout.strides[d] = static_cast<int64_t>(stride);
    if (random() % 5 == 0) {
      layout.strides[d] = -layout.strides[d];
      layout.base += stride * (counts[d] - 1);
    }
    stride *= counts[d] + (random() % 3 == 0 ? 1 : 0);
  }
  layout.span_bytes = stride + elem_bytes;
  return layout;
}

TEST_CASE("strided copy equals its definition for random layouts") {
  std::mt19937 random(1);
  const uint64_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 24};
  for (int round = 0; round < 2000; ++round) {
    const uint64_t elem_bytes = sizes[random() % 8];
    std::vector<uint64_t> counts(random() % 6);
    for (uint64_t& count : counts) count = 1 + random() % 5;
    if (counts.size() == 2) counts = {30 + random() % 50, 30 + random() % 50};  // more than a tile
    const Layout from = RandomLayout(counts, elem_bytes, random);
    const Layout to = RandomLayout(counts, elem_bytes, random);
    const std::vector<std::byte> source = Numbered(from.span_bytes);
    std::vector<std::byte> expected(to.span_bytes, std::byte{0xee});
    std::vector<std::byte> target = expected;
    CopyByDefinition(source.data() + from.base, from.strides, expected.data() + to.base, to.strides, counts,
                     elem_bytes);
    CopyStrided(source.data() + from.base, from.strides, target.data() + to.base, to.strides, counts, elem_bytes);
    INFO("round " << round);
    REQUIRE(target == expected);
  }
}

TEST_CASE("strided fill equals copying the value to every element") {
  std::mt19937 random(2);
  const uint64_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 24};
  for (int round = 0; round < 1000; ++round) {
    const uint64_t elem_bytes = sizes[random() % 8];
    const std::vector<std::byte> value = Numbered(elem_bytes);
    std::vector<uint64_t> counts(random() % 5);
    for (uint64_t& count : counts) count = 1 + random() % 6;
    const Layout to = RandomLayout(counts, elem_bytes, random);
    const std::vector<int64_t> still(counts.size(), 0);
    std::vector<std::byte> expected(to.span_bytes, std::byte{0xee});
    std::vector<std::byte> target = expected;
    CopyByDefinition(value.data(), still, expected.data() + to.base, to.strides, counts, elem_bytes);
    FillStrided(target.data() + to.base, to.strides, counts, value);
    INFO("round " << round);
    REQUIRE(target == expected);
  }
}

TEST_CASE("rank 0 copies a single element") {
  const uint32_t source = 0xdeadbeef;
  uint32_t target = 0;
  CopyStrided(reinterpret_cast<const std::byte*>(&source), {}, reinterpret_cast<std::byte*>(&target), {}, {}, 4);
  CHECK(target == source);
}

TEST_CASE("a zero count copies and fills nothing") {
  const std::vector<std::byte> source = Numbered(16);
  std::vector<std::byte> target(16, std::byte{1});
  const std::vector<int64_t> strides = {4, 4};
  const std::vector<uint64_t> counts = {4, 0};
  CopyStrided(source.data(), strides, target.data(), strides, counts, 4);
  FillStrided(target.data(), strides, counts, ByteSpan(source).first(4));
  CHECK(target == std::vector<std::byte>(16, std::byte{1}));
}

TEST_CASE("a source stride of zero repeats the element") {
  const uint16_t source = 0x1234;
  std::vector<uint16_t> target(6, 0);
  const std::vector<int64_t> from = {0, 0};
  const std::vector<int64_t> to = {6, 2};
  const std::vector<uint64_t> counts = {2, 3};
  CopyStrided(reinterpret_cast<const std::byte*>(&source), from, reinterpret_cast<std::byte*>(target.data()), to,
              counts, 2);
  CHECK(target == std::vector<uint16_t>(6, 0x1234));
}

TEST_CASE("more dimensions than HDF5 has are copied and filled too") {
  std::vector<uint64_t> counts(40, 1);
  counts[0] = 2;
  counts[39] = 3;
  std::vector<int64_t> strides(40);
  ContiguousStrides(counts, 2, strides);
  const std::vector<std::byte> source = Numbered(12);
  std::vector<std::byte> target(12);
  CopyStrided(source.data(), strides, target.data(), strides, counts, 2);
  CHECK(target == source);
  FillStrided(target.data(), strides, counts, ByteSpan(source).first(2));
  CHECK(IsAll(target, ByteSpan(source).first(2)));
}

TEST_CASE("contiguous fill repeats values of any width, beyond its inner block") {
  for (std::size_t value_bytes : {1, 2, 3, 7, 8, 16, 24, 5000, 9000}) {
    const std::vector<std::byte> value = Numbered(value_bytes);
    std::vector<std::byte> target(value_bytes * (50'000 / value_bytes + 1));
    FillContiguous(target, value);
    INFO(value_bytes);
    for (std::size_t at = 0; at < target.size(); at += value_bytes) {
      REQUIRE(std::memcmp(target.data() + at, value.data(), value_bytes) == 0);
    }
  }
}

TEST_CASE("a fill of equal bytes and a fill of nothing are fills") {
  std::vector<std::byte> target(100, std::byte{9});
  FillContiguous(target, std::vector<std::byte>(4, std::byte{3}));
  CHECK(target == std::vector<std::byte>(100, std::byte{3}));
  FillContiguous({}, std::vector<std::byte>(4));
}

TEST_CASE("IsAll finds one differing byte anywhere") {
  std::vector<std::byte> bytes(96);
  const std::vector<std::byte> value = Numbered(8);
  FillContiguous(bytes, value);
  REQUIRE(IsAll(bytes, value));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= std::byte{0x80};
    CHECK_FALSE(IsAll(bytes, value));
    bytes[at] ^= std::byte{0x80};
  }
}

TEST_CASE("IsAll compares bits: negative zero is not zero") {
  const std::vector<double> values = {0.0, -0.0};
  const double zero = 0.0;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(values.data()), 16);
  const ByteSpan value(reinterpret_cast<const std::byte*>(&zero), 8);
  CHECK(IsAll(bytes.first(8), value));
  CHECK_FALSE(IsAll(bytes, value));
}

TEST_CASE("IsAll: nothing is all of anything, a broken repetition is not") {
  const std::vector<std::byte> value(4);
  CHECK(IsAll({}, value));
  CHECK_FALSE(IsAll(std::vector<std::byte>(6), value));
}

TEST_CASE("contiguous strides are those of C order") {
  const std::vector<uint64_t> shape = {2, 3, 4};
  std::vector<int64_t> strides(3);
  ContiguousStrides(shape, 8, strides);
  CHECK(strides == std::vector<int64_t>{96, 32, 8});
}

}  // namespace
}  // namespace h5zarr
