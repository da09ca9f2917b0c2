#include "shadow/dataset_map.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/checked.h"
#include "base/trace.h"
#include "codec/numpy_dtype.h"
#include "host/guard.h"
#include "shadow/chunk_map.h"
#include "shadow/conventions.h"
#include "shadow/external_list.h"
#include "shadow/fill_map.h"
#include "shadow/filters_map.h"
#include "shadow/h5_types.h"
#include "shadow/json_text.h"
#include "zarr/codec_specs.h"
#include "zarr/metadata_parts.h"

namespace h5zarr::shadow {
namespace {

using Form = ElementMap::Form;

constexpr int kHdf5AttributeVersion = 1;
constexpr uint64_t kMaxStoredFillBytes = uint64_t{1} << 30;  // see CheckFillSize
// What a compact dataset may hold: an object header's message less its layout.
constexpr uint64_t kMaxCompactBytes = 65536 - 4;

// A dataspace as values.
struct Extent {
  H5S_class_t space_class = H5S_SIMPLE;
  std::vector<uint64_t> dims;
  std::vector<uint64_t> maxdims;
};

Result<Extent> ReadExtent(hid_t space) {
  Extent extent;
  extent.space_class = H5Sget_simple_extent_type(space);
  if (extent.space_class != H5S_SIMPLE) return extent;
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) return Hdf5Failure("a dataspace");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  std::vector<hsize_t> maxdims(dims.size());
  if (H5Sget_simple_extent_dims(space, dims.data(), maxdims.data()) < 0) {
    return Hdf5Failure("a dataspace");
  }
  extent.dims.assign(dims.begin(), dims.end());
  extent.maxdims.assign(maxdims.begin(), maxdims.end());
  return extent;
}

Status CheckStorage(hid_t dcpl, H5D_layout_t layout, const Extent& extent, hid_t type) {
  if (layout == H5D_VIRTUAL) {
    return UnsupportedError("virtual datasets (H5D_VIRTUAL) cannot be created in a Zarr store");
  }
  if (layout == H5D_CHUNKED) {
    if (extent.space_class == H5S_SIMPLE && !extent.dims.empty()) return OkStatus();
    return InvalidArgumentError("chunked layout needs a simple dataspace of rank 1 or more");
  }
  if (layout == H5D_CONTIGUOUS && H5Pget_external_count(dcpl) > 0) return OkStatus();
  if (extent.dims != extent.maxdims) {
    return InvalidArgumentError("only chunked datasets can be extendible");
  }
  if (layout != H5D_COMPACT) return OkStatus();
  const std::optional<uint64_t> elems = CheckedProduct(extent.dims);
  const std::optional<uint64_t> bytes = elems ? CheckedMul(*elems, H5Tget_size(type)) : std::nullopt;
  if (!bytes || *bytes > kMaxCompactBytes) {
    return InvalidArgumentError("a compact dataset is at most 64 KiB");
  }
  return OkStatus();
}

Json MaxShapeJson(const std::vector<uint64_t>& maxdims) {
  Json list = Json::array();
  for (const uint64_t dim : maxdims) {
    list.push_back(dim == H5S_UNLIMITED ? Json() : Json(dim));
  }
  return list;
}

// The names that v3's `struct` has for what is else `structured`.
Json AsStruct(const Json& data_type) {
  if (StringMember(data_type, "name") != "structured") return data_type;
  Json result = data_type;
  result["name"] = "struct";
  Json fields = Json::array();
  for (const Json& field : data_type["configuration"]["fields"]) {
    Json item = Json::object();
    item["name"] = field[0];
    item["data_type"] = AsStruct(field[1]);
    fields.push_back(std::move(item));
  }
  result["configuration"]["fields"] = std::move(fields);
  return result;
}

// Layout and allocation time: recorded in `hdf5` where a chunked, incrementally allocated dataset
// is not what was asked for, and taken from the shadow's list, so that no raw data lands there.
Status RewriteStorage(hid_t dcpl, bool scalar, DatasetPlan* plan, Json* hdf5) {
  plan->shadow_dcpl = Handle(H5Pcopy(dcpl));
  const hid_t shadow = plan->shadow_dcpl.get();
  H5ZARR_ASSIGN_OR_RETURN(plan->alloc_time, AllocTimeOfDcpl(dcpl, shadow));
  const bool has_dims = !plan->null_space && !scalar;  // what else could they be
  if (plan->layout == H5D_CONTIGUOUS && has_dims) (*hdf5)["layout"] = "contiguous";
  if (plan->layout == H5D_COMPACT) (*hdf5)["layout"] = "compact";
  if (plan->alloc_time != H5D_ALLOC_TIME_DEFAULT) {
    (*hdf5)["alloc_time"] = std::string(AllocTimeName(plan->alloc_time));
  }
  const bool chunked = plan->layout == H5D_CHUNKED;
  if ((plan->layout == H5D_COMPACT && H5Pset_layout(shadow, H5D_CONTIGUOUS) < 0) ||
      H5Pset_alloc_time(shadow, chunked ? H5D_ALLOC_TIME_INCR : H5D_ALLOC_TIME_LATE) < 0) {
    return Hdf5Failure("the shadow's property list");
  }
  return OkStatus();
}

// The files of a dataset with external storage. HDF5 keeps its data there by itself, but for parts of
// variable length, which it would put into the shadow.
Status PlanExternal(hid_t dcpl, DatasetPlan* plan, Json* hdf5) {
  if (plan->layout != H5D_CONTIGUOUS) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(Json external, ExternalToJson(dcpl));
  if (external.is_null()) return OkStatus();
  if (plan->element.form != Form::kPlain) {
    return UnsupportedError("external storage (H5Pset_external) of elements of variable length");
  }
  (*hdf5)["external"] = std::move(external);
  plan->external = true;
  return OkStatus();
}

// The codecs that the configuration gives to new arrays; nothing where filters decide.
std::optional<std::vector<zarr::CodecSpec>> ConfiguredCodecs(const Config& config, const DType& dtype) {
  const int level = config.codec_level, format = config.zarr_format;
  std::vector<zarr::CodecSpec> codecs = PlainCodecs(dtype);
  switch (config.codec) {
    case Config::Codec::kFilters: return std::nullopt;
    case Config::Codec::kNone: break;
    case Config::Codec::kGzip: codecs.push_back(zarr::DeflateSpec(level < 0 ? 6 : level, format)); break;
    case Config::Codec::kZstd:
      codecs.push_back(zarr::ZstdSpec(level < 0 ? zarr::kDefaultZstdLevel : level, format));
      break;
    case Config::Codec::kBlosc:
      codecs.push_back(zarr::BloscSpec({"zstd", level < 0 ? 5 : level, zarr::BloscShuffle::kByte}, dtype, format));
      break;
  }
  return codecs;
}

// The chunk, the codecs and the shape of a new array; and what `_hdf5` must say of them.
Status PlanChunks(hid_t dcpl, const Extent& extent, const Config& config, DatasetPlan* plan, Json* hdf5) {
  zarr::ArrayMetadata& metadata = plan->metadata;
  const std::vector<uint64_t>& elem_dims = plan->element.elem_dims;
  const auto with_elem_dims = [&](std::vector<uint64_t> dims) {
    dims.insert(dims.end(), elem_dims.begin(), elem_dims.end());
    return dims;
  };
  metadata.shape = with_elem_dims(plan->null_space ? std::vector<uint64_t>{0} : extent.dims);
  const auto configured = ConfiguredCodecs(config, metadata.dtype);
  metadata.codecs = configured.value_or(PlainCodecs(metadata.dtype));
  if (plan->layout != H5D_CHUNKED) {
    const std::vector<uint64_t> dims = plan->null_space ? std::vector<uint64_t>{1} : extent.dims;
    metadata.chunk_shape = with_elem_dims(SlabShape(dims, plan->element.stored_bytes()));
    if (extent.dims != extent.maxdims) (*hdf5)["maxshape"] = MaxShapeJson(extent.maxdims);
    return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> chunk, ChunkOfDcpl(dcpl, extent.dims.size()));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<Filter> filters, FiltersOfDcpl(dcpl));
  const PipelineTarget target{&metadata.dtype, elem_dims, chunk, metadata.zarr_format, config.strict};
  const bool shards =
      std::any_of(filters.begin(), filters.end(), [](const Filter& filter) { return IsShardFilter(filter.id); });
  // (A program that asks for shards says what is within them.)
  if (!configured || shards) {
    H5ZARR_ASSIGN_OR_RETURN(metadata.codecs, CodecsForFilters(filters, target));
  }
  H5ZARR_RETURN_IF_ERROR(RelaxFilters(plan->shadow_dcpl.get(), filters));
  // A filter that another process may lack is derived from codecs only where it is there (PlanOpen):
  // what the program set is said.
  const bool may_lack = std::any_of(filters.begin(), filters.end(), [](const Filter& filter) {
    return filter.id >= H5Z_FILTER_RESERVED && !BroughtByPlugin(filter.id);
  });
  if (may_lack || !SamePipeline(filters, FiltersForCodecs(metadata.codecs, chunk.size()))) {
    (*hdf5)["filters"] = FiltersToJson(filters);
  }
  metadata.chunk_shape = with_elem_dims(chunk);
  (*hdf5)["maxshape"] = MaxShapeJson(extent.maxdims);
  if (config.shard != Config::Shard::kOff && metadata.zarr_format == 3) {
    const HiddenShardRequest request{extent.dims, extent.maxdims, chunk, plan->element.stored_bytes(),
                                     config.shard == Config::Shard::kBytes ? config.shard_bytes : kAutoShardBytes};
    if (HideShards(request, elem_dims, &metadata)) {
      (*hdf5)["shard_hidden"] = true;
      plan->chunk_unit = zarr::ChunkUnit::kInner;
    }
  }
  return OkStatus();
}

