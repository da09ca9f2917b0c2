// dataset_io: one H5Dread or H5Dwrite, from HDF5's arguments to the engine's requests.
//
// All HDF5 calls happen here, on the calling thread, before and after the engine's work; workers never
// call HDF5.
#ifndef H5ZARR_TRANSFER_DATASET_IO_H_
#define H5ZARR_TRANSFER_DATASET_IO_H_

#include <hdf5.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "exec/background.h"
#include "shadow/attribute_map.h"
#include "shadow/type_map.h"
#include "transfer/selection.h"
#include "zarr/array.h"

namespace h5zarr::transfer {

// One dataset of a call. Everything is borrowed.
struct DatasetTransfer {
  zarr::Array* array = nullptr;  // null: a dataset without elements (H5S_NULL)
  std::string_view path;         // what failures call it
  const shadow::ElementMap* element = nullptr;
  std::span<const uint64_t> extent;  // current HDF5 extent (without element->elem_dims); rank 0: scalar
  hid_t mem_type = H5I_INVALID_HID;
  hid_t mem_space = H5S_ALL;   // H5S_ALL, H5S_BLOCK or an identifier
  hid_t file_space = H5S_ALL;  // H5S_ALL or an identifier
  void* read_buffer = nullptr;
  const void* write_buffer = nullptr;
  const GridTransfer* grid = nullptr;  // what to transfer, known already: instead of the two spaces
  // Serves datasets of references, and of elements that may hold some; may be null for others.
  const shadow::ReferenceResolver* references = nullptr;
};

// When the work of a call may be done.
enum class Timing : uint8_t {
  kNow,      // when it returns, all is done
  kBehind,   // a write may copy its data and return; the dataset's next call, or the file's flush or
             // close, returns its failure
  kRequest,  // the call may return a job, until whose end the program leaves the buffers alone
};

// Reads (writes) all datasets as one batch. Errors are those HDF5 gives: selections of different sizes,
// selections outside the extent, no conversion between the types. Vlen elements read are allocated
// as `dxpl` says (H5Pset_vlen_mem_manager, else malloc). The arrays must use the same executor. What needs
// HDF5 while elements move (conversions), or arrays of several stores, is always done now. The job is null
// where all is done.
Result<JobPtr> ReadDatasets(std::span<DatasetTransfer> transfers, hid_t dxpl, Timing timing);
Result<JobPtr> WriteDatasets(std::span<DatasetTransfer> transfers, hid_t dxpl, Timing timing);
// The same, now.
Status ReadDatasets(std::span<DatasetTransfer> transfers, hid_t dxpl);
Status WriteDatasets(std::span<DatasetTransfer> transfers, hid_t dxpl);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_DATASET_IO_H_
