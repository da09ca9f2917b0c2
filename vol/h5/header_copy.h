// header_copy: what a store keeps of an object that H5Ocopy brought into its shadow, but for elements and members:
// its document.
#ifndef H5ZARR_H5_HEADER_COPY_H_
#define H5ZARR_H5_HEADER_COPY_H_

#include <hdf5.h>

#include <string>
#include <vector>

#include "host/native.h"
#include "shadow/store_file.h"

namespace h5zarr {

// What the array of a copied dataset is beside that of its source.
enum class CopiedArray {
  kNew,
  kSame,        // as far as the target's format of Zarr can say it (shadow::TakeArray)
  kSameChunks,  // and chunks of the one are chunks of the other
};
// A dataset that HDF5 copied into a shadow gets its array. `source`, of a store, may be null. `with_attributes`: HDF5
// copied those, too.
Result<CopiedArray> AdoptDataset(shadow::StoreFile& store, const shadow::NodePtr& node, host::NativeObject native,
                                 const shadow::NodePtr& source, bool with_attributes);

// Whether an array has a codec that is unknown here: its chunks can be copied, not decoded.
bool NeedsSameArray(const shadow::NodePtr& source);

// A virtual dataset that HDF5 copied into a shadow: its mappings are what there is of it.
Status AdoptVirtual(shadow::StoreFile& store, const shadow::NodePtr& node, host::NativeObject native, hid_t dcpl);

// What a copy has from its original: what it was created with, and its attributes (unless HDF5 copied none).
Status NoteHeader(shadow::StoreFile& store, const shadow::NodePtr& node, const host::NativeHandle& from,
                  const host::NativeHandle& to, bool with_attributes);

// The names of an object's attributes. On failure HDF5's error stack says it.
Result<std::vector<std::string>> AttributeNames(host::NativeObject native, H5_index_t order);

}  // namespace h5zarr

#endif  // H5ZARR_H5_HEADER_COPY_H_
