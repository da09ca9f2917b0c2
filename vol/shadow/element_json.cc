// One element of any HDF5 type as JSON, and back: see attribute_map.h.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "shadow/element_form.h"
#include "shadow/h5_types.h"
#include "shadow/json_text.h"
#include "shadow/type_map.h"

namespace h5zarr::shadow {
namespace {

std::string_view WithoutPadding(std::string_view text, H5T_str_t pad) {
  if (pad == H5T_STR_NULLTERM) return text.substr(0, text.find('\0'));
  const char padding = pad == H5T_STR_SPACEPAD ? ' ' : '\0';
  while (!text.empty() && text.back() == padding) text.remove_suffix(1);
  return text;
}

// The bytes between two neighbours in dimension `depth`.
uint64_t StrideBytes(const std::vector<hsize_t>& dims, std::size_t depth, std::size_t item_bytes) {
  uint64_t stride_bytes = item_bytes;
  for (std::size_t d = depth + 1; d < dims.size(); ++d) stride_bytes *= dims[d];
  return stride_bytes;
}

}  // namespace

ElementForm::ElementForm(hid_t type) : type_(type), class_(TypeClass(type)), size_bytes_(H5Tget_size(type)) {
  switch (class_) {
    case H5T_INTEGER:
    case H5T_BITFIELD:
    case H5T_FLOAT: number_.emplace(type); break;
    case H5T_ENUM:
      base_ = Handle(H5Tget_super(type));
      number_.emplace(base_.get());
      is_bool_ = IsBoolType(type);
      break;
    case kComplexClass:
      base_ = Handle(H5Tget_super(type));
      number_.emplace(base_.get());
      break;
    case H5T_STRING:
      is_variable_ = H5Tis_variable_str(type) > 0;
      padding_ = H5Tget_strpad(type);
      break;
    case H5T_VLEN:
    case H5T_ARRAY:
      base_ = Handle(H5Tget_super(type));
      item_ = std::make_unique<ElementForm>(base_.get());
      if (class_ == H5T_ARRAY) dims_ = ArrayDims(type);
      break;
    case H5T_COMPOUND:
      for (int i = 0; i < H5Tget_nmembers(type); ++i) {
        const unsigned index = static_cast<unsigned>(i);
        Handle member(H5Tget_member_type(type, index));
        ElementForm form(member.get());
        members_.push_back({std::move(member), H5Tget_member_offset(type, index), std::move(form)});
      }
      break;
    default: break;
  }
}

Json ElementForm::StringToJson(const void* element) const {
  if (is_variable_) {
    const char* text = nullptr;
    std::memcpy(&text, element, sizeof(text));
    return text != nullptr ? TextToJson(text) : Json();
  }
  const std::string_view text(static_cast<const char*>(element), size_bytes_);
  return TextToJson(WithoutPadding(text, padding_));
}

Status ElementForm::StringFromJson(const Json& json, void* element) const {
  if (json.is_null() && is_variable_) {  // HDF5 tells no string from an empty one
    std::memset(element, 0, sizeof(char*));
    return OkStatus();
  }
  const std::optional<std::string> text = TextFromJson(json);
  if (!text) return BadElement(json, type_);
  if (is_variable_) {
    if (text->find('\0') != std::string::npos) {
      return UnsupportedError("text " + zarr::BriefJson(json) +
                              " has a NUL in it: HDF5's strings of variable "
                              "length end there");
    }
    char* copy = static_cast<char*>(std::malloc(text->size() + 1));
    if (copy == nullptr) return NoSpaceError("memory for a string");
    std::memcpy(copy, text->c_str(), text->size() + 1);
    std::memcpy(element, &copy, sizeof(copy));
    return OkStatus();
  }
  if (text->size() > size_bytes_) return BadElement(json, type_);
  std::memset(element, padding_ == H5T_STR_SPACEPAD ? ' ' : '\0', size_bytes_);
  std::memcpy(element, text->data(), text->size());
  return OkStatus();
}

Result<Json> ElementForm::ListsToJson(const std::vector<hsize_t>& dims, std::size_t depth, const std::byte* first,
                                      const ReferenceResolver& references) const {
  if (depth == dims.size()) return ToJson(first, references);
  const uint64_t stride_bytes = StrideBytes(dims, depth, size_bytes_);
  Json list = Json::array();
  for (uint64_t i = 0; i < dims[depth]; ++i) {
    H5ZARR_ASSIGN_OR_RETURN(Json row, ListsToJson(dims, depth + 1, first + i * stride_bytes, references));
    list.push_back(std::move(row));
  }
  return list;
}

Status ElementForm::ListsFromJson(const Json& json, const std::vector<hsize_t>& dims, std::size_t depth,
                                  std::byte* first, const ReferenceResolver& references) const {
  if (depth == dims.size()) return FromJson(json, first, references);
  if (!json.is_array() || json.size() != dims[depth]) {
    return CorruptError("value " + zarr::BriefJson(json) + ": expected a list of " + std::to_string(dims[depth]));
  }
  const uint64_t stride_bytes = StrideBytes(dims, depth, size_bytes_);
  for (uint64_t i = 0; i < dims[depth]; ++i) {
    H5ZARR_RETURN_IF_ERROR(ListsFromJson(json[i], dims, depth + 1, first + i * stride_bytes, references));
  }
  return OkStatus();
}

Result<Json> ElementForm::SequenceToJson(const void* element, const ReferenceResolver& references) const {
  hvl_t sequence;
  std::memcpy(&sequence, element, sizeof(sequence));
  if (sequence.p == nullptr) return Json(Json::array());
  return item_->ListsToJson({sequence.len}, 0, static_cast<const std::byte*>(sequence.p), references);
}

Status ElementForm::SequenceFromJson(const Json& json, void* element, const ReferenceResolver& references) const {
  if (!json.is_array()) return BadElement(json, type_);
  hvl_t sequence{json.size(), nullptr};
  if (json.empty()) {
    std::memcpy(element, &sequence, sizeof(sequence));
    return OkStatus();
  }
  sequence.p = std::calloc(json.size(), item_->size_bytes());
  if (sequence.p == nullptr) return NoSpaceError("memory for a sequence");
  // Whoever owns the element frees what is there, also after a failure.
  std::memcpy(element, &sequence, sizeof(sequence));
  return item_->ListsFromJson(json, {json.size()}, 0, static_cast<std::byte*>(sequence.p), references);
}

Result<Json> ElementForm::CompoundToJson(const std::byte* element, const ReferenceResolver& references) const {
  Json list = Json::array();
  for (const Member& member : members_) {
    H5ZARR_ASSIGN_OR_RETURN(Json json, member.form.ToJson(element + member.offset_bytes, references));
    list.push_back(std::move(json));
  }
  return list;
}

Status ElementForm::CompoundFromJson(const Json& json, std::byte* element, const ReferenceResolver& references) const {
  if (!json.is_array() || json.size() != members_.size()) return BadElement(json, type_);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    H5ZARR_RETURN_IF_ERROR(members_[i].form.FromJson(json[i], element + members_[i].offset_bytes, references));
  }
  return OkStatus();
}

