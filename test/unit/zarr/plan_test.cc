#include "zarr/plan.h"

#include <algorithm>
#include <map>

#include "unit/zarr/array_fixture.h"

namespace h5zarr::zarr::test {
namespace {

// Elements of one byte in C-ordered inner chunks.
struct Planned {
  ChunkGrid grid;
  std::vector<int64_t> strides;
  Selection selection;

  Planned(std::vector<uint64_t> shape, std::vector<uint64_t> chunk, std::vector<uint64_t> inner)
      : grid(Value(ChunkGrid::Make(std::move(shape), std::move(chunk), inner))) {
    strides.resize(inner.size());
    int64_t stride = 1;
    for (std::size_t dim = inner.size(); dim-- > 0;) {
      strides[dim] = stride;
      stride *= static_cast<int64_t>(inner[dim]);
    }
  }
  Result<Plan> Make(Selection s) {
    selection = std::move(s);
    return Plan::Make(grid, {strides, 1}, selection);
  }
};

std::vector<ChunkTask> Tasks(const Plan& plan) {
  std::vector<ChunkTask> tasks;
  for (uint64_t object = 0; object < plan.objects(); ++object) {
    for (uint64_t chunk = 0; chunk < plan.ChunkCount(object); ++chunk) {
      tasks.push_back(plan.Chunk(object, chunk));
    }
  }
  return tasks;
}

}  // namespace

TEST_CASE("a box within one chunk is one piece") {
  Planned planned({10, 10}, {5, 5}, {5, 5});
  const Plan plan = Value(planned.Make(Box({5, 1}, {2, 3}, 1)));
  REQUIRE(plan.objects() == 1);
  CHECK(plan.ObjectId(0) == 2);
  const auto tasks = Tasks(plan);
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].elems == 6);
  CHECK_FALSE(tasks[0].whole);
  int pieces = 0;
  plan.ForEachPiece(tasks[0], [&](Piece& piece) {
    ++pieces;
    CHECK(piece.chunk_offset_bytes == 1);
    CHECK(piece.mem_offset_bytes == 0);
    CHECK(piece.elems() == 6);
    piece.Simplify();
    CHECK(piece.dims == 2);
  });
  CHECK(pieces == 1);
}

TEST_CASE("a whole chunk in packed memory is one contiguous piece") {
  Planned planned({8, 4}, {4, 4}, {4, 4});
  const Plan plan = Value(planned.Make(Box({0, 0}, {8, 4}, 1)));
  for (const ChunkTask& task : Tasks(plan)) {
    CHECK(task.whole);
    plan.ForEachPiece(task, [&](Piece& piece) {
      piece.Simplify();
      CHECK(piece.IsContiguous(1));
      CHECK(piece.mem_offset_bytes == static_cast<int64_t>(task.object_ordinal * 16));
    });
  }
}

TEST_CASE("edge chunks are whole when all within the extent is selected") {
  Planned planned({7}, {4}, {4});
  const auto tasks = Tasks(Value(planned.Make(Box({0}, {7}, 1))));
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[1].whole);
  CHECK(tasks[1].elems == 3);
}

TEST_CASE("a shard is whole only when every inner chunk within the extent is") {
  Planned planned({10}, {8}, {2});
  const Plan all = Value(planned.Make(Box({0}, {10}, 1)));
  REQUIRE(all.objects() == 2);
  CHECK(all.ObjectWhole(0));
  CHECK(all.ObjectWhole(1));
  CHECK(all.ChunkCount(1) == 1);
  CHECK_FALSE(Value(planned.Make(Box({0}, {6}, 1))).ObjectWhole(0));
  CHECK_FALSE(Value(planned.Make(Box({1}, {7}, 1))).ObjectWhole(0));
}

