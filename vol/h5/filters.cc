// The filters this plugin brings, registered with the host so that property lists may name them, and
// so that they work in HDF5 files where their own plugins are not on the path.

#include "filter/filters.h"

#include "h5/connector.h"

namespace h5zarr {
namespace {

void Register(const H5Z_class2_t* filter) {
  if (H5Zfilter_avail(filter->id) > 0) return;  // the program's own goes first
  H5Zregister(filter);
}

}  // namespace

void RegisterFilters() {
  if (GetConnector().filters_registered) return;
  GetConnector().filters_registered = true;
  host::QuietErrors quiet;
  Register(filter::ShardFilter());
  Register(filter::ZstdFilter());
}

}  // namespace h5zarr
