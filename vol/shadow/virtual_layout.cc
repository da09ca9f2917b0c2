#include "shadow/virtual_layout.h"

#include <algorithm>

#include "host/guard.h"
#include "shadow/chunk_map.h"
#include "shadow/fill_map.h"
#include "shadow/h5_types.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/json_text.h"
#include "shadow/type_map.h"
#include "shadow/virtual_selection.h"

namespace h5zarr::shadow {
namespace {

constexpr int kHdf5AttributeVersion = 1;
constexpr std::string_view kVirtualKind = "virtual";
constexpr H5D_alloc_time_t kVirtualAllocTime = H5D_ALLOC_TIME_INCR;  // what H5Pset_layout sets

using NameQuery = ssize_t (*)(hid_t dcpl, std::size_t index, char* name, std::size_t bytes);

Result<std::string> NameOf(NameQuery query, hid_t dcpl, std::size_t index) {
  const ssize_t length = query(dcpl, index, nullptr, 0);
  if (length < 0) return Hdf5Failure("a mapping's source");
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  if (query(dcpl, index, name.data(), name.size()) < 0) return Hdf5Failure("a mapping's source");
  name.pop_back();
  return name;
}

Result<VirtualMapping> MappingOf(hid_t dcpl, std::size_t index) {
  VirtualMapping mapping;
  H5ZARR_ASSIGN_OR_RETURN(mapping.file, NameOf(H5Pget_virtual_filename, dcpl, index));
  H5ZARR_ASSIGN_OR_RETURN(mapping.dataset, NameOf(H5Pget_virtual_dsetname, dcpl, index));
  const Handle source(H5Pget_virtual_srcspace(dcpl, index));
  const Handle target(H5Pget_virtual_vspace(dcpl, index));
  if (!source.valid() || !target.valid()) return host::AlreadyReported();
  H5ZARR_ASSIGN_OR_RETURN(mapping.source, SelectionOf(source.get()));
  H5ZARR_ASSIGN_OR_RETURN(mapping.target, SelectionOf(target.get()));
  // A file keeps no extent of a source that is wholly mapped; HDF5 wants as many elements of it.
  const hssize_t elems = H5Sget_select_npoints(target.get());
  if (mapping.source.kind == MappedSelection::Kind::kAll && mapping.target.unlimited_dim < 0 && elems >= 0 &&
      H5Sget_select_npoints(source.get()) != elems) {
    mapping.source.extent = {static_cast<uint64_t>(elems)};
  }
  return mapping;
}

Status ReadShape(hid_t space, VirtualLayout* layout) {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) return Hdf5Failure("a dataspace");
  layout->shape.resize(static_cast<std::size_t>(rank));
  layout->maxshape.resize(layout->shape.size());
  if (rank > 0 && H5Sget_simple_extent_dims(space, layout->shape.data(), layout->maxshape.data()) < 0) {
    return Hdf5Failure("a dataspace");
  }
  return OkStatus();
}

Json ShapeToJson(const std::vector<uint64_t>& shape) {
  Json list = Json::array();
  for (const uint64_t dim : shape) list.push_back(dim == H5S_UNLIMITED ? Json() : Json(dim));
  return list;
}

Json MappingToJson(const VirtualMapping& mapping) {
  Json json = Json::object();
  json["file"] = TextToJson(mapping.file);
  json["dataset"] = TextToJson(mapping.dataset);
  json["source"] = SelectionToJson(mapping.source);
  json["target"] = SelectionToJson(mapping.target);
  return json;
}

// --- from a store --------------------------------------------------------------------------------

Status BadMember(const char* name, const Json& value) {
  return CorruptError("_hdf5." + std::string(name) + " of a virtual dataset: " + zarr::BriefJson(value));
}

Status ShapeFromJson(const Json& hdf5, const char* name, bool may_be_unlimited, std::vector<uint64_t>* shape) {
  const Json* json = zarr::FindMember(hdf5, name);
  if (json == nullptr || !json->is_array() || json->size() > H5S_MAX_RANK) {
    return BadMember(name, json != nullptr ? *json : Json());
  }
  for (const Json& item : *json) {
    const std::optional<uint64_t> value = AsUnsigned(item);
    if (!value && !(may_be_unlimited && item.is_null())) return BadMember(name, *json);
    shape->push_back(value.value_or(H5S_UNLIMITED));
  }
  return OkStatus();
}

Result<VirtualMapping> MappingFromJson(const Json& json, std::size_t rank) {
  VirtualMapping mapping;
  const Json* file = zarr::FindMember(json, "file");
  const Json* dataset = zarr::FindMember(json, "dataset");
  const Json* source = zarr::FindMember(json, "source");
  const Json* target = zarr::FindMember(json, "target");
  const auto file_name = file != nullptr ? TextFromJson(*file) : std::nullopt;
  const auto dataset_name = dataset != nullptr ? TextFromJson(*dataset) : std::nullopt;
  if (!file_name || !dataset_name || source == nullptr || target == nullptr) {
    return BadMember("mappings", json);
  }
  mapping.file = *file_name;
  mapping.dataset = *dataset_name;
  H5ZARR_ASSIGN_OR_RETURN(mapping.source, SelectionFromJson(*source, -1));
  H5ZARR_ASSIGN_OR_RETURN(mapping.target, SelectionFromJson(*target, static_cast<int>(rank)));
  return mapping;
}

// HDF5 checks that the two selections of each mapping fit each other.
Status MappingsToDcpl(const VirtualLayout& layout, hid_t dcpl) {
  if (H5Pset_layout(dcpl, H5D_VIRTUAL) < 0) return Hdf5Failure("a virtual layout");
  for (const VirtualMapping& mapping : layout.mappings) {
    MappedSelection target = mapping.target;
    target.extent = layout.shape;
    H5ZARR_ASSIGN_OR_RETURN(const Handle source_space, SpaceOf(mapping.source));
    H5ZARR_ASSIGN_OR_RETURN(const Handle target_space, SpaceOf(target));
    if (H5Pset_virtual(dcpl, target_space.get(), mapping.file.c_str(), mapping.dataset.c_str(), source_space.get()) <
        0) {
      return host::AlreadyReported();
    }
  }
  return OkStatus();
}

Result<VirtualHeader> MakeHeader(const Json& hdf5) {
  VirtualHeader header;
  auto layout = std::make_shared<VirtualLayout>();
  const Json* type = zarr::FindMember(hdf5, "type");
  H5ZARR_ASSIGN_OR_RETURN(header.type, TypeFromJson(type != nullptr ? *type : Json()));
  H5ZARR_RETURN_IF_ERROR(ShapeFromJson(hdf5, "shape", false, &layout->shape));
  H5ZARR_RETURN_IF_ERROR(ShapeFromJson(hdf5, "maxshape", true, &layout->maxshape));
  if (layout->maxshape.size() != layout->shape.size()) {
    return BadMember("maxshape", *zarr::FindMember(hdf5, "maxshape"));
  }
  const Json* mappings = zarr::FindMember(hdf5, "mappings");
  if (mappings == nullptr || !mappings->is_array()) {
    return BadMember("mappings", mappings != nullptr ? *mappings : Json());
  }
  layout->mappings.reserve(mappings->size());
  for (const Json& json : *mappings) {
    H5ZARR_ASSIGN_OR_RETURN(VirtualMapping mapping, MappingFromJson(json, layout->shape.size()));
    layout->mappings.push_back(std::move(mapping));
  }
  const int rank = static_cast<int>(layout->shape.size());
  header.space =
      Handle(rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, layout->shape.data(), layout->maxshape.data()));
  header.dcpl = Handle(H5Pcreate(H5P_DATASET_CREATE));
  if (!header.space.valid() || !header.dcpl.valid()) {
    return BadMember("shape", *zarr::FindMember(hdf5, "shape"));
  }
  H5ZARR_RETURN_IF_ERROR(MappingsToDcpl(*layout, header.dcpl.get()));
  H5ZARR_RETURN_IF_ERROR(FillFromJson(hdf5, header.type.get(), header.dcpl.get()));
  const auto alloc_time = AllocTimeFromName(StringMember(hdf5, "alloc_time").value_or(""));
  if (alloc_time && H5Pset_alloc_time(header.dcpl.get(), *alloc_time) < 0) {
    return Hdf5Failure("an allocation time");
  }
  header.layout = std::move(layout);
  return header;
}

}  // namespace

