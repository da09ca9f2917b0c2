#include "shadow/h5_types.h"

#include <algorithm>
#include <cstring>

namespace h5zarr::shadow {
namespace {

// How the bits of a float are used, in the terms of H5Tset_fields; all have an implied leading bit.
struct FloatLayout {
  std::string_view format;  // as DType::format
  std::size_t size_bytes;
  std::size_t exponent_bits;
  std::size_t mantissa_bits;
  std::size_t bias;
};

constexpr FloatLayout kFloatLayouts[] = {
    {"", 2, 5, 10, 15},
    {"", 4, 8, 23, 127},
    {"", 8, 11, 52, 1023},
    {"bfloat16", 2, 8, 7, 127},
    // Only those whose largest exponent means infinity and NaN, as HDF5 takes for granted.
    {"float8_e5m2", 1, 5, 2, 15},
    {"float8_e4m3", 1, 4, 3, 7},
    {"float8_e3m4", 1, 3, 4, 3},
};

H5T_order_t ToOrder(Endian endian) { return endian == Endian::kBig ? H5T_ORDER_BE : H5T_ORDER_LE; }

Handle Resized(hid_t base, uint64_t size_bytes, Endian endian) {
  Handle type(H5Tcopy(base));
  if (H5Tset_size(type.get(), size_bytes) < 0 || H5Tset_precision(type.get(), size_bytes * 8) < 0 ||
      H5Tset_order(type.get(), ToOrder(endian)) < 0) {
    return Handle();
  }
  return type;
}

}  // namespace

Handle MakeInteger(uint64_t size_bytes, bool is_signed, Endian endian) {
  return Resized(is_signed ? H5T_STD_I8LE : H5T_STD_U8LE, size_bytes, endian);
}

Handle MakeBitfield(uint64_t size_bytes, Endian endian) { return Resized(H5T_STD_B8LE, size_bytes, endian); }

Handle MakeFixedString(uint64_t size_bytes, H5T_str_t pad, H5T_cset_t cset) {
  Handle type(H5Tcopy(H5T_C_S1));
  if (H5Tset_size(type.get(), size_bytes) < 0 || H5Tset_strpad(type.get(), pad) < 0 ||
      H5Tset_cset(type.get(), cset) < 0) {
    return Handle();
  }
  return type;
}

Handle MakeVlenString(H5T_str_t pad, H5T_cset_t cset) { return MakeFixedString(H5T_VARIABLE, pad, cset); }

Handle MakeComplexCompound(const Handle& part) {
  const std::size_t part_bytes = H5Tget_size(part.get());
  Handle type(H5Tcreate(H5T_COMPOUND, 2 * part_bytes));
  if (H5Tinsert(type.get(), "r", 0, part.get()) < 0 || H5Tinsert(type.get(), "i", part_bytes, part.get()) < 0) {
    return Handle();
  }
  return type;
}

Handle MakeFloat(uint64_t size_bytes, std::string_view format, Endian endian) {
  for (const FloatLayout& layout : kFloatLayouts) {
    if (layout.size_bytes != size_bytes || layout.format != format) continue;
    Handle type(H5Tcopy(size_bytes == 8 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE));
    const std::size_t bits = size_bytes * 8;
    if (H5Tset_fields(type.get(), bits - 1, layout.mantissa_bits, layout.exponent_bits, 0, layout.mantissa_bits) < 0 ||
        H5Tset_precision(type.get(), bits) < 0 || H5Tset_size(type.get(), size_bytes) < 0 ||
        H5Tset_ebias(type.get(), layout.bias) < 0 || H5Tset_order(type.get(), ToOrder(endian)) < 0) {
      return Handle();
    }
    return type;
  }
  return Handle();
}

Result<Handle> RebaseEnum(hid_t type, hid_t base) {
  Handle own_base(H5Tget_super(type));
  Handle rebased(H5Tenum_create(base));
  const int members = H5Tget_nmembers(type);
  if (!own_base.valid() || !rebased.valid() || members < 0) return Hdf5Failure("an enumeration");
  const std::size_t own_bytes = H5Tget_size(own_base.get());
  const std::size_t bytes = H5Tget_size(base);
  std::vector<unsigned char> value(std::max(own_bytes, bytes));
  for (int i = 0; i < members; ++i) {
    if (H5Tget_member_value(type, static_cast<unsigned>(i), value.data()) < 0 ||
        H5Tconvert(own_base.get(), base, 1, value.data(), nullptr, H5P_DEFAULT) < 0 ||
        H5Tenum_insert(rebased.get(), MemberName(type, static_cast<unsigned>(i)).c_str(), value.data()) < 0) {
      return Hdf5Failure("a member of an enumeration");
    }
  }
  return rebased;
}

int TypeClass(hid_t type) { return static_cast<int>(H5Tget_class(type)); }

Endian TypeOrder(hid_t type) { return H5Tget_order(type) == H5T_ORDER_BE ? Endian::kBig : Endian::kLittle; }

bool IsFullWidth(hid_t type) {
  const std::size_t size_bytes = H5Tget_size(type);
  return (size_bytes == 1 || size_bytes == 2 || size_bytes == 4 || size_bytes == 8) &&
         H5Tget_precision(type) == size_bytes * 8 && H5Tget_offset(type) == 0;
}

std::optional<std::string> FloatFormat(hid_t type) {
  const std::size_t size_bytes = H5Tget_size(type);
  const H5T_order_t order = H5Tget_order(type);
  if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return std::nullopt;  // VAX
  if (!IsFullWidth(type) || H5Tget_norm(type) != H5T_NORM_IMPLIED) return std::nullopt;
  std::size_t sign_at = 0, exponent_at = 0, exponent_bits = 0, mantissa_at = 0, mantissa_bits = 0;
  if (H5Tget_fields(type, &sign_at, &exponent_at, &exponent_bits, &mantissa_at, &mantissa_bits) < 0) {
    return std::nullopt;
  }
  for (const FloatLayout& layout : kFloatLayouts) {
    if (layout.size_bytes == size_bytes && layout.exponent_bits == exponent_bits &&
        layout.mantissa_bits == mantissa_bits && layout.bias == H5Tget_ebias(type) && sign_at == size_bytes * 8 - 1 &&
        exponent_at == mantissa_bits && mantissa_at == 0) {
      return std::string(layout.format);
    }
  }
  return std::nullopt;
}

bool IsVlenString(hid_t type) { return TypeClass(type) == H5T_STRING && H5Tis_variable_str(type) > 0; }

bool IsObjectReference(hid_t type) { return TypeClass(type) == H5T_REFERENCE && H5Tequal(type, H5T_STD_REF_OBJ) > 0; }

bool HoldsVlenOrReference(hid_t type) {
  switch (TypeClass(type)) {
    case H5T_VLEN:
    case H5T_REFERENCE: return true;
    case H5T_STRING: return H5Tis_variable_str(type) > 0;
    case H5T_ARRAY: return HoldsVlenOrReference(Handle(H5Tget_super(type)).get());
    case H5T_COMPOUND: {
      const int members = H5Tget_nmembers(type);
      for (int i = 0; i < members; ++i) {
        if (HoldsVlenOrReference(Handle(H5Tget_member_type(type, static_cast<unsigned>(i))).get())) return true;
      }
      return false;
    }
    default: return false;
  }
}

unsigned ReferenceKinds(hid_t type) {
  switch (TypeClass(type)) {
    case H5T_REFERENCE:
      if (IsObjectReference(type)) return kObjectReferences;
      return H5Tequal(type, H5T_STD_REF_DSETREG) > 0 ? kRegionReferences : kAnyReferences;
    case H5T_VLEN:
    case H5T_ARRAY: return ReferenceKinds(Handle(H5Tget_super(type)).get());
    case H5T_COMPOUND: {
      unsigned kinds = 0;
      for (int i = 0; i < H5Tget_nmembers(type); ++i) {
        kinds |= ReferenceKinds(Handle(H5Tget_member_type(type, static_cast<unsigned>(i))).get());
      }
      return kinds;
    }
    default: return 0;
  }
}

Result<Handle> PackedCompound(const std::vector<std::pair<std::string, Handle>>& members) {
  std::size_t size_bytes = 0;
  for (const auto& [name, member] : members) size_bytes += H5Tget_size(member.get());
  Handle packed(H5Tcreate(H5T_COMPOUND, size_bytes));
  std::size_t offset_bytes = 0;
  for (const auto& [name, member] : members) {
    if (H5Tinsert(packed.get(), name.c_str(), offset_bytes, member.get()) < 0) {
      return Hdf5Failure("a packed compound");
    }
    offset_bytes += H5Tget_size(member.get());
  }
  return packed;
}

Result<Handle> WithAnyReferences(hid_t type) {
  if (ReferenceKinds(type) == 0) return Handle(H5Tcopy(type));
  if (TypeClass(type) == H5T_REFERENCE) return Handle(H5Tcopy(H5T_STD_REF));
  if (TypeClass(type) == H5T_COMPOUND) {
    std::vector<std::pair<std::string, Handle>> members;
    for (int i = 0; i < H5Tget_nmembers(type); ++i) {
      const unsigned index = static_cast<unsigned>(i);
      const Handle member(H5Tget_member_type(type, index));
      H5ZARR_ASSIGN_OR_RETURN(Handle changed, WithAnyReferences(member.get()));
      members.emplace_back(MemberName(type, index), std::move(changed));
    }
    return PackedCompound(members);
  }
  const Handle base(H5Tget_super(type));
  H5ZARR_ASSIGN_OR_RETURN(const Handle changed, WithAnyReferences(base.get()));
  if (TypeClass(type) == H5T_VLEN) return Handle(H5Tvlen_create(changed.get()));
  const std::vector<hsize_t> dims = ArrayDims(type);
  return Handle(H5Tarray_create2(changed.get(), static_cast<unsigned>(dims.size()), dims.data()));
}

Result<Handle> WithoutEnums(hid_t type, Layout layout) {
  if (TypeClass(type) == H5T_ENUM) return Handle(H5Tget_super(type));
  if (TypeClass(type) == H5T_ARRAY) {
    const Handle base(H5Tget_super(type));
    H5ZARR_ASSIGN_OR_RETURN(const Handle changed, WithoutEnums(base.get(), layout));
    const std::vector<hsize_t> dims = ArrayDims(type);
    return Handle(H5Tarray_create2(changed.get(), static_cast<unsigned>(dims.size()), dims.data()));
  }
  if (TypeClass(type) != H5T_COMPOUND) return Handle(H5Tcopy(type));
  std::vector<std::pair<std::string, Handle>> members;
  for (int i = 0; i < H5Tget_nmembers(type); ++i) {
    const unsigned index = static_cast<unsigned>(i);
    const Handle member(H5Tget_member_type(type, index));
    H5ZARR_ASSIGN_OR_RETURN(Handle changed, WithoutEnums(member.get(), layout));
    members.emplace_back(MemberName(type, index), std::move(changed));
  }
  if (layout == Layout::kPacked) return PackedCompound(members);
  Handle compound(H5Tcreate(H5T_COMPOUND, H5Tget_size(type)));
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::size_t offset = H5Tget_member_offset(type, static_cast<unsigned>(i));
    if (H5Tinsert(compound.get(), members[i].first.c_str(), offset, members[i].second.get()) < 0) {
      return Hdf5Failure("a compound without enumerations");
    }
  }
  return compound;
}

