// RawHeaders: headers of virtual datasets, from the bytes of an HDF5 file.
//
// HDF5 takes all mappings of a virtual dataset apart when it opens one, and again when it is asked for them: a
// quarter of a second for ten thousand. What a mirror wants of each version is its extent, and the mappings as
// they are. Within mirror/ only.
#ifndef H5ZARR_MIRROR_RAW_HEADER_H_
#define H5ZARR_MIRROR_RAW_HEADER_H_

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "store/native_file.h"

namespace h5zarr::mirror {

struct VirtualHeader {
  std::vector<uint64_t> extent;
  std::vector<uint64_t> max_extent;  // UINT64_MAX: without an end
  Buffer mappings;                   // the block in the heap; empty where there is none
};

class RawHeaders {
 public:
  // `bytes`: of `file`, an HDF5 file that nobody changes meanwhile. kUnsupported where addresses do not count
  // from its begin, or have another size.
  static Result<RawHeaders> Of(hid_t file, std::shared_ptr<FileBytes> bytes);

  // Of the virtual dataset `token`. kUnsupported for what HDF5 should be asked for: any other object, a header
  // of a form that is not known, or damaged.
  Result<VirtualHeader> Read(const H5O_token_t& token) const;

 private:
  explicit RawHeaders(std::shared_ptr<FileBytes> bytes) : bytes_(std::move(bytes)) {}
  struct Found;
  Result<Buffer> ReadAt(uint64_t address, uint64_t length) const;
  Status ReadFirst(uint64_t address, Found* found) const;
  Status ReadNext(uint64_t address, uint64_t length, Found* found) const;
  Result<Buffer> ReadHeap(uint64_t address, uint64_t number) const;

  std::shared_ptr<FileBytes> bytes_;
};

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_RAW_HEADER_H_
