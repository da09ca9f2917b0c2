// The filters this plugin brings, registered with the host so that property lists may name them.
// Only complete implementations are registered: registration holds for the whole process and native
// files too.

#include <cstring>

#include "h5/connector.h"
#include "h5zarr/filters.h"

namespace h5zarr {
namespace {

// In a store a shard is read and written by the engine; HDF5 never runs the filter there. In a native
// file it cannot be run yet, which must be an error and never unfiltered data.
size_t ShardFilter(unsigned flags, size_t word_count, const unsigned words[], size_t bytes,
                   size_t* buffer_bytes, void** buffer) {
  (void)flags, (void)word_count, (void)words, (void)bytes, (void)buffer_bytes, (void)buffer;
  host::PushStatus(UnsupportedError("filter 480 (shard) is available in Zarr stores only, not yet "
                                    "in native HDF5 files"),
                   "shard filter");
  return 0;
}

}  // namespace

void RegisterFilters() {
  if (GetConnector().filters_registered) return;
  GetConnector().filters_registered = true;
  H5Z_class2_t filter;
  std::memset(&filter, 0, sizeof filter);
  filter.version = H5Z_CLASS_T_VERS;
  filter.id = H5ZARR_FILTER_SHARD;
  filter.encoder_present = 1;
  filter.decoder_present = 1;
  filter.name = "h5zarr shard-480";
  filter.filter = ShardFilter;
  if (H5Zfilter_avail(H5ZARR_FILTER_SHARD) <= 0) H5Zregister(&filter);
}

}  // namespace h5zarr
