#include "store/read_plan.h"

#include "catch.h"

namespace h5zarr {
namespace {

ReadPlanLimits Limits() {
  ReadPlanLimits limits;
  limits.gap_bytes = 100;
  limits.max_bytes = 1000;
  limits.alone_bytes = 500;
  limits.split_bytes = 2000;
  return limits;
}

ReadOp Op(std::string key, uint64_t offset, uint64_t length, double sink_cost_ns = 0) {
  ReadOp op;
  op.key = std::move(key);
  op.range = ByteRange::Span(offset, length);
  op.sink_cost_ns = sink_cost_ns;
  return op;
}

// "begin-end" of every part.
std::string PartsOf(const std::vector<ReadOp>& ops, int threads = 1) {
  Executor executor(threads);
  const auto plan = MakeReadPlan(ops, Limits(), executor);
  REQUIRE(plan.ok());
  CHECK(plan->order.size() == ops.size());
  std::string text;
  for (const ReadPart& part : plan->parts) {
    text += std::to_string(part.begin) + "-" + std::to_string(part.end) + " ";
  }
  return text;
}

TEST_CASE("near ranges are joined whatever their order, far ones are not") {
  CHECK(PartsOf({Op("a", 300, 10), Op("a", 0, 200)}) == "0-310 ");
  CHECK(PartsOf({Op("a", 301, 10), Op("a", 0, 200)}) == "0-200 301-311 ");
}

TEST_CASE("wider gaps are joined while they are a small share of the whole") {
  ReadPlanLimits limits = Limits();
  limits.wide_gap_bytes = 200;
  limits.wide_gap_share = 5;
  Executor executor(1);
  const auto parts = [&](const std::vector<ReadOp>& ops) {
    const auto plan = MakeReadPlan(ops, limits, executor);
    REQUIRE(plan.ok());
    return plan->parts.size();
  };
  CHECK(parts({Op("a", 0, 400), Op("a", 550, 400)}) == 1);  // 150 of 950
  CHECK(parts({Op("a", 0, 300), Op("a", 450, 100), Op("a", 700, 100)}) == 3);
  CHECK(parts({Op("a", 0, 450), Op("a", 651, 349)}) == 2);  // too wide
}

TEST_CASE("overlapping and repeated ranges share one part") {
  CHECK(PartsOf({Op("a", 0, 400), Op("a", 100, 50), Op("a", 0, 400), Op("a", 390, 30)}) == "0-420 ");
}

TEST_CASE("a joint range stays within its limit") {
  CHECK(PartsOf({Op("a", 0, 400), Op("a", 400, 400), Op("a", 800, 200), Op("a", 1000, 1)}) == "0-1000 1000-1001 ");
}

TEST_CASE("a range that is large itself stays alone") {
  CHECK(PartsOf({Op("a", 0, 100), Op("a", 100, 500), Op("a", 600, 100), Op("a", 700, 100)}) ==
        "0-100 100-600 600-800 ");
}

TEST_CASE("objects keep the order in which they are first named, and are not joined") {
  const std::vector<ReadOp> ops = {Op("b", 0, 10), Op("a", 5, 10), Op("b", 10, 10), Op("a", 0, 5)};
  CHECK(PartsOf(ops) == "0-20 0-15 ");
  Executor executor(1);
  const auto plan = MakeReadPlan(ops, Limits(), executor);
  REQUIRE(plan.ok());
  CHECK(plan->order == std::vector<std::size_t>{0, 2, 3, 1});
  REQUIRE(plan->objects.size() == 2);
  CHECK(plan->objects[0].last_part == 1);
  CHECK(plan->objects[1].first_part == 1);
  CHECK(plan->objects[1].last_part == 2);
}

TEST_CASE("costly sinks are spread over parts, so that threads share them") {
  std::vector<ReadOp> ops;
  for (uint64_t i = 0; i < 100; ++i) ops.push_back(Op("a", i * 10, 10, 1e5));
  Executor executor(2);
  const auto plan = MakeReadPlan(ops, Limits(), executor);
  REQUIRE(plan.ok());
  CHECK(plan->parts.size() >= 16);
  for (ReadOp& op : ops) op.sink_cost_ns = 10;
  const auto cheap = MakeReadPlan(ops, Limits(), executor);
  REQUIRE(cheap.ok());
  CHECK(cheap->parts.size() == 1);
}

TEST_CASE("a large op with a target is split into pieces that cover it") {
  std::vector<std::byte> target(5000);
  ReadOp op = Op("a", 100, 5000);
  op.target = target;
  CHECK(PartsOf({op}) == "100-2100 2100-4100 4100-5100 ");
  op.target = {};
  CHECK(PartsOf({op}) == "100-5100 ");
}

TEST_CASE("whole objects and suffixes are parts of their own") {
  ReadOp whole = Op("a", 0, 0);
  whole.range = ByteRange::Whole();
  ReadOp suffix = Op("a", 0, 0);
  suffix.range = ByteRange::Suffix(4);
  CHECK(PartsOf({Op("a", 0, 10), whole, suffix, Op("a", 10, 10)}) == "0-0 0-0 0-20 ");
}

}  // namespace
}  // namespace h5zarr
