#include "h5/copy_references.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "h5/connector.h"
#include "host/error_stack.h"
#include "shadow/h5_types.h"

namespace h5zarr {
namespace {

Status TranslateReference(hid_t type, std::byte* reference, const Translate& translate) {
  if (H5Tequal(type, H5T_STD_REF_OBJ_g) <= 0) {
    if (translate.other) return translate.other(type, reference);
    shadow::NullReferences(type, reference, 1);
    return OkStatus();
  }
  uint64_t token;
  std::memcpy(&token, reference, sizeof token);
  H5ZARR_ASSIGN_OR_RETURN(token, translate.object(token));
  std::memcpy(reference, &token, sizeof token);
  return OkStatus();
}

bool IsNull(const void* reference, std::size_t size_bytes) {
  const auto* bytes = static_cast<const unsigned char*>(reference);
  return std::all_of(bytes, bytes + size_bytes, [](unsigned char byte) { return byte == 0; });
}

Result<Handle> OpenCopy(const Handle& target, const CopyOfTarget& copy_of) {
  H5O_info2_t info;
  if (H5Oget_info3(target.get(), &info, H5O_INFO_BASIC) < 0) return host::AlreadyReported();
  return copy_of(info);
}

Status RetargetRegion(hid_t source, void* reference, const CopyOfTarget& copy_of) {
  Handle target, region;
  {
    const host::QuietErrors quiet;  // dangling references fail to open
    target = Handle(H5Rdereference2(source, H5P_DEFAULT, H5R_DATASET_REGION, reference));
    if (target.valid()) region = Handle(H5Rget_region(source, H5R_DATASET_REGION, reference));
  }
  std::memset(reference, 0, sizeof(hdset_reg_ref_t));
  if (!region.valid()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const Handle copy, OpenCopy(target, copy_of));
  return NativeStatus(H5Rcreate(reference, copy.get(), ".", H5R_DATASET_REGION, region.get()));
}

Result<std::string> AttributeName(H5R_ref_t* reference) {
  const ssize_t length = H5Rget_attr_name(reference, nullptr, 0);
  if (length < 0) return host::AlreadyReported();
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  if (H5Rget_attr_name(reference, name.data(), name.size()) < 0) return host::AlreadyReported();
  name.pop_back();
  return name;
}

// Makes `made` lead to `copy` as `reference` leads to what that is a copy of.
Status MakeAlike(H5R_ref_t* reference, hid_t copy, H5R_ref_t* made) {
  switch (H5Rget_type(reference)) {
    case H5R_OBJECT1:
    case H5R_OBJECT2: return NativeStatus(H5Rcreate_object(copy, ".", H5P_DEFAULT, made));
    case H5R_DATASET_REGION1:
    case H5R_DATASET_REGION2: {
      const Handle region(H5Ropen_region(reference, H5P_DEFAULT, H5P_DEFAULT));
      if (!region.valid()) return host::AlreadyReported();
      return NativeStatus(H5Rcreate_region(copy, ".", region.get(), H5P_DEFAULT, made));
    }
    case H5R_ATTR: {
      H5ZARR_ASSIGN_OR_RETURN(const std::string name, AttributeName(reference));
      return NativeStatus(H5Rcreate_attr(copy, ".", name.c_str(), H5P_DEFAULT, made));
    }
    default: return UnsupportedError("a reference of unknown kind");
  }
}

Status RetargetAny(H5R_ref_t* reference, const CopyOfTarget& copy_of) {
  Handle target;
  {
    const host::QuietErrors quiet;  // dangling references fail to open
    target = Handle(H5Ropen_object(reference, H5P_DEFAULT, H5P_DEFAULT));
  }
  H5R_ref_t made;
  std::memset(&made, 0, sizeof made);
  if (target.valid()) {
    H5ZARR_ASSIGN_OR_RETURN(const Handle copy, OpenCopy(target, copy_of));
    H5ZARR_RETURN_IF_ERROR(MakeAlike(reference, copy.get(), &made));
  }
  H5Rdestroy(reference);
  std::memcpy(reference, &made, sizeof made);
  return OkStatus();
}

}  // namespace

Status TranslateReferences(hid_t type, std::byte* data, uint64_t count, uint64_t stride, const Translate& translate) {
  switch (H5Tget_class(type)) {
    case H5T_REFERENCE:
      for (uint64_t i = 0; i < count; ++i) {
        H5ZARR_RETURN_IF_ERROR(TranslateReference(type, data + i * stride, translate));
      }
      return OkStatus();
    case H5T_COMPOUND:
      for (int i = 0; i < H5Tget_nmembers(type); ++i) {
        const Handle member(H5Tget_member_type(type, i));
        H5ZARR_RETURN_IF_ERROR(
            TranslateReferences(member.get(), data + H5Tget_member_offset(type, i), count, stride, translate));
      }
      return OkStatus();
    case H5T_ARRAY: {
      const Handle base(H5Tget_super(type));
      const uint64_t bytes = H5Tget_size(base.get());
      for (uint64_t i = 0; i < count; ++i) {
        H5ZARR_RETURN_IF_ERROR(
            TranslateReferences(base.get(), data + i * stride, H5Tget_size(type) / bytes, bytes, translate));
      }
      return OkStatus();
    }
    case H5T_VLEN: {
      const Handle base(H5Tget_super(type));
      for (uint64_t i = 0; i < count; ++i) {
        hvl_t sequence;
        std::memcpy(&sequence, data + i * stride, sizeof sequence);
        H5ZARR_RETURN_IF_ERROR(TranslateReferences(base.get(), static_cast<std::byte*>(sequence.p), sequence.len,
                                                   H5Tget_size(base.get()), translate));
      }
      return OkStatus();
    }
    default: return OkStatus();
  }
}

Result<Handle> RegisterNative(host::NativeHandle native) {
  Handle registered(H5VLwrap_register(native.get(), native.type()));
  if (!registered.valid()) return host::AlreadyReported();
  native.Release();  // now the identifier's
  return registered;
}

Status Retarget(hid_t source, hid_t type, void* reference, const CopyOfTarget& copy_of) {
  if (IsNull(reference, H5Tget_size(type))) return OkStatus();
  if (H5Tequal(type, H5T_STD_REF_DSETREG) > 0) return RetargetRegion(source, reference, copy_of);
  return RetargetAny(static_cast<H5R_ref_t*>(reference), copy_of);
}

}  // namespace h5zarr
