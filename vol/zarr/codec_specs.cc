#include "zarr/codec_specs.h"

#include <algorithm>

namespace h5zarr::zarr {
namespace {

constexpr std::string_view kNumcodecs = "numcodecs.";

CodecSpec Spec(std::string name) { return CodecSpec{std::move(name), nullptr}; }

CodecSpec Spec(std::string name, std::string_view member, Json value) {
  CodecSpec spec{std::move(name), Json::object()};
  spec.configuration[std::string(member)] = std::move(value);
  return spec;
}

bool AnyPartHasEndian(const DType& dtype) {
  return dtype.has_endian() || std::any_of(dtype.fields.begin(), dtype.fields.end(),
                                           [](const DTypeField& field) { return AnyPartHasEndian(field.dtype); });
}

}  // namespace

CodecSpec BloscSpec(const BloscOptions& options, const DType& dtype, int zarr_format) {
  constexpr uint64_t kMaxTypesize = 255;
  constexpr std::string_view kShuffleNames[] = {"noshuffle", "shuffle", "bitshuffle"};
  CodecSpec spec{"blosc", Json::object()};
  Json& configuration = spec.configuration;
  configuration["cname"] = options.cname;
  configuration["clevel"] = options.clevel;
  if (zarr_format == 2) {
    configuration["shuffle"] = static_cast<int>(options.shuffle);
  } else {
    configuration["shuffle"] = std::string(kShuffleNames[static_cast<int>(options.shuffle)]);
    configuration["typesize"] = dtype.is_vlen() || dtype.item_bytes > kMaxTypesize ? 1 : dtype.item_bytes;
  }
  configuration["blocksize"] = 0;
  return spec;
}

CodecSpec ZstdSpec(int64_t level, int zarr_format) {
  CodecSpec spec = Spec("zstd", "level", level);
  if (zarr_format == 3) spec.configuration["checksum"] = false;
  return spec;
}

CodecSpec DeflateSpec(int64_t level, int zarr_format) {
  return Spec(zarr_format == 2 ? "zlib" : "gzip", "level", level);
}

CodecSpec ChecksumSpec(int zarr_format) { return Spec(zarr_format == 2 ? "fletcher32" : "crc32c"); }

int64_t BloscLevelOfZstd(int64_t level) { return std::clamp<int64_t>((level + 1) / 2, 1, 9); }

CodecSpec WithShuffle(CodecSpec compressor, const DType& dtype) {
  if (compressor.name == "gzip") {
    const int64_t level = LevelOf(compressor, "level", 6);
    return BloscSpec({"zlib", level, BloscShuffle::kByte}, dtype, 3);
  }
  if (compressor.name == "zstd") {
    const int64_t level = BloscLevelOfZstd(LevelOf(compressor, "level", kDefaultZstdLevel));
    return BloscSpec({"zstd", level, BloscShuffle::kByte}, dtype, 3);
  }
  std::optional<BloscOptions> options = ParseBlosc(compressor, dtype);
  if (!options || options->shuffle != BloscShuffle::kNone) return compressor;
  options->shuffle = BloscShuffle::kByte;
  return BloscSpec(*options, dtype, 3);
}

CodecSpec ArrayToBytesSpec(const DType& dtype) {
  if (dtype.kind == DType::Kind::kString) return Spec("vlen-utf8");
  if (dtype.kind == DType::Kind::kVlenBytes) return Spec("vlen-bytes");
  if (!AnyPartHasEndian(dtype)) return Spec("bytes");
  const bool big = dtype.has_endian() && dtype.endian == Endian::kBig;
  return Spec("bytes", "endian", big ? "big" : "little");
}

std::optional<BloscOptions> ParseBlosc(const CodecSpec& spec, const DType& dtype) {
  if (BareName(spec) != "blosc") return std::nullopt;
  BloscOptions options;
  if (const Json* cname = FindMember(spec.configuration, "cname")) {
    if (!cname->is_string()) return std::nullopt;
    options.cname = cname->get<std::string>();
  }
  options.clevel = std::clamp<int64_t>(LevelOf(spec, "clevel", 5), 0, 9);
  const Json* shuffle = FindMember(spec.configuration, "shuffle");
  if (shuffle == nullptr) return options;
  if (*shuffle == "noshuffle" || *shuffle == 0) options.shuffle = BloscShuffle::kNone;
  else if (*shuffle == "shuffle" || *shuffle == 1) options.shuffle = BloscShuffle::kByte;
  else if (*shuffle == "bitshuffle" || *shuffle == 2) options.shuffle = BloscShuffle::kBit;
  else if (*shuffle == -1)  // numcodecs chooses by the element size
    options.shuffle = dtype.item_bytes == 1 ? BloscShuffle::kBit : BloscShuffle::kByte;
  else return std::nullopt;
  return options;
}

int64_t LevelOf(const CodecSpec& spec, std::string_view name, int64_t otherwise) {
  const Json* level = FindMember(spec.configuration, name);
  if (level == nullptr || !level->is_number_integer()) return otherwise;
  return level->get<int64_t>();
}

int64_t DeflateLevelOf(const CodecSpec& spec) {
  const int64_t level = LevelOf(spec, "level", BareName(spec) == "gzip" ? 6 : 1);
  return level < 0 ? 6 : std::min<int64_t>(level, 9);
}

bool IsZlibAsGzip(const CodecSpec& spec) {
  const Json* use_zlib = FindMember(spec.configuration, "useZlib");
  return BareName(spec) == "gzip" && use_zlib != nullptr && *use_zlib == true;
}

std::string_view BareName(const CodecSpec& spec) {
  std::string_view name = spec.name;
  if (name.starts_with(kNumcodecs)) name.remove_prefix(kNumcodecs.size());
  return name;
}

}  // namespace h5zarr::zarr
