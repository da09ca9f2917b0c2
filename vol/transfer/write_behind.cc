#include "transfer/write_behind.h"

#include <cstring>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "base/nd_copy.h"

namespace h5zarr::transfer {
namespace {

// So that direct I/O can write from the copy.
constexpr std::size_t kAlignBytes = 4096;
// What a job costs beside its data.
constexpr uint64_t kJobBytes = 512;

struct Copy {
  zarr::Selection selection;  // of `elems`, packed
  Buffer elems;
};

Result<Buffer> Allocate(uint64_t elems, uint64_t elem_bytes) {
  const auto size_bytes = CheckedMul(elems, elem_bytes);
  if (!size_bytes) return OutOfRangeError("a selection larger than any memory");
  return Buffer::Allocate(*size_bytes, kAlignBytes);
}

Status CopyGrid(const zarr::GridSelection& from, const std::byte* buffer, uint64_t elem_bytes, Copy* copy) {
  std::vector<uint64_t> counts;
  uint64_t elems = 1;
  for (const zarr::DimSelection& dim : from.dims) {
    counts.push_back(dim.elems());
    const auto product = CheckedMul(elems, dim.elems());
    if (!product) return OutOfRangeError("a selection larger than any memory");
    elems = *product;
  }
  H5ZARR_ASSIGN_OR_RETURN(copy->elems, Allocate(elems, elem_bytes));
  zarr::GridSelection packed = from;
  ContiguousStrides(counts, elem_bytes, packed.mem_strides_bytes);
  if (elems > 0) {
    CopyStrided(buffer, from.mem_strides_bytes, copy->elems.data(), packed.mem_strides_bytes, counts, elem_bytes);
  }
  copy->selection = std::move(packed);
  return OkStatus();
}

Status CopyRuns(const zarr::RunSelection& from, const std::byte* buffer, uint64_t elem_bytes, Copy* copy) {
  uint64_t elems = 0;
  for (const zarr::Run& run : from) {
    const auto sum = CheckedAdd(elems, run.elems);
    if (!sum) return OutOfRangeError("a selection larger than any memory");
    elems = *sum;
  }
  H5ZARR_ASSIGN_OR_RETURN(copy->elems, Allocate(elems, elem_bytes));
  zarr::RunSelection packed = from;
  uint64_t offset = 0;
  for (zarr::Run& run : packed) {
    const uint64_t run_bytes = run.elems * elem_bytes;
    if (run_bytes > 0) {
      std::memcpy(copy->elems.data() + offset, buffer + run.mem_offset_bytes, run_bytes);
    }
    run.mem_offset_bytes = offset;
    offset += run_bytes;
  }
  copy->selection = std::move(packed);
  return OkStatus();
}

}  // namespace

Status WriteBehind(const zarr::WriteRequest& request) {
  auto copy = std::make_shared<Copy>();
  const uint64_t elem_bytes = request.array->elem_bytes();
  if (const auto* grid = std::get_if<zarr::GridSelection>(request.selection)) {
    H5ZARR_RETURN_IF_ERROR(CopyGrid(*grid, request.buffer, elem_bytes, copy.get()));
  } else {
    H5ZARR_RETURN_IF_ERROR(
        CopyRuns(std::get<zarr::RunSelection>(*request.selection), request.buffer, elem_bytes, copy.get()));
  }
  const uint64_t held_bytes = copy->elems.size_bytes() + kJobBytes;
  zarr::WriteRequest later{request.array, &copy->selection, copy->elems.data()};
  return zarr::Array::WriteLater({later}, std::move(copy), held_bytes, zarr::Array::Report::kNextCall).status();
}

}  // namespace h5zarr::transfer
