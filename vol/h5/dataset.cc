// Dataset callbacks. Headers are HDF5's, in the shadow; raw data is the store's.

#include "h5/connector.h"
#include "h5/dataset_chunks.h"
#include "h5/dataset_transfer.h"
#include "h5/virtual_dataset.h"
#include "shadow/creation_map.h"
#include "shadow/dataset_map.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/object_times.h"

namespace h5zarr {
namespace {

using shadow::DatasetPlan;
using shadow::NodePtr;

uint64_t CacheBytes(hid_t dapl) {
  std::size_t slots = 0, bytes = 0;
  double preemption = 0;
  if (dapl < 0 || H5Pget_chunk_cache(dapl, &slots, &bytes, &preemption) < 0) return 0;
  return bytes;
}

// A dataset that HDF5 is asked to make in a store: what its node will be, and the header's properties.
struct NewDataset {
  std::optional<shadow::VirtualPlan> virtual_plan;
  std::optional<DatasetPlan> plan;
  hid_t shadow_dcpl = H5I_INVALID_HID;
};

Result<NewDataset> PlanDataset(const shadow::StoreFile& store, hid_t type, hid_t space, hid_t dcpl) {
  NewDataset made;
  if (H5Pget_layout(dcpl) == H5D_VIRTUAL) {
    H5ZARR_ASSIGN_OR_RETURN(made.virtual_plan, shadow::PlanVirtual(type, space, dcpl, store.config().zarr_format));
    made.shadow_dcpl = dcpl;
    return made;
  }
  H5ZARR_ASSIGN_OR_RETURN(made.plan, shadow::PlanCreate(type, space, dcpl, store.config()));
  made.shadow_dcpl = made.plan->shadow_dcpl.get();
  return made;
}

Result<void*> CreateInStore(const Place& at, hid_t lcpl, hid_t type, hid_t space, hid_t dcpl, hid_t dapl, hid_t dxpl,
                            void** request) {
  shadow::StoreFile& store = *at.store();
  H5ZARR_ASSIGN_OR_RETURN(NewDataset made, PlanDataset(store, type, space, dcpl));
  host::NativeHandle native(H5VLdataset_create(at.under(), &at.loc, host::NativeConnector(), at.name, lcpl, type, space,
                                               made.shadow_dcpl, dapl, dxpl, request),
                            H5I_DATASET);
  if (!native.valid()) return host::AlreadyReported();
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(native.object()));
  if (identity.fileno != store.fileno()) {
    return InternalError("a dataset was created in another file than its path leads to");
  }
  const NodePtr node = made.virtual_plan ? store.MakeVirtual(identity.token, std::move(*made.virtual_plan))
                                         : store.MakeDataset(identity.token, std::move(*made.plan));
  H5ZARR_ASSIGN_OR_RETURN(node->dataset.committed_type, store.CommittedTypeToken(type));
  shadow::NoteAttributeOrder(dcpl, &node->node.attributes());
  shadow::NoteCreation(shadow::CreationKind::kDataset, dcpl, &node->node.attributes());
  shadow::NoteTimes(store.format_bounds().low, true, dcpl, &node->node.attributes());
  Status prepared = made.virtual_plan ? OkStatus() : store.OpenArray(node, CacheBytes(dapl)).status();
  if (prepared.ok() && at.name != nullptr) prepared = store.NoteCreated(at.object->node, at.name);
  if (!prepared.ok()) {
    native.Close();
    return at.name != nullptr ? UndoOnFailure(at, prepared) : prepared;
  }
  return Wrap(native.Release(), H5I_DATASET, at.object);
}

void* dataset_create(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t lcpl, hid_t type, hid_t space,
                     hid_t dcpl, hid_t dapl, hid_t dxpl, void** request) {
  return PathGuardPointer("dataset_create", [&]() -> Result<void*> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, LocateNew(AsObject(opaque), loc, name));
    if (at.store() != nullptr) {
      return CreateInStore(at, lcpl, type, space, dcpl, dapl, dxpl, request);
    }
    return Wrap(H5VLdataset_create(at.under(), &at.loc, host::NativeConnector(), at.name, lcpl, type, space, dcpl, dapl,
                                   dxpl, request),
                H5I_DATASET, at.object);
  });
}

// What HDF5 opens at a path that is prepared.
Result<void*> OpenNativeDataset(const Place& at, hid_t dapl, hid_t dxpl, void** request) {
  if (at.node != nullptr && !at.node->broken.ok()) return at.node->broken;
  void* under = H5VLdataset_open(at.opening.under, &at.opening.loc, host::NativeConnector(), at.opening.name, dapl,
                                 dxpl, request);
  H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(under, H5I_DATASET, at.object));
  return OpenArrayOf(wrapper, CacheBytes(dapl));
}

