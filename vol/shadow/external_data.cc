#include "shadow/external_data.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "host/error_stack.h"
#include "shadow/h5_types.h"

namespace h5zarr::shadow {
namespace {

// One chunk of the array and where it lies.
struct Box {
  std::vector<uint64_t> start, count;  // in the array's dimensions
};

// The part of the box that is the dataset's: without the dimensions of an element.
Result<Handle> SelectBox(const Box& box, std::span<const uint64_t> shape, std::size_t rank) {
  if (rank == 0) return Handle(H5Screate(H5S_SCALAR));
  const std::vector<hsize_t> extent(shape.begin(), shape.begin() + rank);
  const std::vector<hsize_t> start(box.start.begin(), box.start.begin() + rank);
  const std::vector<hsize_t> count(box.count.begin(), box.count.begin() + rank);
  Handle space(H5Screate_simple(static_cast<int>(rank), extent.data(), nullptr));
  if (!space.valid() ||
      H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0) {
    return Hdf5Failure("a selection of external data");
  }
  return space;
}

Result<Handle> MemorySpace(const Box& box, std::size_t rank) {
  if (rank == 0) return Handle(H5Screate(H5S_SCALAR));
  const std::vector<hsize_t> count(box.count.begin(), box.count.begin() + rank);
  Handle space(H5Screate_simple(static_cast<int>(rank), count.data(), nullptr));
  if (!space.valid()) return Hdf5Failure("a selection of external data");
  return space;
}

Status WriteBox(const Box& box, const Buffer& packed, zarr::Array* array) {
  zarr::GridSelection grid;
  const std::size_t rank = box.start.size();
  grid.dims.resize(rank);
  grid.mem_strides_bytes.resize(rank);
  auto stride_bytes = static_cast<int64_t>(array->elem_bytes());
  for (std::size_t d = rank; d-- > 0;) {
    grid.dims[d] = {box.start[d], 1, box.count[d], 1};
    grid.mem_strides_bytes[d] = stride_bytes;
    stride_bytes *= static_cast<int64_t>(box.count[d]);
  }
  const zarr::Selection selection = std::move(grid);
  zarr::WriteRequest request{array, &selection, packed.data()};
  return zarr::Array::Write({&request, 1});
}

// The next box in C order; false after the last.
bool Advance(std::span<const uint64_t> shape, std::span<const uint64_t> chunk, Box* box) {
  for (std::size_t d = shape.size(); d-- > 0;) {
    box->start[d] += chunk[d];
    const bool inside = box->start[d] < shape[d];
    if (!inside) box->start[d] = 0;
    box->count[d] = std::min(chunk[d], shape[d] - box->start[d]);
    if (inside) return true;
  }
  return false;
}

}  // namespace

Result<bool> CopyExternalData(host::NativeObject dataset, const ElementMap& element, zarr::Array* array) {
  const std::span<const uint64_t> shape = array->shape();
  const std::span<const uint64_t> chunk = array->chunk_shape();
  if (std::find(shape.begin(), shape.end(), uint64_t{0}) != shape.end()) return true;
  const std::size_t rank = shape.size() - element.elem_dims.size();
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, StoredType(element));
  Box box{std::vector<uint64_t>(shape.size(), 0), {}};
  for (std::size_t d = 0; d < shape.size(); ++d) box.count.push_back(std::min(chunk[d], shape[d]));
  do {
    H5ZARR_ASSIGN_OR_RETURN(const Handle file_space, SelectBox(box, shape, rank));
    H5ZARR_ASSIGN_OR_RETURN(const Handle mem_space, MemorySpace(box, rank));
    const std::optional<uint64_t> elems = CheckedProduct(box.count);
    const auto size_bytes = elems ? CheckedMul(*elems, array->elem_bytes()) : std::nullopt;
    if (!size_bytes) return OutOfRangeError("a chunk of external data is larger than any memory");
    H5ZARR_ASSIGN_OR_RETURN(Buffer packed, Buffer::Allocate(*size_bytes));
    {
      const host::KeepErrors keep;
      const host::QuietErrors quiet;
      void* under = dataset.under;
      hid_t mem_type = type.get(), mem = mem_space.get(), file = file_space.get();
      void* target = packed.data();
      if (H5VLdataset_read(1, &under, host::NativeConnector(), &mem_type, &mem, &file, host::DefaultDxpl(), &target,
                           nullptr) < 0) {
        return false;
      }
    }
    H5ZARR_RETURN_IF_ERROR(WriteBox(box, packed, array));
  } while (Advance(shape, chunk, &box));
  return true;
}

}  // namespace h5zarr::shadow
