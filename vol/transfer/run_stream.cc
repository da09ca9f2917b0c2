#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "host/handle.h"
#include "transfer/selection.h"

namespace h5zarr::transfer {
namespace {

// How many sequences or points one call into HDF5 gives.
constexpr std::size_t kBatchSequences = 4096;

class SelectionIterator {
 public:
  explicit SelectionIterator(hid_t id) : id_(id) {}
  SelectionIterator(const SelectionIterator&) = delete;
  ~SelectionIterator() {
    if (id_ >= 0) H5Ssel_iter_close(id_);
  }
  hid_t id() const { return id_; }

 private:
  hid_t id_;
};

void StridesOf(std::span<const uint64_t> shape, std::array<uint64_t, H5S_MAX_RANK>& strides) {
  uint64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
}

// The elements of one side as sequences that are contiguous over `shape`: the space's own extent,
// or, for points, whose coordinates are known, any other.
class SequenceSource {
 public:
  Status Open(const SideSelection& side, std::span<const uint64_t> shape) {
    left_elems_ = side.elems;
    kind_ = side.kind;
    if (kind_ == SideSelection::Kind::kPoints) return OpenPoints(side, shape);
    if (kind_ == SideSelection::Kind::kIrregular) return OpenIterator(side.space);
    const auto start = ContiguousStart(side);
    if (start) {
      offsets_ = {*start};
      lengths_ = {side.elems};
      filled_ = 1;
      return OkStatus();
    }
    StridesOf(side.shape(), strides_);
    grid_ = &side;
    ordinals_.fill(0);
    return OkStatus();
  }

  // Elements left in the current sequence; fills when it is used up. REQUIRES: elements are left.
  Result<uint64_t> Available() {
    if (next_ == filled_) H5ZARR_RETURN_IF_ERROR(Fill());
    return lengths_[next_];
  }
  uint64_t offset() const { return offsets_[next_]; }

  void Consume(uint64_t elems) {
    left_elems_ -= elems;
    offsets_[next_] += elems;
    lengths_[next_] -= elems;
    if (lengths_[next_] == 0) ++next_;
  }
  uint64_t left_elems() const { return left_elems_; }

 private:
  static std::optional<uint64_t> ContiguousStart(const SideSelection& side) {
    uint64_t start = 0;
    uint64_t stride = 1;
    bool complete = true;  // every dimension inside the current one is selected whole
    for (std::size_t d = side.rank; d-- > 0;) {
      const zarr::DimSelection& dim = side.dims[d];
      if (dim.elems() > 1 && (!complete || dim.block != 1 || dim.stride != 1)) return std::nullopt;
      complete = complete && dim.elems() == side.extent[d];
      start += dim.start * stride;
      stride *= side.extent[d];
    }
    return start;
  }

  Status OpenIterator(hid_t space) {
    // Elements of "one byte": offsets and lengths are then in elements. The space is the caller's
    // and stays as it is during the call, so its selection need not be copied.
    iterator_ = std::make_unique<SelectionIterator>(H5Ssel_iter_create(space, 1, H5S_SEL_ITER_SHARE_WITH_DATASPACE));
    if (iterator_->id() < 0) return InternalError("can't iterate over a selection");
    byte_lengths_.resize(kBatchSequences);
    offsets_.resize(kBatchSequences);
    lengths_.resize(kBatchSequences);
    return OkStatus();
  }

  Status OpenPoints(const SideSelection& side, std::span<const uint64_t> shape) {
    space_ = side.space;
    rank_ = side.rank;
    points_.resize(kBatchSequences * rank_);
    offsets_.resize(kBatchSequences);
    lengths_.resize(kBatchSequences);
    StridesOf(shape, strides_);
    // The list has no offset (H5Soffset_simple) in it, what an iterator gives has.
    if (H5Sget_select_elem_pointlist(space_, 0, 1, points_.data()) < 0) {
      return InternalError("can't list the points of a selection");
    }
    const SelectionIterator first(H5Ssel_iter_create(space_, 1, H5S_SEL_ITER_SHARE_WITH_DATASPACE));
    std::size_t sequences = 0;
    std::size_t elems = 0;
    std::size_t length = 0;
    uint64_t linear = 0;
    if (first.id() < 0 || H5Ssel_iter_get_seq_list(first.id(), 1, 1, &sequences, &elems, &linear, &length) < 0) {
      return InternalError("can't iterate over a selection");
    }
    // Modulo 2^64 throughout: the sums are valid coordinates again.
    shift_ = 0;
    for (std::size_t d = rank_; d-- > 0;) {
      shift_ += (linear % side.extent[d] - points_[d]) * strides_[d];
      linear /= side.extent[d];
    }
    return OkStatus();
  }

