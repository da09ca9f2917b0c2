#include <string>

#include "zarr/metadata.h"

namespace h5zarr::zarr {
namespace {

std::string Differs(std::string_view what, const std::string& now, const std::string& was) {
  return std::string(what) + " " + now + ", was " + was;
}

std::string TypeText(const ArrayMetadata& metadata) {
  const Result<Json> type = metadata.zarr_format == 2 ? FormatDTypeV2(metadata.dtype) : FormatDTypeV3(metadata.dtype);
  if (!type.ok()) return "of no name";
  // (v3 says the order of bytes among the codecs.)
  const bool says_endian = metadata.zarr_format == 2 || !metadata.dtype.has_endian();
  return BriefJson(*type) + (says_endian                             ? ""
                             : metadata.dtype.endian == Endian::kBig ? " (big endian)"
                                                                     : " (little endian)");
}

std::string CodecsText(const std::vector<CodecSpec>& codecs) {
  Json list = Json::array();
  for (const CodecSpec& codec : codecs) {
    Json item = Json{{"name", codec.name}};
    if (!codec.configuration.is_null()) item["configuration"] = codec.configuration;
    list.push_back(std::move(item));
  }
  return BriefJson(list, 200);
}

std::string FillText(const ArrayMetadata& metadata) {
  const Result<Json> fill = FormatFillValue(metadata.fill, metadata.dtype, metadata.zarr_format);
  return fill.ok() ? BriefJson(*fill) : "another one";
}

std::string KeysText(const ChunkKeyEncoding& encoding) {
  const char* name = encoding.kind == ChunkKeyEncoding::Kind::kV2 ? "v2" : "default";
  return std::string(name) + " with '" + encoding.separator + "'";
}

}  // namespace

std::optional<std::string> DifferenceOfElements(const ArrayMetadata& was, const ArrayMetadata& now) {
  if (was.zarr_format != now.zarr_format) {
    return Differs("format", std::to_string(now.zarr_format), std::to_string(was.zarr_format));
  }
  if (was.rank() != now.rank()) {
    return Differs("shape", BriefJson(Json(now.shape)), BriefJson(Json(was.shape)));
  }
  if (was.dtype != now.dtype) return Differs("data type", TypeText(now), TypeText(was));
  if (was.chunk_shape != now.chunk_shape) {
    return Differs("chunk shape", BriefJson(Json(now.chunk_shape)), BriefJson(Json(was.chunk_shape)));
  }
  if (was.codecs != now.codecs) {
    return Differs("codecs", CodecsText(now.codecs), CodecsText(was.codecs));
  }
  if (was.key_encoding != now.key_encoding) {
    return Differs("chunk key encoding", KeysText(now.key_encoding), KeysText(was.key_encoding));
  }
  if (was.fill.defined != now.fill.defined || was.fill.bytes != now.fill.bytes) {
    return Differs("fill value", FillText(now), FillText(was));
  }
  return std::nullopt;
}

}  // namespace h5zarr::zarr