void NullReferences(hid_t type, void* elements, uint64_t elems) {
  if (ReferenceKinds(type) == 0) return;
  const std::size_t size_bytes = H5Tget_size(type);
  auto* at = static_cast<std::byte*>(elements);
  for (uint64_t i = 0; i < elems; ++i, at += size_bytes) {
    switch (TypeClass(type)) {
      case H5T_COMPOUND:
        for (int m = 0; m < H5Tget_nmembers(type); ++m) {
          const unsigned index = static_cast<unsigned>(m);
          const Handle member(H5Tget_member_type(type, index));
          NullReferences(member.get(), at + H5Tget_member_offset(type, index), 1);
        }
        break;
      case H5T_ARRAY: {
        const Handle base(H5Tget_super(type));
        NullReferences(base.get(), at, size_bytes / H5Tget_size(base.get()));
        break;
      }
      case H5T_VLEN: {
        hvl_t sequence;
        std::memcpy(&sequence, at, sizeof(sequence));
        const Handle base(H5Tget_super(type));
        if (sequence.p != nullptr) NullReferences(base.get(), sequence.p, sequence.len);
        break;
      }
      default:
        if (ReferenceKinds(type) == kAnyReferences) {
          H5Rdestroy(reinterpret_cast<H5R_ref_t*>(at));  // lets go of its file
        }
        std::memset(at, 0, size_bytes);
        break;
    }
  }
}

