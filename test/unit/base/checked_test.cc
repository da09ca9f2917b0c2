#include "base/checked.h"

#include <vector>

#include "catch.h"

namespace h5zarr {
namespace {

TEST_CASE("sums and products that do not fit are nothing") {
  CHECK(CheckedAdd(UINT64_MAX - 1, 1) == UINT64_MAX);
  CHECK_FALSE(CheckedAdd(UINT64_MAX, 1).has_value());
  CHECK(CheckedMul(1ull << 32, (1ull << 32) - 1).has_value());
  CHECK_FALSE(CheckedMul(1ull << 32, 1ull << 32).has_value());
}

TEST_CASE("a zero factor makes a product zero whatever the others are") {
  const std::vector<uint64_t> factors = {UINT64_MAX, UINT64_MAX, 0};
  CHECK(CheckedProduct(factors) == 0u);
  CHECK_FALSE(CheckedProduct(std::span(factors).first(2)).has_value());
  CHECK(CheckedProduct({}) == 1u);
}

TEST_CASE("ceiling division does not overflow") {
  CHECK(CeilDiv(0, 5) == 0);
  CHECK(CeilDiv(10, 5) == 2);
  CHECK(CeilDiv(11, 5) == 3);
  CHECK(CeilDiv(UINT64_MAX, 2) == (1ull << 63));
}

}  // namespace
}  // namespace h5zarr
