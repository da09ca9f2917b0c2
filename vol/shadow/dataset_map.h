// dataset_map: a dataset's creation properties and space ↔ ArrayMetadata with its `_hdf5`
// attribute.
#ifndef H5ZARR_SHADOW_DATASET_MAP_H_
#define H5ZARR_SHADOW_DATASET_MAP_H_

#include <hdf5.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/status.h"
#include "host/handle.h"
#include "shadow/type_map.h"
#include "zarr/array.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {

// What it takes to create a dataset: the Zarr side and the header for the shadow.
struct DatasetPlan {
  ElementMap element;
  zarr::ArrayMetadata metadata;  // attributes hold `_hdf5` only where something needs saying
  Handle shadow_dcpl;            // for the shadow's dataset: never any raw data, see below
  // Layout and allocation time that GET_DCPL must answer instead of shadow_dcpl's. The time is
  // H5D_ALLOC_TIME_DEFAULT where the program left it to HDF5 (H5Pequal sees the difference).
  H5D_layout_t layout = H5D_CONTIGUOUS;
  H5D_alloc_time_t alloc_time = H5D_ALLOC_TIME_DEFAULT;
  bool null_space = false;                                // a dataset without elements (H5S_NULL)
  zarr::ChunkUnit chunk_unit = zarr::ChunkUnit::kObject;  // what HDF5's chunk is
  bool external = false;                                  // raw data in files of its own (H5Pset_external)
};

// From what H5Dcreate was given. Chunked → chunk_shape; filter 480 → sharding_indexed; deflate,
// shuffle, fletcher32, zstd, blosc… → codecs (shuffle + deflate → blosc with zlib; deflate → gzip;
// fletcher32 → crc32c); lossy or unknown filters → zstd with the pipeline recorded, or kUnsupported
// where the filter is mandatory and unknown or config.strict. Contiguous and compact → slabs of
// about 4 MiB along the first axes. config.shard → hidden shards. Early allocation and compact
// layout are rewritten in shadow_dcpl (they would put raw data there); external storage stays in it (its
// data is elsewhere) but for elements that are not of fixed size; virtual layout is kUnsupported; a
// compact dataset above 64 KiB is refused as HDF5 does.
Result<DatasetPlan> PlanCreate(hid_t type, hid_t space, hid_t dcpl, const Config& config);

// For an array found in a store: type, space and property list of the shadow's dataset. Foreign
// arrays (no `_hdf5`) get: chunked layout with the array's chunk (a shard is a chunk with filter
// 480), the filters that say its codecs, the fill value where defined, maximum extents by
// config.maxshape and `writable`. A chunk larger than a fixed extent is reported with that maximum
// extent; chunks HDF5 1.14 cannot describe (4 GiB and more) report inner or split chunks.
struct DatasetHeader {
  ElementMap element;
  Handle type;
  Handle space;
  Handle shadow_dcpl;
  H5D_layout_t layout = H5D_CHUNKED;
  H5D_alloc_time_t alloc_time = H5D_ALLOC_TIME_DEFAULT;
  bool null_space = false;
  zarr::ChunkUnit chunk_unit = zarr::ChunkUnit::kObject;
  bool external = false;
  bool external_copied = false;       // the array has what the files had
  std::vector<std::byte> fill_block;  // for the metadata's fill value, which no document says
  // Of an array for reading whose maximum extents in `space` are its extents, for nobody said any: others may let it
  // grow. The chunk, than which HDF5 knows no smaller maximum; else empty.
  std::vector<uint64_t> least_maximum;
};
// `element`: what the elements are where metadata does not say it (conventions.h).
Result<DatasetHeader> PlanOpen(const zarr::ArrayMetadata& metadata, const Config& config, bool writable,
                               const std::optional<ElementMap>& element = {});

// The dataspace `space` without maximum extents; or with its extents as such, as DatasetHeader::least_maximum says.
Result<Handle> WithoutMaximum(hid_t space);
Result<Handle> WithMaximum(hid_t space, const std::vector<uint64_t>& least_maximum);

// `reported` (the shadow's own property list) with layout and allocation time put back. The caller
// owns the copy.
Result<Handle> RestoreDcpl(hid_t reported, H5D_layout_t layout, H5D_alloc_time_t alloc_time);

// kUnsupported where fill differs among an array's elements (zarr::FillValue::block) and `shape` is too large:
// all chunks of such an array are stored (zarr::Array::StoreFill).
Status CheckFillSize(const zarr::ArrayMetadata& metadata, std::span<const uint64_t> shape);

// What a whole stored chunk is beside the one that HDF5 reports by `dcpl`.
enum class ChunkForm {
  kVerbatim,  // the same bytes (no filter and no codec; zstd; shards; blosc)
  kGzip,      // deflate alone, in gzip's framing instead of zlib's
  kOther,
};
ChunkForm FormOfStoredChunks(const zarr::ArrayMetadata& metadata, hid_t dcpl);
inline bool StoredChunksAreVerbatim(const zarr::ArrayMetadata& metadata, hid_t dcpl) {
  return FormOfStoredChunks(metadata, dcpl) == ChunkForm::kVerbatim;
}

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_DATASET_MAP_H_
