#include "shadow/attribute_map.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "host/guard.h"
#include "shadow/chunk_map.h"
#include "shadow/element_form.h"
#include "shadow/h5_types.h"
#include "shadow/json_text.h"
#include "shadow/number_json.h"
#include "shadow/type_map.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {
namespace {

// Extents of a simple or scalar space; nothing for a null one.
std::optional<std::vector<hsize_t>> SpaceDims(hid_t space) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return std::nullopt;
  const int rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> dims(rank > 0 ? static_cast<std::size_t>(rank) : 0);
  if (!dims.empty()) H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  return dims;
}

Handle MakeSpace(const std::optional<std::vector<hsize_t>>& dims) {
  if (!dims) return Handle(H5Screate(H5S_NULL));
  if (dims->empty()) return Handle(H5Screate(H5S_SCALAR));
  return Handle(H5Screate_simple(static_cast<int>(dims->size()), dims->data(), nullptr));
}

Json ReferenceObject(const Json& path) {
  Json target = Json::object();
  target["source"] = ".";
  target["path"] = path;
  Json json = Json::object();
  json["_REFERENCE"] = std::move(target);
  return json;
}

Result<Json> ValueToJson(const AttributeValue& value, const ReferenceResolver& references) {
  const std::optional<std::vector<hsize_t>> dims = SpaceDims(value.space());
  if (!dims) return Json();
  H5ZARR_ASSIGN_OR_RETURN(
      Json json,
      ElementForm(value.type()).ListsToJson(*dims, 0, static_cast<const std::byte*>(value.data()), references));
  if (dims->empty() && IsObjectReference(value.type())) return ReferenceObject(json);
  return json;
}

// The elements of `json`, nested as deep as `dims`; false where it is nested otherwise.
bool Flatten(const Json& json, const std::vector<hsize_t>& dims, std::size_t depth,
             std::vector<const Json*>* elements) {
  if (depth == dims.size()) {
    elements->push_back(&json);
    return true;
  }
  // A list behind an empty dimension cannot say how long it would be.
  if (!json.is_array() || (json.size() != dims[depth] && !json.empty())) return false;
  if (json.size() != dims[depth]) {
    return std::find(dims.begin(), dims.end(), hsize_t{0}) != dims.end();
  }
  return std::all_of(json.begin(), json.end(),
                     [&](const Json& item) { return Flatten(item, dims, depth + 1, elements); });
}

Result<AttributeValue> MakeValue(Handle type, const std::optional<std::vector<hsize_t>>& dims,
                                 const std::vector<const Json*>& elements, const ReferenceResolver& references) {
  const std::size_t elem_bytes = H5Tget_size(type.get());
  const std::optional<uint64_t> size_bytes = CheckedMul(elem_bytes, elements.size());
  if (!type.valid() || !size_bytes) return Hdf5Failure("an attribute's type");
  Handle space = MakeSpace(dims);
  if (!space.valid()) return CorruptError("an attribute's shape is none that HDF5 can have");
  H5ZARR_ASSIGN_OR_RETURN(Buffer data, Buffer::Allocate(*size_bytes));
  if (*size_bytes > 0) std::memset(data.data(), 0, *size_bytes);
  AttributeValue value(std::move(type), std::move(space), std::move(data));
  auto* at = static_cast<std::byte*>(value.data());
  const ElementForm form(value.type());
  for (const Json* element : elements) {
    H5ZARR_RETURN_IF_ERROR(form.FromJson(*element, at, references));
    at += elem_bytes;
  }
  return value;
}

Result<AttributeValue> FromDescription(const Json& value, const Json& description,
                                       const ReferenceResolver& references) {
  const Json* type_json = zarr::FindMember(description, "type");
  const Json* shape = zarr::FindMember(description, "shape");
  if (type_json == nullptr || shape == nullptr) {
    return CorruptError("an attribute's description without type or shape");
  }
  H5ZARR_ASSIGN_OR_RETURN(Handle type, TypeFromJson(*type_json));
  if (shape->is_null()) {
    if (!value.is_null()) return CorruptError("a value for a null dataspace");
    return MakeValue(std::move(type), std::nullopt, {}, references);
  }
  if (!shape->is_array() || shape->size() > H5S_MAX_RANK) {
    return CorruptError("an attribute's shape " + zarr::BriefJson(*shape));
  }
  std::vector<hsize_t> dims;
  for (const Json& extent : *shape) {
    if (!AsUnsigned(extent)) return CorruptError("an attribute's shape " + zarr::BriefJson(*shape));
    dims.push_back(*AsUnsigned(extent));
  }
  std::vector<const Json*> elements;
  const bool single = std::all_of(dims.begin(), dims.end(), [](hsize_t dim) { return dim == 1; });
  if (single && !value.is_array()) {
    elements.push_back(&value);  // one number in place of a list of one
  } else if (!Flatten(value, dims, 0, &elements)) {
    return CorruptError("an attribute's value is not shaped as described");
  }
  const std::optional<uint64_t> count = CheckedProduct(dims);
  if (!count || *count != elements.size()) {
    return CorruptError("an attribute's value is not shaped as described");
  }
  return MakeValue(std::move(type), dims, elements, references);
}

