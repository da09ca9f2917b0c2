#include "shadow/copied_array.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "shadow/conventions.h"
#include "shadow/dimension_scales.h"
#include "shadow/filters_map.h"
#include "shadow/hdf5_member.h"
#include "zarr/other_format.h"

namespace h5zarr::shadow {
namespace {

// What `_hdf5` says of an array in whatever file it lies: paths are not among it.
Json ArrayMembers(const Json& attributes) {
  Json members = Json::object();
  for (const char* name : {"version", "type", "layout", "space", "maxshape", "filters", "fill", "fill_time", "written",
                           "alloc_time", "shard_hidden"}) {
    Json value = Hdf5Member(attributes, name);
    if (!value.is_null()) members[name] = std::move(value);
  }
  return members;
}

void TakeDimensionNames(const zarr::ArrayMetadata& source, zarr::ArrayMetadata* copy) {
  DimensionNames names = DimensionNamesOf(source);
  if (copy->zarr_format == 3) {
    copy->dimension_names = std::move(names);
    return;
  }
  // (v2 has no word for a dimension without a name.)
  if (names.empty() || std::any_of(names.begin(), names.end(), [](const auto& name) { return !name; })) return;
  Json list = Json::array();
  for (const auto& name : names) list.push_back(*name);
  copy->attributes["_ARRAY_DIMENSIONS"] = std::move(list);
}

// Whether the document of `source` alone says what HDF5 copied.
bool IsPlainArray(const NodeState& source, const DatasetPlan& plan) {
  const DatasetState& dataset = source.dataset;
  if (!source.node.is_array() || dataset.external || plan.external || dataset.element.read_only) return false;
  const zarr::ArrayMetadata& array = source.node.array();
  return !IsScalarByConvention(array) && dataset.null_space == plan.null_space &&
         array.rank() - dataset.element.elem_dims.size() == plan.metadata.rank() - plan.element.elem_dims.size();
}

// Where the codecs of the other format stand for other filters than those that a program sees of `source`.
Status NoteFilters(const zarr::ArrayMetadata& metadata, const DatasetPlan& plan, Json* members) {
  if (plan.layout != H5D_CHUNKED || members->contains("filters")) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<Filter> filters, FiltersOfDcpl(plan.shadow_dcpl.get()));
  const std::size_t rank = plan.metadata.rank() - plan.element.elem_dims.size();
  if (!SamePipeline(filters, FiltersForCodecs(metadata.codecs, rank))) {
    (*members)["filters"] = FiltersToJson(filters);
  }
  return OkStatus();
}

}  // namespace

void TakeDimensions(const zarr::ArrayMetadata& source, zarr::ArrayMetadata* copy) {
  TakeDimensionNames(source, copy);
  for (const char* name : {"scale", "labels"}) {
    Json value = Hdf5Member(source.attributes, name);
    if (!value.is_null()) SetHdf5Member(&copy->attributes, name, std::move(value));
  }
  if (Hdf5Member(source.attributes, "scales") == false) SetHdf5Member(&copy->attributes, "scales", false);
}

void TakeHiddenAttributes(const NodeState& source, NodeState* copy) {
  const Json& attributes = source.node.attributes();
  const auto conventions = attributes.find("zarr_conventions");
  if (conventions != attributes.end()) copy->node.attributes()["zarr_conventions"] = *conventions;
  if (source.node.is_array() && copy->node.is_array() && source.node.array().rank() == copy->node.array().rank()) {
    TakeDimensions(source.node.array(), &std::get<zarr::ArrayMetadata>(copy->node.metadata));
  }
  copy->document_changed = true;
}

Result<bool> TakeArray(const NodeState& source, const Config& config, bool with_attributes, DatasetPlan* plan) {
  if (!IsPlainArray(source, *plan)) return UnsupportedError("an array that its document alone does not say");
  const zarr::ArrayMetadata& original = source.node.array();
  H5ZARR_ASSIGN_OR_RETURN(zarr::ConvertedArray converted, zarr::InFormat(original, plan->metadata.zarr_format));
  zarr::ArrayMetadata& metadata = converted.metadata;
  Json members = ArrayMembers(original.attributes);
  const Json planned = plan->metadata.attributes.contains("_hdf5") ? plan->metadata.attributes["_hdf5"] : Json();
  const bool other_format = original.zarr_format != metadata.zarr_format;
  if (other_format && !original.fill.defined) {
    if (const Json* fill = zarr::FindMember(planned, "fill")) members["fill"] = *fill;
  }
  zarr::ChunkUnit unit = source.dataset.chunk_unit;
  const bool is_chosen = config.codec != Config::Codec::kFilters || config.shard != Config::Shard::kOff;
  if (is_chosen && plan->element.elem_dims == source.dataset.element.elem_dims) {
    metadata.codecs = plan->metadata.codecs;
    metadata.chunk_shape = plan->metadata.chunk_shape;
    converted.same_chunks = false;
    for (const char* name : {"filters", "maxshape", "shard_hidden"}) {
      const Json* value = zarr::FindMember(planned, name);
      members.erase(name);
      if (value != nullptr) members[name] = *value;
    }
    unit = plan->chunk_unit;
  } else if (other_format) {
    H5ZARR_RETURN_IF_ERROR(NoteFilters(metadata, *plan, &members));
  }
  metadata.attributes = std::move(plan->metadata.attributes);
  metadata.attributes.erase("_hdf5");
  for (auto& [name, value] : members.items()) {
    if (name != "version") SetHdf5Member(&metadata.attributes, name, std::move(value));
  }
  metadata.dimension_names.clear();
  if (with_attributes) TakeDimensions(original, &metadata);
  plan->metadata = std::move(metadata);
  plan->element = source.dataset.element;
  plan->chunk_unit = unit;
  return converted.same_chunks;
}

}  // namespace h5zarr::shadow
