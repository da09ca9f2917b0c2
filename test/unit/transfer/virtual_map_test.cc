#include "transfer/virtual_map.h"

#include <map>
#include <random>

#include "catch.h"
#include "host/handle.h"
#include "unit/transfer/twin.h"

namespace h5zarr::transfer {
namespace {

using zarr::DimSelection;

// The indices a dimension selects, in order.
std::vector<uint64_t> IndicesOf(const DimSelection& dim) {
  std::vector<uint64_t> indices;
  for (uint64_t i = 0; i < dim.count; ++i) {
    for (uint64_t j = 0; j < dim.block; ++j) indices.push_back(dim.start + i * dim.stride + j);
  }
  return indices;
}

// A regular selection of `elems` indices that may begin anywhere and leave gaps.
DimSelection AnySelection(std::mt19937& random, uint64_t elems) {
  const uint64_t stride = 1 + random() % 4;
  return {random() % 5, stride, elems, 1};
}

// Which element of the source (by its place in memory) a transfer of two dimensions gets, by counting.
std::map<uint64_t, std::pair<uint64_t, uint64_t>> Expected(const Hyperslab& file, const Hyperslab& target,
                                                           const Hyperslab& source) {
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> expected;
  const auto rows = IndicesOf(file[0]), columns = IndicesOf(file[1]);
  const auto to_rows = IndicesOf(target[0]), to_columns = IndicesOf(target[1]);
  const auto from_rows = IndicesOf(source[0]), from_columns = IndicesOf(source[1]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      for (std::size_t k = 0; k < to_rows.size(); ++k) {
        for (std::size_t l = 0; l < to_columns.size(); ++l) {
          if (rows[i] == to_rows[k] && columns[j] == to_columns[l]) {
            expected[i * columns.size() + j] = {from_rows[k], from_columns[l]};
          }
        }
      }
    }
  }
  return expected;
}

TEST_CASE("a piece is what both the transfer and the mapping select", "[virtual]") {
  BindHdf5();
  std::mt19937 random(7);
  const std::vector<uint64_t> extent{60, 60};
  for (int round = 0; round < 500; ++round) {
    const uint64_t rows = 1 + random() % 9, columns = 1 + random() % 9;
    const Hyperslab target{AnySelection(random, rows), AnySelection(random, columns)};
    const Hyperslab source{AnySelection(random, rows), AnySelection(random, columns)};
    const Hyperslab file{AnySelection(random, 1 + random() % 9), AnySelection(random, 1 + random() % 9)};
    const Result<Handle> space = SpaceOfGrid(file, extent);
    REQUIRE(space.ok());
    const std::vector<uint64_t> packed{file[0].count, file[1].count};
    const Handle memory(H5Screate_simple(2, packed.data(), nullptr));
    Result<VirtualCutter> cutter = VirtualCutter::Make(space->get(), memory.get(), extent, 4);
    REQUIRE(cutter.ok());
    const auto expected = Expected(file, target, source);
    const auto piece = cutter->Cut(MappedSide{{target}}, MappedSide{{source}}, extent);
    REQUIRE(piece.ok());
    REQUIRE(piece->has_value() == !expected.empty());
    if (expected.empty()) continue;
    REQUIRE((*piece)->grid.has_value());
    const GridTransfer& grid = *(*piece)->grid;
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> found;
    const auto from_rows = IndicesOf(grid.dims[0]), from_columns = IndicesOf(grid.dims[1]);
    for (std::size_t k = 0; k < from_rows.size(); ++k) {
      for (std::size_t l = 0; l < from_columns.size(); ++l) {
        const uint64_t address = grid.mem_start_elems + k * static_cast<uint64_t>(grid.mem_strides_elems[0]) +
                                 l * static_cast<uint64_t>(grid.mem_strides_elems[1]);
        found[address] = {from_rows[k], from_columns[l]};
      }
    }
    REQUIRE(found == expected);
    // HDF5's projection of the same has as many elements.
    const auto projected = cutter->CutSpaces(MappedSide{{target}}, MappedSide{{source}}, extent);
    REQUIRE(projected.ok());
    REQUIRE(projected->has_value());
    REQUIRE((*projected)->elems == expected.size());
  }
}

TEST_CASE("slices and extents of unlimited selections are each other's inverse", "[virtual]") {
  for (uint64_t block = 1; block <= 3; ++block) {
    for (uint64_t stride = block; stride <= 5; ++stride) {
      const DimSelection dim{2, stride, H5S_UNLIMITED, block};
      for (uint64_t slices = 1; slices < 20; ++slices) {
        const uint64_t extent = ExtentOfSlices(dim, slices, false);
        CHECK(SlicesWithin(dim, extent) == slices);
        CHECK(SlicesWithin(dim, extent - 1) == slices - 1);
        const uint64_t trailing = ExtentOfSlices(dim, slices, true);
        CHECK(trailing >= extent);
        CHECK(SlicesWithin(dim, trailing) == slices);
      }
      CHECK(SlicesWithin(dim, 2) == 0);
      CHECK(ExtentOfSlices(dim, 0, false) == 0);
    }
  }
}

TEST_CASE("boxes that touch do not overlap, boxes that share an index do", "[virtual]") {
  std::vector<Bounds> boxes;
  for (uint64_t i = 0; i < 30; ++i) {
    for (uint64_t j = 0; j < 30; ++j) {
      boxes.push_back({{i * 10, j * 10}, {i * 10 + 9, j * 10 + 9}});
    }
  }
  CHECK(!MayOverlap(boxes));
  boxes.push_back({{45, 299}, {45, 299}});
  CHECK(MayOverlap(boxes));
}

}  // namespace
}  // namespace h5zarr::transfer
