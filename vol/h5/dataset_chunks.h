// dataset_chunks: questions about, and raw transfers of, the stored chunks of a dataset in a store.
#ifndef H5ZARR_H5_DATASET_CHUNKS_H_
#define H5ZARR_H5_DATASET_CHUNKS_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "host/object.h"

namespace h5zarr {

// H5Dget_num_chunks, H5Dget_chunk_info*, H5Dchunk_iter, H5Dread_chunk, H5Dwrite_chunk and the like, for
// a dataset of a store; nothing for operations the shadow answers rightly. Encoded chunks are those of
// the pipeline HDF5 reports, transcoded where the store keeps another.
Result<std::optional<herr_t>> AnswerChunkOperation(Object* object, H5VL_optional_args_t* args);

Result<hsize_t> StorageBytes(Object* object);
Result<H5D_space_status_t> SpaceStatus(Object* object);

// `wrapper` with its array opened, so that an unknown codec is reported when the dataset is; on
// failure the wrapper is closed.
Result<void*> OpenArrayOf(void* wrapper, uint64_t cache_bytes);

}  // namespace h5zarr

#endif  // H5ZARR_H5_DATASET_CHUNKS_H_
