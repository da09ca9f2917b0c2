#include "h5/object_copy.h"

#include <algorithm>
#include <set>

#include "shadow/creation_map.h"
#include "shadow/dataset_map.h"
#include "shadow/hdf5_attribute.h"
#include "transfer/dataset_io.h"

namespace h5zarr {
namespace {

using shadow::NodePtr;

// Data is moved in pieces of about this size.
constexpr uint64_t kPieceBytes = 16 << 20;

Result<host::NativeHandle> OpenAt(host::NativeObject base, const H5VL_loc_params_t* loc,
                                  const char* name) {
  H5VL_loc_params_t by_name = host::LocByName(base.type, name);
  H5I_type_t type = H5I_BADID;
  void* under = nullptr;
  if (loc != nullptr && loc->type == H5VL_OBJECT_BY_TOKEN) {
    H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle group,
                            host::OpenByToken(base, host::TokenKey(*loc->loc_data.loc_by_token.token)));
    by_name.obj_type = group.type();
    under = H5VLobject_open(group.get(), &by_name, host::NativeConnector(), &type,
                            host::DefaultDxpl(), nullptr);
  } else {
    under = H5VLobject_open(base.under, &by_name, host::NativeConnector(), &type,
                            host::DefaultDxpl(), nullptr);
  }
  if (under == nullptr) return host::AlreadyReported();
  return host::NativeHandle(under, type);
}

struct LinkName {
  std::string name;
  bool hard = false;  // leads to an object directly
};

Result<std::vector<LinkName>> LinkNames(host::NativeObject group) {
  H5G_info_t info;
  H5VL_group_get_args_t get;
  get.op_type = H5VL_GROUP_GET_INFO;
  get.args.get_info.loc_params = host::LocSelf(group.type);
  get.args.get_info.ginfo = &info;
  if (H5VLgroup_get(group.under, host::NativeConnector(), &get, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  std::vector<LinkName> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    H5VL_loc_params_t loc = host::LocSelf(group.type);
    loc.type = H5VL_OBJECT_BY_IDX;
    loc.loc_data.loc_by_idx = {".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_LST_LINK_ACCESS_ID_g};
    H5L_info2_t link;
    H5VL_link_get_args_t args;
    args.op_type = H5VL_LINK_GET_INFO;
    args.args.get_info.linfo = &link;
    if (H5VLlink_get(group.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(),
                     nullptr) < 0) {
      return host::AlreadyReported();
    }
    const bool hard = link.type == H5L_TYPE_HARD;
    std::size_t length = 0;
    args.op_type = H5VL_LINK_GET_NAME;
    args.args.get_name = {0, nullptr, &length};
    if (H5VLlink_get(group.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(),
                     nullptr) < 0) {
      return host::AlreadyReported();
    }
    std::string name(length + 1, '\0');
    args.args.get_name = {name.size(), name.data(), &length};
    if (H5VLlink_get(group.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(),
                     nullptr) < 0) {
      return host::AlreadyReported();
    }
    name.resize(length);
    names.push_back({std::move(name), hard});
  }
  return names;
}

Result<Handle> GetFromDataset(host::NativeObject dataset, H5VL_dataset_get_t what) {
  H5VL_dataset_get_args_t args;
  args.op_type = what;
  if (H5VLdataset_get(dataset.under, host::NativeConnector(), &args, host::DefaultDxpl(),
                      nullptr) < 0) {
    return host::AlreadyReported();
  }
  switch (what) {
    case H5VL_DATASET_GET_TYPE: return Handle(args.args.get_type.type_id);
    case H5VL_DATASET_GET_SPACE: return Handle(args.args.get_space.space_id);
    case H5VL_DATASET_GET_DCPL: return Handle(args.args.get_dcpl.dcpl_id);
    default: return InternalError("not a property of a dataset");
  }
}

// One end of a copied dataset: an array of a store, or native data.
struct DataEnd {
  host::NativeObject native;
  shadow::StoreFile* store = nullptr;
  NodePtr node;  // with a store
};

Status Transfer(const DataEnd& end, bool write, hid_t type, hid_t mem_space, hid_t file_space,
                void* buffer) {
  if (end.store == nullptr) {
    void* under = end.native.under;
    const void* source = buffer;
    const herr_t result =
        write ? H5VLdataset_write(1, &under, host::NativeConnector(), &type, &mem_space,
                                  &file_space, host::DefaultDxpl(), &source, nullptr)
              : H5VLdataset_read(1, &under, host::NativeConnector(), &type, &mem_space,
                                 &file_space, host::DefaultDxpl(), &buffer, nullptr);
    return NativeStatus(result);
  }
  H5ZARR_ASSIGN_OR_RETURN(zarr::Array* const array, end.store->OpenArray(end.node, 0));
  transfer::DatasetTransfer one;
  one.array = array;
  one.element = &end.node->dataset.element;
  one.extent = array->shape().first(array->shape().size() - one.element->elem_dims.size());
  one.mem_type = type;
  one.mem_space = mem_space;
  one.file_space = file_space;
  one.read_buffer = write ? nullptr : buffer;
  one.write_buffer = write ? buffer : nullptr;
  const shadow::ReferenceResolver references = end.store->References();
  one.references = &references;
  return write ? transfer::WriteDatasets({&one, 1}, host::DefaultDxpl())
               : transfer::ReadDatasets({&one, 1}, host::DefaultDxpl());
}

// Copies all elements, in slabs along the first dimension.
Status CopyElements(const DataEnd& from, const DataEnd& to) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle space,
                          GetFromDataset(from.native, H5VL_DATASET_GET_SPACE));
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  if (points <= 0) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const Handle file_type,
                          GetFromDataset(from.native, H5VL_DATASET_GET_TYPE));
  // In memory: the same type, described afresh, free of the file it came from.
  H5ZARR_ASSIGN_OR_RETURN(const shadow::Json description, shadow::TypeToJson(file_type.get()));
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, shadow::TypeFromJson(description));
  const uint64_t elem_bytes = H5Tget_size(type.get());
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> extent(std::max(rank, 1), 1), start(std::max(rank, 1), 0);
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr);
  const uint64_t row_bytes = static_cast<uint64_t>(points) / extent[0] * elem_bytes;
  const hsize_t rows = std::clamp<uint64_t>(kPieceBytes / std::max<uint64_t>(row_bytes, 1), 1,
                                            extent[0]);
  H5ZARR_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(rows * row_bytes));
  for (hsize_t row = 0; row < extent[0]; row += rows) {
    std::vector<hsize_t> count = extent;
    count[0] = std::min(rows, extent[0] - row);
    start[0] = row;
    Handle mem_space(rank > 0 ? H5Screate_simple(rank, count.data(), nullptr)
                              : H5Screate(H5S_SCALAR));
    const Handle file_space(H5Scopy(space.get()));
    if (rank > 0 && H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr,
                                        count.data(), nullptr) < 0) {
      return host::AlreadyReported();
    }
    std::memset(buffer.data(), 0, buffer.size_bytes());
    H5ZARR_RETURN_IF_ERROR(Transfer(from, false, type.get(), mem_space.get(), file_space.get(),
                                    buffer.data()));
    const Status written = Transfer(to, true, type.get(), mem_space.get(), file_space.get(),
                                    buffer.data());
    H5Treclaim(type.get(), mem_space.get(), host::DefaultDxpl(), buffer.data());
    H5ZARR_RETURN_IF_ERROR(written);
  }
  return OkStatus();
}