  Status Fill() {
    next_ = 0;
    filled_ = 0;
    if (grid_ != nullptr) return FillFromGrid();
    if (kind_ == SideSelection::Kind::kPoints) return FillFromPoints();
    if (iterator_ != nullptr) {
      std::size_t elems = 0;
      if (H5Ssel_iter_get_seq_list(iterator_->id(), kBatchSequences, SIZE_MAX, &filled_, &elems, offsets_.data(),
                                   byte_lengths_.data()) < 0) {
        return InternalError("can't iterate over a selection");
      }
      std::copy_n(byte_lengths_.begin(), filled_, lengths_.begin());
    }
    if (filled_ == 0) return InternalError("a selection has fewer elements than it says");
    return OkStatus();
  }

  Status FillFromPoints() {
    const uint64_t points = std::min<uint64_t>(kBatchSequences, left_elems_);
    if (H5Sget_select_elem_pointlist(space_, next_point_, points, points_.data()) < 0) {
      return InternalError("can't list the points of a selection");
    }
    next_point_ += points;
    const uint64_t* point = points_.data();
    for (uint64_t p = 0; p < points; ++p, point += rank_) {
      uint64_t offset = shift_;
      for (std::size_t d = 0; d < rank_; ++d) offset += point[d] * strides_[d];
      if (filled_ > 0 && offsets_[filled_ - 1] + lengths_[filled_ - 1] == offset) {
        ++lengths_[filled_ - 1];
      } else {
        offsets_[filled_] = offset;
        lengths_[filled_++] = 1;
      }
    }
    return OkStatus();
  }

  // The blocks of the innermost dimension, in C order.
  Status FillFromGrid() {
    offsets_.resize(kBatchSequences);
    lengths_.resize(kBatchSequences);
    const std::size_t last = grid_->rank - 1;
    const bool joined = grid_->dims[last].stride == 1;
    while (filled_ < kBatchSequences && !grid_done_) {
      uint64_t offset = 0;
      for (std::size_t d = 0; d <= last; ++d) {
        const zarr::DimSelection& dim = grid_->dims[d];
        const uint64_t k = ordinals_[d];
        offset += (dim.start + k / dim.block * dim.stride + k % dim.block) * strides_[d];
      }
      offsets_[filled_] = offset;
      lengths_[filled_++] = joined ? grid_->dims[last].elems() : grid_->dims[last].block;
      Advance(last, lengths_[filled_ - 1]);
    }
    return OkStatus();
  }

  void Advance(std::size_t last, uint64_t elems) {
    ordinals_[last] += elems;
    for (std::size_t d = last; ordinals_[d] == grid_->dims[d].elems(); --d) {
      if (d == 0) {
        grid_done_ = true;
        return;
      }
      ordinals_[d] = 0;
      ++ordinals_[d - 1];
    }
  }

