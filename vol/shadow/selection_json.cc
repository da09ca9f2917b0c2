#include "shadow/selection_json.h"

#include <algorithm>
#include <vector>

#include "shadow/h5_types.h"
#include "shadow/json_text.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {
namespace {

std::size_t RankOf(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  return rank > 0 ? static_cast<std::size_t>(rank) : 0;
}

// `words` cut into lists of `rank`.
Json Coordinates(const std::vector<hsize_t>& words, std::size_t rank) {
  Json list = Json::array();
  for (std::size_t at = 0; at + rank <= words.size() && rank > 0; at += rank) {
    list.push_back(std::vector<hsize_t>(words.begin() + static_cast<std::ptrdiff_t>(at),
                                        words.begin() + static_cast<std::ptrdiff_t>(at + rank)));
  }
  return list;
}

Json CountJson(const std::vector<hsize_t>& counts) {
  Json list = Json::array();
  for (const hsize_t count : counts) list.push_back(count == H5S_UNLIMITED ? Json() : Json(count));
  return list;
}

Status AddPoints(hid_t space, std::size_t rank, Json* object) {
  const hssize_t points = H5Sget_select_elem_npoints(space);
  if (points < 0) return Hdf5Failure("the points of a selection");
  std::vector<hsize_t> words(static_cast<std::size_t>(points) * rank);
  if (points > 0 && H5Sget_select_elem_pointlist(space, 0, static_cast<hsize_t>(points), words.data()) < 0) {
    return Hdf5Failure("the points of a selection");
  }
  (*object)["points"] = Coordinates(words, rank);
  return OkStatus();
}

Status AddRegular(hid_t space, std::size_t rank, Json* object) {
  std::vector<hsize_t> start(rank), stride(rank), count(rank), block(rank);
  if (H5Sget_regular_hyperslab(space, start.data(), stride.data(), count.data(), block.data()) < 0) {
    return Hdf5Failure("a regular selection");
  }
  const bool one_block = std::all_of(count.begin(), count.end(), [](hsize_t n) { return n == 1; });
  const bool bounded = std::none_of(block.begin(), block.end(), [](hsize_t n) { return n == H5S_UNLIMITED || n == 0; });
  if (one_block && bounded) {
    std::vector<hsize_t> last(rank);
    for (std::size_t d = 0; d < rank; ++d) last[d] = start[d] + block[d] - 1;
    (*object)["blocks"] = Json::array({Json::array({start, last})});
    return OkStatus();
  }
  (*object)["start"] = start;
  (*object)["stride"] = stride;
  (*object)["count"] = CountJson(count);
  (*object)["block"] = CountJson(block);
  return OkStatus();
}

Status AddBlocks(hid_t space, std::size_t rank, Json* object) {
  const hssize_t blocks = H5Sget_select_hyper_nblocks(space);
  if (blocks < 0) return Hdf5Failure("the blocks of a selection");
  std::vector<hsize_t> words(static_cast<std::size_t>(blocks) * 2 * rank);
  if (blocks > 0 && H5Sget_select_hyper_blocklist(space, 0, static_cast<hsize_t>(blocks), words.data()) < 0) {
    return Hdf5Failure("the blocks of a selection");
  }
  const Json corners = Coordinates(words, rank);
  Json list = Json::array();
  for (std::size_t i = 0; i + 1 < corners.size(); i += 2) {
    list.push_back(Json::array({corners[i], corners[i + 1]}));
  }
  (*object)["blocks"] = std::move(list);
  return OkStatus();
}

// --- back ----------------------------------------------------------------------------------------

Status BadSelection(const Json& json, std::size_t rank) {
  return CorruptError("selection " + zarr::BriefJson(json) + ": expected coordinates of rank " + std::to_string(rank));
}

// Appends the `rank` numbers of `json`; null is unlimited where that may be.
bool AppendNumbers(const Json& json, std::size_t rank, bool unlimited, std::vector<hsize_t>* out) {
  if (!json.is_array() || json.size() != rank) return false;
  for (const Json& number : json) {
    if (number.is_null() && unlimited) {
      out->push_back(H5S_UNLIMITED);
      continue;
    }
    if (!AsUnsigned(number)) return false;
    out->push_back(*AsUnsigned(number));
  }
  return true;
}

Status SelectPoints(const Json& points, std::size_t rank, hid_t space) {
  std::vector<hsize_t> words;
  if (!points.is_array()) return BadSelection(points, rank);
  for (const Json& point : points) {
    if (!AppendNumbers(point, rank, false, &words)) return BadSelection(points, rank);
  }
  if (points.empty()) return H5Sselect_none(space) < 0 ? Hdf5Failure("no selection") : OkStatus();
  if (H5Sselect_elements(space, H5S_SELECT_SET, points.size(), words.data()) < 0) {
    return BadSelection(points, rank);
  }
  return OkStatus();
}

Status SelectBlocks(const Json& blocks, std::size_t rank, hid_t space) {
  if (!blocks.is_array() || H5Sselect_none(space) < 0) return BadSelection(blocks, rank);
  const std::vector<hsize_t> once(rank, 1);
  for (const Json& corners : blocks) {
    std::vector<hsize_t> words;
    if (!corners.is_array() || corners.size() != 2 || !AppendNumbers(corners[0], rank, false, &words) ||
        !AppendNumbers(corners[1], rank, false, &words)) {
      return BadSelection(blocks, rank);
    }
    std::vector<hsize_t> block(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      if (words[rank + d] < words[d] || words[rank + d] - words[d] == UINT64_MAX) {
        return BadSelection(blocks, rank);
      }
      block[d] = words[rank + d] - words[d] + 1;
    }
    const H5S_seloper_t with = &corners == &blocks.front() ? H5S_SELECT_SET : H5S_SELECT_OR;
    if (H5Sselect_hyperslab(space, with, words.data(), nullptr, once.data(), block.data()) < 0) {
      return BadSelection(blocks, rank);
    }
  }
  return OkStatus();
}

Status SelectRegular(const Json& object, std::size_t rank, hid_t space) {
  std::vector<hsize_t> words;
  for (const char* name : {"start", "stride", "count", "block"}) {
    const Json* member = zarr::FindMember(object, name);
    const bool unlimited = name[0] == 'c' || name[0] == 'b';
    if (member == nullptr || !AppendNumbers(*member, rank, unlimited, &words)) {
      return BadSelection(object, rank);
    }
  }
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, words.data(), words.data() + rank, words.data() + 2 * rank,
                          words.data() + 3 * rank) < 0) {
    return BadSelection(object, rank);
  }
  return OkStatus();
}

}  // namespace

