// Small helpers of this folder over packed elements in unaligned memory.
#ifndef H5ZARR_TRANSFER_ELEMENTS_H_
#define H5ZARR_TRANSFER_ELEMENTS_H_

#include <hdf5.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/buffer.h"
#include "base/dtype.h"
#include "base/status.h"

namespace h5zarr::transfer {

template <typename T>
T LoadAt(const std::byte* packed, uint64_t index) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, packed + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void StoreAt(std::byte* packed, uint64_t index, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(packed + index * sizeof(T), &value, sizeof(T));
}

inline VlenRef RefTo(const std::string& text) { return {text.size(), reinterpret_cast<const std::byte*>(text.data())}; }

// Whether HDF5 converts between two types.
bool HasConversion(hid_t from, hid_t to);

// H5Tconvert of `elems` packed elements in place. `background`: elements of the target's type; may
// be null where no compound is involved.
Status ConvertElements(hid_t from, hid_t to, uint64_t elems, std::byte* buffer, std::byte* background, hid_t dxpl);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_ELEMENTS_H_
