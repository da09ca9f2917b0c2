// zarr.json of an array, written.
#include <algorithm>

#include "zarr/codec_role.h"
#include "zarr/metadata.h"
#include "zarr/metadata_parts.h"

namespace h5zarr::zarr {
namespace {

Json BytesCodec(const DType& dtype, Endian endian) {
  Json configuration = nullptr;
  if (AnyEndian(dtype)) {
    configuration = Json::object();
    configuration["endian"] = endian == Endian::kBig ? "big" : "little";
  }
  return FormatNamed("bytes", configuration);
}

Result<Json> FormatChain(std::vector<CodecSpec> codecs, const DType& dtype, Endian endian);

// A sharding codec whose inner chain says the byte order.
Result<CodecSpec> WithInnerBytes(CodecSpec sharding, const DType& dtype, Endian endian) {
  const Json* inner = FindMember(sharding.configuration, "codecs");
  if (inner == nullptr) return InvalidArgumentError("codec sharding_indexed: no codecs");
  H5ZARR_ASSIGN_OR_RETURN(auto inner_codecs, ParseCodecListV3(*inner));
  H5ZARR_ASSIGN_OR_RETURN(Json formatted, FormatChain(std::move(inner_codecs), dtype, endian));
  sharding.configuration["codecs"] = std::move(formatted);
  return sharding;
}

// The chain as objects, with the `bytes` codec behind the array → array codecs unless another
// array → bytes codec is there.
Result<Json> FormatChain(std::vector<CodecSpec> codecs, const DType& dtype, Endian endian) {
  std::erase_if(codecs, [](const CodecSpec& codec) { return codec.name == "bytes" || codec.name == "endian"; });
  const auto has_role = [](CodecRole role) {
    return [role](const CodecSpec& codec) { return CodecRoleV3(codec.name) == role; };
  };
  const bool needs_bytes = std::none_of(codecs.begin(), codecs.end(), has_role(CodecRole::kArrayToBytes));
  if (needs_bytes && dtype.is_vlen()) {
    return InvalidArgumentError("variable-length elements need a codec such as vlen-utf8");
  }
  const auto place = std::find_if_not(codecs.begin(), codecs.end(), has_role(CodecRole::kArrayToArray));
  const auto bytes_index = place - codecs.begin();
  Json chain = Json::array();
  for (CodecSpec& codec : codecs) {
    if (codec.name == "sharding_indexed") {
      H5ZARR_ASSIGN_OR_RETURN(codec, WithInnerBytes(std::move(codec), dtype, endian));
    }
    chain.push_back(FormatNamed(codec.name, codec.configuration));
  }
  if (needs_bytes) chain.insert(chain.begin() + bytes_index, BytesCodec(dtype, endian));
  return chain;
}

Json FormatKeyEncoding(const ChunkKeyEncoding& encoding) {
  Json configuration = Json::object();
  configuration["separator"] = std::string(1, encoding.separator);
  return FormatNamed(encoding.kind == ChunkKeyEncoding::Kind::kV2 ? "v2" : "default", configuration);
}

Json FormatDimensionNames(const std::vector<std::optional<std::string>>& names) {
  Json list = Json::array();
  for (const auto& name : names) list.push_back(name ? Json(*name) : Json(nullptr));
  return list;
}

Result<Json> FormatFill(const ArrayMetadata& metadata, const Json& data_type) {
  const Json* name = FindMember(data_type, "name");
  if (metadata.dtype.kind == DType::Kind::kStruct && name != nullptr && *name == "struct") {
    if (metadata.fill.bytes.size() != metadata.dtype.item_bytes) {
      return InvalidArgumentError("fill value of another size than the elements");
    }
    return FormatStructFill(metadata.fill.bytes, metadata.dtype);
  }
  return FormatFillValue(metadata.fill, metadata.dtype, 3);
}

// What a document given by the caller says of the data type, where it says no more than that.
std::optional<DType> DeclaredDType(const Json& document, const DType& wanted) {
  const Json* data_type = FindMember(document, "data_type");
  if (data_type == nullptr) return std::nullopt;
  auto dtype = ParseDTypeV3(*data_type);
  if (!dtype.ok()) return std::nullopt;
  SetEndian(&*dtype, CommonEndian(wanted).value_or(Endian::kLittle));
  return std::move(*dtype);
}

// Every codec is an object, also within shards: zarr-python and tensorstore refuse bare names.
bool AllObjects(const Json* codecs) {
  if (codecs == nullptr || !codecs->is_array()) return false;
  return std::all_of(codecs->begin(), codecs->end(), [](const Json& codec) {
    if (!codec.is_object()) return false;
    const Json* name = FindMember(codec, "name");
    if (name == nullptr || *name != "sharding_indexed") return true;
    const Json* configuration = FindMember(codec, "configuration");
    return configuration != nullptr && AllObjects(FindMember(*configuration, "codecs")) &&
           AllObjects(FindMember(*configuration, "index_codecs"));
  });
}

Json FormatGrid(const std::vector<uint64_t>& chunk_shape) {
  Json configuration = Json::object();
  configuration["chunk_shape"] = chunk_shape;
  return FormatNamed("regular", configuration);
}

// Whether the document's own chunk_grid says `chunk_shape`, literally: an extent of 0 is read as 1,
// but must not stay once the array has grown, and other readers refuse it anyway.
bool GridSays(const Json& document, const std::vector<uint64_t>& chunk_shape) {
  const Json* grid = FindMember(document, "chunk_grid");
  const Json* configuration = grid == nullptr ? nullptr : FindMember(*grid, "configuration");
  const Json* shape = configuration == nullptr ? nullptr : FindMember(*configuration, "chunk_shape");
  return shape != nullptr && *shape == chunk_shape;
}

}  // namespace

// That an array's document has, at most, of ours.
constexpr std::size_t kMembers = 12;

Result<std::string> FormatArrayV3(const ArrayMetadata& metadata) {
  Json document = metadata.document.is_object() ? metadata.document : Json::object();
  const bool is_new = document.empty();
  document.get_ref<Json::object_t&>().reserve(kMembers);
  std::optional<ArrayMetadata> before;
  if (!is_new) {
    auto parsed = ArrayFromDocumentV3(document);
    if (parsed.ok()) before = std::move(*parsed);
  }
  const std::optional<Endian> endian = CommonEndian(metadata.dtype);
  if (!endian) {
    return UnsupportedError("Zarr v3 cannot store fields of different byte orders in one element");
  }
  if (!before || before->shape != metadata.shape) SetMember(&document, "shape", metadata.shape);
  if (DeclaredDType(document, metadata.dtype) != metadata.dtype) {
    H5ZARR_ASSIGN_OR_RETURN(Json data_type, FormatDTypeV3(metadata.dtype));
    SetMember(&document, "data_type", std::move(data_type));
  }
  if (!before || !GridSays(document, metadata.chunk_shape)) {
    SetMember(&document, "chunk_grid", FormatGrid(metadata.chunk_shape));
  }
  if (!before || before->key_encoding != metadata.key_encoding || !document["chunk_key_encoding"].is_object()) {
    SetMember(&document, "chunk_key_encoding", FormatKeyEncoding(metadata.key_encoding));
  }
  const bool same_dtype = before && before->dtype == metadata.dtype;
  if (!same_dtype || before->fill != metadata.fill) {
    H5ZARR_ASSIGN_OR_RETURN(Json fill, FormatFill(metadata, document["data_type"]));
    SetMember(&document, "fill_value", std::move(fill));
  }
  if (!same_dtype || before->codecs != metadata.codecs || !AllObjects(FindMember(document, "codecs"))) {
    H5ZARR_ASSIGN_OR_RETURN(Json chain, FormatChain(metadata.codecs, metadata.dtype, *endian));
    SetMember(&document, "codecs", std::move(chain));
  }
  if (is_new || document.contains("attributes") || !metadata.attributes.empty()) {
    SetMember(&document, "attributes", metadata.attributes);
  }
  if (!before ? !metadata.dimension_names.empty() : before->dimension_names != metadata.dimension_names) {
    if (metadata.dimension_names.empty()) {
      document.erase("dimension_names");
    } else {
      SetMember(&document, "dimension_names", FormatDimensionNames(metadata.dimension_names));
    }
  }
  SetMember(&document, "zarr_format", 3);
  SetMember(&document, "node_type", "array");
  if (is_new) SetMember(&document, "storage_transformers", Json::array());
  return DumpJson(document);
}

}  // namespace h5zarr::zarr
