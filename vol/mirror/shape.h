// The shape of a dataset.
#ifndef H5ZARR_MIRROR_SHAPE_H_
#define H5ZARR_MIRROR_SHAPE_H_

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace h5zarr::mirror {

struct Shape {
  H5S_class_t kind = H5S_SIMPLE;
  std::vector<uint64_t> dims;
  std::vector<uint64_t> max_dims;  // H5S_UNLIMITED: no bound
};
Result<Shape> ShapeOf(hid_t space);

// "(3, inf)".
std::string DimsText(const std::vector<uint64_t>& dims);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_SHAPE_H_
