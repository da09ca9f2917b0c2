#include "shadow/dimension_scales.h"

#include <algorithm>
#include <cstdio>

#include "shadow/conventions.h"
#include "shadow/hdf5_member.h"

namespace h5zarr::shadow {
namespace {

constexpr std::string_view kBareDimension = "This is a netCDF dimension but not a netCDF variable.";

// The last component of a path, for names that NCZarr gives in full.
std::string LastName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A list of names, one a dimension, with null for none; nothing where it has another form.
DimensionNames NamesFromList(const Json* list, std::size_t rank, bool are_paths) {
  if (list == nullptr || !list->is_array() || list->size() != rank) return {};
  DimensionNames names;
  for (const Json& name : *list) {
    if (!name.is_string()) {
      if (!name.is_null()) return {};
      names.emplace_back();
      continue;
    }
    const std::string text = name.get<std::string>();
    names.emplace_back(are_paths ? LastName(text) : text);
  }
  return names;
}

// NCZarr's: v2 keeps them in .zarray or in an attribute, by the version of the library.
DimensionNames NamesOfNczarr(const zarr::ArrayMetadata& metadata) {
  const std::size_t rank = metadata.rank();
  for (const Json* holder : {&metadata.attributes, &metadata.document}) {
    for (const char* key : {"_nczarr_array", "_NCZARR_ARRAY"}) {
      const Json* array = zarr::FindMember(*holder, key);
      if (array == nullptr) continue;
      for (const char* member : {"dimension_references", "dimrefs"}) {
        DimensionNames names = NamesFromList(zarr::FindMember(*array, member), rank, true);
        if (!names.empty()) return names;
      }
    }
  }
  return {};
}

}  // namespace

DimensionNames DimensionNamesOf(const zarr::ArrayMetadata& metadata) {
  if (IsScalarByConvention(metadata)) return {};
  DimensionNames names = metadata.dimension_names;
  // xarray wrote the attribute into v3 stores, too, before there were names.
  if (names.empty()) {
    const Json* list = zarr::FindMember(metadata.attributes, "_ARRAY_DIMENSIONS");
    names = NamesFromList(list, metadata.rank(), false);
  }
  if (names.empty()) names = NamesOfNczarr(metadata);
  for (auto& name : names) {
    // What cannot be the name of a node is no scale's name.
    if (name && !zarr::CheckNodeName(*name).ok()) name.reset();
  }
  return names;
}

void SetDimensionNames(DimensionNames names, zarr::ArrayMetadata* metadata) {
  names.resize(metadata->rank());
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (*name && std::find(names.begin(), name, *name) != name) name->reset();
  }
  const bool any = std::any_of(names.begin(), names.end(), [](const auto& name) { return !!name; });
  const bool all = std::all_of(names.begin(), names.end(), [](const auto& name) { return !!name; });
  Json& attributes = metadata->attributes;
  if (metadata->zarr_format == 3) {
    metadata->dimension_names = any ? std::move(names) : DimensionNames();
    attributes.erase("_ARRAY_DIMENSIONS");
    return;
  }
  // v2 has no word for a dimension without a name. Of rank 0 the list is empty, but there: without it
  // xarray opens no array of a v2 store.
  if (!all) {
    attributes.erase("_ARRAY_DIMENSIONS");
    return;
  }
  Json list = Json::array();
  for (const auto& name : names) list.push_back(*name);
  attributes["_ARRAY_DIMENSIONS"] = std::move(list);
}

bool IsDimensionAttribute(std::string_view name) {
  static constexpr std::string_view kNames[] = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST",
                                                "DIMENSION_LABELS"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

DimensionState RoleFromMetadata(const zarr::ArrayMetadata& metadata, std::string_view own_name, std::size_t rank) {
  DimensionState state;
  const Json recorded = Hdf5Member(metadata.attributes, "scale");
  if (recorded.is_string()) {
    state.is_scale = true;
    state.scale_name = recorded.get<std::string>();
  } else if (recorded.is_boolean()) {
    state.is_scale = recorded.get<bool>();
  } else if (rank == 1 && Hdf5Member(metadata.attributes, "scales").is_null() && !NamesAreLabels(metadata.attributes)) {
    const DimensionNames names = DimensionNamesOf(metadata);
    state.is_scale = !names.empty() && names[0] == own_name;
    if (state.is_scale) state.scale_name = std::string(own_name);
  }
  return state;
}

std::optional<std::vector<std::vector<std::string>>> RecordedScales(const Json& attributes, std::size_t rank) {
  std::vector<std::vector<std::string>> scales;
  const Json recorded = Hdf5Member(attributes, "scales");
  if (recorded.is_boolean() || NamesAreLabels(attributes)) return scales;
  if (!recorded.is_array() || recorded.size() != rank) return std::nullopt;
  for (const Json& attached : recorded) {
    std::vector<std::string>& paths = scales.emplace_back();
    for (const Json& path : attached) {
      if (path.is_string()) paths.push_back(path.get<std::string>());
    }
  }
  return scales;
}

std::optional<std::vector<std::string>> RecordedLabels(const Json& attributes, std::size_t rank) {
  std::vector<std::string> labels;
  const Json recorded = Hdf5Member(attributes, "labels");
  if (!recorded.is_array() || (!recorded.empty() && recorded.size() != rank)) return std::nullopt;
  for (const Json& label : recorded) {
    labels.push_back(label.is_string() ? label.get<std::string>() : std::string());
  }
  return labels;
}

DimensionNames NamesFromState(const DimensionState& state, std::string_view own_name, std::size_t rank) {
  DimensionNames names(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (i < state.labels.size() && !state.labels[i].empty()) {
      names[i] = state.labels[i];
    } else if (i < state.scales.size() && !state.scales[i].empty()) {
      // Of several, netCDF takes the last one.
      names[i] = LastName(state.scales[i].back());
    } else if (state.is_scale && i == 0) {
      names[i] = std::string(own_name);
    }
  }
  return names;
}

std::string BareDimensionName(uint64_t extent) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%10llu", static_cast<unsigned long long>(extent));
  return std::string(kBareDimension) + digits;
}

