// native_map: a chunked or contiguous dataset of a native HDF5 file as an array: the same elements, chunks and encoded
// bytes.
#ifndef H5ZARR_SHADOW_NATIVE_MAP_H_
#define H5ZARR_SHADOW_NATIVE_MAP_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "shadow/type_map.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {

struct NativePlan {
  ElementMap element;
  std::vector<uint64_t> extent;  // of the dataset
  std::vector<uint64_t> chunk;   // the same rank
  std::vector<uint64_t> grid;    // chunks along each dimension
  uint64_t entries = 0;          // chunks within the extent
  // An array of a single shard, whose inner chunks are HDF5's and whose index is without a checksum.
  zarr::ArrayMetadata metadata;
  bool fill_defined = false;  // whether elements of chunks that are not there have a value
  bool has_filters = false;
  bool is_contiguous = false;   // all of it is one chunk
  double hdf5_ns_per_byte = 0;  // roughly what HDF5's pipeline takes for a decoded byte
};

// Of a dataset of `type`, `space` and `dcpl`. kUnsupported where the array would not be the same: another
// layout, elements of variable length or with references or padding, filters that are not known to the
// byte, chunks without all filters, more than 2^21 chunks. Contiguous ones with `contiguous_too`.
Result<NativePlan> PlanNative(hid_t type, hid_t space, hid_t dcpl, bool contiguous_too = false);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_NATIVE_MAP_H_