// --- natural forms -------------------------------------------------------------------------------

enum class Leaf { kBool, kInteger, kNumber, kWord, kText, kReference, kOther };

Leaf ClassifyLeaf(const Json& json) {
  if (json.is_boolean()) return Leaf::kBool;
  if (json.is_number_integer()) return Leaf::kInteger;
  if (json.is_number()) return Leaf::kNumber;
  if (json.is_string()) {
    return NonFiniteWord(json.get_ref<const std::string&>()) ? Leaf::kWord : Leaf::kText;
  }
  return ReferencePath(json) != nullptr ? Leaf::kReference : Leaf::kOther;
}

// The shape of rectangular nested lists, taken from their first elements.
std::vector<hsize_t> FirstShape(const Json& json) {
  std::vector<hsize_t> dims;
  for (const Json* at = &json; at->is_array(); at = &at->front()) {
    dims.push_back(at->size());
    if (at->empty()) break;
  }
  return dims;
}

Handle IntegerTypeFor(const std::vector<const Json*>& elements) {
  bool negative = false;
  bool large = false;
  for (const Json* element : elements) {
    if (element->is_number_unsigned()) large |= element->get<uint64_t>() > INT64_MAX;
    else negative |= element->get<int64_t>() < 0;
  }
  if (large && negative) return MakeFloat(8, "", Endian::kLittle);
  return MakeInteger(8, !large, Endian::kLittle);
}

// A variable string, which HDF5's readers like best; or a fixed one where a text has a NUL in it.
Handle TextTypeFor(const std::vector<const Json*>& elements) {
  std::size_t longest = 1;
  bool has_nul = false;
  for (const Json* element : elements) {
    const auto& text = element->get_ref<const std::string&>();
    longest = std::max(longest, text.size());
    has_nul |= text.find('\0') != std::string::npos;
  }
  return has_nul ? MakeFixedString(longest, H5T_STR_NULLPAD, H5T_CSET_UTF8)
                 : MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8);
}

// The common type of the leaves, or an invalid handle.
Handle NaturalType(const std::vector<const Json*>& elements, bool is_list) {
  std::size_t counts[7] = {};
  for (const Json* element : elements) ++counts[static_cast<int>(ClassifyLeaf(*element))];
  const auto all = [&](std::initializer_list<Leaf> leaves) {
    std::size_t sum = 0;
    for (const Leaf leaf : leaves) sum += counts[static_cast<int>(leaf)];
    return sum == elements.size();
  };
  if (elements.empty()) return MakeFloat(8, "", Endian::kLittle);
  if (all({Leaf::kBool})) return MakeBoolType();
  if (all({Leaf::kInteger})) return IntegerTypeFor(elements);
  if (all({Leaf::kInteger, Leaf::kNumber})) return MakeFloat(8, "", Endian::kLittle);
  if (all({Leaf::kText, Leaf::kWord})) return TextTypeFor(elements);
  if (all({Leaf::kReference})) return Handle(H5Tcopy(H5T_STD_REF_OBJ));
  // NaN among numbers, by the words that JSON has instead.
  if (is_list && all({Leaf::kInteger, Leaf::kNumber, Leaf::kWord})) {
    return MakeFloat(8, "", Endian::kLittle);
  }
  return Handle();
}

// The type of text that stands for JSON which HDF5 has no form for. Only its padding, which means nothing to
// strings of variable length, tells it from others: copies of the attribute are such JSON again.
Handle JsonTextType() { return MakeVlenString(H5T_STR_SPACEPAD, H5T_CSET_UTF8); }