TEST_CASE("blocks cut by chunks become at most three pieces a dimension") {
  Planned planned({100}, {10}, {10});
  // 5-7, 10-12, 15-17, … with chunks from 8 to 18 cutting blocks at both ends.
  GridSelection selection{{{8, 4, 20, 3}}, {1}};
  const Plan plan = Value(planned.Make(selection));
  std::map<uint64_t, int64_t> seen;  // array index → memory index
  for (const ChunkTask& task : Tasks(plan)) {
    int pieces = 0;
    plan.ForEachPiece(task, [&](Piece& piece) {
      ++pieces;
      const uint64_t outer = piece.dims == 2 ? piece.counts[0] : 1;
      const uint64_t inner = piece.dims == 0 ? 1 : piece.counts[piece.dims - 1];
      for (uint64_t i = 0; i < outer; ++i) {
        for (uint64_t j = 0; j < inner; ++j) {
          int64_t in_chunk = static_cast<int64_t>(piece.chunk_offset_bytes);
          int64_t mem = piece.mem_offset_bytes;
          if (piece.dims == 2) {
            in_chunk += static_cast<int64_t>(i) * piece.chunk_strides_bytes[0];
            mem += static_cast<int64_t>(i) * piece.mem_strides_bytes[0];
          }
          if (piece.dims > 0) {
            in_chunk += static_cast<int64_t>(j) * piece.chunk_strides_bytes[piece.dims - 1];
            mem += static_cast<int64_t>(j) * piece.mem_strides_bytes[piece.dims - 1];
          }
          CHECK(seen.emplace(task.id * 10 + static_cast<uint64_t>(in_chunk), mem).second);
        }
      }
    });
    CHECK(pieces <= 3);
  }
  CHECK(seen.size() == 60);
  int64_t mem = 0;
  for (uint64_t block = 0; block < 20; ++block) {
    for (uint64_t i = 0; i < 3; ++i) CHECK(seen.at(8 + block * 4 + i) == mem++);
  }
}

TEST_CASE("each chunk of a range has what the range has of it") {
  for (const uint64_t extent : {40, 43}) {
    Planned planned({extent}, {12}, {4});
    for (uint64_t begin = 0; begin < extent; ++begin) {
      for (uint64_t end = begin + 1; end <= extent; ++end) {
        const Plan plan = Value(planned.Make(Box({begin}, {end - begin}, 1)));
        const uint64_t first = begin / 12, last = (end - 1) / 12;
        REQUIRE(plan.objects() == last - first + 1);
        uint64_t next = begin;
        for (uint64_t object = first; object <= last; ++object) {
          CHECK(plan.ObjectId(object - first) == object);
          const uint64_t object_end = std::min((object + 1) * 12, extent);
          CHECK(plan.ObjectWhole(object - first) == (begin <= object * 12 && end >= object_end));
          for (uint64_t chunk = 0; chunk < plan.ChunkCount(object - first); ++chunk) {
            const ChunkTask task = plan.Chunk(object - first, chunk);
            const uint64_t low = next / 4 * 4, high = std::min(low + 4, extent);
            REQUIRE(task.id == object * 3 + (low - object * 12) / 4);
            CHECK(task.elems == std::min(high, end) - next);
            CHECK(task.whole == (begin <= low && end >= high));
            plan.ForEachPiece(task, [&](Piece& piece) {
              CHECK(piece.elems() == task.elems);
              CHECK(piece.chunk_offset_bytes == next - low);
              CHECK(piece.mem_offset_bytes == static_cast<int64_t>(next - begin));
            });
            next += task.elems;
          }
        }
        CHECK(next == end);
      }
    }
  }
}

TEST_CASE("chunks that lie behind each other are counted up to the end of their object") {
  const auto behind = [](const Plan& plan, uint64_t object, uint64_t chunk, uint64_t most) {
    return plan.CountBehind(plan.Chunk(object, chunk), most);
  };
  Planned line({100}, {40}, {10});
  const Plan plan = Value(line.Make(Box({0}, {100}, 1)));
  CHECK(behind(plan, 0, 0, 9) == 3);
  CHECK(behind(plan, 0, 0, 2) == 2);
  CHECK(behind(plan, 0, 3, 9) == 0);
  CHECK(behind(plan, 2, 0, 9) == 1);
  Planned edge({95}, {40}, {10});
  CHECK(behind(Value(edge.Make(Box({0}, {95}, 1))), 2, 0, 9) == 0);  // half of the next one is beyond
  Planned part({100}, {40}, {10});
  CHECK(behind(Value(part.Make(Box({0}, {35}, 1))), 0, 0, 9) == 2);
  Planned rows({6, 8}, {6, 8}, {2, 8});
  CHECK(behind(Value(rows.Make(Box({0, 0}, {6, 8}, 1))), 0, 0, 9) == 2);
  Planned pieces({6, 8}, {6, 8}, {1, 2});
  CHECK(behind(Value(pieces.Make(Box({0, 0}, {6, 8}, 1))), 0, 4, 9) == 3);  // of the second row
  GridSelection apart{{{0, 1, 1, 40}}, {2}};
  CHECK(behind(Value(line.Make(apart)), 0, 0, 9) == 0);
}