// --- opening -------------------------------------------------------------------------------------

bool Hdf5Says(const Json& hdf5, std::string_view name) {
  const Json* member = zarr::FindMember(hdf5, name);
  return member != nullptr && *member == true;
}

// The type of numcodecs' arrays of arrays, which say in their codec what these are of. Null for others,
// and for items that are not stored little endian: those are sequences of bytes.
Result<Json> SequencesOfVlenArrays(const zarr::ArrayMetadata& metadata) {
  for (const zarr::CodecSpec& codec : metadata.codecs) {
    if (zarr::BareName(codec) != "vlen-array") continue;
    const std::string text = StringMember(codec.configuration, "dtype").value_or("");
    const std::optional<DType> item = codec::ParseNumpyDType(text, Endian::kLittle);
    if (!item || (item->has_endian() && item->endian == Endian::kBig)) break;
    H5ZARR_ASSIGN_OR_RETURN(const ElementMap map, MapFromZarr(*item, {}, Json()));
    H5ZARR_ASSIGN_OR_RETURN(const Handle type, ReportedType(map));
    Json sequence = Json::object();
    sequence["class"] = "H5T_VLEN";
    H5ZARR_ASSIGN_OR_RETURN(sequence["base"], TypeToJson(type.get()));
    return sequence;
  }
  return Json();
}

