#include "shadow/virtual_selection.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/checked.h"
#include "shadow/h5_types.h"
#include "shadow/json_text.h"

namespace h5zarr::shadow {
namespace {

using Kind = MappedSelection::Kind;

constexpr uint64_t kMaxIndex = static_cast<uint64_t>(INT64_MAX);

Result<std::vector<uint64_t>> ExtentOf(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) return Hdf5Failure("a dataspace");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space, dims.data(), nullptr) < 0) {
    return Hdf5Failure("a dataspace");
  }
  return std::vector<uint64_t>(dims.begin(), dims.end());
}

Status ReadRegular(hid_t space, MappedSelection* selection) {
  const std::size_t rank = selection->rank();
  std::array<hsize_t, H5S_MAX_RANK> start, stride, count, block;
  if (H5Sget_regular_hyperslab(space, start.data(), stride.data(), count.data(), block.data()) < 0) {
    return Hdf5Failure("a hyperslab");
  }
  selection->kind = Kind::kRegular;
  for (std::size_t d = 0; d < rank; ++d) {
    // As HDF5 stores it: one block where there are no gaps. Unlimited ones may be sources' blocks.
    const bool finite = count[d] != H5S_UNLIMITED && block[d] != H5S_UNLIMITED;
    if (finite && (count[d] == 1 || stride[d] == block[d])) {
      selection->dims.push_back({start[d], 1, 1, count[d] * block[d]});
      continue;
    }
    selection->dims.push_back({start[d], stride[d], count[d], block[d]});
    if (count[d] == H5S_UNLIMITED || block[d] == H5S_UNLIMITED) {
      selection->unlimited_dim = static_cast<int>(d);
    }
  }
  return OkStatus();
}

Status ReadBlocks(hid_t space, MappedSelection* selection) {
  const hssize_t blocks = H5Sget_select_hyper_nblocks(space);
  if (blocks < 0) return Hdf5Failure("a hyperslab");
  selection->kind = Kind::kBlocks;
  std::vector<hsize_t> corners(static_cast<std::size_t>(blocks) * 2 * selection->rank());
  if (H5Sget_select_hyper_blocklist(space, 0, static_cast<hsize_t>(blocks), corners.data()) < 0) {
    return Hdf5Failure("a hyperslab");
  }
  selection->corners.assign(corners.begin(), corners.end());
  return OkStatus();
}

Status SelectBlocks(hid_t space, const MappedSelection& selection) {
  const std::size_t rank = selection.rank();
  std::vector<hsize_t> count(rank);
  if (H5Sselect_none(space) < 0) return Hdf5Failure("a hyperslab");
  for (std::size_t at = 0; at < selection.corners.size(); at += 2 * rank) {
    const uint64_t* first = &selection.corners[at];
    for (std::size_t d = 0; d < rank; ++d) count[d] = first[rank + d] - first[d] + 1;
    if (H5Sselect_hyperslab(space, H5S_SELECT_OR, first, nullptr, count.data(), nullptr) < 0) {
      return Hdf5Failure("a hyperslab");
    }
  }
  return OkStatus();
}

Status SelectRegular(hid_t space, const MappedSelection& selection) {
  std::vector<hsize_t> start, stride, count, block;
  for (const zarr::DimSelection& dim : selection.dims) {
    start.push_back(dim.start);
    stride.push_back(dim.stride);
    count.push_back(dim.count);
    block.push_back(dim.block);
  }
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), stride.data(), count.data(), block.data()) < 0) {
    return Hdf5Failure("a hyperslab");
  }
  return OkStatus();
}

// --- JSON ------------------------------------------------------------------------------------------

Json ListToJson(std::span<const uint64_t> list) {
  Json json = Json::array();
  for (const uint64_t value : list) {
    json.push_back(value == H5S_UNLIMITED ? Json() : Json(value));
  }
  return json;
}

Status BadSelection(const Json& json) {
  return CorruptError("_hdf5.mappings: " + zarr::BriefJson(json) + " is no selection");
}

