#include "h5/dataset_transfer.h"

#include <cstdlib>
#include <map>
#include <optional>

#include "base/buffer.h"
#include "base/checked.h"
#include "h5/connector.h"
#include "h5/native_reads.h"
#include "h5/request.h"
#include "h5/virtual_dataset.h"
#include "host/fresh_context.h"
#include "transfer/dataset_io.h"

namespace h5zarr {
namespace {

Status TransferNative(const DatasetPart& part, bool write, hid_t dxpl, void** request) {
  void* under = part.object->native.under;
  hid_t mem_type = part.mem_type, mem_space = part.mem_space, file_space = part.file_space;
  void* read_buffer = part.read_buffer;
  const void* write_buffer = part.write_buffer;
  const hid_t native = host::NativeConnector();
  // (What has been asked in this call of a store's shadow may be anything.)
  std::optional<host::FreshContext> context;
  if (part.object->store != nullptr && dxpl != H5P_DEFAULT && dxpl != host::DefaultDxpl()) context.emplace();
  return NativeStatus(
      write ? H5VLdataset_write(1, &under, native, &mem_type, &mem_space, &file_space, dxpl, &write_buffer, request)
            : H5VLdataset_read(1, &under, native, &mem_type, &mem_space, &file_space, dxpl, &read_buffer, request));
}

// A virtual dataset is HDF5's until a source of it turns out to lie behind a link into a store.
Status TransferByHdf5(const DatasetPart& part, bool write, hid_t dxpl, void** request) {
  if (part.object->virtual_data == nullptr) return TransferNative(part, write, dxpl, request);
  TraversalScope scope;
  const Status done = TransferNative(part, write, dxpl, request);
  // HDF5 takes for missing what it cannot open.
  H5ZARR_RETURN_IF_ERROR(scope.broken());
  if (!scope.MustRepeat()) return done;
  ClearErrors();
  part.object->virtual_data->TakeOver();
  return part.object->virtual_data->Transfer(part, write, dxpl);
}

Result<transfer::DatasetTransfer> TransferOf(const DatasetPart& part, const shadow::ReferenceResolver* references) {
  const shadow::NodeState& node = *part.object->node;
  const shadow::DatasetState& dataset = node.dataset;
  if (dataset.array == nullptr || !dataset.renames.empty() || !node.broken.ok()) {
    H5ZARR_RETURN_IF_ERROR(part.object->store->OpenElements(part.object->node).status());
  }
  transfer::DatasetTransfer transfer;
  transfer.array = dataset.array.get();
  transfer.path = part.object->node->path;
  transfer.element = &dataset.element;
  const std::span<const uint64_t> shape = dataset.array->shape();
  transfer.extent = shape.first(shape.size() - dataset.element.elem_dims.size());
  transfer.mem_type = part.mem_type;
  transfer.mem_space = part.mem_space;
  transfer.file_space = part.file_space;
  transfer.read_buffer = part.read_buffer;
  transfer.write_buffer = part.write_buffer;
  transfer.grid = part.grid;
  transfer.references = references;
  return transfer;
}

// Whether elements may lead to other objects: for others no resolver is made.
bool MayRefer(const shadow::ElementMap& element) {
  return element.form == shadow::ElementMap::Form::kObjectReference ||
         element.form == shadow::ElementMap::Form::kJsonElement;
}

// How the arrays of one batch are transferred.
struct Manner {
  int threads = 0;
  bool behind = false;
  auto operator<=>(const Manner&) const = default;
};

// A read that is all of a call. (Small ones come in millions: nothing is gathered.)
Status ReadArray(const DatasetPart& part, hid_t dxpl) {
  H5ZARR_ASSIGN_OR_RETURN(transfer::DatasetTransfer transfer, TransferOf(part, nullptr));
  return transfer::ReadDatasets({&transfer, 1}, dxpl);
}

// Arrays of stores, those of the same manner as one batch. With `request` a single batch may go on after
// the call, and is then put there.
Status TransferArrays(std::span<const DatasetPart> parts, bool write, hid_t dxpl, void** request) {
  std::map<shadow::StoreFile*, shadow::ReferenceResolver> references;
  std::map<Manner, std::vector<transfer::DatasetTransfer>> batches;
  for (const DatasetPart& part : parts) {
    shadow::DatasetState& dataset = part.object->node->dataset;
    if (dataset.null_space) {
      // There is nothing to transfer, and HDF5 knows what it makes of selections of more than that.
      if (part.grid == nullptr) H5ZARR_RETURN_IF_ERROR(TransferNative(part, write, dxpl, nullptr));
      continue;
    }
    shadow::StoreFile* store = part.object->store.get();
    const shadow::ReferenceResolver* resolver = nullptr;
    if (MayRefer(dataset.element)) {
      const auto [made, is_new] = references.try_emplace(store);
      if (is_new) made->second = store->References();
      resolver = &made->second;
    }
    H5ZARR_ASSIGN_OR_RETURN(const transfer::DatasetTransfer transfer, TransferOf(part, resolver));
    const Config& config = store->config();
    batches[{config.threads, write && config.write_behind}].push_back(transfer);
    if (write) store->NoteWritten(part.object->node);
  }
  for (auto& [manner, batch] : batches) {
    auto timing = manner.behind ? transfer::Timing::kBehind : transfer::Timing::kNow;
    if (request != nullptr && batches.size() == 1) timing = transfer::Timing::kRequest;
    H5ZARR_ASSIGN_OR_RETURN(
        JobPtr job, write ? transfer::WriteDatasets(batch, dxpl, timing) : transfer::ReadDatasets(batch, dxpl, timing));
    if (job != nullptr) *request = MakeRequest(std::move(job));
  }
  return OkStatus();
}

Result<Handle> GetId(Object* dataset, H5VL_dataset_get_t what) {
  H5VL_dataset_get_args_t args;
  args.op_type = what;
  std::optional<host::FreshContext> context;
  if (what == H5VL_DATASET_GET_DCPL) context.emplace();  // HDF5 converts the fill value
  if (H5VLdataset_get(dataset->native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  switch (what) {
    case H5VL_DATASET_GET_SPACE: return Handle(args.args.get_space.space_id);
    case H5VL_DATASET_GET_TYPE: return Handle(args.args.get_type.type_id);
    case H5VL_DATASET_GET_DCPL: return Handle(args.args.get_dcpl.dcpl_id);
    case H5VL_DATASET_GET_DAPL: return Handle(args.args.get_dapl.dapl_id);
    case H5VL_DATASET_GET_SPACE_STATUS:
    case H5VL_DATASET_GET_STORAGE_SIZE: break;
  }
  return InternalError("not an identifier of a dataset");
}

void* CountingAllocate(size_t bytes, void* total) {
  *static_cast<hsize_t*>(total) += bytes;
  return std::malloc(bytes);
}

void Free(void* memory, void*) { std::free(memory); }

}  // namespace

Result<hsize_t> VlenBytes(Object* dataset, hid_t type, hid_t space) {
  const hssize_t elems = H5Sget_select_npoints(space);
  if (elems < 0) return host::AlreadyReported();
  hsize_t total = 0;
  const Handle dxpl(H5Pcopy(H5P_LST_DATASET_XFER_ID_g));
  if (!dxpl.valid() || H5Pset_vlen_mem_manager(dxpl.get(), CountingAllocate, &total, Free, nullptr) < 0) {
    return host::AlreadyReported();
  }
  const std::optional<uint64_t> bytes = CheckedMul(static_cast<uint64_t>(elems), H5Tget_size(type));
  if (!bytes) return OutOfRangeError("too many elements");
  H5ZARR_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(*bytes));
  const auto count = static_cast<hsize_t>(elems);
  const Handle mem_space(H5Screate_simple(1, &count, nullptr));
  DatasetPart part{dataset, type, mem_space.get(), space, buffer.data(), nullptr};
  H5ZARR_RETURN_IF_ERROR(TransferParts({&part, 1}, false, dxpl.get()));
  H5Treclaim(type, mem_space.get(), dxpl.get(), buffer.data());
  return total;
}

bool HasArray(const Object* object) {
  return object->store != nullptr && object->node != nullptr && object->node->node.is_array();
}

bool IsExternal(const Object* object) { return HasArray(object) && object->node->dataset.external; }

Status TransferParts(std::span<const DatasetPart> parts, bool write, hid_t dxpl, void** request) {
  if (parts.size() == 1 && !write && request == nullptr && HasArray(parts[0].object)) {
    const Object& object = *parts[0].object;
    const shadow::DatasetState& dataset = object.node->dataset;
    H5ZARR_RETURN_IF_ERROR(object.store->CatchUp());
    if (!dataset.external && !dataset.null_space && !MayRefer(dataset.element)) {
      return ReadArray(parts[0], dxpl);
    }
  }
  std::vector<DatasetPart> arrays, by_engine;
  for (const DatasetPart& part : parts) {
    if (write) H5ZARR_RETURN_IF_ERROR(RequireWritable(part.object));
    if (part.object->store != nullptr) H5ZARR_RETURN_IF_ERROR(part.object->store->CatchUp());
    if (HasArray(part.object)) {
      const bool external = IsExternal(part.object);
      if (external) H5ZARR_RETURN_IF_ERROR(TransferNative(part, write, dxpl, request));
      if (!external || write) arrays.push_back(part);
      continue;
    }
    H5ZARR_ASSIGN_OR_RETURN(VirtualDataset* const mapped, VirtualDataset::Of(part.object, &part));
    if (mapped != nullptr) {
      H5ZARR_RETURN_IF_ERROR(mapped->Transfer(part, write, dxpl));
    } else if (!write && EngineFor(part) != nullptr) {
      by_engine.push_back(part);
    } else if (write || !VirtualDataset::ReadInPieces(part, dxpl)) {
      H5ZARR_RETURN_IF_ERROR(RefuseLocalFiles(*part.object));
      H5ZARR_RETURN_IF_ERROR(TransferByHdf5(part, write, dxpl, request));
    }
  }
  if (arrays.size() < parts.size()) request = nullptr;
  if (!by_engine.empty() && !ReadByEngine(by_engine, dxpl).ok()) {
    for (const DatasetPart& part : by_engine) {
      H5ZARR_RETURN_IF_ERROR(TransferNative(part, false, dxpl, nullptr));
    }
  }
  return arrays.empty() ? OkStatus() : TransferArrays(arrays, write, dxpl, request);
}

herr_t CloseDataset(Object* dataset, hid_t dxpl, void** request) {
  Status sources;
  if (dataset->virtual_data != nullptr) {
    // Their stores may be saved now, which can fail; the dataset itself closes all the same.
    sources = host::CatchAll([&] { return dataset->virtual_data->CloseSources(); });
    dataset->virtual_data.reset();
  }
  LetGoOfEngine(dataset);
  const herr_t closed = CloseObject("dataset_close", dataset, H5VLdataset_close, dxpl, request);
  if (sources.ok()) return closed;
  host::PushStatus(sources, "dataset_close");
  return -1;
}

Result<Handle> SpaceOfDataset(Object* dataset) {
  if (!HasArray(dataset)) {
    H5ZARR_ASSIGN_OR_RETURN(VirtualDataset* const mapped, VirtualDataset::Of(dataset));
    if (mapped != nullptr) return mapped->Space();
    const HeldExtent* const extent =
        dataset->is_versioned ? GetConnector().native_files.ExtentOfHeld(*dataset) : nullptr;
    if (extent != nullptr) {
      Handle space(
          H5Screate_simple(static_cast<int>(extent->dims.size()), extent->dims.data(), extent->max_dims.data()));
      return space.valid() ? Result<Handle>(std::move(space)) : host::AlreadyReported();
    }
  }
  if (dataset->virtual_data == nullptr) return GetId(dataset, H5VL_DATASET_GET_SPACE);
  // As in TransferByHdf5: an extent may follow sources.
  TraversalScope scope;
  Result<Handle> space = GetId(dataset, H5VL_DATASET_GET_SPACE);
  H5ZARR_RETURN_IF_ERROR(scope.broken());
  if (!scope.MustRepeat()) return space;
  ClearErrors();
  dataset->virtual_data->TakeOver();
  return dataset->virtual_data->Space();
}

Result<std::vector<uint64_t>> ExtentOfDataset(Object* dataset) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle space, SpaceOfDataset(dataset));
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<uint64_t> extent(rank > 0 ? static_cast<std::size_t>(rank) : 0);
  if (rank < 0 || (rank > 0 && H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr) < 0)) {
    return host::AlreadyReported();
  }
  return extent;
}

Result<Handle> TypeOfDataset(Object* dataset) { return GetId(dataset, H5VL_DATASET_GET_TYPE); }
Result<Handle> NativeDcpl(Object* dataset) { return GetId(dataset, H5VL_DATASET_GET_DCPL); }
Result<Handle> NativeDapl(Object* dataset) { return GetId(dataset, H5VL_DATASET_GET_DAPL); }

}  // namespace h5zarr