bool IsBareDimensionName(std::string_view scale_name) { return scale_name.starts_with(kBareDimension); }

zarr::ArrayMetadata MakeBareDimension(const std::string& name, uint64_t extent, int zarr_format) {
  zarr::ArrayMetadata metadata;
  metadata.zarr_format = zarr_format;
  metadata.shape = {extent};
  metadata.chunk_shape = {std::max<uint64_t>(extent, 1)};
  metadata.dtype = DType::Float(4, Endian::kBig);  // as netCDF has it
  metadata.fill.defined = true;
  metadata.fill.bytes.assign(4, std::byte{0});
  SetDimensionNames({name}, &metadata);
  SetHdf5Member(&metadata.attributes, "scale", BareDimensionName(extent));
  return metadata;
}

Result<Json> DocumentOfBareDimension(const zarr::ArrayMetadata& metadata) {
  H5ZARR_ASSIGN_OR_RETURN(const zarr::MetadataTexts texts, zarr::FormatArray(metadata));
  H5ZARR_ASSIGN_OR_RETURN(Json document, zarr::ParseJson(texts.document, "a dimension"));
  if (metadata.zarr_format == 2 && !texts.attributes.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(document["attributes"], zarr::ParseJson(texts.attributes, "a dimension"));
  }
  return document;
}

Result<zarr::ArrayMetadata> BareDimensionFromDocument(const Json& document, const std::string& name, int zarr_format,
                                                      std::optional<uint64_t> extent) {
  const std::string what = "_hdf5.dimensions: '" + name + "'";
  if (!document.is_object()) return CorruptError(what + ": expected an array's document");
  zarr::ArrayMetadata metadata;
  if (zarr_format == 3) {
    H5ZARR_ASSIGN_OR_RETURN(metadata, zarr::ParseArrayV3(zarr::DumpJson(document, -1), what));
  } else {
    Json array = document;
    array.erase("attributes");
    const Json* attributes = zarr::FindMember(document, "attributes");
    H5ZARR_ASSIGN_OR_RETURN(metadata,
                            zarr::ParseArrayV2(zarr::DumpJson(array, -1),
                                               attributes == nullptr ? "" : zarr::DumpJson(*attributes, -1), what));
  }
  if (metadata.rank() != 1) return CorruptError(what + ": expected one dimension");
  if (extent && metadata.shape[0] != *extent) {
    // Another program resized the arrays that use it.
    metadata.shape[0] = *extent;
    SetHdf5Member(&metadata.attributes, "scale", BareDimensionName(*extent));
  }
  return metadata;
}

void DimensionCensus::Add(const zarr::ArrayMetadata& metadata) {
  const DimensionNames names = DimensionNamesOf(metadata);
  std::vector<std::string> used;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i]) continue;
    const auto [known, first] = extents_.try_emplace(*names[i], metadata.shape[i]);
    if (!first && known->second != metadata.shape[i]) known->second.reset();
    used.push_back(*names[i]);
  }
  const bool recorded = !Hdf5Member(metadata.attributes, "scales").is_null() || NamesAreLabels(metadata.attributes);
  if (!recorded && !used.empty() && used.size() == metadata.rank()) {
    users_.push_back(std::move(used));
  }
}

std::map<std::string, uint64_t> DimensionCensus::Agreed() const {
  std::map<std::string, uint64_t> agreed;
  const auto is_agreed = [&](const std::string& name) { return !!extents_.at(name); };
  for (const std::vector<std::string>& names : users_) {
    if (!std::all_of(names.begin(), names.end(), is_agreed)) continue;
    for (const std::string& name : names) agreed.emplace(name, *extents_.at(name));
  }
  return agreed;
}

}  // namespace h5zarr::shadow