// A list of indices; null is H5S_UNLIMITED. Nothing for anything else.
std::optional<std::vector<uint64_t>> ListFromJson(const Json* json) {
  if (json == nullptr || !json->is_array() || json->size() > H5S_MAX_RANK) return std::nullopt;
  std::vector<uint64_t> list;
  for (const Json& item : *json) {
    const std::optional<uint64_t> value = AsUnsigned(item);
    if (!item.is_null() && (!value || *value > kMaxIndex)) return std::nullopt;
    list.push_back(value.value_or(H5S_UNLIMITED));
  }
  return list;
}

// That HDF5 would make this dimension of a hyperslab, and its last index is a number.
bool IsValid(const zarr::DimSelection& dim) {
  if (dim.start > kMaxIndex || dim.stride == 0 || dim.stride > kMaxIndex) return false;
  if (dim.count == 0 || dim.block == 0) return false;
  if (dim.count == H5S_UNLIMITED) return dim.block <= dim.stride;
  if (dim.block == H5S_UNLIMITED) return dim.count == 1;
  if (dim.count > 1 && dim.block > dim.stride) return false;
  const auto steps = CheckedMul(dim.count - 1, dim.stride);
  const auto end = steps ? CheckedAdd(*steps, dim.block) : std::nullopt;
  return end && *end <= kMaxIndex && *end + dim.start <= kMaxIndex;
}

Result<MappedSelection> RegularFromJson(const Json& json) {
  const auto start = ListFromJson(zarr::FindMember(json, "start"));
  if (!start || start->empty()) return BadSelection(json);
  const std::size_t rank = start->size();
  const auto member = [&](const char* name) -> std::optional<std::vector<uint64_t>> {
    const Json* found = zarr::FindMember(json, name);
    if (found == nullptr) return std::vector<uint64_t>(rank, 1);
    auto list = ListFromJson(found);
    return list && list->size() == rank ? list : std::nullopt;
  };
  const auto stride = member("stride"), count = member("count"), block = member("block");
  if (!stride || !count || !block) return BadSelection(json);
  MappedSelection selection;
  selection.kind = Kind::kRegular;
  for (std::size_t d = 0; d < rank; ++d) {
    const zarr::DimSelection dim{(*start)[d], (*stride)[d], (*count)[d], (*block)[d]};
    if (!IsValid(dim)) return BadSelection(json);
    const bool unlimited = dim.count == H5S_UNLIMITED || dim.block == H5S_UNLIMITED;
    if (unlimited && selection.unlimited_dim >= 0) return BadSelection(json);
    if (unlimited) selection.unlimited_dim = static_cast<int>(d);
    selection.dims.push_back(dim);
    // As HDF5 has it for a dataset that it opened: what is selected.
    selection.extent.push_back(unlimited ? dim.start : dim.start + (dim.count - 1) * dim.stride + dim.block);
  }
  return selection;
}

Result<MappedSelection> BlocksFromJson(const Json& json, const Json& blocks) {
  MappedSelection selection;
  selection.kind = Kind::kBlocks;
  if (!blocks.is_array() || blocks.empty()) return BadSelection(json);
  for (const Json& item : blocks) {
    const std::size_t rank = item.is_array() ? item.size() / 2 : 0;
    if (rank == 0 || rank > H5S_MAX_RANK || item.size() != 2 * rank) return BadSelection(json);
    if (selection.extent.empty()) selection.extent.resize(rank);
    if (rank != selection.rank()) return BadSelection(json);
    for (std::size_t i = 0; i < 2 * rank; ++i) {
      const std::optional<uint64_t> value = AsUnsigned(item[i]);
      if (!value || *value >= kMaxIndex) return BadSelection(json);
      if (i >= rank && *value < selection.corners[selection.corners.size() - rank]) {
        return BadSelection(json);
      }
      selection.corners.push_back(*value);
      uint64_t& extent = selection.extent[i % rank];
      extent = std::max(extent, *value + 1);
    }
  }
  return selection;
}

}  // namespace

