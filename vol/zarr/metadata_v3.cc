// zarr.json, read.
#include <algorithm>
#include <array>

#include "zarr/codec_role.h"
#include "zarr/metadata.h"
#include "zarr/metadata_parts.h"

namespace h5zarr::zarr {
namespace {

constexpr std::array<std::string_view, 11> kArrayMembers = {
    "zarr_format", "node_type",          "shape",           "data_type",           "chunk_grid", "codecs", "fill_value",
    "attributes",  "chunk_key_encoding", "dimension_names", "storage_transformers"};
constexpr std::array<std::string_view, 3> kGroupMembers = {"zarr_format", "node_type", "attributes"};

// An unknown member may change what the rest means unless it says that it may be ignored.
template <std::size_t N>
Status CheckMembers(const Json& document, const std::array<std::string_view, N>& known) {
  for (const auto& [name, value] : document.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const Json* must_understand = FindMember(value, "must_understand");
    if (must_understand != nullptr && *must_understand == false) continue;
    return UnsupportedError("member '" + name +
                            "' is not known, and is not marked as one that may "
                            "be ignored");
  }
  return OkStatus();
}

Status CheckFormat(const Json& document) {
  H5ZARR_ASSIGN_OR_RETURN(const Json* format, RequireMember(document, "zarr_format"));
  if (*format != 3) {
    return CorruptError("zarr_format is " + BriefJson(*format) + "; expected 3");
  }
  return OkStatus();
}

// Moves the attributes out of `document`; null keeps their place among the members.
Result<Json> TakeAttributes(Json* document) {
  if (FindMember(*document, "attributes") == nullptr) return Json::object();
  Json attributes = nullptr;
  std::swap(attributes, (*document)["attributes"]);
  if (attributes.is_null()) return Json::object();
  if (!attributes.is_object()) {
    return CorruptError("attributes is " + BriefJson(attributes) + "; expected an object");
  }
  return attributes;
}

Result<std::vector<uint64_t>> ParseChunkGrid(const Json& value) {
  H5ZARR_ASSIGN_OR_RETURN(const CodecSpec grid, ParseNamed(value, "chunk_grid"));
  if (grid.name != "regular") {
    return UnsupportedError("chunk_grid '" + grid.name + "'; only regular is supported");
  }
  const Json* shape = FindMember(grid.configuration, "chunk_shape");
  if (shape == nullptr) return CorruptError("chunk_grid: no chunk_shape");
  return ParseExtents(*shape, "chunk_shape");
}

Result<ChunkKeyEncoding> ParseKeyEncoding(const Json& value) {
  H5ZARR_ASSIGN_OR_RETURN(const CodecSpec spec, ParseNamed(value, "chunk_key_encoding"));
  ChunkKeyEncoding encoding;
  if (spec.name == "v2") {
    encoding.kind = ChunkKeyEncoding::Kind::kV2;
    encoding.separator = '.';
  } else if (spec.name != "default") {
    return UnsupportedError("chunk_key_encoding '" + spec.name + "' is not known");
  }
  const Json* separator = FindMember(spec.configuration, "separator");
  if (separator == nullptr) return encoding;
  if (*separator != "/" && *separator != ".") {
    return CorruptError("chunk_key_encoding: separator is " + BriefJson(*separator) + "; expected \"/\" or \".\"");
  }
  encoding.separator = separator->get_ref<const std::string&>()[0];
  return encoding;
}

Result<std::vector<std::optional<std::string>>> ParseDimensionNames(const Json* value, std::size_t rank) {
  std::vector<std::optional<std::string>> names;
  if (value == nullptr || value->is_null()) return names;
  if (!value->is_array() || value->size() != rank) {
    return CorruptError("dimension_names is " + BriefJson(*value) + "; expected a list of " + std::to_string(rank));
  }
  for (const Json& name : *value) {
    if (name.is_string()) {
      names.emplace_back(name.get<std::string>());
    } else if (name.is_null()) {
      names.emplace_back();
    } else {
      return CorruptError("dimension_names has " + BriefJson(name) + "; expected a name or null");
    }
  }
  return names;
}

// The byte order that the chain's array → bytes codec gives to elements; in a sharded array the one
// of the inner chain. Nothing where no codec says one.
Result<std::optional<Endian>> ChainEndian(const std::vector<CodecSpec>& codecs) {
  std::optional<Endian> endian;
  for (const CodecSpec& codec : codecs) {
    if (codec.name == "sharding_indexed") {
      const Json* inner = FindMember(codec.configuration, "codecs");
      if (inner == nullptr) return CorruptError("codec sharding_indexed: no codecs");
      H5ZARR_ASSIGN_OR_RETURN(const auto inner_codecs, ParseCodecListV3(*inner));
      return ChainEndian(inner_codecs);
    }
    if (codec.name != "bytes" && codec.name != "endian") continue;
    const Json* member = FindMember(codec.configuration, "endian");
    if (member == nullptr || member->is_null()) continue;
    if (*member != "little" && *member != "big") {
      return CorruptError("codec bytes: endian is " + BriefJson(*member) + "; expected \"little\" or \"big\"");
    }
    endian = *member == "big" ? Endian::kBig : Endian::kLittle;
  }
  return endian;
}

// The order of roles, as far as the codecs are known: array → array, one array → bytes, bytes →
// bytes. GDAL before 3.11 names no array → bytes codec: its elements are as `bytes` has them.
Status CheckRoles(const std::vector<CodecSpec>& codecs, const DType& dtype) {
  bool has_bytes = false;
  bool has_unknown = false;
  const CodecSpec* of_bytes = nullptr;
  for (const CodecSpec& codec : codecs) {
    switch (CodecRoleV3(codec.name)) {
      case CodecRole::kUnknown: has_unknown = true; break;
      case CodecRole::kArrayToArray:
        if (has_bytes || of_bytes != nullptr) {
          return CorruptError("codecs: " + codec.name + " stands behind an array to bytes codec");
        }
        break;
      case CodecRole::kArrayToBytes:
        if (of_bytes != nullptr) {
          return CorruptError("codecs: " + codec.name + " stands behind " + of_bytes->name);
        }
        if (has_bytes) return CorruptError("codecs: " + codec.name + " is the second array to bytes codec");
        has_bytes = true;
        break;
      case CodecRole::kBytesToBytes: of_bytes = &codec; break;
    }
  }
  if (!has_bytes && !has_unknown && dtype.is_vlen()) {
    return CorruptError("codecs: no array to bytes codec");
  }
  return OkStatus();
}

// `value`: null where the document says nothing of codecs.
Status ParseCodecs(const Json* value, ArrayMetadata* metadata) {
  std::vector<CodecSpec> codecs;
  if (value != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(codecs, ParseCodecListV3(*value));
  }
  H5ZARR_RETURN_IF_ERROR(CheckRoles(codecs, metadata->dtype));
  H5ZARR_ASSIGN_OR_RETURN(const auto endian, ChainEndian(codecs));
  SetEndian(&metadata->dtype, endian.value_or(Endian::kLittle));
  H5ZARR_RETURN_IF_ERROR(CheckSharding(codecs, metadata->chunk_shape));
  std::erase_if(codecs, [](const CodecSpec& codec) { return codec.name == "bytes" || codec.name == "endian"; });
  metadata->codecs = std::move(codecs);
  return OkStatus();
}

Status CheckTransformers(const Json* transformers) {
  if (transformers == nullptr || transformers->is_null()) return OkStatus();
  if (transformers->is_array() && transformers->empty()) return OkStatus();
  return UnsupportedError("storage_transformers " + BriefJson(*transformers) + " are not supported");
}

}  // namespace

Result<DocumentV3> ParseDocumentV3(std::string_view text, std::string_view what) {
  DocumentV3 document;
  const auto consolidated = FindMemberText(text, "consolidated_metadata");
  if (consolidated) {
    const auto begin = static_cast<std::size_t>(consolidated->data() - text.data());
    std::string rest(text.substr(0, begin));
    rest += "null";
    rest += text.substr(begin + consolidated->size());
    H5ZARR_ASSIGN_OR_RETURN(document.members, ParseJson(rest, what));
    document.has_consolidated = *consolidated != "null";
  } else {
    H5ZARR_ASSIGN_OR_RETURN(document.members, ParseJson(text, what));
  }
  if (!document.members.is_object()) {
    return CorruptError(std::string(what) + ": " + BriefJson(document.members) + "; expected an object");
  }
  if (consolidated) document.members.erase("consolidated_metadata");
  return document;
}

Result<std::string> NodeTypeOf(const Json& document) {
  H5ZARR_ASSIGN_OR_RETURN(const Json* type, RequireMember(document, "node_type"));
  if (*type != "array" && *type != "group") {
    return CorruptError("node_type is " + BriefJson(*type) + "; expected \"array\" or \"group\"");
  }
  return type->get<std::string>();
}

Result<ArrayMetadata> ArrayFromDocumentV3(Json document) {
  H5ZARR_RETURN_IF_ERROR(CheckFormat(document));
  H5ZARR_ASSIGN_OR_RETURN(const std::string node_type, NodeTypeOf(document));
  if (node_type != "array") return CorruptError("node_type is \"group\"; expected \"array\"");
  H5ZARR_RETURN_IF_ERROR(CheckMembers(document, kArrayMembers));
  H5ZARR_RETURN_IF_ERROR(CheckTransformers(FindMember(document, "storage_transformers")));
  ArrayMetadata metadata;
  H5ZARR_ASSIGN_OR_RETURN(metadata.attributes, TakeAttributes(&document));
  H5ZARR_ASSIGN_OR_RETURN(const Json* shape, RequireMember(document, "shape"));
  H5ZARR_ASSIGN_OR_RETURN(metadata.shape, ParseExtents(*shape, "shape"));
  H5ZARR_ASSIGN_OR_RETURN(const Json* data_type, RequireMember(document, "data_type"));
  H5ZARR_ASSIGN_OR_RETURN(metadata.dtype, ParseDTypeV3(*data_type));
  H5ZARR_ASSIGN_OR_RETURN(const Json* grid, RequireMember(document, "chunk_grid"));
  H5ZARR_ASSIGN_OR_RETURN(metadata.chunk_shape, ParseChunkGrid(*grid));
  H5ZARR_RETURN_IF_ERROR(CheckExtents(metadata.shape, metadata.dtype, &metadata.chunk_shape));
  H5ZARR_ASSIGN_OR_RETURN(const Json* encoding, RequireMember(document, "chunk_key_encoding"));
  H5ZARR_ASSIGN_OR_RETURN(metadata.key_encoding, ParseKeyEncoding(*encoding));
  H5ZARR_RETURN_IF_ERROR(ParseCodecs(FindMember(document, "codecs"), &metadata));
  H5ZARR_ASSIGN_OR_RETURN(const Json* fill, RequireMember(document, "fill_value"));
  H5ZARR_ASSIGN_OR_RETURN(metadata.fill, ParseFillValue(*fill, metadata.dtype, 3));
  H5ZARR_ASSIGN_OR_RETURN(metadata.dimension_names,
                          ParseDimensionNames(FindMember(document, "dimension_names"), metadata.rank()));
  metadata.document = std::move(document);
  return metadata;
}

Result<GroupMetadata> GroupFromDocumentV3(DocumentV3 document) {
  H5ZARR_RETURN_IF_ERROR(CheckFormat(document.members));
  H5ZARR_ASSIGN_OR_RETURN(const std::string node_type, NodeTypeOf(document.members));
  if (node_type != "group") return CorruptError("node_type is \"array\"; expected \"group\"");
  H5ZARR_RETURN_IF_ERROR(CheckMembers(document.members, kGroupMembers));
  GroupMetadata metadata;
  metadata.has_consolidated = document.has_consolidated;
  H5ZARR_ASSIGN_OR_RETURN(metadata.attributes, TakeAttributes(&document.members));
  metadata.document = std::move(document.members);
  return metadata;
}

Result<ArrayMetadata> ParseArrayV3(std::string_view text, std::string_view what) {
  return NoThrow(what, [&]() -> Result<ArrayMetadata> {
    H5ZARR_ASSIGN_OR_RETURN(DocumentV3 document, ParseDocumentV3(text, what));
    auto metadata = ArrayFromDocumentV3(std::move(document.members));
    if (!metadata.ok()) return metadata.status().WithContext(what);
    return metadata;
  });
}

Result<GroupMetadata> ParseGroupV3(std::string_view text, std::string_view what) {
  return NoThrow(what, [&]() -> Result<GroupMetadata> {
    H5ZARR_ASSIGN_OR_RETURN(DocumentV3 document, ParseDocumentV3(text, what));
    auto metadata = GroupFromDocumentV3(std::move(document));
    if (!metadata.ok()) return metadata.status().WithContext(what);
    return metadata;
  });
}

Result<std::string> NodeTypeV3(std::string_view text, std::string_view what) {
  return NoThrow(what, [&]() -> Result<std::string> {
    const auto value = FindMemberText(text, "node_type");
    if (!value) return CorruptError(std::string(what) + ": member 'node_type' is missing");
    if (*value == "\"array\"") return std::string("array");
    if (*value == "\"group\"") return std::string("group");
    return CorruptError(std::string(what) + ": node_type is " + std::string(value->substr(0, 40)) +
                        "; expected \"array\" or \"group\"");
  });
}

}  // namespace h5zarr::zarr