// Whether there is an object at the end of `path`, an absolute one; links that lead nowhere count as no
// object.
Result<bool> ObjectExists(host::NativeObject beside, const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (part.back() != '/') {
      hbool_t exists = false;
      const H5VL_loc_params_t loc = host::LocByName(beside.type, part.c_str());
      H5VL_link_specific_args_t link;
      link.op_type = H5VL_LINK_EXISTS;
      link.args.exists.exists = &exists;
      H5ZARR_RETURN_IF_ERROR(NativeStatus(
          H5VLlink_specific(beside.under, &loc, host::NativeConnector(), &link, host::DefaultDxpl(), nullptr)));
      if (!exists) return false;
      H5VL_object_specific_args_t object;
      object.op_type = H5VL_OBJECT_EXISTS;
      object.args.exists.exists = &exists;
      H5ZARR_RETURN_IF_ERROR(NativeStatus(
          H5VLobject_specific(beside.under, &loc, host::NativeConnector(), &object, host::DefaultDxpl(), nullptr)));
      if (!exists) return false;
    }
    if (end == std::string::npos) return true;
  }
}

void* dataset_open(void* opaque, const H5VL_loc_params_t* loc, const char* name, hid_t dapl, hid_t dxpl,
                   void** request) {
  return PathGuardPointer("dataset_open", [&]() -> Result<void*> {
    H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(AsObject(opaque), loc, name));
    return OpenNativeDataset(at, dapl, dxpl, request);
  });
}

herr_t dataset_read(size_t count, void* datasets[], hid_t mem_types[], hid_t mem_spaces[], hid_t file_spaces[],
                    hid_t dxpl, void* buffers[], void** request) {
  return PathGuard("dataset_read", [&]() -> Status {
    if (count == 1) {
      const DatasetPart part{AsObject(datasets[0]), mem_types[0], mem_spaces[0], file_spaces[0], buffers[0], nullptr};
      return TransferParts({&part, 1}, false, dxpl, request);
    }
    std::vector<DatasetPart> parts;
    for (std::size_t i = 0; i < count; ++i) {
      parts.push_back({AsObject(datasets[i]), mem_types[i], mem_spaces[i], file_spaces[i], buffers[i], nullptr});
    }
    return TransferParts(parts, false, dxpl, request);
  });
}

herr_t dataset_write(size_t count, void* datasets[], hid_t mem_types[], hid_t mem_spaces[], hid_t file_spaces[],
                     hid_t dxpl, const void* buffers[], void** request) {
  return PathGuard("dataset_write", [&]() -> Status {
    std::vector<DatasetPart> parts;
    for (std::size_t i = 0; i < count; ++i) {
      parts.push_back({AsObject(datasets[i]), mem_types[i], mem_spaces[i], file_spaces[i], nullptr, buffers[i]});
    }
    return TransferParts(parts, true, dxpl, request);
  });
}

bool IsStoredVirtual(const Object* object) {
  return object->node != nullptr && object->node->dataset.virtual_layout != nullptr;
}

// What a program's creation list said of HDF5's own format.
Status RestoreList(const shadow::NodeState& node, hid_t dcpl) {
  H5ZARR_RETURN_IF_ERROR(shadow::RestoreCreation(shadow::CreationKind::kDataset, node.node.attributes(), dcpl));
  return shadow::RestoreTracking(node.node.attributes(), dcpl);
}

