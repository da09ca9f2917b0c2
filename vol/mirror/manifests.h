// From places in packs to manifests: where the chunks of an array of a snapshot are. Within mirror/ only.
#ifndef H5ZARR_MIRROR_MANIFESTS_H_
#define H5ZARR_MIRROR_MANIFESTS_H_

#include <map>

#include "base/status.h"
#include "icechunk/repository.h"
#include "mirror/pack_writer.h"
#include "mirror/placed_chunks.h"

namespace h5zarr::mirror {

// Stores manifests of `placed`, the chunks of the array that `node` is, and lists them in `node` and in
// `manifests`. Each has a band along the first axis, at the same places in every version, so that those without
// a change are the same. kUnsupported for more chunks than an index can name. REQUIRES: `packs` were flushed.
Status WriteManifests(const PlacedChunks& placed, const PackWriter& packs, icechunk::Repository* repository,
                      icechunk::Node* node, std::map<icechunk::ObjectId, icechunk::ManifestInfo>* manifests,
                      icechunk::Written* written);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_MANIFESTS_H_