std::string MemberName(hid_t type, unsigned index) {
  char* name = H5Tget_member_name(type, index);
  std::string copy = name != nullptr ? name : "";
  if (name != nullptr) H5free_memory(name);
  return copy;
}

std::string OpaqueTag(hid_t type) {
  char* tag = H5Tget_tag(type);
  std::string copy = tag != nullptr ? tag : "";
  if (tag != nullptr) H5free_memory(tag);
  return copy;
}

std::vector<hsize_t> ArrayDims(hid_t type) {
  const int rank = H5Tget_array_ndims(type);
  std::vector<hsize_t> dims(rank > 0 ? static_cast<std::size_t>(rank) : 0);
  if (!dims.empty() && H5Tget_array_dims2(type, dims.data()) < 0) dims.clear();
  return dims;
}

std::string DescribeType(hid_t type) {
  const std::string bytes = std::to_string(H5Tget_size(type)) + "-byte ";
  switch (TypeClass(type)) {
    case H5T_INTEGER: return bytes + "integer";
    case H5T_FLOAT: return bytes + "float";
    case H5T_TIME: return bytes + "time";
    case H5T_STRING: return IsVlenString(type) ? "variable-length string" : bytes + "string";
    case H5T_BITFIELD: return bytes + "bitfield";
    case H5T_OPAQUE: return bytes + "opaque '" + OpaqueTag(type) + "'";
    case H5T_COMPOUND: return "compound of " + std::to_string(H5Tget_nmembers(type)) + " members";
    case H5T_REFERENCE: {
      if (IsObjectReference(type)) return "object reference";
      if (H5Tequal(type, H5T_STD_REF_DSETREG) > 0) return "dataset region reference";
      return "H5T_STD_REF reference";
    }
    case H5T_ENUM: return bytes + "enumeration";
    case H5T_VLEN: return "variable-length sequence";
    case H5T_ARRAY: return bytes + "array";
    case kComplexClass: return bytes + "complex";
    default: return "datatype of class " + std::to_string(TypeClass(type));
  }
}

Status Hdf5Failure(std::string_view what) { return InternalError("HDF5 refused " + std::string(what)); }

}  // namespace h5zarr::shadow
