// Removing versions from a repository. Within mirror/ only.
#ifndef H5ZARR_MIRROR_REMOVE_TAGS_H_
#define H5ZARR_MIRROR_REMOVE_TAGS_H_

#include <map>
#include <string>

#include "base/status.h"
#include "icechunk/repository.h"
#include "mirror/write_behind.h"

namespace h5zarr::mirror {

// Removes these tags. Snapshots that followed theirs follow the one before from now on, so that nothing leads to
// them any more. `repository`: in `store`. A run that is killed is done again.
Status RemoveTags(const std::map<std::string, icechunk::ObjectId>& tags, icechunk::Repository* repository,
                  WriteBehind* store);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_REMOVE_TAGS_H_
