#include "h5/copy_source.h"

namespace h5zarr {

Result<host::NativeHandle> OpenAt(host::NativeObject base, const H5VL_loc_params_t* loc, const char* name) {
  H5VL_loc_params_t by_name = host::LocByName(base.type, name);
  H5I_type_t type = H5I_BADID;
  void* under = nullptr;
  if (loc != nullptr && loc->type == H5VL_OBJECT_BY_TOKEN) {
    H5ZARR_ASSIGN_OR_RETURN(const host::NativeHandle group,
                            host::OpenByToken(base, host::TokenKey(*loc->loc_data.loc_by_token.token)));
    by_name.obj_type = group.type();
    under = H5VLobject_open(group.get(), &by_name, host::NativeConnector(), &type, host::DefaultDxpl(), nullptr);
  } else {
    under = H5VLobject_open(base.under, &by_name, host::NativeConnector(), &type, host::DefaultDxpl(), nullptr);
  }
  if (under == nullptr) return host::AlreadyReported();
  return host::NativeHandle(under, type);
}

Result<host::NativeHandle> OpenMember(host::NativeObject group, const std::string& name) {
  H5ZARR_ASSIGN_OR_RETURN(const H5L_info2_t info, host::LinkInfo(group, name.c_str()));
  if (info.type != H5L_TYPE_HARD) return OpenAt(group, nullptr, name.c_str());
  return host::OpenByToken(group, host::TokenKey(info.u.token));
}

CopySource::CopySource(unsigned options)
    : shallow_((options & H5O_COPY_SHALLOW_HIERARCHY_FLAG) != 0),
      expands_soft_((options & H5O_COPY_EXPAND_SOFT_LINK_FLAG) != 0),
      expands_external_((options & H5O_COPY_EXPAND_EXT_LINK_FLAG) != 0) {}

Status CopySource::Load(Object* object) {
  if (expands_soft_ || expands_external_) return Visit(object);
  if (object->store == nullptr) return OkStatus();
  met_store_ = true;
  return object->store->Fill(object->node, !shallow_);
}

Status CopySource::Visit(Object* object) {
  if (object->store != nullptr) met_store_ = true;
  if (object->native.type != H5I_GROUP && object->native.type != H5I_FILE) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(object->native));
  if (!seen_.insert({identity.fileno, identity.token}).second) return OkStatus();
  if (object->store != nullptr) {
    H5ZARR_RETURN_IF_ERROR(object->store->Fill(object->node, false));
  }
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<host::LinkName> links, host::Links(object->native, H5_INDEX_NAME));
  for (const auto& [name, type] : links) {
    if ((type == H5L_TYPE_SOFT && expands_soft_) || (type == H5L_TYPE_EXTERNAL && expands_external_)) {
      H5ZARR_RETURN_IF_ERROR(Follow(object, name));
    }
    if (type != H5L_TYPE_HARD || shallow_) continue;
    H5ZARR_ASSIGN_OR_RETURN(host::NativeHandle native, OpenMember(object->native, name));
    if (native.type() != H5I_GROUP) continue;
    H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(native.Release(), H5I_GROUP, object));
    const OwnedObject group(AsObject(wrapper));
    H5ZARR_RETURN_IF_ERROR(Visit(group.get()));
  }
  return OkStatus();
}

// A link that leads nowhere is copied as a link.
Status CopySource::Follow(Object* group, const std::string& name) {
  const H5VL_loc_params_t loc = host::LocByName(group->native.type, name.c_str());
  H5ZARR_ASSIGN_OR_RETURN(const Place at, Locate(group, &loc));
  H5I_type_t type = H5I_BADID;
  void* under = H5VLobject_open(at.under(), &at.loc, host::NativeConnector(), &type, host::DefaultDxpl(), nullptr);
  if (under == nullptr) {
    if (TraversalScope::AskedForRepetition()) return host::AlreadyReported();
    ClearErrors();
    return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(void* wrapper, Wrap(under, type, at.object));
  kept_.emplace_back(AsObject(wrapper));
  Object* target = kept_.back().get();
  if (target->store != nullptr) met_store_ = true;
  return shallow_ ? OkStatus() : Visit(target);
}

}  // namespace h5zarr
