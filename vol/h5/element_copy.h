// element_copy: the elements of one dataset, from an end of H5Ocopy to the other: as encoded chunks where both
// keep the same, else through memory.
#ifndef H5ZARR_H5_ELEMENT_COPY_H_
#define H5ZARR_H5_ELEMENT_COPY_H_

#include "h5/copy_references.h"
#include "host/native.h"
#include "host/object.h"
#include "shadow/store_file.h"

namespace h5zarr {

// One end of a copied dataset: an array of a store, or native data.
struct DataEnd {
  host::NativeObject native;
  shadow::StoreFile* store = nullptr;
  shadow::NodePtr node;      // with a store
  Object* engine = nullptr;  // of native data, for reading it by the engine
};

// Without decoding, where both ends keep the same bytes. False, and nothing is copied, where they do not.
Result<bool> CopyAsStored(const DataEnd& from, const DataEnd& to);

// Copies all elements that are stored. `translate`: for references; may be empty. REQUIRES: both have the same
// fill value, and `to` nothing but that.
Status CopyElements(const DataEnd& from, const DataEnd& to, const Translate& translate);

}  // namespace h5zarr

#endif  // H5ZARR_H5_ELEMENT_COPY_H_
