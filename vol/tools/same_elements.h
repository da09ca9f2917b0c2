// Whether elements in memory are the same values, wherever what they lead to lies.
#ifndef H5ZARR_TOOLS_SAME_ELEMENTS_H_
#define H5ZARR_TOOLS_SAME_ELEMENTS_H_

#include <hdf5.h>

#include <cstdint>

namespace h5zarr::tools {

// One side of a comparison.
struct Side {
  hid_t object = H5I_INVALID_HID;  // any in the file that references are of
  const void* data = nullptr;
};

// Compares `count` elements of `type`, in which both sides are. Floats are the same when their bytes are (NaN
// is what it is), references when they lead to the same path (and select the same). Returns how many
// differ, and which is the first.
struct Difference {
  uint64_t elems = 0;
  uint64_t first = 0;
};
Difference CompareElements(hid_t type, const Side& a, const Side& b, uint64_t count);

}  // namespace h5zarr::tools

#endif  // H5ZARR_TOOLS_SAME_ELEMENTS_H_
