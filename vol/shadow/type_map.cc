#include "shadow/type_map.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/checked.h"
#include "shadow/h5_types.h"
#include "shadow/json_text.h"
#include "zarr/small_float.h"

namespace h5zarr::shadow {
namespace {

using Kind = DType::Kind;
using Form = ElementMap::Form;

// Array members become one field an element in Zarr v3, which has no array fields, up to so many;
// larger ones become opaque bytes.
constexpr uint64_t kMaxFlattenedElems = 256;

// A fixed-size HDF5 type in Zarr: elements of `dtype`, prod(elem_dims) of them for one of HDF5's.
struct FixedMap {
  DType dtype;
  std::vector<uint64_t> elem_dims;
};

// Bytes that Zarr has no name for.
FixedMap AsBytesOf(hid_t type) { return {DType::Uint(1), {H5Tget_size(type)}}; }

// The size of the Zarr integer that holds the integer `type`, or 0 where there is none.
uint64_t CoreIntegerBytes(hid_t type) {
  const std::size_t precision = H5Tget_precision(type);
  for (const uint64_t size_bytes : {1, 2, 4, 8}) {
    if (precision <= size_bytes * 8) return size_bytes;
  }
  return 0;
}

FixedMap MapInteger(hid_t type, Endian endian) {
  const uint64_t size_bytes = CoreIntegerBytes(type);
  if (size_bytes == 0) return AsBytesOf(type);
  if (size_bytes == 1) endian = Endian::kLittle;  // Zarr says none: HDF5's is a part of its own type
  if (H5Tget_sign(type) == H5T_SGN_NONE) return {DType::Uint(size_bytes, endian), {}};
  return {DType::Int(size_bytes, endian), {}};
}

bool HasIntegerSize(hid_t type) {
  const std::size_t size_bytes = H5Tget_size(type);
  return size_bytes == 1 || size_bytes == 2 || size_bytes == 4 || size_bytes == 8;
}

// h5py keeps NumPy's datetimes as opaque types tagged with the dtype: "NUMPY:<M8[ns]".
std::optional<DType> DatetimeOfTag(hid_t type) {
  constexpr std::string_view kPrefix = "NUMPY:";
  const std::string tag = OpaqueTag(type);
  if (H5Tget_size(type) != 8 || !tag.starts_with(kPrefix)) return std::nullopt;
  std::string_view text = std::string_view(tag).substr(kPrefix.size());
  DType dtype;
  dtype.item_bytes = 8;
  dtype.unit = "generic";
  if (!text.empty() && (text[0] == '<' || text[0] == '>')) {
    if (text[0] == '>') dtype.endian = Endian::kBig;
    text.remove_prefix(1);
  }
  if (text.starts_with("M8")) dtype.kind = Kind::kDatetime;
  else if (text.starts_with("m8")) dtype.kind = Kind::kTimedelta;
  else return std::nullopt;
  text.remove_prefix(2);
  if (text.empty()) return dtype;
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  uint64_t scale = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  if (error == std::errc()) {
    if (scale == 0 || scale > INT32_MAX) return std::nullopt;
    dtype.scale_factor = scale;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  constexpr std::string_view kUnits[] = {"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                         "ms", "us", "ns", "ps", "fs", "as", "generic"};
  if (std::find(std::begin(kUnits), std::end(kUnits), text) == std::end(kUnits)) {
    return std::nullopt;
  }
  dtype.unit = text;
  return dtype;
}

// The part of a compound that h5py makes of complex numbers: {r, i} of equal floats, packed.
Handle ComplexPart(hid_t type) {
  if (TypeClass(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2) return Handle();
  Handle real(H5Tget_member_type(type, 0));
  Handle imaginary(H5Tget_member_type(type, 1));
  if (TypeClass(real.get()) != H5T_FLOAT || H5Tequal(real.get(), imaginary.get()) <= 0 ||
      FloatFormat(real.get()) != "" || H5Tget_size(real.get()) < 4 ||
      H5Tget_size(type) != 2 * H5Tget_size(real.get()) || H5Tget_member_offset(type, 0) != 0 ||
      MemberName(type, 0) != "r" || MemberName(type, 1) != "i") {
    return Handle();
  }
  return real;
}

Result<FixedMap> MapFixed(hid_t type, int zarr_format, bool in_struct);

void AddField(DType* dtype, std::string name, std::vector<uint64_t> shape, DType member) {
  const uint64_t elems = CheckedProduct(shape).value_or(0);
  DTypeField field{std::move(name), dtype->item_bytes, std::move(shape), std::move(member)};
  dtype->item_bytes += elems * field.dtype.item_bytes;
  dtype->fields.push_back(std::move(field));
}

// A name no other field has; as HDF5's where that can be.
std::string FieldName(std::string name, std::set<std::string>* taken) {
  if (!IsValidUtf8(name)) name = "f" + std::to_string(taken->size());
  while (!taken->insert(name).second) name += '_';
  return name;
}

Result<FixedMap> MapCompound(hid_t type, int zarr_format) {
  DType dtype;
  dtype.kind = Kind::kStruct;
  std::set<std::string> taken;
  const int members = H5Tget_nmembers(type);
  if (members <= 0) return UnsupportedError("HDF5 compound without members");
  for (int i = 0; i < members; ++i) {
    const unsigned index = static_cast<unsigned>(i);
    Handle member(H5Tget_member_type(type, index));
    if (!member.valid()) return Hdf5Failure("a member of a compound");
    H5ZARR_ASSIGN_OR_RETURN(FixedMap field, MapFixed(member.get(), zarr_format, true));
    const std::string name = MemberName(type, index);
    const uint64_t elems = CheckedProduct(field.elem_dims).value_or(0);
    const uint64_t stored_bytes = elems * field.dtype.item_bytes;
    if (field.elem_dims.empty() || zarr_format == 2) {
      AddField(&dtype, FieldName(name, &taken), field.elem_dims, std::move(field.dtype));
    } else if (elems > kMaxFlattenedElems || field.dtype == DType::Uint(1)) {
      AddField(&dtype, FieldName(name, &taken), {}, DType::Raw(stored_bytes));
    } else {
      for (uint64_t k = 0; k < elems; ++k) {
        AddField(&dtype, FieldName(name + "[" + std::to_string(k) + "]", &taken), {}, field.dtype);
      }
    }
  }
  return FixedMap{std::move(dtype), {}};
}

Result<FixedMap> MapArray(hid_t type, int zarr_format, bool in_struct) {
  Handle base(H5Tget_super(type));
  H5ZARR_ASSIGN_OR_RETURN(FixedMap map, MapFixed(base.get(), zarr_format, in_struct));
  const std::vector<hsize_t> dims = ArrayDims(type);
  map.elem_dims.insert(map.elem_dims.begin(), dims.begin(), dims.end());
  return map;
}

// Members of structs are stored little endian, whatever HDF5 has: other readers take no other.
Result<FixedMap> MapFixed(hid_t type, int zarr_format, bool in_struct) {
  const Endian own_endian = TypeOrder(type);
  const Endian endian = in_struct ? Endian::kLittle : own_endian;
  const bool order_kept = endian == own_endian;
  switch (TypeClass(type)) {
    case H5T_INTEGER: return MapInteger(type, endian);
    case H5T_BITFIELD:
      if (!HasIntegerSize(type)) return AsBytesOf(type);
      return FixedMap{DType::Uint(H5Tget_size(type), endian), {}};
    case H5T_TIME:  // HDF5 converts times to nothing else, not even their byte order
      if (!HasIntegerSize(type) || !order_kept) return AsBytesOf(type);
      return FixedMap{DType::Int(H5Tget_size(type), endian), {}};
    case H5T_FLOAT: {
      const std::optional<std::string> format = FloatFormat(type);
      if (!format || (zarr_format == 2 && !format->empty())) return AsBytesOf(type);
      DType dtype = DType::Float(H5Tget_size(type), endian);
      dtype.format = *format;
      return FixedMap{std::move(dtype), {}};
    }
    case kComplexClass: {
      Handle part(H5Tget_super(type));
      const Endian part_endian = TypeOrder(part.get());
      if (FloatFormat(part.get()) != "" || H5Tget_size(part.get()) < 4 || (in_struct && part_endian == Endian::kBig)) {
        return AsBytesOf(type);
      }
      return FixedMap{DType::Complex(H5Tget_size(type), part_endian), {}};
    }
    case H5T_STRING:
      if (IsVlenString(type)) break;
      return FixedMap{DType::Bytes(H5Tget_size(type)), {}};
    case H5T_OPAQUE: {
      std::optional<DType> datetime = DatetimeOfTag(type);
      if (datetime && !(in_struct && datetime->endian == Endian::kBig)) {
        return FixedMap{std::move(*datetime), {}};
      }
      return FixedMap{DType::Raw(H5Tget_size(type)), {}};
    }
    case H5T_ENUM: {
      if (IsBoolType(type)) return FixedMap{DType::Bool(), {}};
      Handle base(H5Tget_super(type));
      return MapInteger(base.get(), in_struct ? Endian::kLittle : TypeOrder(base.get()));
    }
    case H5T_ARRAY: return MapArray(type, zarr_format, in_struct);
    case H5T_COMPOUND: {
      const Handle part = ComplexPart(type);
      if (!part.valid()) return MapCompound(type, zarr_format);
      const Endian part_endian = in_struct ? Endian::kLittle : TypeOrder(part.get());
      return FixedMap{DType::Complex(H5Tget_size(type), part_endian), {}};
    }
    default: break;
  }
  return UnsupportedError("HDF5 " + DescribeType(type) + " has no form in Zarr");
}

// The HDF5 type of the bytes that Zarr stores for `type`: packed, integers widened, in `endian`.
// What HDF5 cannot convert stays as it is.
Result<Handle> StoredForm(hid_t type, Endian endian);

Result<Handle> StoredCompound(hid_t type, Endian endian) {
  const Handle part = ComplexPart(type);
  if (part.valid()) return MakeComplexCompound(MakeFloat(H5Tget_size(part.get()), "", endian));
  std::vector<std::pair<std::string, Handle>> members;
  for (int i = 0; i < H5Tget_nmembers(type); ++i) {
    Handle member(H5Tget_member_type(type, static_cast<unsigned>(i)));
    H5ZARR_ASSIGN_OR_RETURN(Handle stored, StoredForm(member.get(), Endian::kLittle));
    members.emplace_back(MemberName(type, static_cast<unsigned>(i)), std::move(stored));
  }
  return PackedCompound(members);
}

Result<Handle> StoredForm(hid_t type, Endian endian) {
  switch (TypeClass(type)) {
    case H5T_INTEGER: {
      const uint64_t size_bytes = CoreIntegerBytes(type);
      if (size_bytes == 0) break;
      return MakeInteger(size_bytes, H5Tget_sign(type) != H5T_SGN_NONE, endian);
    }
    case H5T_BITFIELD: {
      if (!HasIntegerSize(type)) break;
      Handle copy(H5Tcopy(type));
      if (H5Tset_order(copy.get(), endian == Endian::kBig ? H5T_ORDER_BE : H5T_ORDER_LE) < 0) {
        return Hdf5Failure("a bitfield's order");
      }
      return copy;
    }
    case H5T_FLOAT: {
      const std::optional<std::string> format = FloatFormat(type);
      if (!format) break;
      return MakeFloat(H5Tget_size(type), *format, endian);
    }
    case H5T_ENUM: {
      Handle base(H5Tget_super(type));
      if (CoreIntegerBytes(base.get()) == 0) break;
      H5ZARR_ASSIGN_OR_RETURN(const Handle stored_base, StoredForm(base.get(), endian));
      return RebaseEnum(type, stored_base.get());
    }
    case H5T_ARRAY: {
      Handle base(H5Tget_super(type));
      H5ZARR_ASSIGN_OR_RETURN(const Handle stored_base, StoredForm(base.get(), endian));
      const std::vector<hsize_t> dims = ArrayDims(type);
      return Handle(H5Tarray_create2(stored_base.get(), static_cast<unsigned>(dims.size()), dims.data()));
    }
    case H5T_COMPOUND: return StoredCompound(type, endian);
    default: break;
  }
  return Handle(H5Tcopy(type));
}

bool HasUtf32(const DType& dtype) {
  return dtype.kind == Kind::kUtf32 || std::any_of(dtype.fields.begin(), dtype.fields.end(),
                                                   [](const DTypeField& field) { return HasUtf32(field.dtype); });
}

// What an array of `dtype` without a description shows.
Result<Handle> DefaultType(const DType& dtype);

Result<Handle> DefaultCompound(const DType& dtype) {
  Handle type(H5Tcreate(H5T_COMPOUND, std::max<uint64_t>(dtype.item_bytes, 1)));
  if (dtype.fields.empty()) return UnsupportedError("Zarr struct without fields");
  for (const DTypeField& field : dtype.fields) {
    H5ZARR_ASSIGN_OR_RETURN(Handle member, DefaultType(field.dtype));
    if (!field.shape.empty()) {
      const std::vector<hsize_t> dims(field.shape.begin(), field.shape.end());
      member = Handle(H5Tarray_create2(member.get(), static_cast<unsigned>(dims.size()), dims.data()));
    }
    if (!member.valid() || H5Tinsert(type.get(), field.name.c_str(), field.offset_bytes, member.get()) < 0) {
      return UnsupportedError("HDF5 cannot show a struct with field '" + field.name + "'");
    }
  }
  return type;
}

Result<Handle> DefaultType(const DType& dtype) {
  const QuietErrors quiet;
  Handle type;
  switch (dtype.kind) {
    case Kind::kBool: type = MakeBoolType(); break;
    case Kind::kInt:
    case Kind::kUint:
      type = MakeInteger(dtype.item_bytes, dtype.kind == Kind::kInt, dtype.endian);
      if (!dtype.format.empty()) {
        const auto bits = static_cast<std::size_t>(zarr::IntegerBits(dtype));
        if (H5Tset_precision(type.get(), bits) < 0) return Hdf5Failure("an integer of a few bits");
      }
      break;
    case Kind::kDatetime:
    case Kind::kTimedelta: type = MakeInteger(8, true, dtype.endian); break;
    case Kind::kFloat: type = MakeFloat(dtype.item_bytes, dtype.format, dtype.endian); break;
    case Kind::kComplex: {
      const Handle part = MakeFloat(dtype.item_bytes / 2, dtype.format, dtype.endian);
      if (part.valid()) type = MakeComplexCompound(part);
      break;
    }
    case Kind::kRaw:
      if (dtype.item_bytes > 0) type = Handle(H5Tcreate(H5T_OPAQUE, dtype.item_bytes));
      break;
    case Kind::kBytes:
      if (dtype.item_bytes == 0) break;
      type = MakeFixedString(dtype.item_bytes, H5T_STR_NULLPAD, H5T_CSET_ASCII);
      break;
    case Kind::kUtf32:
      if (dtype.item_bytes == 0) break;
      type = MakeFixedString(dtype.item_bytes, H5T_STR_NULLPAD, H5T_CSET_UTF8);
      break;
    case Kind::kStruct: return DefaultCompound(dtype);
    case Kind::kString: type = MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8); break;
    case Kind::kVlenBytes: type = Handle(H5Tvlen_create(H5T_STD_U8LE)); break;
  }
  if (type.valid()) return type;
  if (dtype.item_bytes == 0) return UnsupportedError("HDF5 has no type for elements of 0 bytes");
  return UnsupportedError("HDF5 has no type for Zarr's " +
                          (dtype.format.empty() ? std::string("data type") : dtype.format) + " of " +
                          std::to_string(dtype.item_bytes) + " bytes");
}

Form DefaultForm(const DType& dtype) {
  if (dtype.kind == Kind::kString) return Form::kVlenString;
  if (dtype.kind == Kind::kVlenBytes) return Form::kVlenSequence;
  return HasUtf32(dtype) ? Form::kUtf32 : Form::kPlain;
}

// The map without its hdf5_type.
Result<ElementMap> MapStorage(hid_t type, int zarr_format) {
  ElementMap map;
  if (!HoldsVlenOrReference(type)) {
    H5ZARR_ASSIGN_OR_RETURN(FixedMap fixed, MapFixed(type, zarr_format, false));
    map.dtype = std::move(fixed.dtype);
    map.elem_dims = std::move(fixed.elem_dims);
    return map;
  }
  map.dtype = DType::String();
  map.form = Form::kJsonElement;
  if (IsVlenString(type)) {
    map.form = Form::kVlenString;
  } else if (IsObjectReference(type)) {
    map.form = Form::kObjectReference;
  } else if (TypeClass(type) == H5T_VLEN) {
    Handle base(H5Tget_super(type));
    if (!HoldsVlenOrReference(base.get())) {
      map.form = Form::kVlenSequence;
      map.dtype = DType::VlenBytes();
      H5ZARR_RETURN_IF_ERROR(MapFixed(base.get(), zarr_format, true).status());
    }
  }
  return map;
}

// The same bytes in Zarr. The byte order of whole elements may differ: `dtype` has the last word.
bool SameStorage(const ElementMap& expected, const DType& dtype) {
  DType actual = dtype;
  if (actual.kind != Kind::kStruct) actual.endian = expected.dtype.endian;
  return actual == expected.dtype;
}

void AppendUtf32Parts(const DType& dtype, uint64_t offset_bytes, uint64_t elems, std::vector<Utf32Part>* parts) {
  if (dtype.kind == Kind::kUtf32) {
    parts->push_back({offset_bytes, dtype.item_bytes, elems, dtype.endian});
    return;
  }
  if (!HasUtf32(dtype)) return;
  for (uint64_t i = 0; i < elems; ++i) {
    for (const DTypeField& field : dtype.fields) {
      AppendUtf32Parts(field.dtype, offset_bytes + i * dtype.item_bytes + field.offset_bytes,
                       CheckedProduct(field.shape).value_or(0), parts);
    }
  }
}

}  // namespace

uint64_t ElementMap::stored_bytes() const { return dtype.item_bytes * CheckedProduct(elem_dims).value_or(0); }

Result<ElementMap> MapToZarr(hid_t type, int zarr_format) {
  H5ZARR_ASSIGN_OR_RETURN(ElementMap map, MapStorage(type, zarr_format));
  H5ZARR_ASSIGN_OR_RETURN(Json own, TypeToJson(type));
  if (map.elem_dims.empty() && map.form == DefaultForm(map.dtype)) {
    H5ZARR_ASSIGN_OR_RETURN(const Handle shown, DefaultType(map.dtype));
    H5ZARR_ASSIGN_OR_RETURN(const Json shown_json, TypeToJson(shown.get()));
    if (shown_json == own) return map;
  }
  map.hdf5_type = std::move(own);
  return map;
}

Result<ElementMap> MapVerbatim(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  if (bytes == 0 || HoldsVlenOrReference(type)) {
    return UnsupportedError("elements of HDF5 " + DescribeType(type));
  }
  ElementMap map;
  map.dtype = DType::Raw(bytes);
  map.verbatim = true;
  H5ZARR_ASSIGN_OR_RETURN(map.hdf5_type, TypeToJson(type));
  H5ZARR_ASSIGN_OR_RETURN(const Handle again, TypeFromJson(map.hdf5_type));
  if (H5Tequal(again.get(), type) <= 0) return UnsupportedError("HDF5 " + DescribeType(type));
  return map;
}

Result<ElementMap> MapFromZarr(const DType& dtype, const std::vector<uint64_t>& shape, const Json& hdf5_type) {
  ElementMap map;
  map.dtype = dtype;
  if (hdf5_type.is_null()) {
    map.form = DefaultForm(dtype);
    H5ZARR_RETURN_IF_ERROR(DefaultType(dtype).status());
    return map;
  }
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, TypeFromJson(hdf5_type));
  for (const int zarr_format : {3, 2}) {
    H5ZARR_ASSIGN_OR_RETURN(ElementMap expected, MapStorage(type.get(), zarr_format));
    if (!SameStorage(expected, dtype)) continue;
    const std::vector<uint64_t>& dims = expected.elem_dims;
    if (shape.size() < dims.size() || !std::equal(dims.rbegin(), dims.rend(), shape.rbegin())) {
      return CorruptError("_hdf5.type " + zarr::BriefJson(hdf5_type) +
                          " needs other last dimensions than the array has");
    }
    map.form = expected.form;
    map.elem_dims = dims;
    map.hdf5_type = hdf5_type;
    return map;
  }
  return CorruptError("_hdf5.type " + zarr::BriefJson(hdf5_type) + " contradicts the array's data type");
}

Result<Handle> ReportedType(const ElementMap& map) {
  return map.hdf5_type.is_null() ? DefaultType(map.dtype) : TypeFromJson(map.hdf5_type);
}

Result<Handle> StoredType(const ElementMap& map) {
  if (map.hdf5_type.is_null()) return DefaultType(map.dtype);
  H5ZARR_ASSIGN_OR_RETURN(Handle reported, TypeFromJson(map.hdf5_type));
  if (map.verbatim) return reported;
  const QuietErrors quiet;
  const Endian endian = map.dtype.has_endian() ? map.dtype.endian : Endian::kLittle;
  H5ZARR_ASSIGN_OR_RETURN(Handle stored, StoredForm(reported.get(), endian));
  if (!stored.valid() || H5Tget_size(stored.get()) != map.stored_bytes()) {
    return InternalError("the stored form of HDF5 " + DescribeType(reported.get()) + " is not as large as " +
                         std::to_string(map.stored_bytes()) + " bytes");
  }
  return stored;
}

Result<Handle> StoredItemType(const ElementMap& map) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle reported, ReportedType(map));
  Handle base(H5Tget_super(reported.get()));
  if (!base.valid()) return Hdf5Failure("the base of a sequence");
  return StoredForm(base.get(), Endian::kLittle);
}

std::vector<Utf32Part> Utf32Parts(const DType& dtype) {
  std::vector<Utf32Part> parts;
  AppendUtf32Parts(dtype, 0, 1, &parts);
  return parts;
}

}  // namespace h5zarr::shadow