Status ReadType(const zarr::ArrayMetadata& metadata, const Json& hdf5, const std::optional<ElementMap>& element,
                DatasetHeader* header) {
  const Json* recorded = zarr::FindMember(hdf5, "type");
  Json hdf5_type = recorded != nullptr ? *recorded : Json();
  // hdmf-zarr's convention for arrays of references, and ours for regions.
  if (hdf5_type.is_null() && metadata.dtype.kind == DType::Kind::kString) {
    const std::string convention = StringMember(metadata.attributes, "_DTYPE").value_or("");
    if (convention == "object_reference") hdf5_type = "H5T_STD_REF_OBJ";
    if (convention == "region_reference") hdf5_type = "H5T_STD_REF_DSETREG";
  }
  if (hdf5_type.is_null()) {
    H5ZARR_ASSIGN_OR_RETURN(hdf5_type, SequencesOfVlenArrays(metadata));
  }
  if (element) {
    header->element = *element;
  } else {
    H5ZARR_ASSIGN_OR_RETURN(header->element, MapFromZarr(metadata.dtype, metadata.shape, hdf5_type));
  }
  if (IsScalarByConvention(metadata)) header->element.elem_dims = {1};
  H5ZARR_ASSIGN_OR_RETURN(header->type, ReportedType(header->element));
  return OkStatus();
}

// Whether arrays that do not say their maximum extents have none.
bool IsUnlimited(const Config& config, bool writable) {
  return config.maxshape == Config::MaxShape::kUnlimited || (config.maxshape == Config::MaxShape::kAuto && writable);
}

