// The HDF5 filters of h5zarr, as HDF5 registers them: by their own plugins (plugin/) and by the
// connector. Independent of the connector: they work in any HDF5 program, on any HDF5 file.
#ifndef H5ZARR_FILTER_FILTERS_H_
#define H5ZARR_FILTER_FILTERS_H_

#include <hdf5.h>

namespace h5zarr::filter {

// Filter 480: a chunk is a Zarr shard, byte for byte. Inner chunks are encoded and decoded at once,
// by as many threads as H5ZARR_THREADS says (default: the CPUs this process may use).
const H5Z_class2_t* ShardFilter();

// Filter 32015 as everyone's: a chunk is one zstd frame; the one parameter is the level.
const H5Z_class2_t* ZstdFilter();

}  // namespace h5zarr::filter

#endif  // H5ZARR_FILTER_FILTERS_H_
