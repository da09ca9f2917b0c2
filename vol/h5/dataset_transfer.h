// dataset_transfer: raw data of several datasets at once, whatever each of them is: an array of a store,
// a virtual dataset, or a native one.
#ifndef H5ZARR_H5_DATASET_TRANSFER_H_
#define H5ZARR_H5_DATASET_TRANSFER_H_

#include <hdf5.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "host/handle.h"
#include "host/object.h"
#include "transfer/selection.h"

namespace h5zarr {

// What HDF5 keeps under the name, or what the store does. Everything is borrowed.
struct DatasetPart {
  Object* object = nullptr;
  hid_t mem_type = H5I_INVALID_HID;
  hid_t mem_space = H5S_ALL;
  hid_t file_space = H5S_ALL;
  void* read_buffer = nullptr;
  const void* write_buffer = nullptr;
  const transfer::GridTransfer* grid = nullptr;  // instead of the spaces; arrays of stores only
};

// Reads or writes all parts: first native datasets and virtual ones, one by one, then all arrays as one
// batch. `request` is HDF5's, or null: all that is left to do may become a request.
Status TransferParts(std::span<const DatasetPart> parts, bool write, hid_t dxpl, void** request = nullptr);

// How many bytes reading the elements that `space` selects as `type` would allocate for parts of variable
// length.
Result<hsize_t> VlenBytes(Object* dataset, hid_t type, hid_t space);

// A dataset in a store whose elements are an array's.
bool HasArray(const Object* object);
// …of which one with external storage has it in files that HDF5 reads and writes itself; its array gets
// what is written, too.
bool IsExternal(const Object* object);

// Opens the dataset at `path` from the root of the file that `beside` says (its native object and store).
// The caller closes it with CloseDataset. Null where there is none; an error where there is something that
// cannot be opened.
Result<Object*> OpenDatasetByPath(Object* beside, const std::string& path, hid_t dapl);
// As H5Dclose does; on failure (HDF5's error stack says it) the dataset may still be open.
herr_t CloseDataset(Object* dataset, hid_t dxpl, void** request);

// The dataspace as H5Dget_space gives it.
Result<Handle> SpaceOfDataset(Object* dataset);
Result<std::vector<uint64_t>> ExtentOfDataset(Object* dataset);
Result<Handle> TypeOfDataset(Object* dataset);
// The property list of the native object, with which the store has nothing to do.
Result<Handle> NativeDcpl(Object* dataset);
Result<Handle> NativeDapl(Object* dataset);

}  // namespace h5zarr

#endif  // H5ZARR_H5_DATASET_TRANSFER_H_
