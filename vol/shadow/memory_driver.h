// memory_driver: HDF5's file driver for shadows: a file in memory, which can forget the elements of datasets.
//
// No callback puts any there; but H5Ocopy into a store has HDF5 copy a whole dataset into the shadow before its
// elements can go where they belong. Programs never name the driver.
#ifndef H5ZARR_SHADOW_MEMORY_DRIVER_H_
#define H5ZARR_SHADOW_MEMORY_DRIVER_H_

#include <hdf5.h>

#include "base/status.h"

namespace h5zarr::shadow {

// Has what is created with `fapl` be in memory. Opening what is there already fails: nothing is kept.
Status SetMemoryDriver(hid_t fapl);

// The library closes: the driver's identifier ends with it.
void ForgetMemoryDriver();

// While one lives, elements that are written to shadows are forgotten: as zeros, they take no memory. (Those of
// variable length are in heaps, which are kept.) On HDF5's thread. Not for shadows that share messages: these may
// look like elements.
class ForgetElements {
 public:
  explicit ForgetElements(bool does);
  ForgetElements(const ForgetElements&) = delete;
  ~ForgetElements();

 private:
  const bool before_;
};

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_MEMORY_DRIVER_H_
