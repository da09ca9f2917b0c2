#include "zarr/metadata_parts.h"

#include <algorithm>

#include "base/checked.h"

namespace h5zarr::zarr {
namespace {

std::string ShapeText(const std::vector<uint64_t>& shape) { return BriefJson(Json(shape)); }

// The shape behind transpose `configuration`, or nothing when it is no permutation.
std::optional<std::vector<uint64_t>> Permuted(const std::vector<uint64_t>& shape, const Json& configuration) {
  const Json* order = FindMember(configuration, "order");
  if (order != nullptr && order->is_string()) {  // before Zarr v3 was final
    const std::string word = order->get<std::string>();
    if (word == "C") return shape;
    return word == "F" ? std::optional(std::vector<uint64_t>(shape.rbegin(), shape.rend())) : std::nullopt;
  }
  if (order == nullptr || !order->is_array() || order->size() != shape.size()) return std::nullopt;
  std::vector<uint64_t> permuted;
  std::vector<bool> seen(shape.size(), false);
  for (const Json& item : *order) {
    if (!item.is_number_unsigned()) return std::nullopt;
    const auto from = item.get<uint64_t>();
    if (from >= shape.size() || seen[from]) return std::nullopt;
    seen[from] = true;
    permuted.push_back(shape[from]);
  }
  return permuted;
}

}  // namespace

Result<const Json*> RequireMember(const Json& document, std::string_view name) {
  const Json* member = FindMember(document, name);
  if (member == nullptr) return CorruptError("member '" + std::string(name) + "' is missing");
  return member;
}

Result<uint64_t> ParseExtent(const Json& value, std::string_view what) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t{INT64_MAX}) {
    return CorruptError(std::string(what) + " is " + BriefJson(value) + "; expected an integer from 0 to 2^63 - 1");
  }
  return value.get<uint64_t>();
}

Result<std::vector<uint64_t>> ParseExtents(const Json& value, std::string_view what) {
  if (!value.is_array()) {
    return CorruptError(std::string(what) + " is " + BriefJson(value) + "; expected a list");
  }
  if (value.size() > kMaxRank) {
    return UnsupportedError(std::string(what) + " has " + std::to_string(value.size()) +
                            " dimensions; at most 32 are supported");
  }
  std::vector<uint64_t> extents;
  for (const Json& item : value) {
    H5ZARR_ASSIGN_OR_RETURN(extents.emplace_back(), ParseExtent(item, what));
  }
  return extents;
}

Status CheckExtents(const std::vector<uint64_t>& shape, const DType& dtype, std::vector<uint64_t>* chunk_shape) {
  if (chunk_shape->size() != shape.size()) {
    return CorruptError("chunk shape " + ShapeText(*chunk_shape) + " has another rank than shape " + ShapeText(shape));
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if ((*chunk_shape)[d] != 0) continue;
    if (shape[d] != 0) {
      return CorruptError("chunk shape " + ShapeText(*chunk_shape) + " has extent 0 where shape " + ShapeText(shape) +
                          " has not");
    }
    (*chunk_shape)[d] = 1;
  }
  const auto elems = CheckedProduct(shape);
  if (!elems || *elems > uint64_t{INT64_MAX}) {
    return UnsupportedError("shape " + ShapeText(shape) + " has 2^63 elements or more");
  }
  const auto chunk_elems = CheckedProduct(*chunk_shape);
  const auto chunk_bytes =
      chunk_elems ? CheckedMul(*chunk_elems, std::max<uint64_t>(1, dtype.item_bytes)) : std::nullopt;
  if (!chunk_bytes || *chunk_bytes > uint64_t{INT64_MAX}) {
    return UnsupportedError("a chunk of shape " + ShapeText(*chunk_shape) + " with elements of " +
                            std::to_string(dtype.item_bytes) + " bytes has 2^63 bytes or more");
  }
  return OkStatus();
}

Status CheckSharding(const std::vector<CodecSpec>& codecs, std::vector<uint64_t> chunk_shape) {
  for (const CodecSpec& codec : codecs) {
    if (codec.name == "transpose") {
      auto permuted = Permuted(chunk_shape, codec.configuration);
      if (!permuted) {
        return CorruptError("codec transpose: " + BriefJson(codec.configuration) + " is no permutation of " +
                            std::to_string(chunk_shape.size()) + " dimensions");
      }
      chunk_shape = std::move(*permuted);
    } else if (codec.name == "reshape") {
      return OkStatus();  // what follows has another rank
    } else if (codec.name == "sharding_indexed") {
      const Json* member = FindMember(codec.configuration, "chunk_shape");
      if (member == nullptr) return CorruptError("codec sharding_indexed: no chunk_shape");
      H5ZARR_ASSIGN_OR_RETURN(auto inner, ParseExtents(*member, "chunk_shape of codec sharding_indexed"));
      bool divides = inner.size() == chunk_shape.size();
      for (std::size_t d = 0; divides && d < inner.size(); ++d) {
        divides = inner[d] != 0 && chunk_shape[d] % inner[d] == 0;
      }
      if (!divides) {
        return CorruptError("codec sharding_indexed: inner chunk shape " + ShapeText(inner) +
                            " does not divide the shard's " + ShapeText(chunk_shape));
      }
      const Json* inner_codecs = FindMember(codec.configuration, "codecs");
      if (inner_codecs == nullptr) return CorruptError("codec sharding_indexed: no codecs");
      H5ZARR_ASSIGN_OR_RETURN(auto parsed, ParseCodecListV3(*inner_codecs));
      return CheckSharding(parsed, std::move(inner));
    }
  }
  return OkStatus();
}