Result<MappedSelection> SelectionOf(hid_t space) {
  MappedSelection selection;
  H5ZARR_ASSIGN_OR_RETURN(selection.extent, ExtentOf(space));
  switch (H5Sget_select_type(space)) {
    case H5S_SEL_ALL: return selection;
    case H5S_SEL_NONE: selection.kind = Kind::kNone; return selection;
    case H5S_SEL_HYPERSLABS:
      H5ZARR_RETURN_IF_ERROR(H5Sis_regular_hyperslab(space) > 0 ? ReadRegular(space, &selection)
                                                                : ReadBlocks(space, &selection));
      return selection;
    case H5S_SEL_POINTS:
    case H5S_SEL_ERROR:
    case H5S_SEL_N: break;
  }
  return UnsupportedError("a virtual dataset's mapping may not select points");
}

Result<Handle> SpaceOf(const MappedSelection& selection) {
  const int rank = static_cast<int>(selection.rank());
  std::vector<hsize_t> maximum(selection.extent.begin(), selection.extent.end());
  if (selection.unlimited_dim >= 0) {
    maximum[static_cast<std::size_t>(selection.unlimited_dim)] = H5S_UNLIMITED;
  }
  Handle space(rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, selection.extent.data(), maximum.data()));
  if (!space.valid()) return Hdf5Failure("a mapping's dataspace");
  switch (selection.kind) {
    case Kind::kAll: break;
    case Kind::kNone:
      if (H5Sselect_none(space.get()) < 0) return Hdf5Failure("a mapping's dataspace");
      break;
    case Kind::kRegular: H5ZARR_RETURN_IF_ERROR(SelectRegular(space.get(), selection)); break;
    case Kind::kBlocks: H5ZARR_RETURN_IF_ERROR(SelectBlocks(space.get(), selection)); break;
  }
  return space;
}

Json SelectionToJson(const MappedSelection& selection) {
  Json json = Json::object();
  switch (selection.kind) {
    case Kind::kAll: json["all"] = ListToJson(selection.extent); break;
    case Kind::kNone: json["none"] = ListToJson(selection.extent); break;
    case Kind::kRegular: {
      const auto add = [&](const char* name, uint64_t zarr::DimSelection::*member, bool always) {
        std::vector<uint64_t> list;
        for (const zarr::DimSelection& dim : selection.dims) list.push_back(dim.*member);
        const bool plain = std::all_of(list.begin(), list.end(), [](uint64_t v) { return v == 1; });
        if (always || !plain) json[name] = ListToJson(list);
      };
      add("start", &zarr::DimSelection::start, true);
      add("stride", &zarr::DimSelection::stride, false);
      add("count", &zarr::DimSelection::count, false);
      add("block", &zarr::DimSelection::block, false);
      break;
    }
    case Kind::kBlocks: {
      Json blocks = Json::array();
      const std::size_t numbers = 2 * selection.rank();
      for (std::size_t at = 0; at < selection.corners.size(); at += numbers) {
        blocks.push_back(ListToJson(std::span(selection.corners).subspan(at, numbers)));
      }
      json["blocks"] = std::move(blocks);
      break;
    }
  }
  return json;
}

Result<MappedSelection> SelectionFromJson(const Json& json, int rank) {
  Result<MappedSelection> selection = MappedSelection{};
  const Json* all = zarr::FindMember(json, "all");
  const Json* none = zarr::FindMember(json, "none");
  if (all != nullptr || none != nullptr) {
    const auto extent = ListFromJson(all != nullptr ? all : none);
    if (!extent || std::count(extent->begin(), extent->end(), H5S_UNLIMITED) > 0) {
      return BadSelection(json);
    }
    selection->extent = *extent;
    selection->kind = all != nullptr ? Kind::kAll : Kind::kNone;
  } else if (const Json* blocks = zarr::FindMember(json, "blocks")) {
    selection = BlocksFromJson(json, *blocks);
  } else {
    selection = RegularFromJson(json);
  }
  if (selection.ok() && rank >= 0 && selection->rank() != static_cast<std::size_t>(rank)) {
    return CorruptError("_hdf5.mappings: " + zarr::BriefJson(json) + " selects in " +
                        std::to_string(selection->rank()) + " dimensions, expected " + std::to_string(rank));
  }
  return selection;
}

}  // namespace h5zarr::shadow
