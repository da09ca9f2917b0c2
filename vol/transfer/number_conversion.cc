#include "transfer/number_conversion.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "transfer/elements.h"

namespace h5zarr::transfer {
namespace {

constexpr double kElemNs = 0.7;
// Rows that one task converts hold about so many elements.
constexpr uint64_t kTaskElems = 1 << 16;

template <typename Word>
Word Swapped(Word word) {
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
  if constexpr (sizeof(Word) == 8) return __builtin_bswap64(word);
}

float ToFloat(double value) {
  if (value > FLT_MAX) return INFINITY;
  if (value < -FLT_MAX) return -INFINITY;
  return static_cast<float>(value);
}

template <typename From, typename To, typename Function>
void Map(const std::byte* from, std::byte* to, uint64_t elems, Function function) {
  for (uint64_t i = 0; i < elems; ++i) StoreAt<To>(to, i, function(LoadAt<From>(from, i)));
}

// Rows of consecutive elements, of which both layouts have the same.
class Rows {
 public:
  explicit Rows(const Slab& slab) : slab_(slab) {
    if (!slab.runs.empty()) {
      count_ = slab.runs.size();
      packed_starts_.reserve(count_);
      uint64_t packed = 0;
      for (const ElementRun& run : slab.runs) {
        packed_starts_.push_back(packed);
        packed += run.elems;
      }
      return;
    }
    // Dimensions that lie within one another without gaps are one row.
    dims_ = slab.counts.size();
    while (dims_ > 0 && slab.mem_strides_elems[dims_ - 1] == static_cast<int64_t>(row_elems_)) {
      row_elems_ *= slab.counts[--dims_];
    }
    for (std::size_t dim = 0; dim < dims_; ++dim) count_ *= slab.counts[dim];
  }

  uint64_t count() const { return count_; }

  // visit(element in memory, element in the packed temporary, elements) of rows [first, last).
  template <typename Visit>
  void ForEach(uint64_t first, uint64_t last, const Visit& visit) const {
    for (uint64_t row = first; row < last; ++row) {
      if (!slab_.runs.empty()) {
        const ElementRun& run = slab_.runs[row];
        visit(run.mem_offset, packed_starts_[row], run.elems);
        continue;
      }
      uint64_t mem = slab_.mem_start_elems;
      uint64_t rest = row;
      for (std::size_t dim = dims_; dim-- > 0;) {
        mem += rest % slab_.counts[dim] * static_cast<uint64_t>(slab_.mem_strides_elems[dim]);
        rest /= slab_.counts[dim];
      }
      visit(mem, row * row_elems_, row_elems_);
    }
  }

 private:
  const Slab& slab_;
  std::size_t dims_ = 0;
  uint64_t row_elems_ = 1;
  uint64_t count_ = 1;
  std::vector<uint64_t> packed_starts_;  // of runs
};

// Calls move(element in memory, element in the packed temporary, elements) for all of the slab.
template <typename Move>
Status ForAllRows(const Slab& slab, Executor& executor, const Move& move) {
  if (slab.elems == 0) return OkStatus();
  const Rows rows(slab);
  const double cost_ns = kElemNs * static_cast<double>(slab.elems);
  if (rows.count() == 1) {
    // One row is cut anywhere.
    const uint64_t tasks = (slab.elems + kTaskElems - 1) / kTaskElems;
    return executor.ParallelFor(tasks, cost_ns, [&](std::size_t task) {
      rows.ForEach(0, 1, [&](uint64_t mem, uint64_t packed, uint64_t elems) {
        const uint64_t begin = task * kTaskElems;
        move(mem + begin, packed + begin, std::min(kTaskElems, elems - begin));
      });
      return OkStatus();
    });
  }
  const uint64_t task_rows = std::max<uint64_t>(1, kTaskElems * rows.count() / slab.elems);
  const uint64_t tasks = (rows.count() + task_rows - 1) / task_rows;
  return executor.ParallelFor(tasks, cost_ns, [&](std::size_t task) {
    const uint64_t first = task * task_rows;
    rows.ForEach(first, std::min(rows.count(), first + task_rows), move);
    return OkStatus();
  });
}

}  // namespace

NumberConversion NumberConversion::Swap(uint64_t word_bytes) {
  const Kind kind = word_bytes == 2 ? Kind::kSwap2 : word_bytes == 4 ? Kind::kSwap4 : Kind::kSwap8;
  return {kind, word_bytes, word_bytes};
}

void NumberConversion::Convert(const std::byte* from, std::byte* to, uint64_t elems) const {
  switch (kind_) {
    case Kind::kSwap2: return Map<uint16_t, uint16_t>(from, to, elems, Swapped<uint16_t>);
    case Kind::kSwap4: return Map<uint32_t, uint32_t>(from, to, elems, Swapped<uint32_t>);
    case Kind::kSwap8: return Map<uint64_t, uint64_t>(from, to, elems, Swapped<uint64_t>);
    case Kind::kFloatToDouble: return Map<float, double>(from, to, elems, [](float value) { return double{value}; });
    case Kind::kDoubleToFloat: return Map<double, float>(from, to, elems, ToFloat);
  }
}

Status ScatterConverted(const Slab& slab, const NumberConversion& conversion, const std::byte* packed_elems,
                        std::byte* buffer, Executor& executor) {
  return ForAllRows(slab, executor, [&](uint64_t mem, uint64_t packed, uint64_t elems) {
    conversion.Convert(packed_elems + packed * conversion.from_bytes(), buffer + mem * conversion.to_bytes(), elems);
  });
}

Status GatherConverted(const Slab& slab, const NumberConversion& conversion, const std::byte* buffer,
                       std::byte* packed_elems, Executor& executor) {
  return ForAllRows(slab, executor, [&](uint64_t mem, uint64_t packed, uint64_t elems) {
    conversion.Convert(buffer + mem * conversion.from_bytes(), packed_elems + packed * conversion.to_bytes(), elems);
  });
}

}  // namespace h5zarr::transfer
