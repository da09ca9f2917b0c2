#include "shadow/native_map.h"

#include <h5zarr/filters.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "filter/shard_words.h"
#include "host/guard.h"
#include "shadow/chunk_map.h"
#include "shadow/filters_map.h"
#include "shadow/h5_types.h"

namespace h5zarr::shadow {
namespace {

using zarr::CodecSpec;

constexpr int kLzf = 32000;
constexpr int kBlosc = 32001;
constexpr int kLz4 = 32004;
constexpr uint64_t kMaxEntries = 1 << 21;

CodecSpec Named(const char* name) { return {name, Json::object()}; }

// What each filter of HDF5's, or of its usual plugin, takes for a decoded byte on one core.
double FilterNsPerByte(int id) {
  switch (id) {
    case H5Z_FILTER_DEFLATE: return 4.5;
    case H5Z_FILTER_SHUFFLE: return 0.6;
    case H5Z_FILTER_FLETCHER32: return 1.0;
    case kLzf: return 2.0;
    case kLz4: return 0.5;
    case kBlosc: return 0.8;
    default: return 1.2;
  }
}

// Inner chunks that are left out hold the fill value that the filter was told of.
Result<CodecSpec> ShardCodec(const Filter& filter, const zarr::ArrayMetadata& metadata,
                             std::span<const uint64_t> chunk_shape) {
  H5ZARR_ASSIGN_OR_RETURN(const filter::LocalWords local, filter::ParseLocalWords(filter.cd_values));
  std::vector<std::byte> fill = metadata.fill.bytes;
  fill.resize(metadata.dtype.item_bytes);
  if (local.fill != fill ||
      !std::equal(chunk_shape.begin(), chunk_shape.end(), local.chunk_shape.begin(), local.chunk_shape.end())) {
    return UnsupportedError("a sharded dataset whose filter knows another one");
  }
  H5ZARR_ASSIGN_OR_RETURN(const filter::Sharding sharding,
                          filter::ShardingFromWords(filter.cd_values, metadata.dtype, chunk_shape));
  return filter::ShardingToCodec(sharding, Named("bytes"));
}

// The codec whose encoded bytes are those of `filter`.
Result<CodecSpec> CodecOf(const Filter& filter, const zarr::ArrayMetadata& metadata,
                          std::span<const uint64_t> chunk_shape) {
  switch (filter.id) {
    case H5Z_FILTER_DEFLATE: return Named("zlib");
    case H5Z_FILTER_FLETCHER32: return Named("fletcher32");
    case H5Z_FILTER_SHUFFLE: {
      if (filter.cd_values.empty() || filter.cd_values[0] == 0) break;
      CodecSpec shuffle = Named("shuffle");
      shuffle.configuration["elementsize"] = filter.cd_values[0];
      return shuffle;
    }
    case H5ZARR_FILTER_ZSTD: return Named("zstd");
    case kLzf: return Named("hdf5_lzf");
    case kLz4: return Named("hdf5_lz4");
    case kBlosc: return Named("blosc");
    case H5ZARR_FILTER_SHARD: return ShardCodec(filter, metadata, chunk_shape);
    default: break;
  }
  return UnsupportedError("filter " + std::to_string(filter.id));
}

Status SetExtents(hid_t space, hid_t dcpl, NativePlan* plan) {
  hsize_t dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
  const int rank = H5Sget_simple_extent_dims(space, dims, nullptr);
  if (rank < 1) return UnsupportedError("no extent");
  if (plan->is_contiguous) {
    std::copy_n(dims, rank, chunk);
    if (std::find(dims, dims + rank, 0u) != dims + rank) return UnsupportedError("no elements");
  } else if (H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) != rank) {
    return Hdf5Failure("the extent of a chunked dataset");
  }
  plan->extent.assign(dims, dims + rank);
  plan->chunk.assign(chunk, chunk + rank);
  for (int d = 0; d < rank; ++d) {
    plan->grid.push_back(dims[d] / chunk[d] + (dims[d] % chunk[d] != 0 ? 1 : 0));
  }
  const auto entries = CheckedProduct(plan->grid);
  if (!entries || *entries == 0 || *entries > kMaxEntries) {
    return UnsupportedError("no chunks, or too many of them");
  }
  plan->entries = *entries;
  return OkStatus();
}

// Whether elements of `map` in a store would be the bytes that they are in the file.
bool AreStoredAs(const Result<ElementMap>& map, hid_t type) {
  if (!map.ok() || map->form != ElementMap::Form::kPlain) return false;
  const Result<Handle> stored = StoredType(*map);
  return stored.ok() && H5Tequal(stored->get(), type) > 0;
}

// Numbers, which we convert ourselves, are numbers; what a store would hold in other bytes (compounds with
// padding, or members of other byte orders) is bytes that HDF5 converts.
Status SetElement(hid_t type, NativePlan* plan) {
  Result<ElementMap> map = MapToZarr(type, 3);
  if (!AreStoredAs(map, type)) map = MapVerbatim(type);
  H5ZARR_ASSIGN_OR_RETURN(plan->element, std::move(map));
  plan->metadata.dtype = plan->element.dtype;
  return OkStatus();
}

Status SetFill(hid_t type, hid_t dcpl, NativePlan* plan) {
  H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
  H5D_fill_time_t time = H5D_FILL_TIME_ERROR;
  if (H5Pfill_value_defined(dcpl, &defined) < 0 || H5Pget_fill_time(dcpl, &time) < 0) {
    return Hdf5Failure("a fill value");
  }
  plan->fill_defined = defined != H5D_FILL_VALUE_UNDEFINED && time != H5D_FILL_TIME_NEVER;
  if (!plan->fill_defined || defined == H5D_FILL_VALUE_DEFAULT) return OkStatus();
  std::vector<std::byte> bytes(plan->element.stored_bytes());
  if (H5Pget_fill_value(dcpl, type, bytes.data()) < 0) return Hdf5Failure("a fill value");
  // An element that is several items of the array: one value for all of them, or none.
  const uint64_t item_bytes = plan->element.dtype.item_bytes;
  for (std::size_t at = item_bytes; at < bytes.size(); at += item_bytes) {
    if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(item_bytes),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at))) {
      plan->fill_defined = false;
      return OkStatus();
    }
  }
  bytes.resize(item_bytes);
  plan->metadata.fill.defined = true;
  plan->metadata.fill.bytes = std::move(bytes);
  return OkStatus();
}

