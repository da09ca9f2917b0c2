// Dataset callbacks. Headers are HDF5's, in the shadow; raw data is the store's.

#include "h5/dataset_chunks.h"
#include "h5/connector.h"
#include "h5zarr/filters.h"
#include "shadow/creation_map.h"
#include "shadow/dataset_map.h"
#include "shadow/hdf5_attribute.h"
#include "transfer/dataset_io.h"

namespace h5zarr {
namespace {

using shadow::DatasetPlan;
using shadow::NodePtr;

// Raw data of a dataset node is the store's business; anything else is HDF5's.
bool HasArray(const Object* object) {
  return object->store != nullptr && object->node != nullptr && object->node->node.is_array();
}

uint64_t CacheBytes(hid_t dapl) {
  std::size_t slots = 0, bytes = 0;
  double preemption = 0;
  if (dapl < 0 || H5Pget_chunk_cache(dapl, &slots, &bytes, &preemption) < 0) return 0;
  return bytes;
}

bool UsesShardFilter(hid_t dcpl) {
  const int count = H5Pget_nfilters(dcpl);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0, config = 0;
    std::size_t words = 0;
    if (H5Pget_filter2(dcpl, static_cast<unsigned>(i), &flags, &words, nullptr, 0, nullptr,
                       &config) == H5ZARR_FILTER_SHARD) {
      return true;
    }
  }
  return false;
}

Result<void*> CreateInStore(Object* object, const H5VL_loc_params_t* loc, const char* name,
                            hid_t lcpl, hid_t type, hid_t space, hid_t dcpl, hid_t dapl, hid_t dxpl,
                            void** request) {
  shadow::StoreFile& store = *object->store;
  H5ZARR_RETURN_IF_ERROR(store.CheckWritable());
  H5ZARR_RETURN_IF_ERROR(PrepareNewPath(object, loc, name));
  H5ZARR_ASSIGN_OR_RETURN(DatasetPlan plan,
                          shadow::PlanCreate(type, space, dcpl, store.config()));
  host::NativeHandle native(
      H5VLdataset_create(object->native.under, loc, host::NativeConnector(), name, lcpl, type,
                         space, plan.shadow_dcpl.get(), dapl, dxpl, request),
      H5I_DATASET);
  if (!native.valid()) return host::AlreadyReported();
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(native.object()));
  const std::shared_ptr<shadow::StoreFile> target =
      GetConnector().stores.ByFileNumber(identity.fileno);
  if (target == nullptr) {
    // A link led out of the store into a native file, which keeps its own data.
    return Wrap(native.Release(), H5I_DATASET, object);
  }
  const NodePtr node = target->MakeDataset(identity.token, std::move(plan));
  shadow::NoteAttributeOrder(dcpl, &node->node.attributes());
  shadow::NoteCreation(shadow::CreationKind::kDataset, dcpl, &node->node.attributes());
  Status prepared = target->OpenArray(node, CacheBytes(dapl)).status();
  if (prepared.ok() && name != nullptr) {
    prepared = target.get() == &store ? store.NoteCreated(object->node, name)
                                      : UnsupportedError("creating a dataset through a link into "
                                                         "another Zarr store");
  }
  if (!prepared.ok()) {
    native.Close();
    return name != nullptr ? UndoOnFailure(object, name, prepared) : prepared;
  }
  return Wrap(native.Release(), H5I_DATASET, object);
}

void* dataset_create(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t lcpl,
                     hid_t type, hid_t space, hid_t dcpl, hid_t dapl, hid_t dxpl, void** request) {
  return host::GuardPointer("dataset_create", [&]() -> Result<void*> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    if (object->store != nullptr) {
      return CreateInStore(object, loc, name, lcpl, type, space, dcpl, dapl, dxpl, request);
    }
    if (UsesShardFilter(dcpl)) {
      return UnsupportedError(
          "filter 480 (shard) is available in Zarr stores only, not yet in native HDF5 files");
    }
    return Wrap(H5VLdataset_create(object->native.under, loc, host::NativeConnector(), name, lcpl,
                                   type, space, dcpl, dapl, dxpl, request),
                H5I_DATASET, object);
  });
}

void* dataset_open(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t dapl,
                   hid_t dxpl, void** request) {
  return host::GuardPointer("dataset_open", [&]() -> Result<void*> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    H5ZARR_RETURN_IF_ERROR(PreparePath(object, loc, name).status());
    void* under = H5VLdataset_open(object->native.under, loc, host::NativeConnector(), name, dapl,
                                   dxpl, request);
    H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(under, H5I_DATASET, object));
    return OpenArrayOf(wrapper, CacheBytes(dapl));
  });
}

// One dataset of a read or write of several.
struct Part {
  Object* object;
  hid_t mem_type, mem_space, file_space;
  void* read_buffer;
  const void* write_buffer;
};

