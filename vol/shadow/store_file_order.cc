// The orders of creation that groups and objects track: in the shadow links and attributes have them as they are
// made.

#include <algorithm>
#include <iterator>

#include "shadow/hard_links.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/json_text.h"
#include "shadow/store_file.h"

namespace h5zarr::shadow {
namespace {

using host::NativeHandle;
using host::NativeObject;

// An attribute that is made anew becomes the last one.
Status MakeLast(NativeObject object, const std::string& name) {
  H5ZARR_ASSIGN_OR_RETURN(const NativeAttribute attribute, ReadNativeAttribute(object, name));
  H5ZARR_RETURN_IF_ERROR(host::KeepingLinkCount(object, [&] { return DeleteNativeAttribute(object, name); }));
  return WriteNativeAttribute(object, name, attribute.value, attribute.file_type.get(), attribute.name_cset);
}

}  // namespace

// The group of the shadow in which the hard link `name` of `group` is to be made. In a group that tracks the order
// of its links this is a group without a name while others have their turn: a committed datatype, or the target of a
// hard link, may be needed before it. (HDF5 moves no link out of a group without a name, but that group goes.)
Result<NativeHandle> StoreFile::OpenForLink(const NodePtr& group, const std::string& name) {
  GroupState& state = group->group;
  const bool early = state.ordered && state.filling && name != state.at_turn;
  if (!early) return host::OpenByToken(Location(), group->token);
  if (!state.early_group.valid()) H5ZARR_RETURN_IF_ERROR(MakeEarlyGroup(group));
  state.early.insert(name);
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(state.early_group.object()));
  return host::OpenByToken(Location(), identity.token);
}

Status StoreFile::MakeEarlyGroup(const NodePtr& group) {
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle parent, host::OpenByToken(Location(), group->token));
  const H5VL_loc_params_t loc = host::LocSelf(H5I_GROUP);
  group->group.early_group =
      NativeHandle(H5VLgroup_create(parent.get(), &loc, host::NativeConnector(), nullptr, H5P_LST_LINK_CREATE_ID_g,
                                    H5P_LST_GROUP_CREATE_ID_g, H5P_LST_GROUP_ACCESS_ID_g, host::DefaultDxpl(), nullptr),
                   H5I_GROUP);
  return group->group.early_group.valid() ? OkStatus() : host::AlreadyReported();
}

// It is the turn of a link that was made early, if it was.
Status StoreFile::LinkEarly(const NodePtr& group, const std::string& name) {
  GroupState& state = group->group;
  if (state.early.erase(name) == 0) return OkStatus();
  const auto link = state.links.find(name);
  const NodePtr target = link != state.links.end() ? link->second.target.lock() : nullptr;
  if (target == nullptr) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle native, host::OpenByToken(Location(), group->token));
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle object, host::OpenByToken(Location(), target->token));
  return CreateHardLink(native.object(), name, object.object());
}

// Loads the children of one group, in this order.
Status StoreFile::LoadChildren(const NodePtr& group, const std::vector<std::string>& names) {
  GroupState& state = group->group;
  state.filling = true;
  Status loaded;
  for (const std::string& name : names) {
    state.at_turn = name;
    loaded = LoadChild(group, name);
    if (loaded.ok()) loaded = LinkEarly(group, name);
    if (!loaded.ok()) break;
  }
  while (!state.early.empty()) {  // after a failure
    const Status linked = LinkEarly(group, std::string(*state.early.begin()));
    if (loaded.ok()) loaded = linked;
  }
  state.early_group.Close();
  state.at_turn.clear();
  state.filling = false;
  return loaded;
}

// Attributes that are made from what an array is (as a dimension scale) get their place among the others.
Status StoreFile::OrderAttributes(const NodePtr& node, NativeObject native) {
  const Json order = Hdf5Member(node->node.attributes(), "attr_order");
  if (!order.is_array()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> made, host::AttributeNames(native));
  std::vector<std::string> wanted;
  for (const Json& key : order) {
    if (!key.is_string()) continue;
    const std::string name = NameOfKey(key.get_ref<const std::string&>());
    const bool is_there = std::find(made.begin(), made.end(), name) != made.end();
    if (is_there && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) wanted.push_back(name);
  }
  for (const std::string& name : made) {
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) wanted.push_back(name);
  }
  const auto first = std::mismatch(wanted.begin(), wanted.end(), made.begin(), made.end()).first;
  for (auto name = first; name != wanted.end(); ++name) {
    H5ZARR_RETURN_IF_ERROR(MakeLast(native, *name));
  }
  return OkStatus();
}

// Says how attributes follow one another, where that is tracked and not as they are loaded.
Status StoreFile::EncodeAttributeOrder(const NodePtr& node, NativeObject native) {
  Json& attributes = node->node.attributes();
  const Json order = Hdf5Member(attributes, "attr_order");
  // (Where REFERENCE_LIST is not there yet, no attribute was made since.)
  if (order.is_null() || (order.is_array() && node->dataset.references_pending)) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> made, host::AttributeNames(native));
  SetHdf5Member(&attributes, "attr_order", true);
  const Json shown = AttributesForProgram(node->node);
  std::vector<std::string> implied;
  for (const auto& [name, value] : shown.items()) implied.push_back(name);
  for (const char* name : {"CLASS", "NAME", "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST"}) {
    const bool is_there = std::find(made.begin(), made.end(), name) != made.end();
    if (is_there && std::find(implied.begin(), implied.end(), name) == implied.end()) {
      implied.emplace_back(name);
    }
  }
  if (made == implied) return OkStatus();
  Json keys = Json::array();
  for (const std::string& name : made) keys.push_back(KeyOfName(name));
  SetHdf5Member(&attributes, "attr_order", std::move(keys));
  return OkStatus();
}

}  // namespace h5zarr::shadow
