#include "shadow/hdf5_attribute.h"

#include <algorithm>

#include "shadow/conventions.h"
#include "shadow/dimension_scales.h"
#include "shadow/json_text.h"

namespace h5zarr::shadow {
namespace {

// What an attribute's header has room for: its length, with the NUL behind it, in 16 bits.
constexpr std::size_t kMaxNameBytes = 65534;

// Whether HDF5 can have an attribute of this name. Others stay in the document, unseen.
bool IsNameInHdf5(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name.find('\0') == std::string_view::npos;
}

// CF's words for a unit of numpy's datetimes.
std::string UnitsOf(const DType& dtype) {
  static const std::pair<std::string_view, std::string_view> kUnits[] = {
      {"ns", "nanoseconds"}, {"us", "microseconds"}, {"ms", "milliseconds"}, {"s", "seconds"}, {"m", "minutes"},
      {"h", "hours"},        {"D", "days"},          {"W", "weeks"},         {"M", "months"},  {"Y", "years"}};
  for (const auto& [unit, word] : kUnits) {
    if (dtype.unit != unit) continue;
    std::string units(word);
    if (dtype.scale_factor != 1) units = std::to_string(dtype.scale_factor) + " " + units;
    if (dtype.kind == DType::Kind::kDatetime) units += " since 1970-01-01";
    return units;
  }
  return "";
}

// What readers of netCDF look for in attributes and xarray's stores say elsewhere: in v2 stores xarray
// takes the fill value for missing ones, and text has the encoding that Zarr gives it.
void AddForNetcdf(const zarr::ArrayMetadata& metadata, Json* shown) {
  const DType::Kind kind = metadata.dtype.kind;
  const bool is_text = kind == DType::Kind::kUtf32;
  // (Scalars of xarray's have no dimensions either.)
  if (is_text && metadata.rank() == 0 && !shown->contains("_Encoding")) {
    (*shown)["_Encoding"] = "utf-8";
  }
  if (DimensionNamesOf(metadata).empty() || NamesAreLabels(metadata.attributes)) return;
  const bool is_number = kind == DType::Kind::kInt || kind == DType::Kind::kUint || kind == DType::Kind::kFloat;
  if (metadata.zarr_format == 2 && metadata.fill.defined && is_number) {
    const Result<Json> fill = zarr::FormatFillValue(metadata.fill, metadata.dtype, 2);
    if (fill.ok()) (*shown)["_FillValue"] = fill.value();
  }
  if (is_text && !shown->contains("_Encoding")) (*shown)["_Encoding"] = "utf-8";
}

// Members that `order` does not name come last.
Json InOrder(Json members, const Json& order) {
  Json ordered = Json::object();
  for (const Json& name : order) {
    const auto found = name.is_string() ? members.find(NameOfKey(name.get_ref<const std::string&>())) : members.end();
    if (found == members.end()) continue;
    ordered[found.key()] = std::move(*found);
    members.erase(found);
  }
  for (auto& [name, value] : members.items()) ordered[name] = std::move(value);
  return ordered;
}

}  // namespace

bool WrittenAsFill(const Json& attributes) { return Hdf5Member(attributes, "written") == true; }

Json AttributesForProgram(const zarr::Node& node) {
  Json shown = Json::object();
  const Json& attributes = node.attributes();
  for (const auto& [name, value] : attributes.items()) {
    if (!IsHiddenAttribute(name) && IsNameInHdf5(name)) {
      shown[name] = WithPlainReferences(name, value);
    }
  }
  const Json escaped = Hdf5Member(attributes, "escaped");
  for (const auto& [key, value] : escaped.items()) {
    const std::string name = NameOfKey(key);
    if (IsNameInHdf5(name)) shown[name] = value;
  }
  // (A program's own datetimes are opaque to HDF5 and have no such attribute.)
  if (node.is_array() && !shown.contains("units") && Hdf5Member(attributes, "type").is_null()) {
    const std::string units = UnitsOf(node.array().dtype);
    if (!units.empty()) shown["units"] = units;
  }
  if (node.is_array() && !HasHdf5(attributes)) AddForNetcdf(node.array(), &shown);
  const Json order = Hdf5Member(attributes, "attr_order");
  return order.is_array() ? InOrder(std::move(shown), order) : shown;
}

Json AttributeDescription(const Json& attributes, const std::string& name) {
  const Json descriptions = Hdf5Member(attributes, "attrs");
  const auto found = descriptions.find(KeyOfName(name));
  return descriptions.is_object() && found != descriptions.end() ? *found : Json(nullptr);
}

void SetAttribute(Json* attributes, const std::string& name, const AttributeJson* value) {
  const std::string key = KeyOfName(name);
  Json descriptions = Hdf5Member(*attributes, "attrs");
  if (!descriptions.is_object()) descriptions = Json::object();
  descriptions.erase(key);
  if (value != nullptr && !value->description.is_null()) descriptions[key] = value->description;
  SetHdf5Member(attributes, "attrs", descriptions.empty() ? Json(nullptr) : descriptions);

  if (IsHiddenAttribute(key)) {
    Json escaped = Hdf5Member(*attributes, "escaped");
    if (!escaped.is_object()) escaped = Json::object();
    escaped.erase(key);
    if (value != nullptr) escaped[key] = value->value;
    SetHdf5Member(attributes, "escaped", escaped.empty() ? Json(nullptr) : escaped);
  } else if (value != nullptr) {
    (*attributes)[key] = value->value;
  } else {
    attributes->erase(key);
  }
}

void RenameAttribute(Json* attributes, const std::string& from, const std::string& to) {
  SetAttribute(attributes, to, nullptr);  // one that was deleted
  if (!IsHiddenAttribute(KeyOfName(from)) && !IsHiddenAttribute(KeyOfName(to)) && attributes->contains(from)) {
    Json renamed = Json::object();
    for (auto& [name, value] : attributes->items()) {
      renamed[name == from ? to : name] = std::move(value);
    }
    *attributes = std::move(renamed);
  }
  SetAttribute(attributes, from, nullptr);
}

void ReadFillValueAttribute(const zarr::ArrayMetadata& metadata, AttributeJson* attribute) {
  const Json natural = NaturalFillValue(attribute->value, metadata.dtype, metadata.zarr_format);
  if (attribute->description.is_null()) {
    attribute->description = FillValueDescription(metadata.dtype, natural);
    attribute->value = natural;
    return;
  }
  // netCDF's is an array of one.
  const auto shape = attribute->description.find("shape");
  const bool one = shape != attribute->description.end() && *shape == Json::array({1});
  attribute->value = one && !natural.is_array() ? Json::array({natural}) : natural;
}

void WriteFillValueAttribute(const zarr::ArrayMetadata& metadata, AttributeJson* attribute) {
  const Json& value = attribute->value;
  const Json single = value.is_array() && value.size() == 1 ? value[0] : value;
  const Json encoded = EncodedFillValue(single, metadata.dtype, metadata.zarr_format);
  // An integer stays one, but on its own: readers expect no list here.
  if (encoded != single || single.is_number()) attribute->value = encoded;
}

void NoteAttributeOrder(hid_t creation_list, Json* attributes) {
  unsigned order = 0;
  if (H5Pget_attr_creation_order(creation_list, &order) >= 0 && (order & H5P_CRT_ORDER_TRACKED) != 0) {
    SetHdf5Member(attributes, "attr_order", true);
  }
}

Status RestoreAttributeOrder(const Json& attributes, hid_t creation_list) {
  if (Hdf5Member(attributes, "attr_order").is_null()) return OkStatus();
  if (H5Pset_attr_creation_order(creation_list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) < 0) {
    return host::AlreadyReported();
  }
  return OkStatus();
}

bool TracksAttributeOrder(const Json& attributes) { return !Hdf5Member(attributes, "attr_order").is_null(); }

bool HasAttributesAfterReferences(const Json& attributes) {
  const Json order = Hdf5Member(attributes, "attr_order");
  return order.is_array() && std::find(order.begin(), order.end(), "REFERENCE_LIST") < order.end() - 1;
}

bool HasCreationOrder(const Json& attributes) {
  return !Hdf5Member(attributes, "order").is_null() || !Hdf5Member(attributes, "attr_order").is_null();
}

Status RestoreCreationOrder(const Json& attributes, hid_t group_creation_list) {
  if (!Hdf5Member(attributes, "order").is_null() &&
      H5Pset_link_creation_order(group_creation_list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) < 0) {
    return host::AlreadyReported();
  }
  return RestoreAttributeOrder(attributes, group_creation_list);
}

bool TracksLinkOrder(hid_t group_creation_list) {
  unsigned order = 0;
  return H5Pget_link_creation_order(group_creation_list, &order) >= 0 && (order & H5P_CRT_ORDER_TRACKED) != 0;
}

H5T_cset_t NameCset(const std::string& name, const Json& description) {
  const Json* said = zarr::FindMember(description, "cset");
  if (said != nullptr && *said == "ascii") return H5T_CSET_ASCII;
  if (said != nullptr && *said == "utf8") return H5T_CSET_UTF8;
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8;
}

void DescribeNameCset(const std::string& name, H5T_cset_t cset, Json* description) {
  if (NameCset(name, Json()) == cset) return;
  (*description)["cset"] = cset == H5T_CSET_UTF8 ? "utf8" : "ascii";
}

H5T_cset_t LinkCset(const Json& group_attributes, const std::string& name) {
  const Json csets = Hdf5Member(group_attributes, "link_csets");
  const Json* said = zarr::FindMember(csets, name);
  return NameCset(name, said != nullptr ? Json{{"cset", *said}} : Json());
}

Result<std::string> ReadNativeComment(host::NativeObject object) {
  std::size_t length = 0;
  H5VL_native_object_optional_args_t native;
  native.get_comment = {0, nullptr, &length};
  H5VL_optional_args_t args{H5VL_NATIVE_OBJECT_GET_COMMENT, &native};
  const H5VL_loc_params_t loc = host::LocSelf(object.type);
  if (H5VLobject_optional(object.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  std::string comment(length + 1, '\0');
  native.get_comment = {comment.size(), comment.data(), &length};
  if (length > 0 &&
      H5VLobject_optional(object.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  comment.resize(length);
  return comment;
}

Status WriteNativeComment(host::NativeObject object, const std::string& comment) {
  H5VL_native_object_optional_args_t native;
  native.set_comment.comment = comment.c_str();
  H5VL_optional_args_t args{H5VL_NATIVE_OBJECT_SET_COMMENT, &native};
  const H5VL_loc_params_t loc = host::LocSelf(object.type);
  if (H5VLobject_optional(object.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return OkStatus();
}

Status WriteNativeAttribute(host::NativeObject object, const std::string& name, const AttributeValue& value,
                            hid_t file_type, H5T_cset_t name_cset) {
  Handle acpl(H5Pcreate(H5P_CLS_ATTRIBUTE_CREATE_ID_g));
  if (!acpl.valid() || H5Pset_char_encoding(acpl.get(), name_cset) < 0) {
    return host::AlreadyReported();
  }
  const H5VL_loc_params_t loc = host::LocSelf(object.type);
  host::NativeHandle attribute(
      H5VLattr_create(object.under, &loc, host::NativeConnector(), name.c_str(), file_type, value.space(), acpl.get(),
                      H5P_LST_ATTRIBUTE_ACCESS_ID_g, host::DefaultDxpl(), nullptr),
      H5I_ATTR);
  if (!attribute.valid()) return host::AlreadyReported();
  if (H5Sget_simple_extent_npoints(value.space()) <= 0) return OkStatus();
  if (H5VLattr_write(attribute.get(), host::NativeConnector(), value.type(), value.data(), host::DefaultDxpl(),
                     nullptr) < 0) {
    return host::AlreadyReported();
  }
  return OkStatus();
}

Result<NativeAttribute> ReadNativeAttribute(host::NativeObject object, const std::string& name) {
  const H5VL_loc_params_t loc = host::LocSelf(object.type);
  host::NativeHandle attribute(H5VLattr_open(object.under, &loc, host::NativeConnector(), name.c_str(),
                                             H5P_LST_ATTRIBUTE_ACCESS_ID_g, host::DefaultDxpl(), nullptr),
                               H5I_ATTR);
  if (!attribute.valid()) return host::AlreadyReported();
  H5VL_attr_get_args_t args;
  args.op_type = H5VL_ATTR_GET_TYPE;
  if (H5VLattr_get(attribute.get(), host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  Handle file_type(args.args.get_type.type_id);
  args.op_type = H5VL_ATTR_GET_ACPL;
  if (H5VLattr_get(attribute.get(), host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  const Handle acpl(args.args.get_acpl.acpl_id);
  H5T_cset_t name_cset = H5T_CSET_ASCII;
  if (H5Pget_char_encoding(acpl.get(), &name_cset) < 0) return host::AlreadyReported();
  args.op_type = H5VL_ATTR_GET_SPACE;
  if (H5VLattr_get(attribute.get(), host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  Handle space(args.args.get_space.space_id);
  // In memory the type is the same one, described afresh: a copy would stay bound to the file.
  H5ZARR_ASSIGN_OR_RETURN(const Json description, TypeToJson(file_type.get()));
  H5ZARR_ASSIGN_OR_RETURN(Handle type, TypeFromJson(description));
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  const std::size_t elem_bytes = H5Tget_size(type.get());
  if (points < 0 || elem_bytes == 0) return host::AlreadyReported();
  H5ZARR_ASSIGN_OR_RETURN(Buffer data, Buffer::Allocate(static_cast<uint64_t>(points) * elem_bytes));
  if (points > 0) {
    std::memset(data.data(), 0, data.size_bytes());
    if (H5VLattr_read(attribute.get(), host::NativeConnector(), type.get(), data.data(), host::DefaultDxpl(), nullptr) <
        0) {
      return host::AlreadyReported();
    }
  }
  return NativeAttribute{AttributeValue(std::move(type), std::move(space), std::move(data)), std::move(file_type),
                         name_cset};
}

Result<bool> NativeAttributeExists(host::NativeObject object, const std::string& name) {
  hbool_t exists = false;
  H5VL_attr_specific_args_t args;
  args.op_type = H5VL_ATTR_EXISTS;
  args.args.exists.name = name.c_str();
  args.args.exists.exists = &exists;
  const H5VL_loc_params_t loc = host::LocSelf(object.type);
  if (H5VLattr_specific(object.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return exists != 0;
}

Status DeleteNativeAttribute(host::NativeObject object, const std::string& name) {
  H5ZARR_ASSIGN_OR_RETURN(const bool exists, NativeAttributeExists(object, name));
  if (!exists) return OkStatus();
  H5VL_attr_specific_args_t args;
  args.op_type = H5VL_ATTR_DELETE;
  args.args.del.name = name.c_str();
  const H5VL_loc_params_t loc = host::LocSelf(object.type);
  if (H5VLattr_specific(object.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return OkStatus();
}

}  // namespace h5zarr::shadow
