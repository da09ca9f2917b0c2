// .zarray, .zgroup and .zattrs, read and written.
#include <algorithm>

#include "zarr/codec_role.h"
#include "zarr/codec_specs.h"
#include "zarr/metadata.h"
#include "zarr/metadata_parts.h"

namespace h5zarr::zarr {
namespace {

constexpr std::string_view kNumcodecs = "numcodecs.";
constexpr std::string_view kPackbits = "packbits";

Status CheckFormat(const Json& document) {
  H5ZARR_ASSIGN_OR_RETURN(const Json* format, RequireMember(document, "zarr_format"));
  if (*format != 2) {
    return CorruptError("zarr_format is " + BriefJson(*format) + "; expected 2");
  }
  return OkStatus();
}

Result<Json> ParseObject(std::string_view text, std::string_view what) {
  H5ZARR_ASSIGN_OR_RETURN(Json document, ParseJson(text, what));
  if (!document.is_object()) {
    return CorruptError(std::string(what) + ": " + BriefJson(document) + "; expected an object");
  }
  return document;
}

// `what` names the array's or group's own document; .zattrs lies beside it.
Result<Json> ParseAttributes(std::string_view text, std::string_view what) {
  if (text.empty() || text == "null") return Json::object();
  const std::string folder(what.substr(0, what.rfind('/') + 1));
  return ParseObject(text, folder + ".zattrs");
}

// Of arrays with one dimension some writers have its extent by itself.
Result<std::vector<uint64_t>> ParseExtentsV2(const Json& value, std::string_view what) {
  return ParseExtents(value.is_number_integer() ? Json::array({value}) : value, what);
}

// A numcodecs configuration, {"id": …, parameters}.
Result<CodecSpec> ParseCodec(const Json& value) {
  const Json* id = FindMember(value, "id");
  if (id == nullptr || !id->is_string() || id->get_ref<const std::string&>().empty()) {
    return CorruptError("codec is " + BriefJson(value) + "; expected an object with an id");
  }
  CodecSpec spec;
  spec.name = id->get<std::string>();
  if (spec.name == kPackbits) spec.name = std::string(kNumcodecs) + spec.name;  // not zarr-extensions' of this name
  spec.configuration = value;
  spec.configuration.erase("id");
  if (spec.configuration.empty()) spec.configuration = nullptr;
  return spec;
}

// {"type": "raw"}: what n5-zarr has written instead of null.
bool IsRawOfN5(const Json& compressor) {
  const Json* type = FindMember(compressor, "type");
  return type != nullptr && *type == "raw" && FindMember(compressor, "id") == nullptr;
}

Json FormatCodec(const CodecSpec& spec) {
  Json value = Json::object();
  value["id"] = std::string(BareName(spec));
  if (spec.configuration.is_object()) {
    for (const auto& [name, member] : spec.configuration.items()) value[name] = member;
  }
  return value;
}

CodecSpec OrderFCodec(std::size_t rank) {
  Json order = Json::array();
  for (std::size_t d = rank; d > 0; --d) order.push_back(d - 1);
  CodecSpec spec;
  spec.name = "transpose";
  spec.configuration = Json::object();
  spec.configuration["order"] = std::move(order);
  return spec;
}

Result<std::vector<CodecSpec>> ParseCodecs(const Json& document, std::size_t rank) {
  std::vector<CodecSpec> codecs;
  const Json* order = FindMember(document, "order");
  if (order != nullptr && *order == "F") {
    if (rank > 1) codecs.push_back(OrderFCodec(rank));
  } else if (order != nullptr && !order->is_null() && *order != "C") {
    return CorruptError("order is " + BriefJson(*order) + "; expected \"C\" or \"F\"");
  }
  const Json* filters = FindMember(document, "filters");
  if (filters != nullptr && !filters->is_null()) {
    if (!filters->is_array()) {
      return CorruptError("filters is " + BriefJson(*filters) + "; expected a list or null");
    }
    for (const Json& filter : *filters) {
      H5ZARR_ASSIGN_OR_RETURN(codecs.emplace_back(), ParseCodec(filter));
    }
  }
  const Json* compressor = FindMember(document, "compressor");
  if (compressor != nullptr && !compressor->is_null() && !IsRawOfN5(*compressor)) {
    H5ZARR_ASSIGN_OR_RETURN(codecs.emplace_back(), ParseCodec(*compressor));
  }
  return codecs;
}

// What an array of Python objects holds is said by the codec that makes bytes of them.
Result<DType> ObjectDType(const std::vector<CodecSpec>& codecs) {
  for (const CodecSpec& codec : codecs) {
    if (!IsObjectCodecV2(codec.name)) continue;
    if (codec.name == "vlen-utf8" || codec.name == "json2") return DType::String();
    if (codec.name == "vlen-bytes" || codec.name == "vlen-array") return DType::VlenBytes();
    const bool is_pickle = codec.name == "pickle";
    return UnsupportedError(
        "dtype |O with object codec '" + codec.name + "', which " +
        (is_pickle ? "is refused: unpickling runs whatever code the store holds" : "is not implemented"));
  }
  return UnsupportedError("dtype |O without an object codec among the filters");
}

Result<ChunkKeyEncoding> ParseKeyEncoding(const Json& document) {
  ChunkKeyEncoding encoding;
  encoding.kind = ChunkKeyEncoding::Kind::kV2;
  encoding.separator = '.';
  const Json* separator = FindMember(document, "dimension_separator");
  if (separator == nullptr || separator->is_null() || *separator == ".") return encoding;
  if (*separator != "/") {
    return CorruptError("dimension_separator is " + BriefJson(*separator) + "; expected \".\" or \"/\"");
  }
  encoding.separator = '/';
  return encoding;
}

// The codecs as .zarray's three members.
void SetCodecs(const std::vector<CodecSpec>& codecs, std::size_t rank, Json* document) {
  auto first = codecs.begin();
  auto last = codecs.end();
  const bool order_f = first != last && rank > 1 && *first == OrderFCodec(rank);
  if (order_f) ++first;
  Json compressor = nullptr;
  if (first != last && IsCompressorV2(std::prev(last)->name)) compressor = FormatCodec(*--last);
  Json filters = nullptr;
  for (; first != last; ++first) filters.push_back(FormatCodec(*first));
  SetMember(document, "order", order_f ? "F" : "C");
  SetMember(document, "filters", std::move(filters));
  SetMember(document, "compressor", std::move(compressor));
}

}  // namespace

Result<ArrayMetadata> ArrayFromDocumentV2(Json document) {
  H5ZARR_RETURN_IF_ERROR(CheckFormat(document));
  ArrayMetadata metadata;
  metadata.zarr_format = 2;
  H5ZARR_ASSIGN_OR_RETURN(const Json* shape, RequireMember(document, "shape"));
  H5ZARR_ASSIGN_OR_RETURN(metadata.shape, ParseExtentsV2(*shape, "shape"));
  H5ZARR_ASSIGN_OR_RETURN(const Json* chunks, RequireMember(document, "chunks"));
  H5ZARR_ASSIGN_OR_RETURN(metadata.chunk_shape, ParseExtentsV2(*chunks, "chunks"));
  H5ZARR_ASSIGN_OR_RETURN(metadata.codecs, ParseCodecs(document, metadata.rank()));
  H5ZARR_ASSIGN_OR_RETURN(const Json* dtype, RequireMember(document, "dtype"));
  if (*dtype == "|O") {
    H5ZARR_ASSIGN_OR_RETURN(metadata.dtype, ObjectDType(metadata.codecs));
  } else {
    H5ZARR_ASSIGN_OR_RETURN(metadata.dtype, ParseDTypeV2(*dtype));
  }
  H5ZARR_RETURN_IF_ERROR(CheckExtents(metadata.shape, metadata.dtype, &metadata.chunk_shape));
  const Json* fill = FindMember(document, "fill_value");
  H5ZARR_ASSIGN_OR_RETURN(metadata.fill, ParseFillValue(fill == nullptr ? Json() : *fill, metadata.dtype, 2));
  H5ZARR_ASSIGN_OR_RETURN(metadata.key_encoding, ParseKeyEncoding(document));
  metadata.document = std::move(document);
  return metadata;
}

Result<ArrayMetadata> ParseArrayV2(std::string_view text, std::string_view attributes_text, std::string_view what) {
  return NoThrow(what, [&]() -> Result<ArrayMetadata> {
    H5ZARR_ASSIGN_OR_RETURN(Json document, ParseObject(text, what));
    Result<ArrayMetadata> metadata = ArrayFromDocumentV2(std::move(document));
    if (!metadata.ok()) return metadata.status().WithContext(what);
    H5ZARR_ASSIGN_OR_RETURN(metadata->attributes, ParseAttributes(attributes_text, what));
    return metadata;
  });
}

Result<GroupMetadata> ParseGroupV2(std::string_view text, std::string_view attributes_text, std::string_view what) {
  return NoThrow(what, [&]() -> Result<GroupMetadata> {
    GroupMetadata metadata;
    metadata.zarr_format = 2;
    H5ZARR_ASSIGN_OR_RETURN(metadata.document, ParseObject(text, what));
    Status status = CheckFormat(metadata.document);
    if (!status.ok()) return status.WithContext(what);
    H5ZARR_ASSIGN_OR_RETURN(metadata.attributes, ParseAttributes(attributes_text, what));
    return metadata;
  });
}

Result<std::string> FormatArrayV2(const ArrayMetadata& metadata) {
  Json document = metadata.document.is_object() ? metadata.document : Json::object();
  std::optional<ArrayMetadata> before;
  if (!document.empty()) {
    auto parsed = ArrayFromDocumentV2(document);
    if (parsed.ok()) before = std::move(*parsed);
  }
  if (!before || before->shape != metadata.shape) SetMember(&document, "shape", metadata.shape);
  // A chunk extent of 0 is read as 1, and must not stay once the array has grown.
  if (!before || document["chunks"] != metadata.chunk_shape) {
    SetMember(&document, "chunks", metadata.chunk_shape);
  }
  const bool same_dtype = before && before->dtype == metadata.dtype;
  if (!same_dtype) {
    H5ZARR_ASSIGN_OR_RETURN(Json dtype, FormatDTypeV2(metadata.dtype));
    SetMember(&document, "dtype", std::move(dtype));
  }
  if (!same_dtype || before->fill != metadata.fill) {
    H5ZARR_ASSIGN_OR_RETURN(Json fill, FormatFillValue(metadata.fill, metadata.dtype, 2));
    SetMember(&document, "fill_value", std::move(fill));
  }
  if (!before || before->codecs != metadata.codecs) {
    const auto& codecs = metadata.codecs;
    if (metadata.dtype.is_vlen() &&
        std::none_of(codecs.begin(), codecs.end(), [](const auto& codec) { return IsObjectCodecV2(codec.name); })) {
      return InvalidArgumentError("variable-length elements need an object codec");
    }
    SetCodecs(codecs, metadata.rank(), &document);
  }
  if (!before || before->key_encoding != metadata.key_encoding) {
    if (metadata.key_encoding.kind != ChunkKeyEncoding::Kind::kV2) {
      return InvalidArgumentError("Zarr v2 has no chunk keys of v3's default encoding");
    }
    SetMember(&document, "dimension_separator", std::string(1, metadata.key_encoding.separator));
  }
  SetMember(&document, "zarr_format", 2);
  return DumpJson(document);
}

}  // namespace h5zarr::zarr
