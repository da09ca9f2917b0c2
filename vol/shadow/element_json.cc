// One element of any HDF5 type as JSON, and back: see attribute_map.h.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "shadow/attribute_map.h"
#include "shadow/h5_types.h"
#include "shadow/json_text.h"
#include "shadow/number_json.h"
#include "shadow/type_map.h"

namespace h5zarr::shadow {
namespace {

std::string_view WithoutPadding(std::string_view text, H5T_str_t pad) {
  if (pad == H5T_STR_NULLTERM) return text.substr(0, text.find('\0'));
  const char padding = pad == H5T_STR_SPACEPAD ? ' ' : '\0';
  while (!text.empty() && text.back() == padding) text.remove_suffix(1);
  return text;
}

Json StringElementToJson(hid_t type, const void* element) {
  if (H5Tis_variable_str(type) > 0) {
    const char* text = nullptr;
    std::memcpy(&text, element, sizeof(text));
    return text != nullptr ? TextToJson(text) : Json();
  }
  const std::string_view text(static_cast<const char*>(element), H5Tget_size(type));
  return TextToJson(WithoutPadding(text, H5Tget_strpad(type)));
}

Status StringElementFromJson(const Json& json, hid_t type, void* element) {
  if (json.is_null() && H5Tis_variable_str(type) > 0) {  // HDF5 tells no string from an empty one
    std::memset(element, 0, sizeof(char*));
    return OkStatus();
  }
  const std::optional<std::string> text = TextFromJson(json);
  if (!text) return BadElement(json, type);
  if (H5Tis_variable_str(type) > 0) {
    char* copy = static_cast<char*>(std::malloc(text->size() + 1));
    if (copy == nullptr) return NoSpaceError("memory for a string");
    std::memcpy(copy, text->c_str(), text->size() + 1);
    std::memcpy(element, &copy, sizeof(copy));
    return OkStatus();
  }
  const std::size_t size_bytes = H5Tget_size(type);
  if (text->size() > size_bytes) return BadElement(json, type);
  std::memset(element, H5Tget_strpad(type) == H5T_STR_SPACEPAD ? ' ' : '\0', size_bytes);
  std::memcpy(element, text->data(), text->size());
  return OkStatus();
}

Result<Json> EnumElementToJson(hid_t type, const void* element) {
  const Handle base(H5Tget_super(type));
  H5ZARR_ASSIGN_OR_RETURN(Json number, IntegerElementToJson(base.get(), element));
  if (IsBoolType(type) && (number == 0 || number == 1)) return Json(number == 1);
  return number;
}

Status EnumElementFromJson(const Json& json, hid_t type, void* element) {
  const Handle base(H5Tget_super(type));
  const Json number =
      json.is_boolean() && IsBoolType(type) ? Json(json.get<bool>() ? 1u : 0u) : json;
  return IntegerElementFromJson(number, base.get(), element);
}

// `count` consecutive elements of `item`.
Result<Json> ListToJson(hid_t item, const std::byte* first, uint64_t count,
                        const ReferenceResolver& references) {
  const std::size_t item_bytes = H5Tget_size(item);
  Json list = Json::array();
  for (uint64_t i = 0; i < count; ++i) {
    H5ZARR_ASSIGN_OR_RETURN(Json json, ElementToJson(item, first + i * item_bytes, references));
    list.push_back(std::move(json));
  }
  return list;
}

// An array of `dims` behind the first `depth` of them.
Result<Json> ArrayToJson(hid_t item, const std::vector<hsize_t>& dims, std::size_t depth,
                         const std::byte* first, const ReferenceResolver& references) {
  if (depth + 1 >= dims.size()) {
    return ListToJson(item, first, dims.empty() ? 0 : dims[depth], references);
  }
  uint64_t stride_bytes = H5Tget_size(item);
  for (std::size_t d = depth + 1; d < dims.size(); ++d) stride_bytes *= dims[d];
  Json list = Json::array();
  for (uint64_t i = 0; i < dims[depth]; ++i) {
    H5ZARR_ASSIGN_OR_RETURN(
        Json row, ArrayToJson(item, dims, depth + 1, first + i * stride_bytes, references));
    list.push_back(std::move(row));
  }
  return list;
}

Status ArrayFromJson(const Json& json, hid_t item, const std::vector<hsize_t>& dims,
                     std::size_t depth, std::byte* first, const ReferenceResolver& references) {
  if (depth == dims.size()) return ElementFromJson(json, item, first, references);
  if (!json.is_array() || json.size() != dims[depth]) {
    return CorruptError("value " + zarr::BriefJson(json) + ": expected a list of " +
                        std::to_string(dims[depth]));
  }
  uint64_t stride_bytes = H5Tget_size(item);
  for (std::size_t d = depth + 1; d < dims.size(); ++d) stride_bytes *= dims[d];
  for (uint64_t i = 0; i < dims[depth]; ++i) {
    H5ZARR_RETURN_IF_ERROR(
        ArrayFromJson(json[i], item, dims, depth + 1, first + i * stride_bytes, references));
  }
  return OkStatus();
}

Result<Json> SequenceToJson(hid_t type, const void* element, const ReferenceResolver& references) {
  const Handle item(H5Tget_super(type));
  hvl_t sequence;
  std::memcpy(&sequence, element, sizeof(sequence));
  if (sequence.p == nullptr) return Json(Json::array());
  return ListToJson(item.get(), static_cast<const std::byte*>(sequence.p), sequence.len,
                    references);
}

Status SequenceFromJson(const Json& json, hid_t type, void* element,
                        const ReferenceResolver& references) {
  if (!json.is_array()) return BadElement(json, type);
  const Handle item(H5Tget_super(type));
  hvl_t sequence{json.size(), nullptr};
  if (json.empty()) {
    std::memcpy(element, &sequence, sizeof(sequence));
    return OkStatus();
  }
  const std::size_t item_bytes = H5Tget_size(item.get());
  sequence.p = std::calloc(json.size(), item_bytes);
  if (sequence.p == nullptr) return NoSpaceError("memory for a sequence");
  // Whoever owns the element frees what is there, also after a failure.
  std::memcpy(element, &sequence, sizeof(sequence));
  for (std::size_t i = 0; i < json.size(); ++i) {
    H5ZARR_RETURN_IF_ERROR(ElementFromJson(
        json[i], item.get(), static_cast<std::byte*>(sequence.p) + i * item_bytes, references));
  }
  return OkStatus();
}

Result<Json> CompoundToJson(hid_t type, const std::byte* element,
                            const ReferenceResolver& references) {
  Json list = Json::array();
  for (int i = 0; i < H5Tget_nmembers(type); ++i) {
    const unsigned index = static_cast<unsigned>(i);
    const Handle member(H5Tget_member_type(type, index));
    H5ZARR_ASSIGN_OR_RETURN(
        Json json,
        ElementToJson(member.get(), element + H5Tget_member_offset(type, index), references));
    list.push_back(std::move(json));
  }
  return list;
}

Status CompoundFromJson(const Json& json, hid_t type, std::byte* element,
                        const ReferenceResolver& references) {
  const int members = H5Tget_nmembers(type);
  if (!json.is_array() || json.size() != static_cast<std::size_t>(members)) {
    return BadElement(json, type);
  }
  for (int i = 0; i < members; ++i) {
    const unsigned index = static_cast<unsigned>(i);
    const Handle member(H5Tget_member_type(type, index));
    H5ZARR_RETURN_IF_ERROR(ElementFromJson(
        json[index], member.get(), element + H5Tget_member_offset(type, index), references));
  }
  return OkStatus();
}

Result<Json> ReferenceToJson(hid_t type, const void* element, const ReferenceResolver& references) {
  const auto* bytes = static_cast<const unsigned char*>(element);
  if (std::all_of(bytes, bytes + H5Tget_size(type), [](unsigned char b) { return b == 0; })) {
    return Json("");
  }
  if (!references.to_path) return UnsupportedError("HDF5 " + DescribeType(type) + " without a file");
  if (!IsObjectReference(type)) return references.to_json(type, element);
  return TextToJson(references.to_path(element));
}

Status ReferenceFromJson(const Json& json, hid_t type, void* element,
                         const ReferenceResolver& references) {
  std::memset(element, 0, H5Tget_size(type));
  if (json == "") return OkStatus();
  if (!references.from_path) return BadElement(json, type);
  if (!IsObjectReference(type)) return references.from_json(json, type, element);
  const Json* within = ReferencePath(json);
  const std::optional<std::string> path = TextFromJson(within != nullptr ? *within : json);
  if (!path) return BadElement(json, type);
  if (path->empty()) return OkStatus();
  // A target that is gone: HDF5's readers know null references.
  if (!references.from_path(*path, element)) std::memset(element, 0, sizeof(hobj_ref_t));
  return OkStatus();
}

// HDF5 2's complex numbers: two floats.
Result<Json> ComplexToJson(hid_t type, const std::byte* element) {
  const Handle part(H5Tget_super(type));
  H5ZARR_ASSIGN_OR_RETURN(Json real, FloatElementToJson(part.get(), element));
  H5ZARR_ASSIGN_OR_RETURN(Json imaginary,
                          FloatElementToJson(part.get(), element + H5Tget_size(part.get())));
  return Json::array({std::move(real), std::move(imaginary)});
}

Status ComplexFromJson(const Json& json, hid_t type, std::byte* element) {
  const Handle part(H5Tget_super(type));
  if (!json.is_array() || json.size() != 2) return BadElement(json, type);
  H5ZARR_RETURN_IF_ERROR(FloatElementFromJson(json[0], part.get(), element));
  return FloatElementFromJson(json[1], part.get(), element + H5Tget_size(part.get()));
}

}  // namespace

Result<Json> ElementToJson(hid_t type, const void* element, const ReferenceResolver& references) {
  const auto* bytes = static_cast<const std::byte*>(element);
  switch (TypeClass(type)) {
    case H5T_INTEGER:
    case H5T_BITFIELD: return IntegerElementToJson(type, element);
    case H5T_FLOAT: return FloatElementToJson(type, element);
    case H5T_STRING: return StringElementToJson(type, element);
    case H5T_ENUM: return EnumElementToJson(type, element);
    case H5T_OPAQUE:
    case H5T_TIME: return BytesElementToJson(element, H5Tget_size(type));
    case H5T_COMPOUND: return CompoundToJson(type, bytes, references);
    case H5T_VLEN: return SequenceToJson(type, element, references);
    case H5T_REFERENCE: return ReferenceToJson(type, element, references);
    case kComplexClass: return ComplexToJson(type, bytes);
    case H5T_ARRAY:
      return ArrayToJson(Handle(H5Tget_super(type)).get(), ArrayDims(type), 0, bytes, references);
    default: return UnsupportedError("HDF5 " + DescribeType(type));
  }
}

Status ElementFromJson(const Json& json, hid_t type, void* element,
                       const ReferenceResolver& references) {
  auto* bytes = static_cast<std::byte*>(element);
  switch (TypeClass(type)) {
    case H5T_INTEGER:
    case H5T_BITFIELD: return IntegerElementFromJson(json, type, element);
    case H5T_FLOAT: return FloatElementFromJson(json, type, element);
    case H5T_STRING: return StringElementFromJson(json, type, element);
    case H5T_ENUM: return EnumElementFromJson(json, type, element);
    case H5T_OPAQUE:
    case H5T_TIME: return BytesElementFromJson(json, element, H5Tget_size(type));
    case H5T_COMPOUND: return CompoundFromJson(json, type, bytes, references);
    case H5T_VLEN: return SequenceFromJson(json, type, element, references);
    case H5T_REFERENCE: return ReferenceFromJson(json, type, element, references);
    case kComplexClass: return ComplexFromJson(json, type, bytes);
    case H5T_ARRAY:
      return ArrayFromJson(json, Handle(H5Tget_super(type)).get(), ArrayDims(type), 0, bytes,
                           references);
    default: return UnsupportedError("HDF5 " + DescribeType(type));
  }
}

}  // namespace h5zarr::shadow