TEST_CASE("chunks whose places in the index do not follow each other are none behind each other") {
  const ChunkGrid grid = Value(ChunkGrid::Make({4, 8}, {4, 8}, {1, 2}, {1, 0}));
  const std::vector<int64_t> strides = {2, 1};
  const Selection all = Box({0, 0}, {4, 8}, 1);
  const Plan plan = Value(Plan::Make(grid, {strides, 1}, all));
  CHECK(plan.CountBehind(plan.Chunk(0, 0), 9) == 0);
}

TEST_CASE("a plan of a vast array costs what the selection touches, and of a range nothing") {
  Planned planned({1'000'000'000'000}, {1}, {1});
  const Plan plan = Value(planned.Make(GridSelection{{{5, 1'000'000'000, 999, 1}}, {1}}));
  CHECK(plan.objects() == 999);
  const Plan all = Value(planned.Make(Box({0}, {1'000'000'000'000}, 1)));
  CHECK(all.objects() == 1'000'000'000'000);
  CHECK(plan.ObjectId(998) == 5 + 998 * 1'000'000'000ull);
}

TEST_CASE("rank 0 has one chunk of one element") {
  Planned planned({}, {}, {});
  const Plan plan = Value(planned.Make(GridSelection{}));
  REQUIRE(plan.objects() == 1);
  CHECK(Tasks(plan)[0].whole);
  const Plan runs = Value(planned.Make(RunSelection{{0, 4, 1}}));
  CHECK(Tasks(runs)[0].whole);
}

TEST_CASE("selections that leave the array are refused") {
  Planned planned({10}, {4}, {4});
  CHECK(planned.Make(Box({8}, {3}, 1)).status().code() == StatusCode::kOutOfRange);
  CHECK(planned.Make(GridSelection{{{0, UINT64_MAX / 2, 3, 1}}, {1}}).status().code() == StatusCode::kOutOfRange);
  CHECK(planned.Make(GridSelection{{{0, 1, 2, 2}}, {1}}).status().code() == StatusCode::kInvalidArgument);
  CHECK(planned.Make(RunSelection{{9, 0, 2}}).status().code() == StatusCode::kOutOfRange);
  CHECK(planned.Make(RunSelection{{UINT64_MAX, 0, 2}}).status().code() == StatusCode::kOutOfRange);
  CHECK(planned.Make(GridSelection{}).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("runs that cover a chunk without overlap make it whole") {
  Planned planned({4, 4}, {2, 4}, {2, 4});
  const Plan whole = Value(planned.Make(RunSelection{{4, 0, 4}, {0, 10, 4}}));
  CHECK(Tasks(whole)[0].whole);
  const Plan overlapping = Value(planned.Make(RunSelection{{0, 0, 4}, {2, 10, 4}}));
  CHECK_FALSE(Tasks(overlapping)[0].whole);
}

TEST_CASE("trailing dimensions that a chunk spans are not cut into rows") {
  Planned planned({1000, 1}, {500, 1}, {500, 1});
  const Plan plan = Value(planned.Make(RunSelection{{0, 0, 1000}}));
  for (const ChunkTask& task : Tasks(plan)) {
    int pieces = 0;
    plan.ForEachPiece(task, [&](Piece&) { ++pieces; });
    CHECK(pieces == 1);
  }
}

TEST_CASE("a grid of more chunks than can be numbered is refused") {
  CHECK(ChunkGrid::Make({1ull << 40, 1ull << 40}, {1, 1}, {1, 1}).status().code() == StatusCode::kUnsupported);
}

}  // namespace h5zarr::zarr::test