// The natural form of a value: its extents and elements, and an invalid type where only its text is one.
struct NaturalForm {
  Handle type;
  std::vector<hsize_t> dims;
  std::vector<const Json*> elements;
};

NaturalForm NaturalFormOf(const Json& value) {
  NaturalForm form{Handle(), FirstShape(value), {}};
  if (form.dims.size() <= H5S_MAX_RANK && Flatten(value, form.dims, 0, &form.elements)) {
    form.type = NaturalType(form.elements, !form.dims.empty());
  }
  return form;
}

Result<AttributeValue> Natural(const Json& value, const ReferenceResolver& references) {
  if (value.is_null()) {
    return MakeValue(MakeFloat(8, "", Endian::kLittle), std::nullopt, {}, references);
  }
  NaturalForm form = NaturalFormOf(value);
  if (form.type.valid()) return MakeValue(std::move(form.type), form.dims, form.elements, references);
  const Json text = zarr::DumpJson(value, -1);
  return MakeValue(JsonTextType(), std::vector<hsize_t>(), {&text}, references);
}

// Whether it has a number that is none of JSON's, or one that only its literal tells.
bool HasOddNumber(const Json& json) {
  if (json.is_number_float()) return !std::isfinite(json.get<double>());
  return json.is_binary() || (json.is_structured() && std::any_of(json.begin(), json.end(), HasOddNumber));
}

// `text` without the blanks that mean nothing in JSON.
std::string WithoutBlanks(const std::string& text) {
  std::string kept;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      kept.append(text, i++, 2);
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (in_string || (c != ' ' && c != '\n' && c != '\r' && c != '\t')) kept += c;
  }
  return kept;
}

// The JSON that is shown as `text`, up to blanks, and escapes of what is not ASCII; or nothing.
std::optional<Json> JsonOfShownText(const std::string& text) {
  const std::string plain = WithoutBlanks(text);
  if (plain.empty() || (plain[0] != '{' && plain[0] != '[')) return std::nullopt;
  Result<Json> json = zarr::ParseJson(text, "an attribute");
  if (!json.ok() || HasOddNumber(*json) || !IsShownAsText(*json)) return std::nullopt;
  constexpr bool kEscapeAll = true;
  if (json->dump() != plain && json->dump(-1, ' ', kEscapeAll) != plain) return std::nullopt;
  return std::move(json).value();
}

// The JSON whose natural form is `value`, where its type says that it is such text; or nothing.
std::optional<Json> JsonOfValue(const AttributeValue& value, const Json& json, const Json& type_json) {
  if (!json.is_string() || H5Sget_simple_extent_type(value.space()) != H5S_SCALAR) return std::nullopt;
  const Result<Json> text_type = TypeToJson(JsonTextType().get());
  if (!text_type.ok() || text_type.value() != type_json) return std::nullopt;
  const auto& text = json.get_ref<const std::string&>();
  std::optional<Json> shown = JsonOfShownText(text);
  if (shown && zarr::DumpJson(*shown, -1) != text) shown.reset();  // what was written is read
  return shown;
}

// True when `json` alone gives back `value`.
bool SaysItAll(const Json& json, const AttributeValue& value, const Json& type_json,
               const ReferenceResolver& references) {
  const Result<AttributeValue> natural = Natural(json, references);
  if (!natural.ok()) return false;
  const Result<Json> natural_type = TypeToJson(natural.value().type());
  if (!natural_type.ok() || natural_type.value() != type_json) return false;
  if (SpaceDims(natural.value().space()) != SpaceDims(value.space())) return false;
  const Result<Json> again = ValueToJson(natural.value(), references);
  return again.ok() && again.value() == json;
}

Result<AttributeJson> ToJson(const AttributeValue& value, const ReferenceResolver& references) {
  AttributeJson result;
  H5ZARR_ASSIGN_OR_RETURN(result.value, ValueToJson(value, references));
  H5ZARR_ASSIGN_OR_RETURN(Json type, TypeToJson(value.type()));
  if (std::optional<Json> shown = JsonOfValue(value, result.value, type)) {
    result.value = *std::move(shown);
    return result;
  }
  if (SaysItAll(result.value, value, type, references)) return result;
  const std::optional<std::vector<hsize_t>> dims = SpaceDims(value.space());
  result.description = Json::object();
  result.description["type"] = std::move(type);
  result.description["shape"] = dims ? Json(*dims) : Json();
  return result;
}

}  // namespace

