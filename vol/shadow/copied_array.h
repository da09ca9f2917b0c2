// copied_array: the array of a dataset that HDF5 copied from a store into a store. HDF5's own copy knows a type, a
// chunk and filters: of a Zarr array there is more to say.
#ifndef H5ZARR_SHADOW_COPIED_ARRAY_H_
#define H5ZARR_SHADOW_COPIED_ARRAY_H_

#include "base/config.h"
#include "base/status.h"
#include "shadow/node_state.h"

namespace h5zarr::shadow {

// Gives `plan`, of a dataset as it is created with what HDF5 copied, the data type, fill value, chunks, codecs, chunk
// keys and names of dimensions of `source`, and what `_hdf5` says of these. Codecs and chunks are the plan's where
// `config` names a codec or shards. True where chunks of `source` are chunks of the copy, byte for byte.
// kUnsupported, and the plan is as it was: the plan's format of Zarr has no word for it, or `source` is no array
// whose document says all (one with files of its own, or in another program's conventions).
Result<bool> TakeArray(const NodeState& source, const Config& config, DatasetPlan* plan);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_COPIED_ARRAY_H_