// Gives a node its metadata; attributes that were noted already, and members of `_hdf5`, stay.
template <typename Metadata>
void SetMetadata(const NodePtr& node, Metadata metadata) {
  const shadow::Json attributes = node->node.attributes();
  node->node.metadata = std::move(metadata);
  for (const auto& [name, value] : attributes.items()) {
    if (name != "_hdf5") node->node.attributes()[name] = value;
  }
  const auto hdf5 = attributes.find("_hdf5");
  const shadow::Json noted = hdf5 != attributes.end() ? *hdf5 : shadow::Json::object();
  for (const auto& [name, value] : noted.items()) {
    shadow::SetHdf5Member(&node->node.attributes(), name, value);
  }
}

// A dataset that HDF5 copied into a shadow gets its array.
Status AdoptDataset(shadow::StoreFile& store, const NodePtr& node, host::NativeObject native) {
  if (node->node.is_array()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, GetFromDataset(native, H5VL_DATASET_GET_TYPE));
  H5ZARR_ASSIGN_OR_RETURN(const Handle space, GetFromDataset(native, H5VL_DATASET_GET_SPACE));
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, GetFromDataset(native, H5VL_DATASET_GET_DCPL));
  H5ZARR_ASSIGN_OR_RETURN(
      shadow::DatasetPlan plan,
      shadow::PlanCreate(type.get(), space.get(), dcpl.get(), store.config()));
  SetMetadata(node, std::move(plan.metadata));
  node->dataset.element = std::move(plan.element);
  node->dataset.layout = plan.layout;
  node->dataset.alloc_time = plan.alloc_time;
  node->dataset.null_space = plan.null_space;
  node->dataset.chunk_unit = plan.chunk_unit;
  node->document_changed = true;
  return OkStatus();
}