AttributeValue::AttributeValue(Handle type, Handle space, Buffer data)
    : type_(std::move(type)), space_(std::move(space)), data_(std::move(data)) {}

AttributeValue::~AttributeValue() {
  if (!type_.valid() || data_.empty() || !HoldsVlenOrReference(type_.get())) return;
  const QuietErrors quiet;
  // As one list: HDF5 divides by zero where a space has its highest rank.
  const hsize_t elems = data_.size_bytes() / H5Tget_size(type_.get());
  const Handle list(H5Screate_simple(1, &elems, nullptr));
  H5Treclaim(type_.get(), list.get(), H5P_DEFAULT, data_.data());
}

Result<AttributeJson> AttributeToJson(const AttributeValue& value, const ReferenceResolver& references) {
  return host::CatchAll([&] { return ToJson(value, references); });
}

Result<AttributeValue> AttributeFromJson(const Json& stored, const Json& description,
                                         const ReferenceResolver& references) {
  const Json value = zarr::PlainJson(stored);
  return host::CatchAll([&]() -> Result<AttributeValue> {
    if (zarr::FindMember(description, "type") == nullptr) return Natural(value, references);
    Result<AttributeValue> described = FromDescription(value, description, references);
    if (described.ok()) return described;
    return Natural(value, references);
  });
}

bool IsShownAsText(const Json& stored) {
  return stored.is_structured() && !NaturalFormOf(zarr::PlainJson(stored)).type.valid();
}

std::optional<Json> JsonOfText(const AttributeJson& attribute) {
  if (!attribute.value.is_string()) return std::nullopt;
  if (!attribute.description.is_null()) {
    const Result<Json> text_type = TypeToJson(JsonTextType().get());
    if (!text_type.ok()) return std::nullopt;
    const Json text_alone = {{"type", *text_type}, {"shape", Json::array()}};
    if (attribute.description != text_alone) return std::nullopt;
  }
  return JsonOfShownText(attribute.value.get_ref<const std::string&>());
}

Json EncodedFillValue(const Json& value, const DType& dtype, int zarr_format) {
  if (zarr_format != 3 || dtype.kind != DType::Kind::kFloat) return value;
  const Json& single = value.is_array() && value.size() == 1 ? value[0] : value;
  const Handle type = MakeFloat(dtype.item_bytes, dtype.format, Endian::kLittle);
  const Handle wide = MakeFloat(8, "", Endian::kLittle);
  unsigned char bytes[8] = {};
  if (!type.valid() || !NumberForm(type.get()).FromJson(single, bytes).ok() ||
      H5Tconvert(type.get(), wide.get(), 1, bytes, nullptr, H5P_DEFAULT) < 0) {
    return value;
  }
  return BytesElementToJson(bytes, sizeof(bytes));
}

Json NaturalFillValue(const Json& value, const DType& dtype, int zarr_format) {
  if (zarr_format != 3 || dtype.kind != DType::Kind::kFloat || !value.is_string()) return value;
  uint64_t bits = 0;
  unsigned char bytes[8];
  if (!BytesElementFromJson(value, bytes, sizeof(bytes)).ok()) return value;
  for (int i = 0; i < 8; ++i) bits |= uint64_t{bytes[i]} << (8 * i);
  const double number = std::bit_cast<double>(bits);
  // As short as the array's own width has it: what is shown is what was written.
  return dtype.item_bytes < 8 ? Json(ShortestDouble(static_cast<float>(number))) : Json(number);
}

Json FillValueDescription(const DType& dtype, const Json& value) {
  Handle type;
  if (dtype.kind == DType::Kind::kFloat) {
    const bool is_word = value.is_string() && NonFiniteWord(value.get_ref<const std::string&>());
    if (value.is_number() || is_word) type = MakeFloat(dtype.item_bytes, dtype.format, dtype.endian);
  } else if (dtype.kind == DType::Kind::kInt || dtype.kind == DType::Kind::kUint) {
    const bool is_signed = dtype.kind == DType::Kind::kInt;
    if (value.is_number_integer()) type = MakeInteger(dtype.item_bytes, is_signed, dtype.endian);
  }
  if (!type.valid()) return Json();
  const Result<Json> type_json = TypeToJson(type.get());
  if (!type_json.ok()) return Json();
  Json description = Json::object();
  description["type"] = type_json.value();
  description["shape"] = Json::array();
  return description;
}

}  // namespace h5zarr::shadow
