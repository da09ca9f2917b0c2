#include "h5/copied_fill.h"

#include <cstring>

#include "host/handle.h"
#include "shadow/h5_types.h"
#include "shadow/hdf5_attribute.h"
#include "transfer/chunk_list.h"

namespace h5zarr {
namespace {

using host::NativeHandle;
using host::NativeObject;

// The property list of a dataset whose fill value has variable length; of any other an invalid handle. (One that HDF5
// made has a fill value that cannot be read: it is copied as HDF5 does.)
Handle ListWithSuchFill(const NativeHandle& dataset) {
  const host::KeepErrors keep;
  const Result<Handle> type = transfer::AskDataset(dataset.get(), H5VL_DATASET_GET_TYPE);
  if (!type.ok() || !shadow::HoldsVlenOrReference(type->get())) return Handle();
  Result<Handle> dcpl = transfer::AskDataset(dataset.get(), H5VL_DATASET_GET_DCPL);
  H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
  if (!dcpl.ok() || H5Pget_layout(dcpl->get()) == H5D_VIRTUAL || H5Pfill_value_defined(dcpl->get(), &defined) < 0 ||
      defined != H5D_FILL_VALUE_USER_DEFINED) {
    return Handle();
  }
  return std::move(dcpl).value();
}

Status Unlink(NativeObject group, const std::string& path) {
  H5VL_link_specific_args_t args;
  std::memset(&args, 0, sizeof args);
  args.op_type = H5VL_LINK_DELETE;
  const H5VL_loc_params_t loc = host::LocByName(group.type, path.c_str());
  const int done = H5VLlink_specific(group.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr);
  return done < 0 ? host::AlreadyReported() : OkStatus();
}

Status LinkTo(NativeObject object, NativeObject group, const std::string& path, hid_t lcpl) {
  H5VL_link_create_args_t args;
  std::memset(&args, 0, sizeof args);
  args.op_type = H5VL_LINK_CREATE_HARD;
  args.args.hard.curr_obj = object.under;
  args.args.hard.curr_loc_params = host::LocSelf(object.type);
  const H5VL_loc_params_t loc = host::LocByName(group.type, path.c_str());
  const int done = H5VLlink_create(&args, group.under, &loc, host::NativeConnector(), lcpl, H5P_LST_LINK_ACCESS_ID_g,
                                   host::DefaultDxpl(), nullptr);
  return done < 0 ? host::AlreadyReported() : OkStatus();
}

// With the character set that the link at `path` has.
Result<Handle> ListOfLink(NativeObject group, const std::string& path) {
  H5ZARR_ASSIGN_OR_RETURN(const H5L_info2_t link, host::LinkInfo(group, path.c_str()));
  Handle lcpl(H5Pcopy(H5P_LST_LINK_CREATE_ID_g));
  if (!lcpl.valid() || H5Pset_char_encoding(lcpl.get(), link.cset) < 0) return host::AlreadyReported();
  return lcpl;
}

Status CopyHeader(NativeObject from, NativeObject to) {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> names, host::AttributeNames(from));
  for (const std::string& name : names) {
    H5ZARR_ASSIGN_OR_RETURN(const shadow::NativeAttribute attribute, shadow::ReadNativeAttribute(from, name));
    H5ZARR_RETURN_IF_ERROR(
        shadow::WriteNativeAttribute(to, name, attribute.value, attribute.file_type.get(), attribute.name_cset));
  }
  H5ZARR_ASSIGN_OR_RETURN(const std::string comment, shadow::ReadNativeComment(from));
  return comment.empty() ? OkStatus() : shadow::WriteNativeComment(to, comment);
}

}  // namespace

Status CopiedFills::Mend(const NativeHandle& from, NativeObject group, const std::string& path) {
  if (from.type() != H5I_DATASET) return OkStatus();
  const Handle dcpl = ListWithSuchFill(from);
  if (!dcpl.valid()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity copy, host::IdentifyByName(group, path.c_str()));
  for (const auto& [old, made] : made_) {
    if (made == copy.token) return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(const Handle lcpl, ListOfLink(group, path));
  const auto known = made_.find(copy.token);
  if (known != made_.end()) {
    H5ZARR_ASSIGN_OR_RETURN(const NativeHandle made, host::OpenByToken(group, known->second));
    H5ZARR_RETURN_IF_ERROR(Unlink(group, path));
    return LinkTo(made.object(), group, path, lcpl.get());
  }
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle old, host::OpenByToken(group, copy.token));
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, transfer::AskDataset(old.get(), H5VL_DATASET_GET_TYPE));
  H5ZARR_ASSIGN_OR_RETURN(const Handle space, transfer::AskDataset(old.get(), H5VL_DATASET_GET_SPACE));
  H5ZARR_RETURN_IF_ERROR(Unlink(group, path));
  const H5VL_loc_params_t self = host::LocSelf(group.type);
  const NativeHandle made(
      H5VLdataset_create(group.under, &self, host::NativeConnector(), path.c_str(), lcpl.get(), type.get(), space.get(),
                         dcpl.get(), H5P_LST_DATASET_ACCESS_ID_g, host::DefaultDxpl(), nullptr),
      H5I_DATASET);
  if (!made.valid()) return host::AlreadyReported();
  H5ZARR_ASSIGN_OR_RETURN(const host::Identity identity, host::Identify(made.object()));
  made_.emplace(copy.token, identity.token);
  return CopyHeader(old.object(), made.object());
}

}  // namespace h5zarr