// Maximum extents: as recorded, else as the configuration has it for foreign arrays.
Result<std::vector<uint64_t>> MaxDims(const Extent& extent, const std::vector<uint64_t>& chunk, const Json& hdf5,
                                      const Config& config, bool writable) {
  std::vector<uint64_t> maxdims = extent.dims;
  const Json* recorded = zarr::FindMember(hdf5, "maxshape");
  if (recorded != nullptr) {
    if (!recorded->is_array() || recorded->size() != maxdims.size()) {
      return CorruptError("_hdf5.maxshape " + zarr::BriefJson(*recorded) + ": expected a list of " +
                          std::to_string(maxdims.size()) + " extents");
    }
    for (std::size_t d = 0; d < maxdims.size(); ++d) {
      const Json& maximum = (*recorded)[d];
      if (!maximum.is_null() && !AsUnsigned(maximum)) {
        return CorruptError("_hdf5.maxshape " + zarr::BriefJson(*recorded) + ": expected extents or null");
      }
      // Another program may have let the array grow beyond what was recorded.
      maxdims[d] = maximum.is_null() ? H5S_UNLIMITED : std::max(*AsUnsigned(maximum), extent.dims[d]);
    }
  } else if (IsUnlimited(config, writable)) {
    std::fill(maxdims.begin(), maxdims.end(), uint64_t{H5S_UNLIMITED});
  }
  // HDF5 knows no chunk larger than what its dataset can become.
  for (std::size_t d = 0; d < maxdims.size(); ++d) {
    if (extent.dims[d] > 0) maxdims[d] = std::max(maxdims[d], chunk[d]);
  }
  return maxdims;
}

Status SetSpace(const std::vector<uint64_t>& dims, const std::vector<uint64_t>& maxdims, DatasetHeader* header) {
  if (header->null_space) {
    header->space = Handle(H5Screate(H5S_NULL));
  } else if (dims.empty()) {
    header->space = Handle(H5Screate(H5S_SCALAR));
  } else {
    const std::vector<hsize_t> current(dims.begin(), dims.end());
    const std::vector<hsize_t> maximum(maxdims.begin(), maxdims.end());
    header->space = Handle(H5Screate_simple(static_cast<int>(current.size()), current.data(), maximum.data()));
  }
  return header->space.valid() ? OkStatus() : Hdf5Failure("the array's extents");
}

Status SetChunks(const zarr::ArrayMetadata& metadata, const Json& hdf5, const Extent& extent, const Config& config,
                 bool writable, DatasetHeader* header) {
  const hid_t dcpl = header->shadow_dcpl.get();
  const ReportedChunk reported =
      ChunkToReport(metadata, extent.dims.size(), H5Tget_size(header->type.get()), Hdf5Says(hdf5, "shard_hidden"));
  header->chunk_unit = reported.unit;
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> maxdims, MaxDims(extent, reported.shape, hdf5, config, writable));
  H5ZARR_RETURN_IF_ERROR(SetSpace(extent.dims, maxdims, header));
  if (zarr::FindMember(hdf5, "maxshape") == nullptr && !writable && !IsUnlimited(config, writable)) {
    header->least_maximum = reported.shape;
  }
  const std::vector<hsize_t> chunk(reported.shape.begin(), reported.shape.end());
  if (H5Pset_chunk(dcpl, static_cast<int>(chunk.size()), chunk.data()) < 0 ||
      H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR) < 0) {
    return Hdf5Failure("the array's chunk");
  }
  // HDF5 takes no mandatory filter for elements of variable length.
  const bool relaxed = H5Tget_class(header->type.get()) == H5T_VLEN || H5Tis_variable_str(header->type.get()) > 0;
  const auto append = [&](std::vector<Filter> filters) {
    for (Filter& filter : filters) {
      if (relaxed) filter.flags |= H5Z_FLAG_OPTIONAL;
    }
    return AppendFilters(dcpl, filters);
  };
  if (const Json* recorded = zarr::FindMember(hdf5, "filters")) {
    H5ZARR_ASSIGN_OR_RETURN(std::vector<Filter> filters, FiltersFromJson(*recorded));
    return append(std::move(filters));
  }
  std::vector<Filter> filters = FiltersForCodecs(reported.codecs, chunk.size());
  // HDF5's tools refuse to read a dataset with a filter the process lacks, though nothing here needs
  // it: such a filter is not reported. Those the plugin brings count as there.
  std::erase_if(filters,
                [](const Filter& filter) { return !BroughtByPlugin(filter.id) && H5Zfilter_avail(filter.id) <= 0; });
  return append(std::move(filters));
}

