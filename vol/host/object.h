// Object: what HDF5 holds of ours for every open file, group, dataset, datatype and attribute: a
// native object, and in Zarr mode the store and node it belongs to.
#ifndef H5ZARR_HOST_OBJECT_H_
#define H5ZARR_HOST_OBJECT_H_

#include <hdf5.h>

#include <memory>
#include <string>

#include "host/native.h"

namespace h5zarr::shadow {
class StoreFile;
struct NodeState;
}  // namespace h5zarr::shadow

namespace h5zarr {

class VirtualDataset;
namespace transfer {
class NativeChunks;
}  // namespace transfer

struct Object {
  host::NativeObject native;                 // owned: closed with this object
  std::shared_ptr<shadow::StoreFile> store;  // null: the native object is a real file's
  std::shared_ptr<shadow::NodeState> node;   // with a store: the file's root, the object itself, or an
                                             // attribute's owner; null when unknown
  std::string attribute_name;                // of an attribute
  // Of a file opened anew while objects of an earlier one kept the store open: that one's native file,
  // until HDF5 has been told that it has no identifier (h5/file.cc).
  void* outlived_file = nullptr;
  bool counted = false;                          // one of the objects that keep the store open
  std::shared_ptr<VirtualDataset> virtual_data;  // of a dataset, once it was found to be virtual
  bool is_not_virtual = false;                   // of a dataset that was found not to be
  // Of a dataset of a native file, once it was found that the engine can read it, or cannot.
  std::shared_ptr<transfer::NativeChunks> native_chunks;
  bool read_by_hdf5 = false;
  bool is_versioned = false;  // a virtual one of versioned-hdf5
  unsigned small_reads = 0;   // of a versioned one
};

}  // namespace h5zarr

#endif  // H5ZARR_HOST_OBJECT_H_
