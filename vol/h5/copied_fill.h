// copied_fill: fill values of variable length in copies. H5Ocopy copies the address that such a value has in the heap
// of the original's file: in the copy's it leads to anything. So such a dataset is made anew.
#ifndef H5ZARR_H5_COPIED_FILL_H_
#define H5ZARR_H5_COPIED_FILL_H_

#include <cstdint>
#include <map>
#include <string>

#include "host/native.h"

namespace h5zarr {

// The datasets that were made anew in one copy.
class CopiedFills {
 public:
  // Makes the copy of `from`, to which the hard link `path` below `group` leads, anew where it is a dataset with such a
  // fill value: with what HDF5 copied but for elements. REQUIRES: nobody knows of the copy yet.
  Status Mend(const host::NativeHandle& from, host::NativeObject group, const std::string& path);

 private:
  std::map<uint64_t, uint64_t> made_;  // by the token of HDF5's copy
};

}  // namespace h5zarr

#endif  // H5ZARR_H5_COPIED_FILL_H_
