// selection: what the two dataspaces of an H5Dread or H5Dwrite select, as values, and how the two
// fit together: as one regular grid where they do, else as runs.
//
// Here HDF5's dataspaces end: what comes out knows coordinates only. It moves no element.
#ifndef H5ZARR_TRANSFER_SELECTION_H_
#define H5ZARR_TRANSFER_SELECTION_H_

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "zarr/array.h"

namespace h5zarr::transfer {

static_assert(std::is_same_v<hsize_t, uint64_t>);

// One dataspace: its extent and the elements it selects, H5Soffset_simple included.
struct SideSelection {
  enum class Kind : uint8_t {
    kGrid,       // `dims` say it all
    kPoints,     // H5Sget_select_elem_pointlist of `space`
    kIrregular,  // H5Ssel_iter of `space`
  };
  Kind kind = Kind::kGrid;
  hid_t space = H5I_INVALID_HID;  // borrowed; kPoints and kIrregular only
  uint64_t elems = 0;
  std::size_t rank = 0;
  std::array<uint64_t, H5S_MAX_RANK> extent;
  std::array<zarr::DimSelection, H5S_MAX_RANK> dims;  // kGrid only

  std::span<const uint64_t> shape() const { return {extent.data(), rank}; }
};

struct SelectionPair {
  SideSelection file;
  SideSelection mem;
  uint64_t elems() const { return file.elems; }
};

// What H5Dread's arguments select in a dataset of `extent`, by HDF5's rules: H5S_ALL in the file is
// the extent, in memory the file's selection over the file space's extent; H5S_BLOCK is contiguous.
// kUnsupported for H5S_PLIST (its selection lives inside the library); kInvalidArgument or
// kOutOfRange for spaces that HDF5 refuses: no dataspaces, of different numbers of elements, of
// another rank than the dataset, reaching outside their own or the dataset's extent.
Result<SelectionPair> ResolveSelections(hid_t file_space, hid_t mem_space, std::span<const uint64_t> extent);

// kOutOfRange where the memory space is larger than any memory, for elements of `elem_bytes`.
Status CheckMemoryBytes(const SideSelection& mem, uint64_t elem_bytes);

// A transfer whose memory addresses are regular in the file's own dimensions: the element with
// ordinals (k0, k1, …) lies at mem_start_elems + sum(k_d * mem_strides_elems[d]).
struct GridTransfer {
  std::vector<zarr::DimSelection> dims;
  std::vector<int64_t> mem_strides_elems;
  uint64_t mem_start_elems = 0;
};
// Nothing where the selections are not both grids or the memory's dimensions don't fit the file's.
// REQUIRES: elements are selected, CheckMemoryBytes.
std::optional<GridTransfer> MatchGrid(const SelectionPair& pair);

// One box of the file, in memory that it fills from its beginning on.
struct BoxTransfer {
  std::size_t rank = 0;
  uint64_t elems = 0;
  std::array<hsize_t, H5S_MAX_RANK> start;
  std::array<hsize_t, H5S_MAX_RANK> counts;
};
// ResolveSelections of what small reads mostly are. It asks HDF5 only what that takes. False, with anything in `box`,
// in all other cases, also of spaces that are to be refused.
bool MatchBox(hid_t file_space, hid_t mem_space, std::span<const uint64_t> extent, BoxTransfer* box);

// `elems` elements consecutive in the array (over its extent) and in memory, both in elements.
struct ElementRun {
  uint64_t array_offset = 0;
  uint64_t mem_offset = 0;
  uint64_t elems = 0;
};

// Any two selections of equal size as runs, in HDF5's order. Calls HDF5 while it advances.
class RunStream {
 public:
  // `pair` and `extent` (the dataset's) must outlive the stream, and so must the spaces in it.
  // REQUIRES: CheckMemoryBytes. kOutOfRange where offsets in the file do not fit 64 bits.
  static Result<RunStream> Open(const SelectionPair& pair, std::span<const uint64_t> extent);
  RunStream(RunStream&&) noexcept;
  RunStream& operator=(RunStream&&) noexcept;
  ~RunStream();

  // Replaces `runs` by the next ones: at most `max_runs` of together at most `max_elems` elements;
  // none when all have been given. `runs` is an argument so that its memory is reused.
  Status Next(uint64_t max_runs, uint64_t max_elems, std::vector<ElementRun>& runs);
  bool done() const;

 private:
  struct State;
  explicit RunStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_SELECTION_H_