herr_t dataset_get(void* opaque, H5VL_dataset_get_args_t* args, hid_t dxpl, void** request) {
  return host::Guard("dataset_get", [&]() -> Status {
    Object* object = AsObject(opaque);
    if (object->store != nullptr) H5ZARR_RETURN_IF_ERROR(object->store->CatchUp());
    if (HasArray(object) && !IsExternal(object)) {
      if (args->op_type == H5VL_DATASET_GET_STORAGE_SIZE) {
        H5ZARR_ASSIGN_OR_RETURN(*args->args.get_storage_size.storage_size, StorageBytes(object));
        return OkStatus();
      }
      if (args->op_type == H5VL_DATASET_GET_SPACE_STATUS) {
        H5ZARR_ASSIGN_OR_RETURN(*args->args.get_space_status.status, SpaceStatus(object));
        return OkStatus();
      }
    } else if (args->op_type == H5VL_DATASET_GET_SPACE) {
      TraversalScope scope;
      H5ZARR_ASSIGN_OR_RETURN(Handle space, SpaceOfDataset(object));
      args->args.get_space.space_id = space.Release();
      return OkStatus();
    }
    H5ZARR_RETURN_IF_ERROR(
        NativeStatus(H5VLdataset_get(object->native.under, host::NativeConnector(), args, dxpl, request)));
    if (HasArray(object) && args->op_type == H5VL_DATASET_GET_SPACE) {
      const std::vector<uint64_t>& least = object->node->dataset.least_maximum;
      if (least.empty()) return OkStatus();
      const Handle unbounded(args->args.get_space.space_id);
      H5ZARR_ASSIGN_OR_RETURN(Handle space, shadow::WithMaximum(unbounded.get(), least));
      args->args.get_space.space_id = space.Release();
      return OkStatus();
    }
    if (HasArray(object) && args->op_type == H5VL_DATASET_GET_DCPL) {
      const Handle shadow_dcpl(args->args.get_dcpl.dcpl_id);
      H5ZARR_ASSIGN_OR_RETURN(Handle restored, shadow::RestoreDcpl(shadow_dcpl.get(), object->node->dataset.layout,
                                                                   object->node->dataset.alloc_time));
      H5ZARR_RETURN_IF_ERROR(RestoreList(*object->node, restored.get()));
      args->args.get_dcpl.dcpl_id = restored.Release();
    } else if (IsStoredVirtual(object) && args->op_type == H5VL_DATASET_GET_DCPL) {
      return RestoreList(*object->node, args->args.get_dcpl.dcpl_id);
    }
    return OkStatus();
  });
}

Status NoteVirtualExtent(Object* object, const hsize_t* size) {
  H5ZARR_ASSIGN_OR_RETURN(VirtualDataset* const mapped, VirtualDataset::Of(object));
  if (mapped == nullptr) return OkStatus();
  mapped->NoteExtent(size);
  if (object->store == nullptr) return OkStatus();
  shadow::NoteVirtualShape(mapped->layout(), &object->node->node.attributes());
  object->node->document_changed = true;
  return OkStatus();
}

Status SetExtent(Object* object, H5VL_dataset_specific_args_t* args, hid_t dxpl, void** request) {
  H5ZARR_RETURN_IF_ERROR(RequireWritable(object));
  const bool in_store = HasArray(object);
  std::vector<uint64_t> old_shape, new_shape;
  if (in_store) {
    H5ZARR_RETURN_IF_ERROR(object->store->CatchUpExtent(object->node));
    H5ZARR_RETURN_IF_ERROR(object->store->OpenElements(object->node).status());
    const shadow::DatasetState& dataset = object->node->dataset;
    const std::span<const uint64_t> shape = dataset.array->shape();
    old_shape.assign(shape.begin(), shape.end());
    new_shape = old_shape;
    for (std::size_t i = 0; i + dataset.element.elem_dims.size() < shape.size(); ++i) {
      new_shape[i] = args->args.set_extent.size[i];
    }
    H5ZARR_RETURN_IF_ERROR(shadow::CheckFillSize(object->node->node.array(), new_shape));
    // What it is attached to by its name stays so: see NoteExternalChange.
    if (dataset.is_scale) {
      H5ZARR_RETURN_IF_ERROR(object->store->CompleteAttributes(object->node));
    }
  }
  H5ZARR_RETURN_IF_ERROR(
      NativeStatus(H5VLdataset_specific(object->native.under, host::NativeConnector(), args, dxpl, request)));
  if (!in_store) return NoteVirtualExtent(object, args->args.set_extent.size);
  if (old_shape == new_shape) return OkStatus();
  object->store->NoteWritten(object->node);
  zarr::Array& array = *object->node->dataset.array;
  const Status resized = array.Resize(new_shape);
  // Only now: resizing may have stored the document, still with the old shape.
  std::get<zarr::ArrayMetadata>(object->node->node.metadata).shape = array.metadata().shape;
  object->node->document_changed = true;
  object->store->NoteExternalChange(object->node);
  if (resized.ok()) return resized;
  host::KeepErrors keep;
  H5VL_dataset_specific_args_t back = *args;
  std::vector<hsize_t> old_extent(old_shape.begin(), old_shape.end());
  back.args.set_extent.size = old_extent.data();
  H5VLdataset_specific(object->native.under, host::NativeConnector(), &back, dxpl, nullptr);
  return resized;
}

