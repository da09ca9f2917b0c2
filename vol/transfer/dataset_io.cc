#include "transfer/dataset_io.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/nd_copy.h"
#include "transfer/convert.h"
#include "transfer/selection.h"
#include "transfer/slab.h"
#include "transfer/write_behind.h"

namespace h5zarr::transfer {
namespace {

constexpr uint64_t kMaxRuns = 1 << 20;
// Packed temporaries are about this large.
constexpr uint64_t kSlabBytes = 16 << 20;
// Elements of variable length bring unknown amounts of data: fewer of them at a time.
constexpr uint64_t kVlenSlabBytes = 2 << 20;
// Writes that convert are cut at shards up to this size (a shard is written at once), beyond it at
// inner chunks.
constexpr uint64_t kMaxWriteBoxBytes = 64 << 20;

// One dataset of the call, checked, with everything known that HDF5 has to say.
struct Prepared {
  DatasetTransfer* transfer = nullptr;
  Conversion conversion;
  SelectionPair pair;  // not of a transfer whose grid is given
  ArrayLayout layout;
  uint64_t elems = 0;

  // Of a transfer that goes into the batch: without conversion and of not too many runs.
  bool in_batch = false;
  zarr::Selection selection;
  uint64_t mem_start_elems = 0;

  uint64_t mem_start_bytes() const { return mem_start_elems * conversion.mem_bytes(); }
};

Status CheckTransferList(hid_t dxpl) {
  if (dxpl == H5P_DEFAULT || dxpl == H5P_DATASET_XFER_DEFAULT) return OkStatus();
  // Only whether there is one matters. (HDF5 hands out a copy for good, which is lost: once for
  // a program that asks for what there is not.)
  void* expression = nullptr;
  if (H5Pget(dxpl, "data_transform", &expression) < 0) {
    return InvalidArgumentError("not a dataset transfer property list");
  }
  if (expression == nullptr) return OkStatus();
  return UnsupportedError("H5Pset_data_transform can't be used with a Zarr dataset");
}

Result<ArrayLayout> LayoutOf(const DatasetTransfer& transfer) {
  ArrayLayout layout;
  layout.extent = transfer.extent;
  layout.elem_dims = transfer.element->elem_dims;
  layout.item_bytes = transfer.element->dtype.item_bytes;
  const auto items = CheckedProduct(layout.elem_dims);
  if (!items || *items == 0 || !CheckedMul(*items, layout.item_bytes)) {
    return OutOfRangeError("one element of the dataset is larger than any memory");
  }
  layout.elem_items = *items;
  return layout;
}

// That the array is what the dataset's extent and element say.
Status CheckArray(const zarr::Array& array, const ArrayLayout& layout) {
  const std::span<const uint64_t> shape = array.shape();
  const std::size_t rank = layout.extent.size();
  const bool same = shape.size() == rank + layout.elem_dims.size() &&
                    std::equal(layout.extent.begin(), layout.extent.end(), shape.begin()) &&
                    std::equal(layout.elem_dims.begin(), layout.elem_dims.end(), shape.begin() + rank) &&
                    array.elem_bytes() == layout.item_bytes;
  return same ? OkStatus() : InternalError("the array's shape is not that of the dataset");
}

// The spaces of a transfer, which a dataset without elements has none of.
Result<SelectionPair> SelectionsOf(const DatasetTransfer& transfer) {
  if (transfer.array != nullptr) {
    return ResolveSelections(transfer.file_space, transfer.mem_space, transfer.extent);
  }
  const uint64_t none = 0;
  const hid_t file = transfer.file_space;
  return ResolveSelections(file == H5S_ALL || file == H5S_PLIST ? file : H5S_ALL, transfer.mem_space,
                           std::span(&none, 1));
}

// Of a transfer whose grid is given: how many elements it has. The grid's memory is the giver's business.
Result<uint64_t> ElemsOfGrid(const DatasetTransfer& transfer) {
  const std::vector<zarr::DimSelection>& dims = transfer.grid->dims;
  if (dims.size() != transfer.extent.size()) {
    return InternalError("a grid of another rank than the dataset");
  }
  uint64_t elems = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    elems *= dims[d].elems();
    if (elems == 0) return elems;
    const uint64_t last = dims[d].start + (dims[d].count - 1) * dims[d].stride + dims[d].block - 1;
    if (last >= transfer.extent[d]) {
      return OutOfRangeError("selection reaches index " + std::to_string(last) + " of dimension " + std::to_string(d) +
                             ", where the dataset's extent is " + std::to_string(transfer.extent[d]));
    }
  }
  return elems;
}

const shadow::ReferenceResolver& ReferencesOf(const DatasetTransfer& transfer) {
  static const auto* const none = new shadow::ReferenceResolver;
  return transfer.references != nullptr ? *transfer.references : *none;
}

// Checks types first, then spaces, as HDF5 does: an impossible conversion is an error even where no
// element is selected.
Result<Prepared> Prepare(DatasetTransfer& transfer, Direction direction, hid_t dxpl) {
  H5ZARR_ASSIGN_OR_RETURN(Conversion conversion, Conversion::Make(*transfer.element, transfer.mem_type, direction, dxpl,
                                                                  ReferencesOf(transfer)));
  SelectionPair pair;
  uint64_t elems = 0;
  if (transfer.grid != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(elems, ElemsOfGrid(transfer));
  } else {
    H5ZARR_ASSIGN_OR_RETURN(pair, SelectionsOf(transfer));
    elems = pair.elems();
  }
  H5ZARR_ASSIGN_OR_RETURN(const ArrayLayout layout, LayoutOf(transfer));
  if (elems > 0) {
    const bool read = direction == Direction::kRead;
    if (read ? transfer.read_buffer == nullptr : transfer.write_buffer == nullptr) {
      return InvalidArgumentError(read ? "no output buffer" : "no input buffer");
    }
    H5ZARR_RETURN_IF_ERROR(CheckArray(*transfer.array, layout));
    if (transfer.grid == nullptr) {
      H5ZARR_RETURN_IF_ERROR(CheckMemoryBytes(pair.mem, conversion.mem_bytes()));
    }
  }
  return Prepared{&transfer, std::move(conversion), std::move(pair), layout, elems};
}

// The transfer as a grid, where it is one. REQUIRES: it has elements.
std::optional<GridTransfer> GridOf(const Prepared& prepared) {
  const GridTransfer* given = prepared.transfer->grid;
  return given != nullptr ? std::optional(*given) : MatchGrid(prepared.pair);
}

// Makes the selection of a transfer without conversion, unless it has too many runs.
Status Select(Prepared& prepared) {
  const uint64_t mem_bytes = prepared.conversion.mem_bytes();
  if (const auto grid = GridOf(prepared)) {
    prepared.selection = MakeSelection(*grid, prepared.layout, mem_bytes);
    prepared.mem_start_elems = grid->mem_start_elems;
    prepared.in_batch = true;
    return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(RunStream stream, RunStream::Open(prepared.pair, prepared.layout.extent));
  std::vector<ElementRun> runs;
  H5ZARR_RETURN_IF_ERROR(stream.Next(kMaxRuns, UINT64_MAX, runs));
  if (!stream.done()) return OkStatus();
  prepared.selection = MakeSelection(runs, prepared.layout, mem_bytes);
  prepared.in_batch = true;
  return OkStatus();
}

Status Read(zarr::Array* array, const zarr::Selection& selection, std::byte* buffer) {
  zarr::ReadRequest request{array, &selection, buffer, {}};
  return zarr::Array::Read(std::span(&request, 1));
}

Status Write(zarr::Array* array, const zarr::Selection& selection, const std::byte* buffer) {
  zarr::WriteRequest request{array, &selection, buffer};
  return zarr::Array::Write(std::span(&request, 1));
}

// A transfer without conversion that has too many runs for one selection.
Status TransferRuns(Prepared& prepared, Direction direction) {
  DatasetTransfer& transfer = *prepared.transfer;
  H5ZARR_ASSIGN_OR_RETURN(RunStream stream, RunStream::Open(prepared.pair, prepared.layout.extent));
  std::vector<ElementRun> runs;
  while (!stream.done()) {
    H5ZARR_RETURN_IF_ERROR(stream.Next(kMaxRuns, UINT64_MAX, runs));
    const zarr::Selection selection = MakeSelection(runs, prepared.layout, prepared.conversion.mem_bytes());
    H5ZARR_RETURN_IF_ERROR(
        direction == Direction::kRead
            ? Read(transfer.array, selection, static_cast<std::byte*>(transfer.read_buffer))
            : Write(transfer.array, selection, static_cast<const std::byte*>(transfer.write_buffer)));
  }
  return OkStatus();
}

Result<SlabSource> OpenSlabs(const Prepared& prepared, Direction direction) {
  const zarr::Array& array = *prepared.transfer->array;
  std::span<const uint64_t> chunk_shape = array.inner_chunk_shape();
  if (direction == Direction::kWrite) {
    const auto items = CheckedProduct(array.chunk_shape());
    const auto bytes = items ? CheckedMul(*items, array.elem_bytes()) : std::nullopt;
    if (bytes && *bytes <= kMaxWriteBoxBytes) chunk_shape = array.chunk_shape();
  }
  const uint64_t budget_bytes = array.is_vlen() ? kVlenSlabBytes : kSlabBytes;
  const uint64_t budget_elems = budget_bytes / prepared.conversion.work_bytes();
  if (auto grid = GridOf(prepared)) {
    return SlabSource::OfGrid(std::move(*grid), prepared.layout, chunk_shape, budget_elems);
  }
  return SlabSource::OfRuns(prepared.pair, prepared.layout, budget_elems);
}

Result<Buffer> AllocateElems(uint64_t elems, uint64_t elem_bytes) {
  const auto size_bytes = CheckedMul(elems, elem_bytes);
  if (!size_bytes) return OutOfRangeError("a chunk of elements is larger than any memory");
  return Buffer::Allocate(*size_bytes);
}

Status ReadConverted(Prepared& prepared) {
  DatasetTransfer& transfer = *prepared.transfer;
  Conversion& conversion = prepared.conversion;
  auto* buffer = static_cast<std::byte*>(transfer.read_buffer);
  H5ZARR_ASSIGN_OR_RETURN(SlabSource slabs, OpenSlabs(prepared, Direction::kRead));
  H5ZARR_ASSIGN_OR_RETURN(Buffer work, AllocateElems(slabs.max_elems(), conversion.work_bytes()));
  Buffer background;
  if (conversion.needs_background()) {
    H5ZARR_ASSIGN_OR_RETURN(background, AllocateElems(slabs.max_elems(), conversion.mem_bytes()));
  }
  Slab slab;
  while (true) {
    H5ZARR_ASSIGN_OR_RETURN(const bool more, slabs.Next(slab));
    if (!more) return OkStatus();
    zarr::ReadRequest request{transfer.array, &slab.packed, work.data(), {}};
    H5ZARR_RETURN_IF_ERROR(zarr::Array::Read(std::span(&request, 1)));
    if (conversion.number()) {
      H5ZARR_RETURN_IF_ERROR(
          ScatterConverted(slab, *conversion.number(), work.data(), buffer, transfer.array->executor()));
      continue;
    }
    if (conversion.needs_background()) {
      slab.Gather(buffer, background.data(), conversion.mem_bytes());
    }
    H5ZARR_RETURN_IF_ERROR(conversion.ToMemory(work.data(), slab.elems, background.data())
                               .WithContext("array '" + std::string(transfer.path) + "'"));
    slab.Scatter(work.data(), buffer, conversion.mem_bytes());
  }
}

// The slab's elements of the program's buffer, in stored form in `work`.
Status GatherStored(Prepared& prepared, const Slab& slab, std::byte* work, std::byte* background, VlenArena& arena) {
  const DatasetTransfer& transfer = *prepared.transfer;
  Conversion& conversion = prepared.conversion;
  const auto* buffer = static_cast<const std::byte*>(transfer.write_buffer);
  if (conversion.number()) {
    return GatherConverted(slab, *conversion.number(), buffer, work, transfer.array->executor());
  }
  slab.Gather(buffer, work, conversion.mem_bytes());
  zarr::ReadRequest stored{transfer.array, &slab.packed, background, {}};
  if (conversion.needs_background()) {
    H5ZARR_RETURN_IF_ERROR(zarr::Array::Read(std::span(&stored, 1)));
  }
  return conversion.ToStored(work, slab.elems, background, arena);
}

Status WriteConverted(Prepared& prepared, bool behind) {
  DatasetTransfer& transfer = *prepared.transfer;
  Conversion& conversion = prepared.conversion;
  H5ZARR_ASSIGN_OR_RETURN(SlabSource slabs, OpenSlabs(prepared, Direction::kWrite));
  H5ZARR_ASSIGN_OR_RETURN(Buffer work, AllocateElems(slabs.max_elems(), conversion.work_bytes()));
  Buffer background;
  if (conversion.needs_background()) {
    H5ZARR_ASSIGN_OR_RETURN(background, AllocateElems(slabs.max_elems(), prepared.layout.stored_bytes()));
  }
  Slab slab;
  while (true) {
    H5ZARR_ASSIGN_OR_RETURN(const bool more, slabs.Next(slab));
    if (!more) return OkStatus();
    VlenArena arena;
    H5ZARR_RETURN_IF_ERROR(GatherStored(prepared, slab, work.data(), background.data(), arena));
    if (behind && !transfer.array->is_vlen()) {
      H5ZARR_RETURN_IF_ERROR(WriteBehind({transfer.array, &slab.packed, work.data()}));
    } else {
      H5ZARR_RETURN_IF_ERROR(Write(transfer.array, slab.packed, work.data()));
    }
  }
}

// Everything that can be refused is, before the first element moves.
Result<std::vector<Prepared>> PrepareAll(std::span<DatasetTransfer> transfers, Direction direction, hid_t dxpl) {
  H5ZARR_RETURN_IF_ERROR(CheckTransferList(dxpl));
  std::vector<Prepared> all;
  all.reserve(transfers.size());
  for (DatasetTransfer& transfer : transfers) {
    H5ZARR_ASSIGN_OR_RETURN(Prepared prepared, Prepare(transfer, direction, dxpl));
    if (prepared.elems == 0) continue;
    all.push_back(std::move(prepared));
    if (all.back().conversion.is_noop()) H5ZARR_RETURN_IF_ERROR(Select(all.back()));
  }
  return all;
}

// Whether all of a call can go on without HDF5.
bool AllInBackground(std::span<const Prepared> all) {
  return !all.empty() && std::all_of(all.begin(), all.end(), [&](const Prepared& prepared) {
    const zarr::Array& array = *prepared.transfer->array;
    return prepared.in_batch && !array.is_vlen() && array.background() == all[0].transfer->array->background();
  });
}

// Moves the selections to where they outlive the call.
template <typename Request>
void KeepSelections(std::span<Prepared> all, std::span<Request> batch, std::vector<zarr::Selection>* keep) {
  keep->reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    keep->push_back(std::move(all[i].selection));
    batch[i].selection = &keep->back();
  }
}

// A read of one box without conversion, found with few questions: of a small read these are most of the work. False on
// any doubt.
bool MatchPlainBox(const DatasetTransfer& transfer, hid_t dxpl, BoxTransfer* box) {
  if (transfer.array == nullptr || transfer.grid != nullptr || transfer.read_buffer == nullptr ||
      (dxpl != H5P_DEFAULT && dxpl != H5P_DATASET_XFER_DEFAULT)) {
    return false;
  }
  const std::span<const uint64_t> shape = transfer.array->shape();
  const uint64_t elem_bytes = transfer.array->elem_bytes();
  if (!std::equal(shape.begin(), shape.end(), transfer.extent.begin(), transfer.extent.end()) ||
      elem_bytes != transfer.element->dtype.item_bytes || !Conversion::IsNoop(*transfer.element, transfer.mem_type) ||
      !MatchBox(transfer.file_space, transfer.mem_space, transfer.extent, box)) {
    return false;
  }
  const auto bytes = CheckedMul(box->elems, elem_bytes);
  return bytes && *bytes <= static_cast<uint64_t>(INT64_MAX);
}

// REQUIRES: HDF5's lock. (The selection keeps its memory: to get and free that is a good part of a small read.)
Status ReadBox(zarr::Array* array, const BoxTransfer& box, std::byte* buffer) {
  static auto* const selection = new zarr::Selection(zarr::GridSelection());
  auto& grid = std::get<zarr::GridSelection>(*selection);
  grid.dims.clear();
  for (std::size_t d = 0; d < box.rank; ++d) grid.dims.push_back({box.start[d], 1, box.counts[d], 1});
  grid.mem_strides_bytes.resize(box.rank);
  ContiguousStrides(std::span(box.counts.data(), box.rank), array->elem_bytes(), grid.mem_strides_bytes);
  return Read(array, *selection, buffer);
}

}  // namespace

