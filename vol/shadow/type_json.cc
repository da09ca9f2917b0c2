// HDF5 datatypes as JSON: the words of hdf5-json, extended where that loses something.
#include <cstring>

#include "base/checked.h"
#include "shadow/h5_types.h"
#include "shadow/json_text.h"
#include "shadow/type_map.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {
namespace {

constexpr int kMaxNesting = 64;

Json ClassObject(std::string_view name) {
  Json json = Json::object();
  json["class"] = std::string(name);
  return json;
}

std::string_view OrderName(hid_t type) { return TypeOrder(type) == Endian::kBig ? "BE" : "LE"; }

// No padding bits that are set, so that a size and a precision say it all.
bool HasPlainPadding(hid_t type) {
  H5T_pad_t low = H5T_PAD_ERROR;
  H5T_pad_t high = H5T_PAD_ERROR;
  return H5Tget_pad(type, &low, &high) >= 0 && low == H5T_PAD_ZERO && high == H5T_PAD_ZERO;
}

bool HasPlainOrder(hid_t type) {
  const H5T_order_t order = H5Tget_order(type);
  return order == H5T_ORDER_LE || order == H5T_ORDER_BE;
}

// H5Tencode's bytes; for types of atomic classes, which are a few bytes in every release's format.
Result<Json> EncodedType(hid_t type, Json json) {
  std::size_t size_bytes = 0;
  if (H5Tencode(type, nullptr, &size_bytes) < 0) return Hdf5Failure("to encode a datatype");
  std::vector<std::byte> bytes(size_bytes);
  if (H5Tencode(type, bytes.data(), &size_bytes) < 0) return Hdf5Failure("to encode a datatype");
  bytes.resize(size_bytes);
  json["base64"] = zarr::EncodeBase64(bytes);
  return json;
}

Result<Json> IntegerToJson(hid_t type, bool is_bitfield) {
  const std::size_t size_bytes = H5Tget_size(type);
  const bool has_name = size_bytes == 1 || size_bytes == 2 || size_bytes == 4 || size_bytes == 8;
  if (!has_name || !HasPlainPadding(type) || !HasPlainOrder(type)) {
    return EncodedType(type, ClassObject("encoded"));
  }
  const char kind = is_bitfield ? 'B' : H5Tget_sign(type) == H5T_SGN_NONE ? 'U' : 'I';
  const std::string name =
      std::string("H5T_STD_") + kind + std::to_string(size_bytes * 8) + std::string(OrderName(type));
  if (IsFullWidth(type)) return Json(name);
  Json json = ClassObject(is_bitfield ? "H5T_BITFIELD" : "H5T_INTEGER");
  json["base"] = name;
  json["precision"] = H5Tget_precision(type);
  json["offset"] = H5Tget_offset(type);
  return json;
}

Result<Json> FloatToJson(hid_t type) {
  const std::optional<std::string> format = FloatFormat(type);
  H5T_pad_t inner = H5Tget_inpad(type);
  if (!format || !HasPlainPadding(type) || inner != H5T_PAD_ZERO) {
    return EncodedType(type, ClassObject("encoded"));
  }
  const std::string order(OrderName(type));
  if (format->empty()) return Json("H5T_IEEE_F" + std::to_string(H5Tget_size(type) * 8) + order);
  if (*format == "bfloat16") return Json("H5T_FLOAT_BFLOAT16" + order);
  if (order == "BE") return EncodedType(type, ClassObject("encoded"));
  if (*format == "float8_e4m3") return Json("H5T_FLOAT_F8E4M3");
  if (*format == "float8_e5m2") return Json("H5T_FLOAT_F8E5M2");
  return EncodedType(type, ClassObject("encoded"));
}

Json StringToJson(hid_t type) {
  Json json = ClassObject("H5T_STRING");
  json["charSet"] = H5Tget_cset(type) == H5T_CSET_UTF8 ? "H5T_CSET_UTF8" : "H5T_CSET_ASCII";
  switch (H5Tget_strpad(type)) {
    case H5T_STR_NULLPAD: json["strPad"] = "H5T_STR_NULLPAD"; break;
    case H5T_STR_SPACEPAD: json["strPad"] = "H5T_STR_SPACEPAD"; break;
    default: json["strPad"] = "H5T_STR_NULLTERM"; break;
  }
  if (H5Tis_variable_str(type) > 0) json["length"] = "H5T_VARIABLE";
  else json["length"] = H5Tget_size(type);
  return json;
}

Result<Json> EnumToJson(hid_t type) {
  Handle base(H5Tget_super(type));
  H5ZARR_ASSIGN_OR_RETURN(Json base_json, TypeToJson(base.get()));
  const bool is_signed = H5Tget_sign(base.get()) != H5T_SGN_NONE;
  Handle wide = MakeInteger(8, is_signed, Endian::kLittle);
  Json json = ClassObject("H5T_ENUM");
  json["base"] = std::move(base_json);
  // A list of pairs where a name cannot be a member's name.
  Json mapping = Json::object();
  Json pairs = Json::array();
  const int members = H5Tget_nmembers(type);
  bool names_valid = true;
  for (int i = 0; i < members; ++i) {
    alignas(8) unsigned char value[8] = {};
    if (H5Tget_size(type) > sizeof(value)) return UnsupportedError("HDF5 " + DescribeType(type));
    if (H5Tget_member_value(type, static_cast<unsigned>(i), value) < 0 ||
        H5Tconvert(base.get(), wide.get(), 1, value, nullptr, H5P_DEFAULT) < 0) {
      return Hdf5Failure("a member of an enumeration");
    }
    uint64_t bits = 0;
    std::memcpy(&bits, value, 8);
    const Json number = is_signed ? Json(static_cast<int64_t>(bits)) : Json(bits);
    const std::string name = MemberName(type, static_cast<unsigned>(i));
    names_valid = names_valid && IsValidUtf8(name);
    pairs.push_back(Json::array({TextToJson(name), number}));
    // Not operator[], which looks for the name among all before: they are distinct.
    if (names_valid) mapping.get_ref<Json::object_t&>().emplace_back(name, number);
  }
  json["mapping"] = names_valid ? std::move(mapping) : std::move(pairs);
  return json;
}

Result<Json> CompoundToJson(hid_t type) {
  Json json = ClassObject("H5T_COMPOUND");
  const int members = H5Tget_nmembers(type);
  std::size_t packed_bytes = 0;
  bool packed = true;
  Json fields = Json::array();
  for (int i = 0; i < members; ++i) {
    const unsigned index = static_cast<unsigned>(i);
    Handle member(H5Tget_member_type(type, index));
    if (!member.valid()) return Hdf5Failure("a member of a compound");
    packed = packed && H5Tget_member_offset(type, index) == packed_bytes;
    packed_bytes += H5Tget_size(member.get());
    Json field = Json::object();
    field["name"] = TextToJson(MemberName(type, index));
    H5ZARR_ASSIGN_OR_RETURN(field["type"], TypeToJson(member.get()));
    fields.push_back(std::move(field));
  }
  if (!packed || H5Tget_size(type) != packed_bytes) {
    json["size"] = H5Tget_size(type);
    for (int i = 0; i < members; ++i) {
      fields[static_cast<std::size_t>(i)]["offset"] = H5Tget_member_offset(type, static_cast<unsigned>(i));
    }
  }
  json["fields"] = std::move(fields);
  return json;
}

Result<Json> WithBase(hid_t type, std::string_view class_name) {
  Handle base(H5Tget_super(type));
  if (!base.valid()) return Hdf5Failure("the base of a datatype");
  Json json = ClassObject(class_name);
  H5ZARR_ASSIGN_OR_RETURN(json["base"], TypeToJson(base.get()));
  return json;
}

Result<Json> ReferenceToJson(hid_t type) {
  if (IsObjectReference(type)) return Json("H5T_STD_REF_OBJ");
  if (H5Tequal(type, H5T_STD_REF_DSETREG) > 0) return Json("H5T_STD_REF_DSETREG");
  if (H5Tequal(type, H5T_STD_REF) > 0) return Json("H5T_STD_REF");
  return UnsupportedError("a reference type that is none of HDF5's own");
}

// ---- from JSON

Status BadType(const Json& json, std::string_view expected) {
  return CorruptError("HDF5 type " + zarr::BriefJson(json) + ": expected " + std::string(expected));
}

Result<Handle> Made(Handle handle, const Json& json) {
  if (!handle.valid()) return BadType(json, "a type that HDF5 can make");
  return handle;
}

Result<Handle> NamedType(const Json& json) {
  const std::string& name = json.get_ref<const std::string&>();
  if (name == "H5T_STD_REF_OBJ") return Made(Handle(H5Tcopy(H5T_STD_REF_OBJ)), json);
  if (name == "H5T_STD_REF_DSETREG") return Made(Handle(H5Tcopy(H5T_STD_REF_DSETREG)), json);
  if (name == "H5T_STD_REF") return Made(Handle(H5Tcopy(H5T_STD_REF)), json);
  if (name == "H5T_FLOAT_F8E4M3") return Made(MakeFloat(1, "float8_e4m3", Endian::kLittle), json);
  if (name == "H5T_FLOAT_F8E5M2") return Made(MakeFloat(1, "float8_e5m2", Endian::kLittle), json);
  for (const auto& [suffix, endian] : {std::pair{"LE", Endian::kLittle}, {"BE", Endian::kBig}}) {
    if (name == std::string("H5T_FLOAT_BFLOAT16") + suffix) {
      return Made(MakeFloat(2, "bfloat16", endian), json);
    }
    for (const uint64_t size_bytes : {1, 2, 4, 8}) {
      const std::string tail = std::to_string(size_bytes * 8) + suffix;
      if (name == "H5T_STD_I" + tail) return Made(MakeInteger(size_bytes, true, endian), json);
      if (name == "H5T_STD_U" + tail) return Made(MakeInteger(size_bytes, false, endian), json);
      if (name == "H5T_STD_B" + tail) return Made(MakeBitfield(size_bytes, endian), json);
      if (name == "H5T_IEEE_F" + tail) return Made(MakeFloat(size_bytes, "", endian), json);
    }
  }
  return BadType(json, "the name of a predefined type");
}

Result<Handle> ParseType(const Json& json, int depth);

// Only atomic classes are taken: libhdf5 1.14 decodes without knowing where the bytes end, and the
// others hold counts that would lead it beyond. Zeros behind the end stop what is left of that.
Result<Handle> DecodedType(const Json& json) {
  const std::optional<std::string> text = StringMember(json, "base64");
  if (!text) return BadType(json, "a member 'base64'");
  H5ZARR_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, zarr::DecodeBase64(*text));
  constexpr std::size_t kShortest = 2 + 8 + 2;
  constexpr std::size_t kSlackBytes = 4096;
  if (bytes.size() < kShortest) return BadType(json, "the bytes of H5Tencode");
  const int type_class = static_cast<int>(bytes[2]) & 0x0f;
  if (type_class != H5T_INTEGER && type_class != H5T_FLOAT && type_class != H5T_TIME && type_class != H5T_BITFIELD &&
      type_class != kComplexClass) {
    return BadType(json, "an atomic class in the bytes of H5Tencode");
  }
  bytes.resize(bytes.size() + kSlackBytes);
  const QuietErrors quiet;
  return Made(Handle(H5Tdecode(bytes.data())), json);
}