// A virtual dataset that HDF5 copied into a shadow: its mappings are what there is of it.
Status AdoptVirtual(shadow::StoreFile& store, const NodePtr& node, host::NativeObject native,
                    hid_t dcpl) {
  if (node->dataset.virtual_layout != nullptr) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, GetFromDataset(native, H5VL_DATASET_GET_TYPE));
  // The mappings know the extent; HDF5 would look for the sources when asked for it.
  std::size_t mappings = 0;
  H5ZARR_RETURN_IF_ERROR(NativeStatus(H5Pget_virtual_count(dcpl, &mappings)));
  Handle space;
  if (mappings == 0) {
    H5ZARR_ASSIGN_OR_RETURN(space, GetFromDataset(native, H5VL_DATASET_GET_SPACE));
  }
  H5ZARR_ASSIGN_OR_RETURN(
      shadow::VirtualPlan plan,
      shadow::PlanVirtual(type.get(), space.get(), dcpl, store.config().zarr_format));
  SetMetadata(node, std::move(plan.metadata));
  node->dataset.virtual_layout = std::move(plan.layout);
  node->document_changed = true;
  return OkStatus();
}

// The creation list of an object that HDF5 copied.
Result<Handle> CreationList(host::NativeObject native) {
  switch (native.type) {
    case H5I_DATASET: return GetFromDataset(native, H5VL_DATASET_GET_DCPL);
    case H5I_GROUP: {
      H5VL_group_get_args_t args;
      args.op_type = H5VL_GROUP_GET_GCPL;
      H5ZARR_RETURN_IF_ERROR(NativeStatus(H5VLgroup_get(
          native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
      return Handle(args.args.get_gcpl.gcpl_id);
    }
    default: {
      H5VL_datatype_get_args_t args;
      args.op_type = H5VL_DATATYPE_GET_TCPL;
      H5ZARR_RETURN_IF_ERROR(NativeStatus(H5VLdatatype_get(
          native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
      return Handle(args.args.get_tcpl.tcpl_id);
    }
  }
}

shadow::CreationKind CreationKindOf(H5I_type_t type) {
  if (type == H5I_DATASET) return shadow::CreationKind::kDataset;
  return type == H5I_GROUP ? shadow::CreationKind::kGroup : shadow::CreationKind::kDatatype;
}

// Attributes came with the header: all are new to the store, in the order they have there.
Status NoteAttributes(shadow::StoreFile& store, const NodePtr& node, host::NativeObject native,
                      H5_index_t order) {
  H5O_info2_t info;
  H5VL_object_get_args_t get;
  get.op_type = H5VL_OBJECT_GET_INFO;
  get.args.get_info.fields = H5O_INFO_NUM_ATTRS;
  get.args.get_info.oinfo = &info;
  const H5VL_loc_params_t self = host::LocSelf(native.type);
  H5ZARR_RETURN_IF_ERROR(NativeStatus(H5VLobject_get(
      native.under, &self, host::NativeConnector(), &get, host::DefaultDxpl(), nullptr)));
  for (hsize_t i = 0; i < info.num_attrs; ++i) {
    H5VL_attr_get_args_t args;
    std::size_t length = 0;
    args.op_type = H5VL_ATTR_GET_NAME;
    H5VL_loc_params_t loc = host::LocSelf(native.type);
    loc.type = H5VL_OBJECT_BY_IDX;
    loc.loc_data.loc_by_idx = {".", order, H5_ITER_INC, i, H5P_LST_LINK_ACCESS_ID_g};
    args.args.get_name = {loc, 0, nullptr, &length};
    H5ZARR_RETURN_IF_ERROR(NativeStatus(H5VLattr_get(native.under, host::NativeConnector(), &args,
                                                     host::DefaultDxpl(), nullptr)));
    std::string name(length + 1, '\0');
    args.args.get_name = {loc, name.size(), name.data(), &length};
    H5ZARR_RETURN_IF_ERROR(NativeStatus(H5VLattr_get(native.under, host::NativeConnector(), &args,
                                                     host::DefaultDxpl(), nullptr)));
    name.resize(length);
    store.NoteAttribute(node, name);
  }
  return OkStatus();
}

// What a copy has from its original: what it was created with, and its attributes.
Status NoteHeader(shadow::StoreFile& store, const NodePtr& node, const host::NativeHandle& from,
                  const host::NativeHandle& to) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle list, CreationList(to.object()));
  const shadow::CreationKind kind = CreationKindOf(to.type());
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity original, host::Identify(from.object()));
  if (const auto source = GetConnector().stores.ByFileNumber(original.fileno)) {
    if (const NodePtr source_node = source->FindNode(original.token)) {
      H5ZARR_RETURN_IF_ERROR(
          shadow::RestoreCreation(kind, source_node->node.attributes(), list.get()));
    }
  }
  shadow::Json* attributes = &node->node.attributes();
  shadow::NoteAttributeOrder(list.get(), attributes);
  shadow::NoteCreation(kind, list.get(), attributes);
  if (to.type() == H5I_GROUP && shadow::TracksLinkOrder(list.get())) {
    node->group.ordered = true;
    node->group.links_changed = true;
  }
  const bool ordered = !shadow::Hdf5Member(*attributes, "attr_order").is_null();
  return NoteAttributes(store, node, to.object(), ordered ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME);
}

class CopyFinisher {
 public:
  explicit CopyFinisher(shadow::StoreFile* target) : target_(target) {}

  Status Finish(const host::NativeHandle& from, const host::NativeHandle& to,
                const std::string& path) {
    H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(to.object()));
    if (!seen_.insert(identity.token).second) return OkStatus();
    NodePtr node;
    if (target_ != nullptr) {
      node = target_->FindOrMakeNode(identity.token, to.type());
      host::KeepErrors keep;
      H5ZARR_RETURN_IF_ERROR(NoteHeader(*target_, node, from, to));
    }
    if (to.type() == H5I_DATASET) {
      H5ZARR_RETURN_IF_ERROR(FinishDataset(from, to, node).WithContext("copying '" + path + "'"));
    } else if (to.type() == H5I_GROUP) {
      H5ZARR_RETURN_IF_ERROR(FinishGroup(from, to, node, path));
    }
    return OkStatus();
  }

 private:
  Status FinishDataset(const host::NativeHandle& from, const host::NativeHandle& to,
                       const NodePtr& node) {
    DataEnd source{from.object(), nullptr, nullptr}, target{to.object(), target_, node};
    // Where it lies is asked of the object: a link may have led into another file.
    H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(from.object()));
    const std::shared_ptr<shadow::StoreFile> store =
        GetConnector().stores.ByFileNumber(identity.fileno);
    if (store != nullptr) {
      source.node = store->FindNode(identity.token);
      if (source.node == nullptr) {
        return UnsupportedError("its source in another Zarr store was reached by a link");
      }
      if (!source.node->broken.ok()) return source.node->broken;
      source.store = store.get();
    }
    H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl,
                            GetFromDataset(to.object(), H5VL_DATASET_GET_DCPL));
    if (H5Pget_layout(dcpl.get()) == H5D_VIRTUAL) {
      return target_ == nullptr ? OkStatus()
                                : AdoptVirtual(*target_, node, to.object(), dcpl.get());
    }
    if (target_ != nullptr) {
      H5ZARR_RETURN_IF_ERROR(AdoptDataset(*target_, node, to.object()));
      H5ZARR_RETURN_IF_ERROR(target_->OpenArray(node, 0).status());
    }
    return CopyElements(source, target);
  }

  Status FinishGroup(const host::NativeHandle& from, const host::NativeHandle& to,
                     const NodePtr& node, const std::string& path) {
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<LinkName> names, LinkNames(to.object()));
    for (const auto& [name, hard] : names) {
      if (target_ != nullptr) {
        H5ZARR_RETURN_IF_ERROR(target_->NoteCreated(node, name.c_str()));
      }
      if (!hard) continue;
      const std::string child_path = path + "/" + name;
      H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle child,
                              OpenAt(to.object(), nullptr, name.c_str()));
      Result<host::NativeHandle> original = OpenAt(from.object(), nullptr, name.c_str());
      if (!original.ok()) {
        return UnsupportedError("copying '" + child_path +
                                "': what the copy expanded into it cannot be found by its name");
      }
      H5ZARR_RETURN_IF_ERROR(Finish(*original, child, child_path));
    }
    return OkStatus();
  }

  shadow::StoreFile* target_;
  std::set<uint64_t> seen_;
};

}  // namespace

Status FinishCopy(const CopyEnd& source, const CopyEnd& target) {
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle from,
                          OpenAt(source.object->native, source.loc, source.name));
  H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle to,
                          OpenAt(target.object->native, target.loc, target.name));
  shadow::StoreFile* target_store = target.object->store.get();
  if (target_store != nullptr) {
    H5ZARR_RETURN_IF_ERROR(target_store->NoteCreated(target.object->node, target.name));
  }
  CopyFinisher finisher(target_store);
  return finisher.Finish(from, to, target.name);
}

}  // namespace h5zarr
