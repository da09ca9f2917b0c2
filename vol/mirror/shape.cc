#include "mirror/shape.h"

#include "mirror/hdf5_read.h"

namespace h5zarr::mirror {

Result<Shape> ShapeOf(hid_t space) {
  Shape shape;
  shape.kind = H5Sget_simple_extent_type(space);
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) return Hdf5Error("a dataspace");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank)), max_dims(dims.size());
  if (rank > 0 && H5Sget_simple_extent_dims(space, dims.data(), max_dims.data()) < 0) {
    return Hdf5Error("a dataspace");
  }
  shape.dims.assign(dims.begin(), dims.end());
  shape.max_dims.assign(max_dims.begin(), max_dims.end());
  return shape;
}

std::string DimsText(const std::vector<uint64_t>& dims) {
  std::string text = "(";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += (i > 0 ? ", " : "") + (dims[i] == H5S_UNLIMITED ? "inf" : std::to_string(dims[i]));
  }
  return text + ")";
}

}  // namespace h5zarr::mirror