// Space and files of a dataset that is not chunked. Only with files of its own can it be extendible.
Status SetContiguous(const Json& hdf5, const Extent& extent, const Config& config, DatasetHeader* header) {
  const Json* external = zarr::FindMember(hdf5, "external");
  if (external == nullptr || header->layout != H5D_CONTIGUOUS) {
    return SetSpace(extent.dims, extent.dims, header);
  }
  if (header->element.form != Form::kPlain) {
    return CorruptError("_hdf5.external: elements of variable length have no external storage");
  }
  header->external = true;
  const Json* copied = zarr::FindMember(*external, "copied");
  header->external_copied = copied != nullptr && *copied == true;
  H5ZARR_RETURN_IF_ERROR(ExternalFromJson(*external, header->shadow_dcpl.get()));
  std::vector<uint64_t> maxdims = extent.dims;
  if (zarr::FindMember(hdf5, "maxshape") != nullptr) {
    const std::vector<uint64_t> no_chunk(extent.dims.size(), 0);
    H5ZARR_ASSIGN_OR_RETURN(maxdims, MaxDims(extent, no_chunk, hdf5, config, false));
  }
  return SetSpace(extent.dims, maxdims, header);
}

// Reads the element type into `header`; false where what `_hdf5` says is not true of the array: programs
// copy attributes from array to array, and change arrays, and know nothing of it.
Result<bool> ReadTypeOfSame(const zarr::ArrayMetadata& metadata, const Json& hdf5,
                            const std::optional<ElementMap>& element, DatasetHeader* header) {
  const std::vector<uint64_t>& shape = metadata.shape;
  if (StringMember(hdf5, "space") == "null" && std::find(shape.begin(), shape.end(), 0) == shape.end()) {
    return false;
  }
  const Status read = ReadType(metadata, hdf5, element, header);
  if (!read.ok()) {
    const Json* type = zarr::FindMember(hdf5, "type");
    if (type != nullptr && TypeFromJson(*type).ok()) return false;  // a type, and not this array's
    return read;
  }
  const Json* maxshape = zarr::FindMember(hdf5, "maxshape");
  return maxshape == nullptr || !maxshape->is_array() ||
         maxshape->size() == shape.size() - header->element.elem_dims.size();
}

Result<DatasetHeader> MakeHeader(const zarr::ArrayMetadata& metadata, const Config& config, bool writable,
                                 const std::optional<ElementMap>& element) {
  const Json* found = zarr::FindMember(metadata.attributes, "_hdf5");
  Json hdf5 = found != nullptr && found->is_object() ? *found : Json();
  DatasetHeader header;
  H5ZARR_ASSIGN_OR_RETURN(const bool same, ReadTypeOfSame(metadata, hdf5, element, &header));
  if (!same) {
    if (Tracing(TraceLevel::kDecisions)) {
      Trace("an array's _hdf5 is left aside, it says what is not true of the array: " + zarr::BriefJson(hdf5));
    }
    hdf5 = Json();
    header = DatasetHeader();
    H5ZARR_RETURN_IF_ERROR(ReadType(metadata, hdf5, element, &header));
  }
  Extent extent;
  extent.dims.assign(metadata.shape.begin(),
                     metadata.shape.end() - static_cast<std::ptrdiff_t>(header.element.elem_dims.size()));
  header.null_space = StringMember(hdf5, "space") == "null";
  const std::string layout = StringMember(hdf5, "layout").value_or("chunked");
  header.layout = layout == "compact" ? H5D_COMPACT : H5D_CHUNKED;
  if (layout == "contiguous" || extent.dims.empty() || header.null_space) {
    header.layout = layout == "compact" ? H5D_COMPACT : H5D_CONTIGUOUS;
  }
  header.alloc_time = AllocTimeFromName(StringMember(hdf5, "alloc_time").value_or("")).value_or(H5D_ALLOC_TIME_DEFAULT);
  header.shadow_dcpl = Handle(H5Pcreate(H5P_DATASET_CREATE));
  if (header.layout == H5D_CHUNKED) {
    H5ZARR_RETURN_IF_ERROR(SetChunks(metadata, hdf5, extent, config, writable, &header));
  } else {
    H5ZARR_RETURN_IF_ERROR(SetContiguous(hdf5, extent, config, &header));
    if (H5Pset_alloc_time(header.shadow_dcpl.get(), H5D_ALLOC_TIME_LATE) < 0) {
      return Hdf5Failure("the shadow's property list");
    }
  }
  H5ZARR_RETURN_IF_ERROR(FillToDcpl(metadata.fill, header.element, hdf5, header.shadow_dcpl.get()));
  H5ZARR_ASSIGN_OR_RETURN(header.fill_block, FillBlock(header.element, hdf5));
  return header;
}