Result<transfer::DatasetTransfer> TransferOf(const Part& part) {
  const shadow::DatasetState& dataset = part.object->node->dataset;
  if (dataset.array == nullptr) {
    H5ZARR_RETURN_IF_ERROR(part.object->store->OpenArray(part.object->node, 0).status());
  }
  transfer::DatasetTransfer transfer;
  transfer.array = dataset.array.get();
  transfer.element = &dataset.element;
  const std::span<const uint64_t> shape = dataset.array->shape();
  transfer.extent = shape.first(shape.size() - dataset.element.elem_dims.size());
  transfer.mem_type = part.mem_type;
  transfer.mem_space = part.mem_space;
  transfer.file_space = part.file_space;
  transfer.read_buffer = part.read_buffer;
  transfer.write_buffer = part.write_buffer;
  return transfer;
}

// Transfers the parts that lie in stores, those of one store as one batch.
Status TransferInStores(std::span<const Part> parts, bool write, hid_t dxpl) {
  std::vector<bool> done(parts.size(), false);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (done[i]) continue;
    shadow::StoreFile* store = parts[i].object->store.get();
    std::vector<transfer::DatasetTransfer> batch;
    for (std::size_t j = i; j < parts.size(); ++j) {
      if (done[j] || parts[j].object->store.get() != store) continue;
      done[j] = true;
      if (parts[j].object->node->dataset.null_space) continue;
      H5ZARR_ASSIGN_OR_RETURN(transfer::DatasetTransfer transfer, TransferOf(parts[j]));
      batch.push_back(transfer);
      if (write) parts[j].object->node->dataset.chunk_list.reset();
    }
    const shadow::ReferenceResolver references = store->References();
    H5ZARR_RETURN_IF_ERROR(write ? transfer::WriteDatasets(batch, dxpl, references)
                                 : transfer::ReadDatasets(batch, dxpl, references));
  }
  return OkStatus();
}

herr_t dataset_read(size_t count, void* datasets[], hid_t mem_types[], hid_t mem_spaces[],
                    hid_t file_spaces[], hid_t dxpl, void* buffers[], void** request) {
  return host::Guard("dataset_read", [&]() -> Status {
    TraversalScope scope;
    std::vector<Part> parts;
    for (std::size_t i = 0; i < count; ++i) {
      Object* object = AsObject(datasets[i]);
      if (HasArray(object)) {
        parts.push_back({object, mem_types[i], mem_spaces[i], file_spaces[i], buffers[i], nullptr});
        continue;
      }
      H5ZARR_RETURN_IF_ERROR(NativeStatus(
          H5VLdataset_read(1, &object->native.under, host::NativeConnector(), &mem_types[i],
                           &mem_spaces[i], &file_spaces[i], dxpl, &buffers[i], request)));
    }
    return parts.empty() ? OkStatus() : TransferInStores(parts, false, dxpl);
  });
}

herr_t dataset_write(size_t count, void* datasets[], hid_t mem_types[], hid_t mem_spaces[],
                     hid_t file_spaces[], hid_t dxpl, const void* buffers[], void** request) {
  return host::Guard("dataset_write", [&]() -> Status {
    TraversalScope scope;
    std::vector<Part> parts;
    for (std::size_t i = 0; i < count; ++i) {
      Object* object = AsObject(datasets[i]);
      H5ZARR_RETURN_IF_ERROR(RequireWritable(object));
      if (HasArray(object)) {
        parts.push_back({object, mem_types[i], mem_spaces[i], file_spaces[i], nullptr, buffers[i]});
        continue;
      }
      H5ZARR_RETURN_IF_ERROR(NativeStatus(
          H5VLdataset_write(1, &object->native.under, host::NativeConnector(), &mem_types[i],
                            &mem_spaces[i], &file_spaces[i], dxpl, &buffers[i], request)));
    }
    return parts.empty() ? OkStatus() : TransferInStores(parts, true, dxpl);
  });
}

herr_t dataset_get(void* opaque, H5VL_dataset_get_args_t* args, hid_t dxpl, void** request) {
  return host::Guard("dataset_get", [&]() -> Status {
    Object* object = AsObject(opaque);
    if (HasArray(object)) {
      if (args->op_type == H5VL_DATASET_GET_STORAGE_SIZE) {
        H5ZARR_ASSIGN_OR_RETURN(*args->args.get_storage_size.storage_size, StorageBytes(object));
        return OkStatus();
      }
      if (args->op_type == H5VL_DATASET_GET_SPACE_STATUS) {
        H5ZARR_ASSIGN_OR_RETURN(*args->args.get_space_status.status, SpaceStatus(object));
        return OkStatus();
      }
    }
    H5ZARR_RETURN_IF_ERROR(NativeStatus(
        H5VLdataset_get(object->native.under, host::NativeConnector(), args, dxpl, request)));
    if (HasArray(object) && args->op_type == H5VL_DATASET_GET_DCPL) {
      const Handle shadow_dcpl(args->args.get_dcpl.dcpl_id);
      H5ZARR_ASSIGN_OR_RETURN(
          Handle restored, shadow::RestoreDcpl(shadow_dcpl.get(), object->node->dataset.layout,
                                               object->node->dataset.alloc_time));
      H5ZARR_RETURN_IF_ERROR(shadow::RestoreCreation(shadow::CreationKind::kDataset,
                                                     object->node->node.attributes(),
                                                     restored.get()));
      args->args.get_dcpl.dcpl_id = restored.Release();
    }
    return OkStatus();
  });
}

