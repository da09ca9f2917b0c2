// A dataset twice: in a native HDF5 file in memory, and as a Zarr array in memory behind
// ReadDatasets and WriteDatasets. What the two do can be compared.
#ifndef H5ZARR_TEST_UNIT_TRANSFER_TWIN_H_
#define H5ZARR_TEST_UNIT_TRANSFER_TWIN_H_

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/executor.h"
#include "host/handle.h"
#include "shadow/type_map.h"
#include "store/store.h"
#include "transfer/dataset_io.h"
#include "zarr/array.h"

namespace h5zarr::transfer {

// The code under test calls HDF5 through forwarders: points them at the libhdf5 that this program
// is linked with. Also keeps HDF5 from printing. Idempotent.
void BindHdf5();

class Twin {
 public:
  enum class Native { kChunked, kContiguous };

  Twin(hid_t type, std::vector<uint64_t> extent, std::vector<uint64_t> chunk, Native native = Native::kChunked);
  // The Zarr side only, for elements that no native dataset has.
  Twin(shadow::ElementMap element, std::vector<uint64_t> extent, std::vector<uint64_t> chunk);

  struct Space {
    hid_t file = H5S_ALL;
    hid_t mem = H5S_ALL;
  };
  herr_t NativeRead(hid_t mem_type, Space space, void* buffer);
  herr_t NativeWrite(hid_t mem_type, Space space, const void* buffer);
  Status Read(hid_t mem_type, Space space, void* buffer, hid_t dxpl = H5P_DEFAULT);
  Status Write(hid_t mem_type, Space space, const void* buffer, hid_t dxpl = H5P_DEFAULT);
  DatasetTransfer Transfer(hid_t mem_type, Space space);

  const std::vector<uint64_t>& extent() const { return extent_; }
  uint64_t elems() const;
  zarr::Array& array() { return *array_; }
  shadow::ReferenceResolver references;

 private:
  void OpenArray(const std::vector<uint64_t>& chunk);

  std::vector<uint64_t> extent_;
  shadow::ElementMap element_;
  Handle file_;
  Handle dataset_;
  Executor executor_{2};
  std::unique_ptr<Store> store_;
  std::unique_ptr<zarr::Array> array_;
};

Handle SimpleSpace(const std::vector<uint64_t>& extent);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TEST_UNIT_TRANSFER_TWIN_H_