// `space` itself, changed: whoever reads a little asks for a dataspace each time.
Result<Handle> WithExtents(hid_t space, int rank, const hsize_t* dims, const hsize_t* maxdims) {
  if (H5Sset_extent_simple(space, rank, dims, maxdims) < 0 || H5Iinc_ref(space) < 0) {
    return Hdf5Failure("a dataspace");
  }
  return Handle(space);
}

Result<DatasetPlan> MakePlan(hid_t type, hid_t space, hid_t dcpl, const Config& config) {
  DatasetPlan plan;
  zarr::ArrayMetadata& metadata = plan.metadata;
  metadata.zarr_format = config.zarr_format;
  if (config.zarr_format == 2) {
    metadata.key_encoding = {zarr::ChunkKeyEncoding::Kind::kV2, '.'};
  }
  plan.layout = H5Pget_layout(dcpl);
  H5ZARR_ASSIGN_OR_RETURN(const Extent extent, ReadExtent(space));
  H5ZARR_RETURN_IF_ERROR(CheckStorage(dcpl, plan.layout, extent, type));
  plan.null_space = extent.space_class == H5S_NULL;
  H5ZARR_ASSIGN_OR_RETURN(plan.element, MapToZarr(type, config.zarr_format));
  if (plan.element.stored_bytes() > zarr::kMaxItemBytes) {
    return UnsupportedError("elements of " + std::to_string(plan.element.stored_bytes()) + " bytes; at most " +
                            zarr::kMaxItemText + " are supported");
  }
  metadata.dtype = plan.element.dtype;
  Json hdf5 = Json::object();
  hdf5["version"] = kHdf5AttributeVersion;
  if (!plan.element.hdf5_type.is_null()) hdf5["type"] = plan.element.hdf5_type;
  if (plan.null_space) hdf5["space"] = "null";
  H5ZARR_RETURN_IF_ERROR(RewriteStorage(dcpl, extent.dims.empty(), &plan, &hdf5));
  H5ZARR_RETURN_IF_ERROR(PlanExternal(dcpl, &plan, &hdf5));
  H5ZARR_RETURN_IF_ERROR(PlanChunks(dcpl, extent, config, &plan, &hdf5));
  H5ZARR_ASSIGN_OR_RETURN(metadata.fill, FillFromDcpl(dcpl, type, plan.element, config.zarr_format, &hdf5));
  H5ZARR_RETURN_IF_ERROR(CheckFillSize(metadata, metadata.shape));
  if (hdf5.size() > 1) metadata.attributes["_hdf5"] = std::move(hdf5);
  if (plan.element.form == Form::kObjectReference) {
    metadata.attributes["_DTYPE"] = "object_reference";  // hdmf-zarr's word for it
  } else if (plan.element.hdf5_type == "H5T_STD_REF_DSETREG") {
    metadata.attributes["_DTYPE"] = "region_reference";
  }
  if (config.compound_struct && config.zarr_format == 3 && metadata.dtype.kind == DType::Kind::kStruct) {
    H5ZARR_ASSIGN_OR_RETURN(const Json data_type, zarr::FormatDTypeV3(metadata.dtype));
    metadata.document = Json::object();
    metadata.document["data_type"] = AsStruct(data_type);
  }
  return plan;
}

}  // namespace

Result<DatasetPlan> PlanCreate(hid_t type, hid_t space, hid_t dcpl, const Config& config) {
  return host::CatchAll([&] { return MakePlan(type, space, dcpl, config); });
}

Result<DatasetHeader> PlanOpen(const zarr::ArrayMetadata& metadata, const Config& config, bool writable,
                               const std::optional<ElementMap>& element) {
  return host::CatchAll([&] { return MakeHeader(metadata, config, writable, element); });
}

Result<Handle> WithoutMaximum(hid_t space) {
  hsize_t dims[H5S_MAX_RANK], maxdims[H5S_MAX_RANK];
  const int rank = H5Sget_simple_extent_dims(space, dims, nullptr);
  std::fill(std::begin(maxdims), std::end(maxdims), H5S_UNLIMITED);
  return rank < 0 ? Hdf5Failure("a dataspace") : WithExtents(space, rank, dims, maxdims);
}