Status SetExtent(Object* object, H5VL_dataset_specific_args_t* args, hid_t dxpl, void** request) {
  H5ZARR_RETURN_IF_ERROR(RequireWritable(object));
  const bool in_store = HasArray(object);
  std::vector<uint64_t> old_shape, new_shape;
  if (in_store) {
    H5ZARR_RETURN_IF_ERROR(object->store->OpenArray(object->node, 0).status());
    const shadow::DatasetState& dataset = object->node->dataset;
    const std::span<const uint64_t> shape = dataset.array->shape();
    old_shape.assign(shape.begin(), shape.end());
    new_shape = old_shape;
    for (std::size_t i = 0; i + dataset.element.elem_dims.size() < shape.size(); ++i) {
      new_shape[i] = args->args.set_extent.size[i];
    }
  }
  H5ZARR_RETURN_IF_ERROR(NativeStatus(
      H5VLdataset_specific(object->native.under, host::NativeConnector(), args, dxpl, request)));
  if (!in_store || old_shape == new_shape) return OkStatus();
  object->node->dataset.chunk_list.reset();
  const Status resized = object->node->dataset.array->Resize(new_shape);
  // Only now: resizing may have stored the document, still with the old shape.
  object->node->document_changed = true;
  if (resized.ok()) return resized;
  host::KeepErrors keep;
  H5VL_dataset_specific_args_t back = *args;
  std::vector<hsize_t> old_extent(old_shape.begin(), old_shape.end());
  back.args.set_extent.size = old_extent.data();
  H5VLdataset_specific(object->native.under, host::NativeConnector(), &back, dxpl, nullptr);
  return resized;
}

herr_t dataset_specific(void* opaque, H5VL_dataset_specific_args_t* args, hid_t dxpl,
                        void** request) {
  return host::Guard("dataset_specific", [&]() -> Status {
    Object* object = AsObject(opaque);
    switch (args->op_type) {
      case H5VL_DATASET_SET_EXTENT: return SetExtent(object, args, dxpl, request);
      case H5VL_DATASET_FLUSH:
        if (object->store != nullptr) H5ZARR_RETURN_IF_ERROR(object->store->Save());
        break;
      case H5VL_DATASET_REFRESH:
        if (HasArray(object) && object->node->dataset.array != nullptr &&
            !object->node->dataset.array->dirty()) {
          object->node->dataset.array->DropCache();
          object->node->dataset.chunk_list.reset();
        }
        break;
    }
    return NativeStatus(
        H5VLdataset_specific(object->native.under, host::NativeConnector(), args, dxpl, request));
  });
}

herr_t dataset_optional(void* opaque, H5VL_optional_args_t* args, hid_t dxpl, void** request) {
  return host::GuardValue("dataset_optional", [&]() -> Result<herr_t> {
    Object* object = AsObject(opaque);
    if (HasArray(object)) {
      H5ZARR_ASSIGN_OR_RETURN(const std::optional<herr_t> answer,
                              AnswerChunkOperation(object, args));
      if (answer) return *answer;
    }
    const herr_t result =
        H5VLdataset_optional(object->native.under, host::NativeConnector(), args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    return result;
  });
}

herr_t dataset_close(void* object, hid_t dxpl, void** request) {
  return CloseObject("dataset_close", object, H5VLdataset_close, dxpl, request);
}

}  // namespace

Result<void*> OpenArrayOf(void* wrapper, uint64_t cache_bytes) {
  const Object* object = AsObject(wrapper);
  if (!HasArray(object)) return wrapper;
  const Status opened = object->store->OpenArray(object->node, cache_bytes).status();
  if (opened.ok()) return wrapper;
  host::KeepErrors keep;
  CloseObject("dataset_open", wrapper, H5VLdataset_close, host::DefaultDxpl(), nullptr);
  return opened;
}

const H5VL_dataset_class_t kDatasetClass = {dataset_create, dataset_open,     dataset_read,
                                            dataset_write,  dataset_get,      dataset_specific,
                                            dataset_optional, dataset_close};

}  // namespace h5zarr