herr_t dataset_specific(void* opaque, H5VL_dataset_specific_args_t* args, hid_t dxpl, void** request) {
  return host::Guard("dataset_specific", [&]() -> Status {
    Object* object = AsObject(opaque);
    switch (args->op_type) {
      case H5VL_DATASET_SET_EXTENT: return SetExtent(object, args, dxpl, request);
      case H5VL_DATASET_FLUSH:
        if (object->store != nullptr) H5ZARR_RETURN_IF_ERROR(object->store->Save());
        if (object->virtual_data != nullptr) H5ZARR_RETURN_IF_ERROR(object->virtual_data->Flush());
        break;
      case H5VL_DATASET_REFRESH:
        if (object->virtual_data != nullptr) {
          H5ZARR_RETURN_IF_ERROR(object->virtual_data->CloseSources());
        }
        if (object->store != nullptr) {
          H5ZARR_RETURN_IF_ERROR(object->store->Refresh(object->node));
        }
        break;
    }
    return NativeStatus(H5VLdataset_specific(object->native.under, host::NativeConnector(), args, dxpl, request));
  });
}

herr_t dataset_optional(void* opaque, H5VL_optional_args_t* args, hid_t dxpl, void** request) {
  return host::GuardValue("dataset_optional", [&]() -> Result<herr_t> {
    Object* object = AsObject(opaque);
    if (HasArray(object)) {
      H5ZARR_RETURN_IF_ERROR(object->store->CatchUp());
      H5ZARR_ASSIGN_OR_RETURN(const std::optional<herr_t> answer, AnswerChunkOperation(object, args));
      if (answer) return *answer;
    } else if (args->op_type == H5VL_NATIVE_DATASET_GET_VLEN_BUF_SIZE) {
      H5ZARR_ASSIGN_OR_RETURN(const VirtualDataset* const mapped, VirtualDataset::Of(object));
      if (mapped != nullptr) {
        auto* native = static_cast<H5VL_native_dataset_optional_args_t*>(args->args);
        H5ZARR_ASSIGN_OR_RETURN(*native->get_vlen_buf_size.size, VlenBytes(object, native->get_vlen_buf_size.type_id,
                                                                           native->get_vlen_buf_size.space_id));
        return herr_t{0};
      }
    }
    const herr_t result = H5VLdataset_optional(object->native.under, host::NativeConnector(), args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    return result;
  });
}

herr_t dataset_close(void* object, hid_t dxpl, void** request) { return CloseDataset(AsObject(object), dxpl, request); }

}  // namespace

Result<Object*> OpenDatasetByPath(Object* beside, const std::string& path, hid_t dapl) {
  host::QuietErrors quiet;
  // It may lead into another file, or be a native one's that leads into a store.
  const Result<void*> opened = InTraversalScope([&]() -> Result<void*> {
    const H5VL_loc_params_t loc = host::LocSelf(beside->native.type);
    Result<Place> located = Locate(beside, &loc, path.c_str());
    if (!located.ok()) H5ZARR_RETURN_IF_ERROR(TraversalScope::Broken());
    H5ZARR_ASSIGN_OR_RETURN(const Place at, std::move(located));
    if (at.object->store != nullptr && at.node == nullptr && !at.found.left_store) {
      return static_cast<void*>(nullptr);
    }
    Result<void*> dataset = OpenNativeDataset(at, dapl, host::DefaultDxpl(), nullptr);
    if (dataset.ok() || TraversalScope::AskedForRepetition()) return dataset;
    H5ZARR_RETURN_IF_ERROR(TraversalScope::Broken());
    H5ZARR_ASSIGN_OR_RETURN(const bool exists, ObjectExists(at.object->native, at.name));
    return exists ? std::move(dataset) : Result<void*>(static_cast<void*>(nullptr));
  });
  if (!opened.ok()) return opened.status();
  return AsObject(*opened);
}

Result<void*> OpenArrayOf(void* wrapper, uint64_t cache_bytes) {
  const Object* object = AsObject(wrapper);
  if (!HasArray(object)) return wrapper;
  const Status opened = object->store->OpenArray(object->node, cache_bytes).status();
  if (opened.ok()) return wrapper;
  // As with HDF5's own files whose filters are missing, only the elements are out of reach.
  if (opened.code() == StatusCode::kUnsupported &&
      zarr::Array::CheckCodecs(object->node->node.array()).code() == StatusCode::kUnsupported) {
    return wrapper;
  }
  host::KeepErrors keep;
  CloseObject("dataset_open", wrapper, H5VLdataset_close, host::DefaultDxpl(), nullptr);
  return opened;
}

const H5VL_dataset_class_t kDatasetClass = {dataset_create, dataset_open,     dataset_read,     dataset_write,
                                            dataset_get,    dataset_specific, dataset_optional, dataset_close};

}  // namespace h5zarr
