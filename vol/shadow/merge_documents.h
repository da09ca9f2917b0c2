// merge_documents: one node made of what two writers stored in the same documents, each of whom began with the same.
// Pure functions over documents. Internal to shadow/.
#ifndef H5ZARR_SHADOW_MERGE_DOCUMENTS_H_
#define H5ZARR_SHADOW_MERGE_DOCUMENTS_H_

#include "base/status.h"
#include "zarr/hierarchy.h"

namespace h5zarr::shadow {

// `ours`, with what `theirs` changed since `base` (null: neither began with anything): attribute by attribute, an
// attribute's HDF5 type being part of it; link by link; each member of `_hdf5` by itself; an array's extent, and its
// dimensions' names and scales as a whole; members of documents that we do not know. Creation orders are joined. Of the
// times of change the later one counts.
// kChanged, saying what, where both changed the same differently, or where `theirs` is another node altogether;
// kAlreadyExists where both made an array.
Result<zarr::Node> MergeDocuments(const zarr::Node* base, const zarr::Node& ours, const zarr::Node& theirs);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_MERGE_DOCUMENTS_H_
