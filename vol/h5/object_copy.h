// object_copy: what H5Ocopy leaves to be done when a store is involved. HDF5 copies headers, links and
// attributes; raw data of a store it does not know, and raw data it copies into a shadow must go to the
// store.
#ifndef H5ZARR_H5_OBJECT_COPY_H_
#define H5ZARR_H5_OBJECT_COPY_H_

#include "h5/connector.h"

namespace h5zarr {

struct CopyEnd {
  Object* object;
  const H5VL_loc_params_t* loc;
  const char* name;
};

// After HDF5 copied `source` to `target`: takes the new objects into the target's store, and copies the
// data of every dataset. Datasets are paired by their path below the two roots; one whose source was
// reached through a link that the copy expanded has no pair and is refused by name.
Status FinishCopy(const CopyEnd& source, const CopyEnd& target);

}  // namespace h5zarr

#endif  // H5ZARR_H5_OBJECT_COPY_H_
