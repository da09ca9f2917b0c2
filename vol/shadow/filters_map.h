// filters_map: HDF5's filter pipeline ↔ Zarr's codec chain. For shadow/, and for what copies encoded chunks.
#ifndef H5ZARR_SHADOW_FILTERS_MAP_H_
#define H5ZARR_SHADOW_FILTERS_MAP_H_

#include <hdf5.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {

using zarr::Json;

// One step of a pipeline, in writing order.
struct Filter {
  int id = 0;
  unsigned flags = 0;
  std::vector<unsigned> cd_values;
};

// What codecs must fit: the array's elements and chunk.
struct PipelineTarget {
  const DType* dtype = nullptr;
  std::span<const uint64_t> elem_dims;    // trailing Zarr dimensions of one HDF5 element
  std::span<const uint64_t> chunk_shape;  // HDF5's chunk, without elem_dims
  int zarr_format = 3;
  bool strict = false;
};

Result<std::vector<Filter>> FiltersOfDcpl(hid_t dcpl);

// The codecs that store what `filters` mean, in encoding order and with the vlen codec where
// `target` needs one. kUnsupported as PlanCreate says.
Result<std::vector<zarr::CodecSpec>> CodecsForFilters(std::span<const Filter> filters, const PipelineTarget& target);
// The chain of a dataset without filters: the vlen codec, or nothing.
std::vector<zarr::CodecSpec> PlainCodecs(const DType& dtype);

// Filters that the plugin itself registers with HDF5.
bool BroughtByPlugin(int filter_id);
bool IsShardFilter(int filter_id);

// The filters that say `codecs`, as far as HDF5 has words for them.
std::vector<Filter> FiltersForCodecs(std::span<const zarr::CodecSpec> codecs, std::size_t rank);

// True when both mean the same to a program: what set_local appends is not compared.
bool SamePipeline(std::span<const Filter> a, std::span<const Filter> b);

// Appends `filters` to the property list; optional wherever this process has no such filter.
Status AppendFilters(hid_t dcpl, std::span<const Filter> filters);
// Makes optional the mandatory filters that codecs stand in for and this process does not have.
Status RelaxFilters(hid_t dcpl, std::span<const Filter> filters);

// `_hdf5.filters` and back (kCorrupt names what is wrong).
Json FiltersToJson(std::span<const Filter> filters);
Result<std::vector<Filter>> FiltersFromJson(const Json& json);
// Those of an array whose codecs do not say them; none where `attributes` has no such member.
Result<std::vector<Filter>> RecordedFilters(const Json& attributes);

// True when the stored bytes of a chunk are what `filters` would make of its elements.
bool SameBytes(std::span<const zarr::CodecSpec> codecs, std::span<const Filter> filters);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_FILTERS_MAP_H_
