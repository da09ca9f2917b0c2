// What a run of a mirror has written.
#ifndef H5ZARR_MIRROR_RUN_COUNTS_H_
#define H5ZARR_MIRROR_RUN_COUNTS_H_

#include <cstdint>

#include "icechunk/repository.h"

namespace h5zarr::mirror {

struct RunCounts {
  uint64_t chunks_added = 0;
  uint64_t chunk_bytes_added = 0;
  icechunk::Written written;  // objects but refs, and their bytes
  uint64_t refs_written = 0;
};

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_RUN_COUNTS_H_
