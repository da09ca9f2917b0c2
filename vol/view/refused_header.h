// refused_header: objects that a view lists, and that cannot be opened.
#ifndef H5ZARR_VIEW_REFUSED_HEADER_H_
#define H5ZARR_VIEW_REFUSED_HEADER_H_

#include <cstdint>

#include "base/status.h"
#include "view/sparse_bytes.h"

namespace h5zarr::view {

// Makes of the object whose header is at `at` a committed datatype, with so many hard links, that HDF5 can tell of, and
// cannot open: what type it is, it says, stands in the header at `elsewhere`. False, and nothing changed, where no
// header that has room for this is there.
Result<bool> LeadElsewhere(uint64_t at, uint64_t elsewhere, uint32_t links, SparseBytes* bytes);

}  // namespace h5zarr::view

#endif  // H5ZARR_VIEW_REFUSED_HEADER_H_
