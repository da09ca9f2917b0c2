// layout: how the datasets of a store are laid out in an image, so that HDF5 finds elements by address
// alone.
#ifndef H5ZARR_VIEW_LAYOUT_H_
#define H5ZARR_VIEW_LAYOUT_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "host/handle.h"
#include "shadow/store_file.h"
#include "view/image.h"

namespace h5zarr::view {

class Layout {
 public:
  // `held_bytes`: what elements that the image has to hold may come to in one dataset. `image` must outlive this.
  Layout(const shadow::StoreFile* store, Image* image, uint64_t held_bytes)
      : store_(store), image_(image), held_bytes_(held_bytes) {}

  // Changes the space and creation list of a dataset that is about to be created at `path`: all its addresses are
  // given out at once, in C order of its chunks, and nothing is filtered. Of a dataset of
  // very many chunks HDF5 is told that it has none: it would visit each; of one of many, that it cannot grow without
  // end. A virtual one is as large as its sources make it now, and stays so. kUnsupported where HDF5 has no
  // addresses for so many elements.
  Status Adapt(const std::string& path, hid_t type, Handle* space, Handle* dcpl);

 private:
  // How far HDF5 is told that a chunked dataset may grow; nothing where it is told of no chunks.
  std::optional<std::vector<hsize_t>> LimitOf(const std::vector<hsize_t>& dims, const std::vector<hsize_t>& maxdims,
                                              const std::vector<uint64_t>& chunk, uint64_t elem_bytes);

  const shadow::StoreFile* const store_;
  Image* const image_;
  const uint64_t held_bytes_;
  uint64_t chunks_ = 0;   // of all datasets
  uint64_t indexed_ = 0;  // of those that HDF5 has an index of
};

}  // namespace h5zarr::view

#endif  // H5ZARR_VIEW_LAYOUT_H_