Result<CodecSpec> ParseNamed(const Json& value, std::string_view what) {
  CodecSpec spec;
  spec.configuration = nullptr;
  if (value.is_string()) {
    spec.name = value.get<std::string>();
  } else {
    const Json* name = FindMember(value, "name");
    if (name == nullptr || !name->is_string()) {
      return CorruptError(std::string(what) + " is " + BriefJson(value) +
                          "; expected a name, or an object with a name");
    }
    spec.name = name->get<std::string>();
    const Json* configuration = FindMember(value, "configuration");
    if (configuration != nullptr && !configuration->is_null()) {
      if (!configuration->is_object()) {
        return CorruptError(std::string(what) + " " + spec.name + ": configuration is " + BriefJson(*configuration) +
                            "; expected an object");
      }
      spec.configuration = *configuration;
    }
  }
  if (spec.name.empty()) return CorruptError(std::string(what) + " has an empty name");
  return spec;
}

Result<std::vector<CodecSpec>> ParseCodecListV3(const Json& value) {
  if (!value.is_array()) {
    return CorruptError("codecs is " + BriefJson(value) + "; expected a list");
  }
  std::vector<CodecSpec> codecs;
  for (const Json& item : value) {
    H5ZARR_ASSIGN_OR_RETURN(codecs.emplace_back(), ParseNamed(item, "codec"));
  }
  return codecs;
}

Json FormatNamed(const std::string& name, const Json& configuration) {
  Json value = Json::object();
  value["name"] = name;
  if (!configuration.is_null()) value["configuration"] = configuration;
  return value;
}

void SetMember(Json* document, std::string_view name, Json value) { (*document)[std::string(name)] = std::move(value); }

void SetEndian(DType* dtype, Endian endian) {
  if (dtype->has_endian()) dtype->endian = endian;
  for (DTypeField& field : dtype->fields) SetEndian(&field.dtype, endian);
}

bool AnyEndian(const DType& dtype) {
  if (dtype.has_endian()) return true;
  return std::any_of(dtype.fields.begin(), dtype.fields.end(),
                     [](const DTypeField& field) { return AnyEndian(field.dtype); });
}

std::optional<Endian> CommonEndian(const DType& dtype) {
  if (dtype.kind != DType::Kind::kStruct) {
    return dtype.has_endian() ? dtype.endian : Endian::kLittle;
  }
  std::optional<Endian> common;
  for (const DTypeField& field : dtype.fields) {
    if (!AnyEndian(field.dtype)) continue;
    const std::optional<Endian> endian = CommonEndian(field.dtype);
    if (!endian || (common && *common != *endian)) return std::nullopt;
    common = endian;
  }
  return common.value_or(Endian::kLittle);
}

Status AppendField(DType* dtype, std::string name, std::vector<uint64_t> shape, DType member) {
  for (const DTypeField& field : dtype->fields) {
    if (field.name == name) return CorruptError("two fields named '" + name + "'");
  }
  const auto elems = CheckedProduct(shape);
  const auto bytes = elems ? CheckedMul(*elems, member.item_bytes) : std::nullopt;
  if (!bytes || *bytes > kMaxItemBytes || dtype->item_bytes + *bytes > kMaxItemBytes) {
    return UnsupportedError("field '" + name + "' makes an element of more than " + kMaxItemText);
  }
  DTypeField field;
  field.name = std::move(name);
  field.offset_bytes = dtype->item_bytes;
  field.shape = std::move(shape);
  field.dtype = std::move(member);
  dtype->item_bytes += *bytes;
  dtype->fields.push_back(std::move(field));
  return OkStatus();
}

FillValue ZeroFill(const DType& dtype, bool defined) {
  FillValue fill;
  fill.defined = defined;
  if (!dtype.is_vlen()) fill.bytes.assign(dtype.item_bytes, std::byte{0});
  return fill;
}

Result<MetadataTexts> FormatArray(const ArrayMetadata& metadata) {
  return NoThrow("array metadata", [&]() -> Result<MetadataTexts> {
    MetadataTexts texts;
    if (metadata.zarr_format == 3) {
      H5ZARR_ASSIGN_OR_RETURN(texts.document, FormatArrayV3(metadata));
    } else {
      H5ZARR_ASSIGN_OR_RETURN(texts.document, FormatArrayV2(metadata));
      if (!metadata.attributes.empty()) texts.attributes = DumpJson(metadata.attributes);
    }
    return texts;
  });
}

Result<MetadataTexts> FormatGroup(const GroupMetadata& metadata) {
  return NoThrow("group metadata", [&]() -> Result<MetadataTexts> {
    MetadataTexts texts;
    Json document = metadata.document.is_object() ? metadata.document : Json::object();
    if (metadata.zarr_format == 3) {
      // zarr-python's order for a new document.
      if (!document.contains("attributes")) {
        if (document.empty() || !metadata.attributes.empty()) {
          document["attributes"] = metadata.attributes;
        }
      } else {
        document["attributes"] = metadata.attributes;
      }
      document["zarr_format"] = 3;
      document["node_type"] = "group";
    } else {
      document["zarr_format"] = 2;
      if (!metadata.attributes.empty()) texts.attributes = DumpJson(metadata.attributes);
    }
    texts.document = DumpJson(document);
    return texts;
  });
}

}  // namespace h5zarr::zarr
