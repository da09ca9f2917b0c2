// RawHeaders: headers of datasets, from the bytes of an HDF5 file.
//
// HDF5 takes all mappings of a virtual dataset apart when it opens one, and again when it is asked for them: a
// quarter of a second for ten thousand. What is wanted of one of versioned-hdf5's is its extent, what its elements
// are, and the mappings as they are.
#ifndef H5ZARR_TRANSFER_RAW_HEADER_H_
#define H5ZARR_TRANSFER_RAW_HEADER_H_

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "store/native_file.h"

namespace h5zarr::transfer {

// What the elements of a dataset are, as the header has it: equal where these are.
struct RawElement {
  std::vector<std::byte> type;         // its message; empty where it lies elsewhere
  std::optional<uint64_t> fill_bytes;  // nothing: not known, or elements that were not written have no value
  std::vector<std::byte> fill;
  bool is_known() const { return !type.empty() && fill_bytes.has_value(); }
  bool operator==(const RawElement&) const = default;
};

struct VirtualHeader {
  std::vector<uint64_t> extent;
  std::vector<uint64_t> max_extent;  // UINT64_MAX: without an end
  Buffer mappings;                   // the block in the heap; empty where there is none
  RawElement element;
};

class RawHeaders {
 public:
  // `bytes`: of an HDF5 file that nobody changes meanwhile. kUnsupported where addresses do not count from its
  // begin, or have another size.
  static Result<RawHeaders> Of(std::shared_ptr<FileBytes> bytes);

  // Of the virtual dataset `token`. kUnsupported for what HDF5 should be asked for: any other object, a header
  // of a form that is not known, or damaged.
  Result<VirtualHeader> Read(const H5O_token_t& token) const;
  // Of the dataset `token`, of whatever layout.
  Result<RawElement> ReadElement(const H5O_token_t& token) const;

 private:
  explicit RawHeaders(std::shared_ptr<FileBytes> bytes) : bytes_(std::move(bytes)) {}
  struct Found;
  Result<Buffer> ReadAt(uint64_t address, uint64_t length) const;
  Status ReadBlocks(const H5O_token_t& token, Found* found) const;
  Status ReadFirst(uint64_t address, Found* found) const;
  Status ReadNext(uint64_t address, uint64_t length, Found* found) const;
  Result<Buffer> ReadHeap(uint64_t address, uint64_t number) const;

  std::shared_ptr<FileBytes> bytes_;
};

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_RAW_HEADER_H_