Result<Handle> ParseBase(const Json& json, int depth) {
  const Json* base = zarr::FindMember(json, "base");
  if (base == nullptr) return BadType(json, "a member 'base'");
  return ParseType(*base, depth + 1);
}

Result<Handle> ParseComplex(const Json& json, int depth) {
  H5ZARR_ASSIGN_OR_RETURN(Handle base, ParseBase(json, depth));
  Result<Handle> native = DecodedType(json);
  if (native.ok() && TypeClass(native.value().get()) == kComplexClass) return native;
  // An HDF5 without complex numbers: the compound that h5py has always used for them.
  return Made(MakeComplexCompound(base), json);
}

Result<Handle> ParseOddInteger(const Json& json, int depth) {
  H5ZARR_ASSIGN_OR_RETURN(Handle type, ParseBase(json, depth));
  const std::optional<uint64_t> precision = UnsignedMember(json, "precision");
  const std::optional<uint64_t> offset = UnsignedMember(json, "offset");
  const int type_class = TypeClass(type.get());
  if (type_class != H5T_INTEGER && type_class != H5T_BITFIELD) {
    return BadType(json, "the base of an integer");
  }
  const uint64_t bits = H5Tget_size(type.get()) * 8;
  if (!precision || *precision == 0 || !offset || *precision > bits || *offset > bits - *precision) {
    return BadType(json, "'precision' and 'offset' within the base");
  }
  if (H5Tset_precision(type.get(), *precision) < 0 || H5Tset_offset(type.get(), *offset) < 0) {
    return BadType(json, "a type that HDF5 can make");
  }
  return type;
}