  SideSelection::Kind kind_ = SideSelection::Kind::kGrid;
  uint64_t left_elems_ = 0;
  std::vector<uint64_t> offsets_;
  std::vector<uint64_t> lengths_;
  std::size_t filled_ = 0;
  std::size_t next_ = 0;
  // kIrregular
  std::unique_ptr<SelectionIterator> iterator_;
  std::vector<std::size_t> byte_lengths_;
  // kPoints
  hid_t space_ = H5I_INVALID_HID;
  std::size_t rank_ = 0;
  std::vector<hsize_t> points_;
  uint64_t next_point_ = 0;
  uint64_t shift_ = 0;
  // kGrid that is not contiguous
  const SideSelection* grid_ = nullptr;
  std::array<uint64_t, H5S_MAX_RANK> ordinals_;
  bool grid_done_ = false;
  std::array<uint64_t, H5S_MAX_RANK> strides_;
};

// From offsets over a file space's extent to offsets over the dataset's, when these differ.
class Rebase {
 public:
  // Rows are the largest pieces that are contiguous over both extents.
  void Open(std::span<const uint64_t> from, std::span<const uint64_t> to) {
    std::size_t outer = from.size();  // dimensions outside a row
    while (outer > 1 && from[outer - 1] == to[outer - 1]) --outer;
    if (outer <= 1) return;  // they differ in the first dimension at most: offsets are the same
    --outer;
    from_row_elems_ = *CheckedProduct(from.subspan(outer));
    to_row_elems_ = *CheckedProduct(to.subspan(outer));
    from_ = from.first(outer);
    to_ = to.first(outer);
  }

  // Bounds `elems` by the end of offset's row.
  uint64_t Limit(uint64_t offset, uint64_t elems) const {
    if (from_row_elems_ == 0) return elems;
    return std::min(elems, from_row_elems_ - offset % from_row_elems_);
  }

  uint64_t Map(uint64_t offset) const {
    if (from_row_elems_ == 0) return offset;
    uint64_t row = offset / from_row_elems_;
    uint64_t stride = to_row_elems_;
    uint64_t mapped = offset % from_row_elems_;
    for (std::size_t d = from_.size(); d-- > 0;) {
      mapped += row % from_[d] * stride;
      row /= from_[d];
      stride *= to_[d];
    }
    return mapped;
  }

 private:
  uint64_t from_row_elems_ = 0;  // 0: offsets are the same over both
  uint64_t to_row_elems_ = 0;
  std::span<const uint64_t> from_;
  std::span<const uint64_t> to_;
};

}  // namespace

struct RunStream::State {
  SequenceSource file;
  SequenceSource mem;
  Rebase rebase;
};

RunStream::RunStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunStream::RunStream(RunStream&&) noexcept = default;
RunStream& RunStream::operator=(RunStream&&) noexcept = default;
RunStream::~RunStream() = default;

Result<RunStream> RunStream::Open(const SelectionPair& pair, std::span<const uint64_t> extent) {
  auto state = std::make_unique<State>();
  if (pair.elems() > 0) {
    if (!CheckedProduct(pair.file.shape()) || !CheckedProduct(extent)) {
      return OutOfRangeError("irregular selection in a dataspace of more than 2^64 elements");
    }
    H5ZARR_RETURN_IF_ERROR(state->file.Open(pair.file, extent));
    H5ZARR_RETURN_IF_ERROR(state->mem.Open(pair.mem, pair.mem.shape()));
    // Points already are offsets over the dataset's extent.
    if (pair.file.kind != SideSelection::Kind::kPoints) {
      state->rebase.Open(pair.file.shape(), extent);
    }
  }
  return RunStream(std::move(state));
}

bool RunStream::done() const { return state_->file.left_elems() == 0; }

Status RunStream::Next(uint64_t max_runs, uint64_t max_elems, std::vector<ElementRun>& runs) {
  runs.clear();
  SequenceSource& file = state_->file;
  SequenceSource& mem = state_->mem;
  while (max_elems > 0 && file.left_elems() > 0) {
    H5ZARR_ASSIGN_OR_RETURN(const uint64_t file_elems, file.Available());
    H5ZARR_ASSIGN_OR_RETURN(const uint64_t mem_elems, mem.Available());
    const uint64_t elems = state_->rebase.Limit(file.offset(), std::min({file_elems, mem_elems, max_elems}));
    const uint64_t array_offset = state_->rebase.Map(file.offset());
    ElementRun* last = runs.empty() ? nullptr : &runs.back();
    if (last != nullptr && last->array_offset + last->elems == array_offset &&
        last->mem_offset + last->elems == mem.offset()) {
      last->elems += elems;
    } else {
      if (runs.size() == max_runs) return OkStatus();
      runs.push_back({array_offset, mem.offset(), elems});
    }
    file.Consume(elems);
    mem.Consume(elems);
    max_elems -= elems;
  }
  return OkStatus();
}

}  // namespace h5zarr::transfer
