#include "view/array_batch.h"

#include <algorithm>
#include <map>

#include "host/native.h"
#include "shadow/type_map.h"
#include "transfer/dataset_io.h"
#include "view/by_connector.h"

namespace h5zarr::view {
namespace {

using transfer::GridTransfer;

// One block of consecutive indices in every dimension.
bool IsBox(const GridTransfer& grid) {
  return std::all_of(grid.dims.begin(), grid.dims.end(), [](const zarr::DimSelection& dim) {
    return dim.count == 1 || (dim.stride == dim.block && dim.count > 0);
  });
}

uint64_t End(const zarr::DimSelection& dim) { return dim.start + dim.elems(); }

// Where the array's first element would lie in memory.
int64_t Base(const GridTransfer& grid) {
  auto base = static_cast<int64_t>(grid.mem_start_elems);
  for (std::size_t d = 0; d < grid.dims.size(); ++d) {
    base -= static_cast<int64_t>(grid.dims[d].start) * grid.mem_strides_elems[d];
  }
  return base;
}

}  // namespace

void ArrayBatch::Add(const Region& region, GridTransfer grid, std::byte* buffer) {
  parts_.push_back({&region, buffer, std::move(grid), H5I_INVALID_HID, H5I_INVALID_HID});
}

void ArrayBatch::AddSpaces(const Region& region, hid_t mem_space, hid_t file_space, std::byte* buffer) {
  parts_.push_back({&region, buffer, {}, mem_space, file_space});
}

// The parts from `first` to `end` as one box, where they are that.
std::optional<GridTransfer> ArrayBatch::Joined(std::size_t first, std::size_t end) const {
  GridTransfer box = parts_[first].grid;
  if (end - first < 2 || !IsBox(box)) return std::nullopt;
  const int64_t base = Base(box);
  std::vector<uint64_t> begin_at, end_at;
  for (const zarr::DimSelection& dim : box.dims) {
    begin_at.push_back(dim.start);
    end_at.push_back(End(dim));
  }
  uint64_t elems = 0;
  for (std::size_t i = first; i < end; ++i) {
    const GridTransfer& grid = parts_[i].grid;
    if (!IsBox(grid) || Base(grid) != base || grid.mem_strides_elems != box.mem_strides_elems) {
      return std::nullopt;
    }
    uint64_t elems_of_part = 1;
    for (std::size_t d = 0; d < grid.dims.size(); ++d) {
      begin_at[d] = std::min(begin_at[d], grid.dims[d].start);
      end_at[d] = std::max(end_at[d], End(grid.dims[d]));
      elems_of_part *= grid.dims[d].elems();
    }
    elems += elems_of_part;
  }
  // Parts of one transfer never overlap: as many elements as the box has are the box.
  uint64_t elems_of_box = 1;
  int64_t start = base;
  for (std::size_t d = 0; d < box.dims.size(); ++d) {
    box.dims[d] = {begin_at[d], 1, 1, end_at[d] - begin_at[d]};
    elems_of_box *= box.dims[d].block;
    start += static_cast<int64_t>(begin_at[d]) * box.mem_strides_elems[d];
  }
  if (elems_of_box != elems || start < 0) return std::nullopt;
  box.mem_start_elems = static_cast<uint64_t>(start);
  return box;
}

// (Of a virtual dataset a grid is always a whole block.)
Status ArrayBatch::ReadVirtual(const Part& part) {
  const shadow::NodeState& node = *part.region->node();
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, shadow::TypeFromJson(part.region->geometry().type));
  if (part.file_space >= 0) {
    return ReadByConnector(*store_, node.path, type.get(), part.mem_space, part.file_space, part.buffer);
  }
  const std::vector<uint64_t>& extent = part.region->geometry().extent;
  std::vector<hsize_t> start, count;
  for (const zarr::DimSelection& dim : part.grid.dims) {
    start.push_back(dim.start);
    count.push_back(dim.elems());
  }
  const int rank = static_cast<int>(extent.size());
  const Handle file_space(rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, extent.data(), nullptr));
  const Handle mem_space(rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, count.data(), nullptr));
  if (rank > 0 &&
      H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return ReadByConnector(*store_, node.path, type.get(), mem_space.get(), file_space.get(), part.buffer);
}

Status ArrayBatch::Read() {
  std::map<const Region*, Handle> types;  // as the image has them
  std::vector<transfer::DatasetTransfer> transfers;
  std::vector<GridTransfer> joined;
  joined.reserve(parts_.size());
  for (std::size_t first = 0; first < parts_.size();) {
    std::size_t end = first + 1;  // of the parts that may be one
    while (end < parts_.size() && parts_[end].region == parts_[first].region &&
           parts_[end].buffer == parts_[first].buffer && parts_[end].file_space < 0 && parts_[first].file_space < 0) {
      ++end;
    }
    const Region& region = *parts_[first].region;
    shadow::DatasetState& state = region.node()->dataset;
    Handle& type = types[&region];
    if (state.virtual_layout != nullptr) {
      H5ZARR_RETURN_IF_ERROR(ReadVirtual(parts_[first]));
      ++first;
      continue;
    }
    if (!type.valid()) {
      H5ZARR_RETURN_IF_ERROR(store_->OpenElements(region.node()).status());
      H5ZARR_ASSIGN_OR_RETURN(type, shadow::ReportedType(state.element));
    }
    transfer::DatasetTransfer transfer;
    transfer.array = state.array.get();
    transfer.element = &state.element;
    transfer.extent = region.geometry().extent;
    transfer.mem_type = type.get();
    transfer.read_buffer = parts_[first].buffer;
    if (std::optional<GridTransfer> box = Joined(first, end)) {
      joined.push_back(std::move(*box));
      transfer.grid = &joined.back();
      transfers.push_back(transfer);
      first = end;
    }
    for (; first < end; ++first) {
      const Part& part = parts_[first];
      transfer.mem_space = part.mem_space;
      transfer.file_space = part.file_space;
      transfer.grid = part.file_space < 0 ? &part.grid : nullptr;
      transfers.push_back(transfer);
    }
  }
  return transfer::ReadDatasets(transfers, host::DefaultDxpl());
}

}  // namespace h5zarr::view
