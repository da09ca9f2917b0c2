// copied_array: the array of a dataset that HDF5 copied from a store into a store. HDF5's own copy knows a type, a
// chunk and filters: of a Zarr array there is more to say.
#ifndef H5ZARR_SHADOW_COPIED_ARRAY_H_
#define H5ZARR_SHADOW_COPIED_ARRAY_H_

#include "base/config.h"
#include "base/status.h"
#include "shadow/node_state.h"

namespace h5zarr::shadow {

// Gives `plan`, of a dataset as it is created with what HDF5 copied, the data type, fill value, chunks, codecs and
// chunk keys of `source`, and what `_hdf5` says of these; `with_attributes` also what TakeDimensions does. Codecs and
// chunks are the plan's where `config` names a codec or shards, unless HDF5 sees other dimensions within elements than
// the array has there: then they are those of `source`. True where chunks of `source` are chunks of the copy, byte for
// byte. kUnsupported, and the plan is as it was: the plan's format of Zarr has no word for it, or `source` is no array
// whose document says all (one with files of its own, or in another program's conventions).
Result<bool> TakeArray(const NodeState& source, const Config& config, bool with_attributes, DatasetPlan* plan);

// The names of the dimensions of `source`, and what `_hdf5` says of their role: in HDF5 they are attributes.
void TakeDimensions(const zarr::ArrayMetadata& source, zarr::ArrayMetadata* copy);

// For a `copy` of `source` that HDF5 made without attributes, where these come later by themselves: what of them HDF5
// has no words for.
void TakeHiddenAttributes(const NodeState& source, NodeState* copy);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_COPIED_ARRAY_H_