Status AddSelection(hid_t space, Json* object) {
  const std::size_t rank = RankOf(space);
  switch (H5Sget_select_type(space)) {
    case H5S_SEL_NONE: (*object)["selection"] = "none"; return OkStatus();
    case H5S_SEL_ALL: (*object)["selection"] = "all"; return OkStatus();
    case H5S_SEL_POINTS: return AddPoints(space, rank, object);
    case H5S_SEL_HYPERSLABS:
      if (H5Sis_regular_hyperslab(space) > 0) return AddRegular(space, rank, object);
      return AddBlocks(space, rank, object);
    default: return Hdf5Failure("the kind of a selection");
  }
}

Status ApplySelection(const Json& object, hid_t space) {
  const QuietErrors quiet;
  const std::size_t rank = RankOf(space);
  if (const Json* points = zarr::FindMember(object, "points")) {
    return SelectPoints(*points, rank, space);
  }
  if (const Json* blocks = zarr::FindMember(object, "blocks")) {
    return SelectBlocks(*blocks, rank, space);
  }
  if (zarr::FindMember(object, "start") != nullptr) return SelectRegular(object, rank, space);
  const std::string whole = StringMember(object, "selection").value_or("");
  if (whole == "all" && H5Sselect_all(space) >= 0) return OkStatus();
  if (whole == "none" && H5Sselect_none(space) >= 0) return OkStatus();
  return BadSelection(object, rank);
}

}  // namespace h5zarr::shadow