Result<Json> ElementForm::ReferenceToJson(const void* element, const ReferenceResolver& references) const {
  const auto* bytes = static_cast<const unsigned char*>(element);
  if (std::all_of(bytes, bytes + size_bytes_, [](unsigned char b) { return b == 0; })) {
    return Json("");
  }
  if (!references.to_path) return UnsupportedError("HDF5 " + DescribeType(type_) + " without a file");
  if (!IsObjectReference(type_)) return references.to_json(type_, element);
  return TextToJson(references.to_path(element));
}

Status ElementForm::ReferenceFromJson(const Json& json, void* element, const ReferenceResolver& references) const {
  std::memset(element, 0, size_bytes_);
  if (json == "") return OkStatus();
  if (!references.from_path) return BadElement(json, type_);
  if (!IsObjectReference(type_)) return references.from_json(json, type_, element);
  const Json* within = ReferencePath(json);
  const std::optional<std::string> path = TextFromJson(within != nullptr ? *within : json);
  if (!path) return BadElement(json, type_);
  if (path->empty()) return OkStatus();
  // A target that is gone: HDF5's readers know null references.
  H5ZARR_ASSIGN_OR_RETURN(const bool is_there, references.from_path(*path, element));
  if (!is_there) std::memset(element, 0, sizeof(hobj_ref_t));
  return OkStatus();
}

