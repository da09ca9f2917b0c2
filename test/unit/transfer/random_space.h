// Random dataspaces with selections of every kind.
#ifndef H5ZARR_TEST_UNIT_TRANSFER_RANDOM_SPACE_H_
#define H5ZARR_TEST_UNIT_TRANSFER_RANDOM_SPACE_H_

#include <hdf5.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "host/handle.h"

namespace h5zarr::transfer {

// A dataspace in words, for messages.
std::string Describe(hid_t space);

class RandomSpaces {
 public:
  // `offsets`: some selections are moved by H5Soffset_simple; otherwise some file spaces have a
  // smaller extent than the dataset.
  RandomSpaces(uint32_t seed, bool offsets) : random_(seed), offsets_(offsets) {}

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }
  std::vector<uint64_t> Shape(std::size_t rank, uint64_t low, uint64_t high);
  // Up to `extent` in each dimension.
  std::vector<uint64_t> Within(const std::vector<uint64_t>& extent);

  // A selection in a space of `extent` or smaller; no handle: H5S_ALL.
  Handle File(const std::vector<uint64_t>& extent);

  // A memory space with exactly `elems` elements selected; `file` (may be H5S_ALL) gives the shape
  // for some. `whole` becomes true where H5S_ALL or H5S_BLOCK should be passed instead.
  struct Memory {
    Handle space;
    hid_t special = H5I_INVALID_HID;  // H5S_ALL or H5S_BLOCK
    uint64_t buffer_elems = 0;
    hid_t id() const { return space.valid() ? space.get() : special; }
  };
  Memory ForMemory(const std::vector<uint64_t>& extent, hid_t file, uint64_t elems);

 private:
  void SelectRandom(hid_t space, const std::vector<uint64_t>& extent);
  void SelectHyperslab(hid_t space, const std::vector<uint64_t>& extent, H5S_seloper_t operation);
  void SelectPoints(hid_t space, const std::vector<uint64_t>& extent);
  void Offset(hid_t space, const std::vector<uint64_t>& extent);
  Memory Strided(std::vector<uint64_t> counts);
  Memory Scattered(uint64_t elems, bool points);

  std::mt19937 random_;
  bool offsets_;
  // Memory spaces of another rank than the file's are not moved: native HDF5 1.14 projects them to
  // the file's rank, and loses the offset.
  std::size_t file_rank_ = 0;
};

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TEST_UNIT_TRANSFER_RANDOM_SPACE_H_