Result<Handle> ParseString(const Json& json) {
  const std::string pad_name = StringMember(json, "strPad").value_or("H5T_STR_NULLTERM");
  H5T_str_t pad = H5T_STR_NULLTERM;
  if (pad_name == "H5T_STR_NULLPAD") pad = H5T_STR_NULLPAD;
  else if (pad_name == "H5T_STR_SPACEPAD") pad = H5T_STR_SPACEPAD;
  else if (pad_name != "H5T_STR_NULLTERM") return BadType(json, "a known 'strPad'");
  const std::string cset_name = StringMember(json, "charSet").value_or("H5T_CSET_ASCII");
  H5T_cset_t cset = H5T_CSET_ASCII;
  if (cset_name == "H5T_CSET_UTF8") cset = H5T_CSET_UTF8;
  else if (cset_name != "H5T_CSET_ASCII") return BadType(json, "a known 'charSet'");
  if (StringMember(json, "length") == "H5T_VARIABLE") return Made(MakeVlenString(pad, cset), json);
  const std::optional<uint64_t> length = UnsignedMember(json, "length");
  if (!length || *length == 0 || *length > UINT32_MAX) return BadType(json, "a 'length'");
  return Made(MakeFixedString(*length, pad, cset), json);
}

Status InsertEnumMember(hid_t type, hid_t base, bool is_signed, const Json& name_json, const Json& value_json) {
  const std::optional<std::string> name = TextFromJson(name_json);
  if (!name || !value_json.is_number_integer()) {
    return BadType(value_json, "the name and integer of an enumeration's member");
  }
  alignas(8) unsigned char value[8] = {};
  const uint64_t bits = value_json.get<uint64_t>();
  std::memcpy(value, &bits, 8);
  Handle wide = MakeInteger(8, is_signed, Endian::kLittle);
  if (H5Tget_size(base) > sizeof(value) || H5Tconvert(wide.get(), base, 1, value, nullptr, H5P_DEFAULT) < 0 ||
      H5Tenum_insert(type, name->c_str(), value) < 0) {
    return BadType(name_json, "a new member of an enumeration");
  }
  return OkStatus();
}