Result<JobPtr> ReadDatasets(std::span<DatasetTransfer> transfers, hid_t dxpl, Timing timing) {
  if (transfers.size() == 1 && timing == Timing::kNow) {
    BoxTransfer box;
    if (MatchPlainBox(transfers[0], dxpl, &box)) {
      H5ZARR_RETURN_IF_ERROR(ReadBox(transfers[0].array, box, static_cast<std::byte*>(transfers[0].read_buffer)));
      return JobPtr();
    }
  }
  H5ZARR_ASSIGN_OR_RETURN(std::vector<Prepared> all, PrepareAll(transfers, Direction::kRead, dxpl));
  std::vector<zarr::ReadRequest> batch;
  batch.reserve(all.size());
  for (Prepared& prepared : all) {
    if (!prepared.in_batch) continue;
    batch.push_back({prepared.transfer->array,
                     &prepared.selection,
                     static_cast<std::byte*>(prepared.transfer->read_buffer) + prepared.mem_start_bytes(),
                     {}});
  }
  if (timing == Timing::kRequest && AllInBackground(all)) {
    auto keep = std::make_shared<std::vector<zarr::Selection>>();
    KeepSelections(std::span(all), std::span(batch), keep.get());
    return zarr::Array::ReadLater(std::move(batch), std::move(keep));
  }
  if (!batch.empty()) H5ZARR_RETURN_IF_ERROR(zarr::Array::Read(batch));
  for (Prepared& prepared : all) {
    if (prepared.in_batch) continue;
    H5ZARR_RETURN_IF_ERROR(prepared.conversion.is_noop() ? TransferRuns(prepared, Direction::kRead)
                                                         : ReadConverted(prepared));
  }
  return JobPtr();
}