bool VirtualLayout::has_unlimited() const {
  return std::any_of(mappings.begin(), mappings.end(),
                     [](const VirtualMapping& mapping) { return mapping.target.unlimited_dim >= 0; });
}

Result<std::string> ExpandSourceName(const std::string& name, uint64_t block) {
  std::string expanded;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      expanded += name[i];
      continue;
    }
    const char next = ++i < name.size() ? name[i] : '\0';
    if (next != 'b' && next != '%') {
      return InvalidArgumentError("'" + name + "': '%' is neither %b nor %%");
    }
    expanded += next == 'b' ? std::to_string(block) : "%";
  }
  return expanded;
}

Result<VirtualLayout> VirtualLayoutOf(hid_t dcpl, hid_t space) {
  return host::CatchAll([&]() -> Result<VirtualLayout> {
    VirtualLayout layout;
    std::size_t count = 0;
    if (H5Pget_virtual_count(dcpl, &count) < 0) return host::AlreadyReported();
    layout.mappings.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      H5ZARR_ASSIGN_OR_RETURN(VirtualMapping mapping, MappingOf(dcpl, i));
      layout.mappings.push_back(std::move(mapping));
    }
    if (space != H5I_INVALID_HID) {
      H5ZARR_RETURN_IF_ERROR(ReadShape(space, &layout));
    } else if (count > 0) {
      const Handle target(H5Pget_virtual_vspace(dcpl, 0));
      if (!target.valid()) return host::AlreadyReported();
      H5ZARR_RETURN_IF_ERROR(ReadShape(target.get(), &layout));
    }
    return layout;
  });
}