Status SetCodecs(hid_t dcpl, NativePlan* plan) {
  zarr::ArrayMetadata& metadata = plan->metadata;
  std::vector<uint64_t> inner = plan->chunk;
  metadata.shape = plan->extent;
  for (std::size_t d = 0; d < plan->chunk.size(); ++d) {
    const auto whole = CheckedMul(plan->grid[d], plan->chunk[d]);
    if (!whole) return UnsupportedError("extent");
    metadata.chunk_shape.push_back(*whole);
  }
  for (const uint64_t dim : plan->element.elem_dims) {
    metadata.shape.push_back(dim);
    metadata.chunk_shape.push_back(dim);
    inner.push_back(dim);
  }
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<Filter> filters, FiltersOfDcpl(dcpl));
  Json codecs = Json::array();
  plan->hdf5_ns_per_byte = 0.3;
  plan->has_filters = !filters.empty();
  for (const Filter& filter : filters) {
    H5ZARR_ASSIGN_OR_RETURN(const CodecSpec spec, CodecOf(filter, metadata, inner));
    codecs.push_back({{"name", spec.name}, {"configuration", spec.configuration}});
    plan->hdf5_ns_per_byte += FilterNsPerByte(filter.id);
  }
  CodecSpec sharding = Named("sharding_indexed");
  sharding.configuration["chunk_shape"] = inner;
  sharding.configuration["codecs"] = std::move(codecs);
  sharding.configuration["index_codecs"] =
      Json::array({{{"name", "bytes"}, {"configuration", {{"endian", "little"}}}}});
  metadata.codecs.push_back(std::move(sharding));
  return OkStatus();
}

Result<NativePlan> MakePlan(hid_t type, hid_t space, hid_t dcpl, bool contiguous_too) {
  NativePlan plan;
  unsigned options = 0;
  const H5D_layout_t layout = H5Pget_layout(dcpl);
  plan.is_contiguous = contiguous_too && layout == H5D_CONTIGUOUS;
  if (plan.is_contiguous) {
    if (H5Pget_external_count(dcpl) != 0) return UnsupportedError("external storage");
  } else if (layout != H5D_CHUNKED) {
    return UnsupportedError("layout");
  } else if (H5Pget_chunk_opts(dcpl, &options) < 0 || options != 0) {
    // Chunks at the edge without filters: HDF5 does not say which they are.
    return UnsupportedError("edge chunks");
  }
  H5ZARR_RETURN_IF_ERROR(SetExtents(space, dcpl, &plan));
  H5ZARR_RETURN_IF_ERROR(SetElement(type, &plan));
  H5ZARR_RETURN_IF_ERROR(SetFill(type, dcpl, &plan));
  H5ZARR_RETURN_IF_ERROR(SetCodecs(dcpl, &plan));
  return plan;
}

}  // namespace

Result<NativePlan> PlanNative(hid_t type, hid_t space, hid_t dcpl, bool contiguous_too) {
  return host::CatchAll([&] { return MakePlan(type, space, dcpl, contiguous_too); });
}

}  // namespace h5zarr::shadow