Result<Handle> ParseEnum(const Json& json, int depth) {
  H5ZARR_ASSIGN_OR_RETURN(Handle base, ParseBase(json, depth));
  const Json* mapping = zarr::FindMember(json, "mapping");
  if (TypeClass(base.get()) != H5T_INTEGER || mapping == nullptr || !(mapping->is_object() || mapping->is_array())) {
    return BadType(json, "an integer 'base' and a 'mapping'");
  }
  const bool is_signed = H5Tget_sign(base.get()) != H5T_SGN_NONE;
  Handle type(H5Tenum_create(base.get()));
  const QuietErrors quiet;
  if (mapping->is_object()) {
    for (const auto& [name, value] : mapping->items()) {
      H5ZARR_RETURN_IF_ERROR(InsertEnumMember(type.get(), base.get(), is_signed, Json(name), value));
    }
    return Made(std::move(type), json);
  }
  for (const Json& pair : *mapping) {
    if (!pair.is_array() || pair.size() != 2) return BadType(json, "pairs in 'mapping'");
    H5ZARR_RETURN_IF_ERROR(InsertEnumMember(type.get(), base.get(), is_signed, pair[0], pair[1]));
  }
  return Made(std::move(type), json);
}

struct ParsedField {
  std::string name;
  Handle type;
  uint64_t offset_bytes = 0;
};