// HDF5 2's complex numbers: two floats.
Result<Json> ElementForm::ComplexToJson(const std::byte* element) const {
  H5ZARR_ASSIGN_OR_RETURN(Json real, number_->ToJson(element));
  H5ZARR_ASSIGN_OR_RETURN(Json imaginary, number_->ToJson(element + size_bytes_ / 2));
  return Json::array({std::move(real), std::move(imaginary)});
}

Status ElementForm::ComplexFromJson(const Json& json, std::byte* element) const {
  if (!json.is_array() || json.size() != 2) return BadElement(json, type_);
  H5ZARR_RETURN_IF_ERROR(number_->FromJson(json[0], element));
  return number_->FromJson(json[1], element + size_bytes_ / 2);
}

Result<Json> ElementForm::ToJson(const void* element, const ReferenceResolver& references) const {
  const auto* bytes = static_cast<const std::byte*>(element);
  switch (class_) {
    case H5T_INTEGER:
    case H5T_BITFIELD:
    case H5T_FLOAT: return number_->ToJson(element);
    case H5T_STRING: return StringToJson(element);
    case H5T_ENUM: {
      H5ZARR_ASSIGN_OR_RETURN(Json number, number_->ToJson(element));
      if (is_bool_ && (number == 0 || number == 1)) return Json(number == 1);
      return number;
    }
    case H5T_OPAQUE:
    case H5T_TIME: return BytesElementToJson(element, size_bytes_);
    case H5T_COMPOUND: return CompoundToJson(bytes, references);
    case H5T_VLEN: return SequenceToJson(element, references);
    case H5T_REFERENCE: return ReferenceToJson(element, references);
    case kComplexClass: return ComplexToJson(bytes);
    case H5T_ARRAY: return item_->ListsToJson(dims_, 0, bytes, references);
    default: return UnsupportedError("HDF5 " + DescribeType(type_));
  }
}

Status ElementForm::FromJson(const Json& json, void* element, const ReferenceResolver& references) const {
  auto* bytes = static_cast<std::byte*>(element);
  switch (class_) {
    case H5T_INTEGER:
    case H5T_BITFIELD:
    case H5T_FLOAT: return number_->FromJson(json, element);
    case H5T_STRING: return StringFromJson(json, element);
    case H5T_ENUM: {
      const bool truth = json.is_boolean() && is_bool_;
      return number_->FromJson(truth ? Json(json.get<bool>() ? 1u : 0u) : json, element);
    }
    case H5T_OPAQUE:
    case H5T_TIME: return BytesElementFromJson(json, element, size_bytes_);
    case H5T_COMPOUND: return CompoundFromJson(json, bytes, references);
    case H5T_VLEN: return SequenceFromJson(json, element, references);
    case H5T_REFERENCE: return ReferenceFromJson(json, element, references);
    case kComplexClass: return ComplexFromJson(json, bytes);
    case H5T_ARRAY: return item_->ListsFromJson(json, dims_, 0, bytes, references);
    default: return UnsupportedError("HDF5 " + DescribeType(type_));
  }
}

Result<Json> ElementToJson(hid_t type, const void* element, const ReferenceResolver& references) {
  return ElementForm(type).ToJson(element, references);
}

Status ElementFromJson(const Json& json, hid_t type, void* element, const ReferenceResolver& references) {
  return ElementForm(type).FromJson(json, element, references);
}

}  // namespace h5zarr::shadow