Result<Handle> WithMaximum(hid_t space, const std::vector<uint64_t>& least_maximum) {
  hsize_t dims[H5S_MAX_RANK], maxdims[H5S_MAX_RANK];
  const int rank = H5Sget_simple_extent_dims(space, dims, nullptr);
  if (rank < 0 || static_cast<std::size_t>(rank) != least_maximum.size()) return Hdf5Failure("a dataspace");
  for (std::size_t d = 0; d < least_maximum.size(); ++d) {
    maxdims[d] = dims[d] > 0 ? std::max<hsize_t>(dims[d], least_maximum[d]) : 0;
  }
  return WithExtents(space, rank, dims, maxdims);
}

Result<Handle> RestoreDcpl(hid_t reported, H5D_layout_t layout, H5D_alloc_time_t alloc_time) {
  Handle dcpl(H5Pcopy(reported));
  if (!dcpl.valid() || (layout == H5D_COMPACT && H5Pset_layout(dcpl.get(), layout) < 0) ||
      H5Pset_alloc_time(dcpl.get(), alloc_time) < 0) {
    return Hdf5Failure("the layout of a property list");
  }
  return dcpl;
}

Status CheckFillSize(const zarr::ArrayMetadata& metadata, std::span<const uint64_t> shape) {
  if (metadata.fill.block.empty()) return OkStatus();
  const std::optional<uint64_t> elems = CheckedProduct(shape);
  const std::optional<uint64_t> bytes = elems ? CheckedMul(*elems, metadata.dtype.item_bytes) : std::nullopt;
  if (bytes && *bytes <= kMaxStoredFillBytes) return OkStatus();
  return UnsupportedError(
      "a fill value whose array elements differ, which Zarr has no word for, in a "
      "dataset of more than 1 GiB: all of its chunks would have to be stored");
}

ChunkForm FormOfStoredChunks(const zarr::ArrayMetadata& metadata, hid_t dcpl) {
  const Json* found = zarr::FindMember(metadata.attributes, "_hdf5");
  const Json* recorded = found == nullptr ? nullptr : zarr::FindMember(*found, "type");
  const auto form = [&]() -> Result<ChunkForm> {
    H5ZARR_ASSIGN_OR_RETURN(const ElementMap map,
                            MapFromZarr(metadata.dtype, metadata.shape, recorded != nullptr ? *recorded : Json()));
    if (map.form != Form::kPlain || H5Pget_layout(dcpl) != H5D_CHUNKED) return ChunkForm::kOther;
    const std::size_t rank = metadata.shape.size() - map.elem_dims.size();
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> chunk, ChunkOfDcpl(dcpl, rank));
    const ReportedChunk unit = ChunkToReport(metadata, rank, map.stored_bytes(), true);
    const bool is_object = std::equal(chunk.begin(), chunk.end(), metadata.chunk_shape.begin());
    // (A part of an object is no stored chunk.)
    const bool is_inner = unit.unit == zarr::ChunkUnit::kInner && chunk == unit.shape;
    if (!is_object && !is_inner) return ChunkForm::kOther;
    H5ZARR_ASSIGN_OR_RETURN(const Handle stored, StoredType(map));
    H5ZARR_ASSIGN_OR_RETURN(const Json stored_json, TypeToJson(stored.get()));
    if (!map.hdf5_type.is_null() && stored_json != map.hdf5_type) return ChunkForm::kOther;
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<Filter> filters, FiltersOfDcpl(dcpl));
    const std::vector<zarr::CodecSpec>& codecs = is_object ? metadata.codecs : unit.codecs;
    if (SameBytes(codecs, filters)) return ChunkForm::kVerbatim;
    const bool is_gzip = codecs.size() == 1 && zarr::BareName(codecs[0]) == "gzip" && !zarr::IsZlibAsGzip(codecs[0]) &&
                         filters.size() == 1 && filters[0].id == H5Z_FILTER_DEFLATE;
    return is_gzip ? ChunkForm::kGzip : ChunkForm::kOther;
  };
  const Result<ChunkForm> result = host::CatchAll(form);
  return result.ok() ? *result : ChunkForm::kOther;
}

}  // namespace h5zarr::shadow
