// ArrayBatch: elements of the arrays of one store that are read together.
//
// HDF5 cuts a transfer at every chunk; parts that lie in memory as they do in the array become one
// again here, so that the engine plans the whole.
#ifndef H5ZARR_VIEW_ARRAY_BATCH_H_
#define H5ZARR_VIEW_ARRAY_BATCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "shadow/store_file.h"
#include "transfer/selection.h"
#include "view/region.h"

namespace h5zarr::view {

class ArrayBatch {
 public:
  explicit ArrayBatch(shadow::StoreFile* store) : store_(store) {}

  // `grid` is over the region's extent; `buffer` what its memory is relative to. The region must outlive
  // the batch.
  void Add(const Region& region, transfer::GridTransfer grid, std::byte* buffer);
  // What two spaces of the whole dataset select. They must outlive the batch.
  void AddSpaces(const Region& region, hid_t mem_space, hid_t file_space, std::byte* buffer);
  // Reads everything that was added.
  Status Read();

 private:
  struct Part {
    const Region* region = nullptr;
    std::byte* buffer = nullptr;
    transfer::GridTransfer grid;
    hid_t mem_space = H5I_INVALID_HID;  // instead of the grid
    hid_t file_space = H5I_INVALID_HID;
  };
  Status ReadVirtual(const Part& part);
  std::optional<transfer::GridTransfer> Joined(std::size_t first, std::size_t end) const;

  shadow::StoreFile* const store_;
  std::vector<Part> parts_;
};

}  // namespace h5zarr::view

#endif  // H5ZARR_VIEW_ARRAY_BATCH_H_
