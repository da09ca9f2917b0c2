#include "unit/transfer/random_space.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "unit/transfer/twin.h"

namespace h5zarr::transfer {
namespace {

std::string Text(const std::vector<uint64_t>& numbers) {
  std::string text = "(";
  for (const uint64_t number : numbers) text += (text.size() > 1 ? "," : "") + std::to_string(number);
  return text + ")";
}

}  // namespace

std::string Describe(hid_t space) {
  if (space == H5S_ALL) return "H5S_ALL";
  if (space == H5S_BLOCK) return "H5S_BLOCK";
  std::vector<uint64_t> extent(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, extent.data(), nullptr);
  std::string text = "extent " + Text(extent);
  std::vector<uint64_t> low(extent), high(extent);
  const H5S_sel_type type = H5Sget_select_type(space);
  if (type != H5S_SEL_NONE && !extent.empty() && H5Sget_select_bounds(space, low.data(), high.data()) >= 0) {
    text += " bounds " + Text(low) + Text(high);
  }
  if (type == H5S_SEL_POINTS) {
    std::vector<uint64_t> points(extent.size() * H5Sget_select_npoints(space));
    H5Sget_select_elem_pointlist(space, 0, H5Sget_select_npoints(space), points.data());
    text += " points " + Text(points);
  }
  if (type == H5S_SEL_HYPERSLABS) {
    std::vector<uint64_t> blocks(2 * extent.size() * H5Sget_select_hyper_nblocks(space));
    H5Sget_select_hyper_blocklist(space, 0, H5Sget_select_hyper_nblocks(space), blocks.data());
    text += " blocks " + Text(blocks);
  }
  return text;
}

std::vector<uint64_t> RandomSpaces::Shape(std::size_t rank, uint64_t low, uint64_t high) {
  std::vector<uint64_t> shape(rank);
  for (uint64_t& extent : shape) extent = Between(low, high);
  return shape;
}

std::vector<uint64_t> RandomSpaces::Within(const std::vector<uint64_t>& extent) {
  std::vector<uint64_t> shape;
  for (const uint64_t dim : extent) shape.push_back(Between(1, dim));
  return shape;
}

void RandomSpaces::SelectHyperslab(hid_t space, const std::vector<uint64_t>& extent, H5S_seloper_t operation) {
  std::vector<uint64_t> start, stride, count, block;
  for (const uint64_t dim : extent) {
    start.push_back(Below(dim));
    const uint64_t room = dim - start.back();
    block.push_back(Between(1, std::min<uint64_t>(room, 3)));
    stride.push_back(Between(block.back(), block.back() + 2));
    count.push_back(Between(1, (room - block.back()) / stride.back() + 1));
  }
  H5Sselect_hyperslab(space, operation, start.data(), stride.data(), count.data(), block.data());
}

void RandomSpaces::SelectPoints(hid_t space, const std::vector<uint64_t>& extent) {
  const uint64_t points = Between(1, 30);
  std::vector<uint64_t> coords;
  for (uint64_t p = 0; p < points; ++p) {
    for (const uint64_t dim : extent) coords.push_back(Below(dim));
  }
  H5Sselect_elements(space, H5S_SELECT_SET, points, coords.data());
}

// Moves the selection by H5Soffset_simple, mostly to where it fits. (Never points to where they
// don't: H5Sselect_valid allows them one step too many.)
void RandomSpaces::Offset(hid_t space, const std::vector<uint64_t>& extent) {
  if (!offsets_ || Below(3) != 0 || extent.empty() || H5Sget_select_npoints(space) == 0) return;
  std::vector<uint64_t> low(extent.size()), high(extent.size());
  H5Sget_select_bounds(space, low.data(), high.data());
  std::vector<hssize_t> offset;
  for (std::size_t d = 0; d < extent.size(); ++d) {
    const auto target = static_cast<hssize_t>(Below(extent[d] - (high[d] - low[d])));
    const bool too_far = Below(30) == 0 && H5Sget_select_type(space) != H5S_SEL_POINTS;
    offset.push_back(target - static_cast<hssize_t>(low[d]) + (too_far ? 1 : 0));
  }
  H5Soffset_simple(space, offset.data());
}

void RandomSpaces::SelectRandom(hid_t space, const std::vector<uint64_t>& extent) {
  switch (extent.empty() ? Below(2) : Below(8)) {
    case 0: return;  // all
    case 1:
      if (Below(3) == 0) H5Sselect_none(space);
      return;
    case 2:
    case 3:
    case 4: SelectHyperslab(space, extent, H5S_SELECT_SET); break;
    case 5:
    case 6:
      SelectHyperslab(space, extent, H5S_SELECT_SET);
      for (uint64_t n = Between(1, 4); n-- > 0;) SelectHyperslab(space, extent, H5S_SELECT_OR);
      break;
    default: SelectPoints(space, extent);
  }
  Offset(space, extent);
}

Handle RandomSpaces::File(const std::vector<uint64_t>& extent) {
  if (Below(8) == 0) return Handle();
  const std::vector<uint64_t> space_extent = !offsets_ && Below(4) == 0 ? Within(extent) : extent;
  Handle space = SimpleSpace(space_extent);
  SelectRandom(space.get(), space_extent);
  // Native HDF5 1.14 gets lost when all of a smaller space is selected in a chunked dataset.
  if (space_extent != extent && H5Sget_select_type(space.get()) == H5S_SEL_ALL) {
    SelectHyperslab(space.get(), space_extent, H5S_SELECT_SET);
  }
  return space;
}

RandomSpaces::Memory RandomSpaces::Strided(std::vector<uint64_t> counts) {
  std::vector<uint64_t> start, stride, block, extent;
  for (uint64_t& count : counts) {
    const uint64_t factor = count % 2 == 0 && Below(2) == 0 ? 2 : 1;
    block.push_back(factor);
    count /= factor;
    stride.push_back(factor + Below(2));
    start.push_back(Below(3));
    extent.push_back(start.back() + count * stride.back() + Below(3));
  }
  Memory memory;
  memory.space = SimpleSpace(extent);
  memory.buffer_elems = std::accumulate(extent.begin(), extent.end(), uint64_t{1}, std::multiplies<>());
  H5Sselect_hyperslab(memory.space.get(), H5S_SELECT_SET, start.data(), stride.data(), counts.data(), block.data());
  if (extent.size() == file_rank_) Offset(memory.space.get(), extent);
  return memory;
}

// `elems` different positions of one dimension.
RandomSpaces::Memory RandomSpaces::Scattered(uint64_t elems, bool points) {
  Memory memory;
  memory.buffer_elems = elems * 2 + 1;
  memory.space = SimpleSpace({memory.buffer_elems});
  std::vector<uint64_t> positions(memory.buffer_elems);
  std::iota(positions.begin(), positions.end(), 0);
  std::shuffle(positions.begin(), positions.end(), random_);
  positions.resize(elems);
  if (points) {
    H5Sselect_elements(memory.space.get(), H5S_SELECT_SET, elems, positions.data());
  } else {
    H5Sselect_none(memory.space.get());
    const uint64_t one = 1;
    for (const uint64_t position : positions) {
      H5Sselect_hyperslab(memory.space.get(), H5S_SELECT_OR, &position, nullptr, &one, nullptr);
    }
  }
  if (file_rank_ == 1) Offset(memory.space.get(), {memory.buffer_elems});
  return memory;
}

RandomSpaces::Memory RandomSpaces::ForMemory(const std::vector<uint64_t>& extent, hid_t file, uint64_t elems) {
  Memory memory;
  file_rank_ = extent.size();
  const uint64_t kind = Below(7);
  if (kind == 0 || elems == 0) {
    memory.special = H5S_ALL;
    memory.buffer_elems = file == H5S_ALL
                              ? std::accumulate(extent.begin(), extent.end(), uint64_t{1}, std::multiplies<>())
                              : static_cast<uint64_t>(H5Sget_simple_extent_npoints(file));
    return memory;
  }
  if (kind == 1) {
    memory.special = H5S_BLOCK;
    memory.buffer_elems = elems;
    return memory;
  }
  if (kind == 2) return Strided({elems});
  if (kind == 3) return Scattered(elems, true);
  if (kind == 4) return Scattered(elems, false);
  if (kind == 5) {  // in two or three dimensions
    uint64_t factor = 2;
    while (factor < elems && elems % factor != 0) ++factor;
    if (factor >= elems) return Strided({elems, 1});
    return Below(2) == 0 ? Strided({factor, elems / factor}) : Strided({elems / factor, 1, factor});
  }
  // The shape of the file's hyperslab, where it has one.
  if (file == H5S_ALL) return Strided(extent.empty() ? std::vector<uint64_t>{1} : extent);
  if (H5Sget_select_type(file) != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab(file) <= 0) {
    return Strided({elems});
  }
  std::vector<uint64_t> start(extent.size()), stride(start), count(start), block(start);
  H5Sget_regular_hyperslab(file, start.data(), stride.data(), count.data(), block.data());
  for (std::size_t d = 0; d < count.size(); ++d) count[d] *= block[d];
  return Strided(count);
}

}  // namespace h5zarr::transfer
