#include "h5/header_copy.h"

#include <utility>

#include "h5/connector.h"
#include "location/given_place.h"
#include "shadow/copied_array.h"
#include "shadow/creation_map.h"
#include "shadow/dataset_map.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/object_times.h"
#include "shadow/virtual_layout.h"
#include "transfer/chunk_list.h"

namespace h5zarr {
namespace {

using shadow::NodePtr;

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

// The creation list of an object that HDF5 copied.
Result<Handle> CreationList(host::NativeObject native) {
  switch (native.type) {
    case H5I_DATASET: return transfer::AskDataset(native.under, H5VL_DATASET_GET_DCPL);
    case H5I_GROUP: {
      H5VL_group_get_args_t args;
      args.op_type = H5VL_GROUP_GET_GCPL;
      H5ZARR_RETURN_IF_ERROR(
          NativeStatus(H5VLgroup_get(native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
      return Handle(args.args.get_gcpl.gcpl_id);
    }
    default: {
      H5VL_datatype_get_args_t args;
      args.op_type = H5VL_DATATYPE_GET_TCPL;
      H5ZARR_RETURN_IF_ERROR(
          NativeStatus(H5VLdatatype_get(native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
      return Handle(args.args.get_tcpl.tcpl_id);
    }
  }
}

shadow::CreationKind CreationKindOf(H5I_type_t type) {
  if (type == H5I_DATASET) return shadow::CreationKind::kDataset;
  return type == H5I_GROUP ? shadow::CreationKind::kGroup : shadow::CreationKind::kDatatype;
}

// A copy keeps its original's times, as between HDF5 files.
Status NoteTimesOfOriginal(const host::NativeHandle& from, shadow::Json* attributes) {
  H5O_info2_t info;
  H5VL_object_get_args_t args;
  args.op_type = H5VL_OBJECT_GET_INFO;
  args.args.get_info.fields = H5O_INFO_BASIC | H5O_INFO_TIME;
  args.args.get_info.oinfo = &info;
  const H5VL_loc_params_t self = host::LocSelf(from.type());
  H5ZARR_RETURN_IF_ERROR(
      NativeStatus(H5VLobject_get(from.get(), &self, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
  if (const auto source = GetConnector().stores.ByFileNumber(info.fileno)) {
    const NodePtr node = source->FindNode(host::TokenKey(info.token));
    if (node == nullptr) return OkStatus();
    shadow::AnswerTimes(node->node.attributes(), &info);
  }
  shadow::CopyTimes(info, attributes);
  return OkStatus();
}

}  // namespace

bool NeedsSameArray(const NodePtr& source) {
  return source != nullptr && source->node.is_array() &&
         zarr::Array::CheckCodecs(source->node.array()).code() == StatusCode::kUnsupported;
}

Result<CopiedArray> AdoptDataset(shadow::StoreFile& store, const NodePtr& node, host::NativeObject native,
                                 const NodePtr& source, bool with_attributes) {
  if (node->node.is_array()) return CopiedArray::kNew;
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, transfer::AskDataset(native.under, H5VL_DATASET_GET_TYPE));
  H5ZARR_ASSIGN_OR_RETURN(const Handle space, transfer::AskDataset(native.under, H5VL_DATASET_GET_SPACE));
  H5ZARR_ASSIGN_OR_RETURN(Handle dcpl, transfer::AskDataset(native.under, H5VL_DATASET_GET_DCPL));
  if (source != nullptr) {  // whose shadow says neither
    H5ZARR_ASSIGN_OR_RETURN(dcpl, shadow::RestoreDcpl(dcpl.get(), source->dataset.layout, source->dataset.alloc_time));
  }
  H5ZARR_ASSIGN_OR_RETURN(shadow::DatasetPlan plan,
                          shadow::PlanCreate(type.get(), space.get(), dcpl.get(), store.config()));
  CopiedArray copied = CopiedArray::kNew;
  if (source != nullptr) {
    const Result<bool> taken = shadow::TakeArray(*source, store.config(), with_attributes, &plan);
    const bool may_differ = taken.status().code() == StatusCode::kUnsupported && !NeedsSameArray(source);
    if (!may_differ) H5ZARR_RETURN_IF_ERROR(taken.status());
    // (A snapshot of Icechunk, which is all that is made at such a place, has chunks under "c/0/0" only.)
    if (IsGivenPlace(store.path())) plan.metadata.key_encoding = {};
    if (taken.ok()) copied = *taken ? CopiedArray::kSameChunks : CopiedArray::kSame;
    if (NeedsSameArray(source) && copied != CopiedArray::kSameChunks) {
      return zarr::Array::CheckCodecs(source->node.array()).WithContext("a copy with other chunks");
    }
  }
  SetMetadata(node, plan.metadata);
  store.UsePlan(node, std::move(plan));
  H5ZARR_ASSIGN_OR_RETURN(node->dataset.committed_type, store.CommittedTypeToken(type.get()));
  node->document_changed = true;
  return copied;
}

Status AdoptVirtual(shadow::StoreFile& store, const NodePtr& node, host::NativeObject native, hid_t dcpl) {
  if (node->dataset.virtual_layout != nullptr) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, transfer::AskDataset(native.under, H5VL_DATASET_GET_TYPE));
  // The mappings know the extent; HDF5 would look for the sources when asked for it.
  std::size_t mappings = 0;
  H5ZARR_RETURN_IF_ERROR(NativeStatus(H5Pget_virtual_count(dcpl, &mappings)));
  Handle space;
  if (mappings == 0) {
    H5ZARR_ASSIGN_OR_RETURN(space, transfer::AskDataset(native.under, H5VL_DATASET_GET_SPACE));
  }
  H5ZARR_ASSIGN_OR_RETURN(shadow::VirtualPlan plan,
                          shadow::PlanVirtual(type.get(), space.get(), dcpl, store.config().zarr_format));
  SetMetadata(node, std::move(plan.metadata));
  node->dataset.virtual_layout = std::move(plan.layout);
  node->document_changed = true;
  return OkStatus();
}

Result<std::vector<std::string>> AttributeNames(host::NativeObject native, H5_index_t order) {
  std::vector<std::string> names;
  H5O_info2_t info;
  H5VL_object_get_args_t get;
  get.op_type = H5VL_OBJECT_GET_INFO;
  get.args.get_info.fields = H5O_INFO_NUM_ATTRS;
  get.args.get_info.oinfo = &info;
  const H5VL_loc_params_t self = host::LocSelf(native.type);
  H5ZARR_RETURN_IF_ERROR(
      NativeStatus(H5VLobject_get(native.under, &self, host::NativeConnector(), &get, host::DefaultDxpl(), nullptr)));
  for (hsize_t i = 0; i < info.num_attrs; ++i) {
    H5VL_attr_get_args_t args;
    std::size_t length = 0;
    args.op_type = H5VL_ATTR_GET_NAME;
    H5VL_loc_params_t loc = host::LocSelf(native.type);
    loc.type = H5VL_OBJECT_BY_IDX;
    loc.loc_data.loc_by_idx = {".", order, H5_ITER_INC, i, H5P_LST_LINK_ACCESS_ID_g};
    args.args.get_name = {loc, 0, nullptr, &length};
    H5ZARR_RETURN_IF_ERROR(
        NativeStatus(H5VLattr_get(native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
    std::string name(length + 1, '\0');
    args.args.get_name = {loc, name.size(), name.data(), &length};
    H5ZARR_RETURN_IF_ERROR(
        NativeStatus(H5VLattr_get(native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
    name.resize(length);
    names.push_back(std::move(name));
  }
  return names;
}

Status NoteHeader(shadow::StoreFile& store, const NodePtr& node, const host::NativeHandle& from,
                  const host::NativeHandle& to, bool with_attributes) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle list, CreationList(to.object()));
  const shadow::CreationKind kind = CreationKindOf(to.type());
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity original, host::Identify(from.object()));
  if (const auto source = GetConnector().stores.ByFileNumber(original.fileno)) {
    if (const NodePtr source_node = source->FindNode(original.token)) {
      const shadow::Json& original_attributes = source_node->node.attributes();
      H5ZARR_RETURN_IF_ERROR(shadow::RestoreCreation(kind, original_attributes, list.get()));
      // (What of other conventions HDF5 programs do not see is about the file, or said in our words.)
      const auto conventions = original_attributes.find("zarr_conventions");
      const bool has_any = conventions != original_attributes.end();
      if (has_any && with_attributes) node->node.attributes()["zarr_conventions"] = *conventions;
    }
  }
  shadow::Json* attributes = &node->node.attributes();
  H5ZARR_RETURN_IF_ERROR(NoteTimesOfOriginal(from, attributes));
  shadow::NoteAttributeOrder(list.get(), attributes);
  shadow::NoteCreation(kind, list.get(), attributes);
  if (to.type() == H5I_GROUP && shadow::TracksLinkOrder(list.get())) {
    node->group.ordered = true;
    node->group.links_changed = true;
  }
  store.NoteComment(node);
  const bool ordered = !shadow::Hdf5Member(*attributes, "attr_order").is_null();
  // Attributes came with the header: all are new to the store, in the order they have there.
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          AttributeNames(to.object(), ordered ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME));
  for (const std::string& name : names) {
    store.NoteAttribute(node, name);
  }
  return OkStatus();
}

}  // namespace h5zarr