Result<Handle> ParseCompound(const Json& json, int depth) {
  const Json* fields = zarr::FindMember(json, "fields");
  if (fields == nullptr || !fields->is_array() || fields->empty()) {
    return BadType(json, "a list 'fields'");
  }
  std::vector<ParsedField> parsed;
  uint64_t end_bytes = 0;
  for (const Json& field : *fields) {
    const Json* name = zarr::FindMember(field, "name");
    const Json* member = zarr::FindMember(field, "type");
    if (name == nullptr || member == nullptr || !TextFromJson(*name)) {
      return BadType(field, "'name' and 'type' of a field");
    }
    ParsedField item;
    item.name = *TextFromJson(*name);
    H5ZARR_ASSIGN_OR_RETURN(item.type, ParseType(*member, depth + 1));
    item.offset_bytes = UnsignedMember(field, "offset").value_or(end_bytes);
    const std::optional<uint64_t> end = CheckedAdd(item.offset_bytes, H5Tget_size(item.type.get()));
    if (!end || *end > UINT32_MAX) return BadType(field, "an 'offset' below 4 GiB");
    end_bytes = std::max(end_bytes, *end);
    parsed.push_back(std::move(item));
  }
  const uint64_t size_bytes = UnsignedMember(json, "size").value_or(end_bytes);
  if (size_bytes < end_bytes || size_bytes > UINT32_MAX) {
    return BadType(json, "a 'size' that holds all fields");
  }
  Handle type(H5Tcreate(H5T_COMPOUND, size_bytes));
  const QuietErrors quiet;
  for (const ParsedField& field : parsed) {
    if (H5Tinsert(type.get(), field.name.c_str(), field.offset_bytes, field.type.get()) < 0) {
      return BadType(json, "distinct fields that do not overlap");
    }
  }
  return Made(std::move(type), json);
}

Result<Handle> ParseArray(const Json& json, int depth) {
  H5ZARR_ASSIGN_OR_RETURN(Handle base, ParseBase(json, depth));
  const Json* dims_json = zarr::FindMember(json, "dims");
  if (dims_json == nullptr || !dims_json->is_array() || dims_json->empty() || dims_json->size() > H5S_MAX_RANK) {
    return BadType(json, "a list 'dims' of 1 to 32 numbers");
  }
  std::vector<hsize_t> dims;
  uint64_t bytes = H5Tget_size(base.get());
  for (const Json& dim : *dims_json) {
    dims.push_back(AsUnsigned(dim).value_or(0));
    if (dims.back() == 0) return BadType(json, "positive numbers in 'dims'");
    const std::optional<uint64_t> product = CheckedMul(bytes, dims.back());
    if (!product || *product > UINT32_MAX) return BadType(json, "an array below 4 GiB");
    bytes = *product;
  }
  return Made(Handle(H5Tarray_create2(base.get(), static_cast<unsigned>(dims.size()), dims.data())), json);
}

Result<Handle> ParseOpaque(const Json& json) {
  const std::optional<uint64_t> size_bytes = UnsignedMember(json, "size");
  const Json* tag_json = zarr::FindMember(json, "tag");
  const std::optional<std::string> tag = tag_json ? TextFromJson(*tag_json) : std::string();
  if (!size_bytes || *size_bytes == 0 || *size_bytes > UINT32_MAX || !tag || tag->size() >= H5T_OPAQUE_TAG_MAX) {
    return BadType(json, "a 'size' and a short 'tag'");
  }
  Handle type(H5Tcreate(H5T_OPAQUE, *size_bytes));
  if (H5Tset_tag(type.get(), tag->c_str()) < 0) return BadType(json, "a 'tag'");
  return Made(std::move(type), json);
}

