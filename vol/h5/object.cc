// Object callbacks.

#include <set>
#include <vector>

#include "h5/connector.h"
#include "h5/dataset_chunks.h"
#include "h5/object_copy.h"

namespace h5zarr {
namespace {

using shadow::NodePtr;

void* object_open(void* opaque, const H5VL_loc_params_t* loc, H5I_type_t* type, hid_t dxpl,
                  void** request) {
  return host::GuardPointer("object_open", [&]() -> Result<void*> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    H5ZARR_RETURN_IF_ERROR(PrepareLocation(object, loc).status());
    void* under = H5VLobject_open(object->native.under, loc, host::NativeConnector(), type, dxpl,
                                  request);
    H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(under, under != nullptr ? *type : H5I_BADID, object));
    return *type == H5I_DATASET ? OpenArrayOf(wrapper, 0) : Result<void*>(wrapper);
  });
}

// Native files cannot hold shards yet: a copy would keep the filter that HDF5 then cannot run.
Status RefuseShards(const NodePtr& root) {
  std::set<const shadow::NodeState*> seen;
  std::vector<NodePtr> pending{root};
  while (!pending.empty()) {
    const NodePtr node = pending.back();
    pending.pop_back();
    if (!seen.insert(node.get()).second) continue;
    if (node->node.is_array()) {
      for (const zarr::CodecSpec& codec : node->node.array().codecs) {
        if (codec.name != "sharding_indexed") continue;
        return UnsupportedError("'/" + node->path +
                                "' is sharded, and native HDF5 files cannot hold shards yet: "
                                "convert it with other filters (h5repack -f GZIP=4)");
      }
    }
    for (const auto& [name, link] : node->group.links) {
      if (const NodePtr child = link.target.lock()) pending.push_back(child);
    }
  }
  return OkStatus();
}

herr_t object_copy(void* source, const H5VL_loc_params_t* source_loc, const char* source_name,
                   void* target, const H5VL_loc_params_t* target_loc, const char* target_name,
                   hid_t ocpypl, hid_t lcpl, hid_t dxpl, void** request) {
  return host::Guard("object_copy", [&]() -> Status {
    TraversalScope scope;
    Object* from = AsObject(source);
    Object* to = AsObject(target);
    H5ZARR_RETURN_IF_ERROR(RequireWritable(to));
    unsigned options = 0;
    H5ZARR_RETURN_IF_ERROR(NativeStatus(H5Pget_copy_object(ocpypl, &options)));
    const bool in_store = from->store != nullptr || to->store != nullptr;
    if (in_store && (options & H5O_COPY_EXPAND_REFERENCE_FLAG) != 0) {
      return UnsupportedError("copying what references lead to, from or into a Zarr store");
    }
    if (from->store != nullptr) {
      // HDF5 copies what the shadow holds: everything below the source must be there.
      H5ZARR_ASSIGN_OR_RETURN(const shadow::Resolution root,
                              PreparePath(from, source_loc, source_name));
      if (root.node != nullptr) H5ZARR_RETURN_IF_ERROR(from->store->Fill(root.node, true));
      if (root.node != nullptr && to->store == nullptr) {
        H5ZARR_RETURN_IF_ERROR(RefuseShards(root.node));
      }
    }
    if (to->store != nullptr) {
      H5ZARR_RETURN_IF_ERROR(to->store->CheckNewPath(target_name));
      H5ZARR_RETURN_IF_ERROR(PreparePath(to, target_loc, target_name).status());
    }
    const uint64_t store_opens = GetConnector().store_opens;
    H5ZARR_RETURN_IF_ERROR(NativeStatus(
        H5VLobject_copy(from->native.under, source_loc, source_name, to->native.under, target_loc,
                        target_name, host::NativeConnector(), ocpypl, lcpl, dxpl, request)));
    if ((options & H5O_COPY_EXPAND_EXT_LINK_FLAG) != 0 &&
        GetConnector().store_opens != store_opens) {
      // HDF5 has copied what that store's shadow held: headers, no data, not every member.
      return UndoOnFailure(to, target_name,
                           UnsupportedError("copying what an external link into another Zarr store "
                                            "leads to: copy from that store itself"));
    }
    if (!in_store) return OkStatus();
    // An incomplete copy is no copy.
    return UndoOnFailure(to, target_name,
                         FinishCopy({from, source_loc, source_name}, {to, target_loc, target_name}));
  });
}

herr_t object_get(void* opaque, const H5VL_loc_params_t* loc, H5VL_object_get_args_t* args,
                  hid_t dxpl, void** request) {
  return host::Guard("object_get", [&]() -> Status {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    H5ZARR_ASSIGN_OR_RETURN(const NodePtr node, PrepareLocation(object, loc));
    const bool counts_attributes = args->op_type == H5VL_OBJECT_GET_INFO &&
                                   (args->args.get_info.fields & H5O_INFO_NUM_ATTRS) != 0;
    if (counts_attributes && object->store != nullptr) {
      H5ZARR_RETURN_IF_ERROR(object->store->CompleteAttributes(node));
    }
    return NativeStatus(
        H5VLobject_get(object->native.under, loc, host::NativeConnector(), args, dxpl, request));
  });
}

herr_t object_specific(void* opaque, const H5VL_loc_params_t* loc,
                       H5VL_object_specific_args_t* args, hid_t dxpl, void** request) {
  return host::GuardValue("object_specific", [&]() -> Result<herr_t> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    switch (args->op_type) {
      case H5VL_OBJECT_CHANGE_REF_COUNT: H5ZARR_RETURN_IF_ERROR(RequireWritable(object)); break;
      case H5VL_OBJECT_VISIT: {
        if (object->store == nullptr) break;
        H5ZARR_ASSIGN_OR_RETURN(const NodePtr root, PrepareLocation(object, loc));
        if (root != nullptr) H5ZARR_RETURN_IF_ERROR(object->store->Fill(root, true));
        break;
      }
      case H5VL_OBJECT_EXISTS: case H5VL_OBJECT_LOOKUP:
        H5ZARR_RETURN_IF_ERROR(PrepareLocation(object, loc).status());
        break;
      case H5VL_OBJECT_FLUSH:
        if (object->store != nullptr) H5ZARR_RETURN_IF_ERROR(object->store->Save());
        break;
      case H5VL_OBJECT_REFRESH: break;
    }
    const herr_t result = H5VLobject_specific(object->native.under, loc, host::NativeConnector(),
                                              args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    return result;
  });
}

herr_t object_optional(void* opaque, const H5VL_loc_params_t* loc, H5VL_optional_args_t* args,
                       hid_t dxpl, void** request) {
  return host::GuardValue("object_optional", [&]() -> Result<herr_t> {
    TraversalScope scope;
    Object* object = AsObject(opaque);
    if (args->op_type == H5VL_NATIVE_OBJECT_SET_COMMENT) {
      H5ZARR_RETURN_IF_ERROR(RequireWritable(object));
    }
    H5ZARR_RETURN_IF_ERROR(PrepareLocation(object, loc).status());
    const herr_t result = H5VLobject_optional(object->native.under, loc, host::NativeConnector(),
                                              args, dxpl, request);
    if (result < 0) return host::AlreadyReported();
    return result;
  });
}

}  // namespace

const H5VL_object_class_t kObjectClass = {object_open, object_copy, object_get, object_specific,
                                          object_optional};

}  // namespace h5zarr
