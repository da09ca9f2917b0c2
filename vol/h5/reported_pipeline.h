// reported_pipeline: encoded chunks between the form a store keeps and the form of the filter pipeline
// that HDF5 reports. The two are the same bytes for unfiltered chunks, zstd, blosc and shards; deflate
// has another framing, and shuffle + deflate are stored as blosc.
#ifndef H5ZARR_H5_REPORTED_PIPELINE_H_
#define H5ZARR_H5_REPORTED_PIPELINE_H_

#include <hdf5.h>

#include <optional>

#include "base/buffer.h"
#include "base/status.h"
#include "host/object.h"
#include "zarr/array.h"

namespace h5zarr {

// A stored chunk as H5Dread_chunk gives it.
Result<Buffer> ToReported(Object* object, zarr::Array& array, Buffer stored);
// What H5Dwrite_chunk was given, as it is stored. `filter_mask`: bit i set: filter i was left out.
Result<Buffer> FromReported(Object* object, zarr::Array& array, ByteSpan given, uint32_t filter_mask);
// The size of a stored chunk in the reported form (encodes it when the forms differ).
Result<hsize_t> ReportedChunkBytes(Object* object, zarr::Array& array, const zarr::ChunkInfo& chunk);

// What every whole chunk has where no filter is reported; nothing where there is one.
Result<std::optional<uint64_t>> PlainChunkBytes(Object* object, const zarr::Array& array);

}  // namespace h5zarr

#endif  // H5ZARR_H5_REPORTED_PIPELINE_H_