Result<Handle> ParseType(const Json& json, int depth) {
  if (depth > kMaxNesting) return BadType(json, "less nesting");
  if (json.is_string()) return NamedType(json);
  const std::string type_class = StringMember(json, "class").value_or("");
  if (type_class == "H5T_INTEGER" || type_class == "H5T_BITFIELD" || type_class == "H5T_FLOAT" ||
      type_class == "H5T_REFERENCE") {
    // hdf5-json wraps predefined types into an object of their class.
    if (UnsignedMember(json, "precision")) return ParseOddInteger(json, depth);
    return ParseBase(json, depth);
  }
  if (type_class == "H5T_STRING") return ParseString(json);
  if (type_class == "H5T_ENUM") return ParseEnum(json, depth);
  if (type_class == "H5T_COMPOUND") return ParseCompound(json, depth);
  if (type_class == "H5T_ARRAY") return ParseArray(json, depth);
  if (type_class == "H5T_OPAQUE") return ParseOpaque(json);
  if (type_class == "H5T_COMPLEX") return ParseComplex(json, depth);
  if (type_class == "encoded") return DecodedType(json);
  if (type_class == "H5T_VLEN") {
    H5ZARR_ASSIGN_OR_RETURN(Handle base, ParseBase(json, depth));
    return Made(Handle(H5Tvlen_create(base.get())), json);
  }
  return BadType(json, "the name of a predefined type or an object with a known 'class'");
}

}  // namespace

Result<Json> TypeToJson(hid_t type) {
  switch (TypeClass(type)) {
    case H5T_INTEGER: return IntegerToJson(type, false);
    case H5T_BITFIELD: return IntegerToJson(type, true);
    case H5T_FLOAT: return FloatToJson(type);
    case H5T_STRING: return StringToJson(type);
    case H5T_ENUM: return EnumToJson(type);
    case H5T_COMPOUND: return CompoundToJson(type);
    case H5T_VLEN: return WithBase(type, "H5T_VLEN");
    case H5T_REFERENCE: return ReferenceToJson(type);
    case H5T_TIME: return EncodedType(type, ClassObject("encoded"));
    case H5T_OPAQUE: {
      Json json = ClassObject("H5T_OPAQUE");
      json["size"] = H5Tget_size(type);
      json["tag"] = TextToJson(OpaqueTag(type));
      return json;
    }
    case H5T_ARRAY: {
      H5ZARR_ASSIGN_OR_RETURN(Json json, WithBase(type, "H5T_ARRAY"));
      json["dims"] = ArrayDims(type);
      return json;
    }
    case kComplexClass: {
      H5ZARR_ASSIGN_OR_RETURN(Json json, WithBase(type, "H5T_COMPLEX"));
      return EncodedType(type, std::move(json));
    }
    default: return UnsupportedError("HDF5 " + DescribeType(type));
  }
}

Result<Handle> TypeFromJson(const Json& json) {
  const QuietErrors quiet;
  return ParseType(json, 0);
}

Handle MakeBoolType() {
  Handle type(H5Tenum_create(H5T_STD_I8LE));
  signed char value = 0;
  if (H5Tenum_insert(type.get(), "FALSE", &value) < 0) return Handle();
  value = 1;
  if (H5Tenum_insert(type.get(), "TRUE", &value) < 0) return Handle();
  return type;
}

bool IsBoolType(hid_t type) {
  if (TypeClass(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) {
    return false;
  }
  bool seen[2] = {false, false};
  for (unsigned i = 0; i < 2; ++i) {
    unsigned char value = 0;
    if (H5Tget_member_value(type, i, &value) < 0) return false;
    const std::string name = MemberName(type, i);
    if (value == 0 && name == "FALSE") seen[0] = true;
    if (value == 1 && name == "TRUE") seen[1] = true;
  }
  return seen[0] && seen[1];
}

}  // namespace h5zarr::shadow
