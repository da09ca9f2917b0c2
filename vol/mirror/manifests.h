// Where the chunks of a snapshot's arrays are: from places in packs to manifests, and what of it is another
// than in the snapshot before. Within mirror/ only.
#ifndef H5ZARR_MIRROR_MANIFESTS_H_
#define H5ZARR_MIRROR_MANIFESTS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "base/status.h"
#include "icechunk/repository.h"
#include "mirror/pack_writer.h"
#include "zarr/metadata.h"

namespace h5zarr::mirror {

// Of an array's chunks, by index, where they are.
using Placed = std::map<std::vector<uint32_t>, Place>;

// All of a node's chunks that are in objects of the repository.
Result<Placed> ReadPlaced(const icechunk::Repository& repository, const icechunk::Node& array,
                          PackWriter* packs);

// Stores manifests of `placed`, the chunks of the array that `node` is, and lists them in `node` and in
// `manifests`. Each has a band along the first axis, at the same places in every version, so that those without
// a change are the same. REQUIRES: `packs` were flushed.
Status WriteManifests(const zarr::ArrayMetadata& metadata, const Placed& placed, const PackWriter& packs,
                      icechunk::Repository* repository, icechunk::Node* node,
                      std::map<icechunk::ObjectId, icechunk::ManifestInfo>* manifests,
                      icechunk::Written* written);

// What `snapshot` changed of `parent`. Icechunk's diff and rebase go by this.
Result<icechunk::Transaction> ChangesBetween(const icechunk::Repository& repository,
                                             const icechunk::Snapshot& parent,
                                             const icechunk::Snapshot& snapshot, PackWriter* packs);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_MANIFESTS_H_