Result<VirtualPlan> PlanVirtual(hid_t type, hid_t space, hid_t dcpl, int zarr_format) {
  return host::CatchAll([&]() -> Result<VirtualPlan> {
    VirtualPlan plan;
    H5ZARR_ASSIGN_OR_RETURN(VirtualLayout layout, VirtualLayoutOf(dcpl, space));
    plan.layout = std::make_shared<VirtualLayout>(std::move(layout));
    plan.metadata.zarr_format = zarr_format;
    Json hdf5 = Json::object();
    hdf5["version"] = kHdf5AttributeVersion;
    hdf5["kind"] = kVirtualKind;
    H5ZARR_ASSIGN_OR_RETURN(hdf5["type"], TypeToJson(type));
    hdf5["shape"] = ShapeToJson(plan.layout->shape);
    hdf5["maxshape"] = ShapeToJson(plan.layout->maxshape);
    H5ZARR_RETURN_IF_ERROR(FillToJson(dcpl, type, &hdf5));
    H5D_alloc_time_t alloc_time = H5D_ALLOC_TIME_ERROR;
    if (H5Pget_alloc_time(dcpl, &alloc_time) < 0) return Hdf5Failure("an allocation time");
    if (alloc_time != kVirtualAllocTime) hdf5["alloc_time"] = std::string(AllocTimeName(alloc_time));
    Json mappings = Json::array();
    for (const VirtualMapping& mapping : plan.layout->mappings) {
      mappings.push_back(MappingToJson(mapping));
    }
    hdf5["mappings"] = std::move(mappings);
    plan.metadata.attributes["_hdf5"] = std::move(hdf5);
    return plan;
  });
}

bool IsVirtualNode(const Json& attributes) {
  const Json* hdf5 = zarr::FindMember(attributes, "_hdf5");
  const Json* kind = hdf5 != nullptr ? zarr::FindMember(*hdf5, "kind") : nullptr;
  return kind != nullptr && *kind == kVirtualKind;
}

Result<VirtualHeader> OpenVirtual(const Json& attributes) {
  return host::CatchAll([&]() -> Result<VirtualHeader> {
    const Json* hdf5 = zarr::FindMember(attributes, "_hdf5");
    return MakeHeader(hdf5 != nullptr ? *hdf5 : Json());
  });
}

void NoteVirtualShape(const VirtualLayout& layout, Json* attributes) {
  SetHdf5Member(attributes, "shape", ShapeToJson(layout.shape));
}

}  // namespace h5zarr::shadow
