// What one snapshot changed of another: Icechunk's transaction log. Within mirror/ only.
#ifndef H5ZARR_MIRROR_CHANGES_H_
#define H5ZARR_MIRROR_CHANGES_H_

#include <functional>

#include "base/status.h"
#include "icechunk/snapshot.h"
#include "icechunk/transaction.h"
#include "mirror/placed_chunks.h"

namespace h5zarr::mirror {

// Of an array in one of the two snapshots.
using FindPlaced = std::function<Result<const PlacedChunks*>(const icechunk::Node& array)>;

// `before` and `after` are asked for arrays whose manifests differ, each for one after the other; what one gives must
// last until it is asked again.
Result<icechunk::Transaction> ChangesBetween(const icechunk::Snapshot& parent, const FindPlaced& before,
                                             const icechunk::Snapshot& snapshot, const FindPlaced& after);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_CHANGES_H_
