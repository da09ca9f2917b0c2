#include "zarr/other_format.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "zarr/codec_role.h"
#include "zarr/codec_specs.h"
#include "zarr/metadata_parts.h"

namespace h5zarr::zarr {
namespace {

// The number or word of a shuffle in blosc's configuration, given what the array's elements are.
Result<CodecSpec> BloscInFormat(const CodecSpec& codec, const DType& dtype, int zarr_format) {
  const std::optional<BloscOptions> options = ParseBlosc(codec, dtype);
  if (!options) return UnsupportedError("codec blosc with members that are not known");
  CodecSpec spec = BloscSpec(*options, dtype, zarr_format);
  for (const char* name : {"blocksize", "typesize"}) {
    const Json* given = FindMember(codec.configuration, name);
    if (given != nullptr && spec.configuration.contains(name)) spec.configuration[name] = *given;
  }
  return spec;
}

Result<CodecSpec> CodecOfV3(const CodecSpec& codec, const DType& dtype) {
  const std::string_view name = BareName(codec);
  if (name == "blosc") return BloscInFormat(codec, dtype, 3);
  if (name == "transpose" || name == "vlen-utf8" || name == "vlen-bytes") return codec;
  if (name == "gzip") {
    const int64_t level = DeflateLevelOf(codec);
    return IsZlibAsGzip(codec) ? CodecSpec{"numcodecs.zlib", {{"level", level}}} : DeflateSpec(level, 3);
  }
  if (name == "zstd") {
    CodecSpec spec = ZstdSpec(LevelOf(codec, "level", 0), 3);
    const Json* checksum = FindMember(codec.configuration, "checksum");
    if (checksum != nullptr) spec.configuration["checksum"] = *checksum;
    return spec;
  }
  const Json* location = FindMember(codec.configuration, "location");
  if (name == "crc32c" && (location == nullptr || *location == "end")) return CodecSpec{"crc32c", nullptr};
  // (zarr-python wants a configuration of these, and be it empty.)
  return CodecSpec{"numcodecs." + std::string(name),
                   codec.configuration.is_null() ? Json::object() : codec.configuration};
}

Result<CodecSpec> CodecOfV2(const CodecSpec& codec, const DType& dtype) {
  const std::string_view name = BareName(codec);
  if (name == "blosc") return BloscInFormat(codec, dtype, 2);
  if (name == "gzip") return CodecSpec{"gzip", {{"level", DeflateLevelOf(codec)}}};
  const bool is_numcodecs = name != codec.name;
  if (is_numcodecs || name == "vlen-utf8" || name == "vlen-bytes") {
    // (v2's reader knows this one by its long name.)
    return CodecSpec{name == "packbits" ? codec.name : std::string(name), codec.configuration};
  }
  if (name == "crc32c") return CodecSpec{"crc32c", nullptr};
  if (name != "zstd") return UnsupportedError("codec " + codec.name + " in Zarr v2");
  CodecSpec spec = ZstdSpec(LevelOf(codec, "level", 0), 2);
  const Json* checksum = FindMember(codec.configuration, "checksum");
  if (checksum != nullptr && *checksum == true) spec.configuration["checksum"] = true;
  return spec;
}

// v3 has first what makes arrays of arrays, then what makes bytes of them, then what makes bytes of bytes.
Status CheckOrder(const std::vector<CodecSpec>& codecs, bool is_vlen) {
  bool has_bytes = false;
  for (const CodecSpec& codec : codecs) {
    const CodecRole role = CodecRoleV3(codec.name);
    const bool fits = role == CodecRole::kArrayToArray   ? !has_bytes
                      : role == CodecRole::kArrayToBytes ? !has_bytes && is_vlen
                                                         : role == CodecRole::kBytesToBytes;
    if (!fits) return UnsupportedError("codec " + codec.name + " in its place in Zarr v3");
    has_bytes |= role != CodecRole::kArrayToArray;
  }
  return OkStatus();
}

// zlib, fletcher32 and a shuffle before a compressor, which HDF5's programs use, have codecs in v3 that every reader
// has; as "numcodecs.zlib" zarr-python alone would read them. True where any is such a one.
bool TakePortable(const DType& dtype, std::vector<CodecSpec>* codecs) {
  bool changed = false;
  for (CodecSpec& codec : *codecs) {
    const std::string_view name = BareName(codec);
    if (name == "zlib") {
      codec = DeflateSpec(DeflateLevelOf(codec), 3);
    } else if (name == "fletcher32") {
      codec = ChecksumSpec(3);
    } else {
      continue;
    }
    changed = true;
  }
  for (std::size_t i = 0; i + 1 < codecs->size(); ++i) {
    if (BareName((*codecs)[i]) != "shuffle") continue;
    const CodecSpec shuffled = WithShuffle((*codecs)[i + 1], dtype);
    if (shuffled == (*codecs)[i + 1]) continue;
    (*codecs)[i + 1] = shuffled;
    codecs->erase(codecs->begin() + static_cast<std::ptrdiff_t>(i));
    changed = true;
  }
  return changed;
}

Status ToV3(const ArrayMetadata& from, ConvertedArray* converted) {
  ArrayMetadata& to = converted->metadata;
  for (const CodecSpec& codec : from.codecs) {
    H5ZARR_ASSIGN_OR_RETURN(to.codecs.emplace_back(), CodecOfV3(codec, from.dtype));
  }
  converted->same_chunks = !TakePortable(from.dtype, &to.codecs);
  H5ZARR_RETURN_IF_ERROR(CheckOrder(to.codecs, from.dtype.is_vlen()));
  to.fill.defined = true;
  return OkStatus();
}

bool ReversesDimensions(const CodecSpec& transpose, std::size_t rank) {
  const Json* order = FindMember(transpose.configuration, "order");
  if (order == nullptr) return false;
  if (*order == "F") return true;
  Json reversed = Json::array();
  for (std::size_t d = rank; d > 0; --d) reversed.push_back(d - 1);
  return *order == reversed;
}

Status ToV2(const ArrayMetadata& from, ConvertedArray* converted) {
  // (There it is a compound that no other reader takes.)
  const bool is_complex32 = from.dtype.kind == DType::Kind::kComplex && from.dtype.item_bytes < 8;
  if (is_complex32) return UnsupportedError("data type complex32 in Zarr v2");
  ArrayMetadata& to = converted->metadata;
  std::vector<CodecSpec>& codecs = to.codecs;
  for (const CodecSpec& codec : from.codecs) {
    if (codec.name == "transpose") {
      // At the front it is v2's order "F"; with one dimension it is nothing.
      if (to.rank() <= 1) continue;
      const bool is_order = codecs.empty() && ReversesDimensions(codec, to.rank());
      converted->same_chunks &= is_order;
      if (!is_order) continue;
      Json order = Json::array();
      for (std::size_t d = to.rank(); d > 0; --d) order.push_back(d - 1);
      codecs.push_back({"transpose", {{"order", std::move(order)}}});
      continue;
    }
    H5ZARR_ASSIGN_OR_RETURN(codecs.emplace_back(), CodecOfV2(codec, from.dtype));
  }
  return OkStatus();
}

// That the other format's documents say all of it: what a reader would make of them.
Status CheckSays(const ArrayMetadata& metadata) {
  H5ZARR_ASSIGN_OR_RETURN(const MetadataTexts texts, FormatArray(metadata));
  H5ZARR_ASSIGN_OR_RETURN(const ArrayMetadata read, metadata.zarr_format == 3
                                                        ? ParseArrayV3(texts.document, "zarr.json")
                                                        : ParseArrayV2(texts.document, "", ".zarray"));
  const std::optional<std::string> difference = DifferenceOfElements(metadata, read);
  return difference ? UnsupportedError(*difference + " in the other format of Zarr") : OkStatus();
}

}  // namespace

Result<ConvertedArray> InFormat(const ArrayMetadata& metadata, int zarr_format) {
  ConvertedArray converted{metadata};
  converted.metadata.attributes = Json::object();
  if (metadata.zarr_format == zarr_format) return converted;
  return NoThrow("an array in the other format of Zarr", [&]() -> Result<ConvertedArray> {
    ArrayMetadata& to = converted.metadata;
    to.zarr_format = zarr_format;
    to.document = Json();
    to.codecs.clear();
    to.key_encoding.kind = ChunkKeyEncoding::Kind::kV2;
    to.dimension_names.clear();
    H5ZARR_RETURN_IF_ERROR(zarr_format == 3 ? ToV3(metadata, &converted) : ToV2(metadata, &converted));
    const Status said = CheckSays(to);
    // (A document that cannot be written, or read again, says less than is needed.)
    if (!said.ok()) return UnsupportedError(std::string(said.message()));
    return converted;
  });
}

}  // namespace h5zarr::zarr