Result<JobPtr> WriteDatasets(std::span<DatasetTransfer> transfers, hid_t dxpl, Timing timing) {
  H5ZARR_ASSIGN_OR_RETURN(std::vector<Prepared> all, PrepareAll(transfers, Direction::kWrite, dxpl));
  std::vector<zarr::WriteRequest> batch;
  batch.reserve(all.size());
  for (Prepared& prepared : all) {
    if (!prepared.in_batch) continue;
    batch.push_back({prepared.transfer->array, &prepared.selection,
                     static_cast<const std::byte*>(prepared.transfer->write_buffer) + prepared.mem_start_bytes()});
  }
  if (timing == Timing::kRequest && AllInBackground(all)) {
    auto keep = std::make_shared<std::vector<zarr::Selection>>();
    KeepSelections(std::span(all), std::span(batch), keep.get());
    return zarr::Array::WriteLater(std::move(batch), std::move(keep), 0, zarr::Array::Report::kJob);
  }
  if (timing == Timing::kBehind && AllInBackground(all)) {
    for (const zarr::WriteRequest& request : batch) {
      H5ZARR_RETURN_IF_ERROR(WriteBehind(request));
    }
    return JobPtr();
  }
  if (!batch.empty()) H5ZARR_RETURN_IF_ERROR(zarr::Array::Write(batch));
  for (Prepared& prepared : all) {
    if (prepared.in_batch) continue;
    H5ZARR_RETURN_IF_ERROR(prepared.conversion.is_noop() ? TransferRuns(prepared, Direction::kWrite)
                                                         : WriteConverted(prepared, timing == Timing::kBehind));
  }
  return JobPtr();
}

Status ReadDatasets(std::span<DatasetTransfer> transfers, hid_t dxpl) {
  return ReadDatasets(transfers, dxpl, Timing::kNow).status();
}

Status WriteDatasets(std::span<DatasetTransfer> transfers, hid_t dxpl) {
  return WriteDatasets(transfers, dxpl, Timing::kNow).status();
}

}  // namespace h5zarr::transfer
