#include "codec/registry.h"

#include <exception>
#include <new>
#include <string>

#include "codec/codec_config.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

struct Entry {
  std::string_view name;
  CodecFactory make;
};

constexpr Entry kCodecs[] = {
    {"transpose", MakeTranspose},
    {"delta", MakeDelta},
    {"fixedscaleoffset", MakeFixedScaleOffset},
    {"quantize", MakeQuantize},
    {"bitround", MakeBitRound},
    {"packbits", MakePackBits},
    {"astype", MakeAsType},
    {"scale_offset", MakeScaleOffset},
    {"cast_value", MakeCastValue},
    {"gzip", MakeGzip},
    {"zlib", MakeZlib},
    {"zstd", MakeZstd},
    {"blosc", MakeBlosc},
    {"lz4", MakeLz4},
    {"hdf5_lz4", MakeHdf5Lz4},
    {"hdf5_lzf", MakeHdf5Lzf},
    {"bz2", MakeBz2},
    {"lzma", MakeLzma},
    {"shuffle", MakeShuffle},
    {"crc32c", MakeCrc32c},
    {"crc32", MakeCrc32},
    {"adler32", MakeAdler32},
    {"fletcher32", MakeFletcher32},
    {"jenkins_lookup3", MakeJenkinsLookup3},
    {"vlen-utf8", MakeVlenUtf8},
    {"vlen-bytes", MakeVlenBytes},
    {"vlen-array", MakeVlenArray},
    {"json2", MakeJson2},
};

Status UnknownCodec(std::string_view name, std::string_view short_name) {
  const std::string shown = "codec \"" + std::string(name) + "\"";
  if (short_name == "pickle") {
    return UnsupportedError(shown + " is refused: unpickling runs whatever code the store holds");
  }
  if (short_name == "categorize" || short_name == "msgpack2" || short_name == "pcodec" || short_name == "zfpy" ||
      short_name == "zfp" || short_name == "n5_default" || short_name == "reshape" || short_name == "conditional") {
    return UnsupportedError(shown + " is known but not implemented");
  }
  return UnsupportedError(shown + " is unknown");
}

// zarrs' names from before numcodecs' were agreed on, which arrays of its older versions have.
std::string_view WithoutZarrsPrefix(std::string_view name, const ChunkSpec& input) {
  constexpr std::string_view kUrl = "https://codec.zarrs.dev/", kOwn = "zarrs.";
  if (name.starts_with(kUrl)) {
    name.remove_prefix(name.rfind('/') + 1);
  } else if (name.starts_with(kOwn)) {
    name.remove_prefix(kOwn.size());
  } else {
    return name;
  }
  if (name == "vlen_utf8") return "vlen-utf8";
  if (name == "vlen_bytes") return "vlen-bytes";
  if (name == "vlen_array") return "vlen-array";
  // The same with a 64-bit count would be "vlen", which this is not.
  if (name == "vlen_v2") return input.dtype.kind == DType::Kind::kString ? "vlen-utf8" : "vlen-bytes";
  return name;
}

Result<AnyCodec> Make(const Entry& entry, const CodecRequest& request, std::string_view full_name,
                      const Json& configuration) {
  ConfigReader config(full_name, configuration);
  Result<AnyCodec> made = entry.make(request, config);
  // A wrong member explains more than what the factory made of it, and a factory's reason more than
  // members it did not come to read.
  H5ZARR_RETURN_IF_ERROR(config.failure());
  if (!made.ok()) return made;
  H5ZARR_RETURN_IF_ERROR(config.Finish());
  return made;
}

}  // namespace

Result<AnyCodec> MakeCodec(std::string_view name, const Json& configuration, const ChunkSpec& input) {
  constexpr std::string_view kPrefix = "numcodecs.";
  std::string_view short_name = WithoutZarrsPrefix(name, input);
  const bool is_numcodecs_v3 = name.starts_with(kPrefix);
  if (is_numcodecs_v3) short_name.remove_prefix(kPrefix.size());
  try {
    for (const Entry& entry : kCodecs) {
      if (entry.name != short_name) continue;
      const CodecRequest request{std::string(short_name), is_numcodecs_v3, input};
      return Make(entry, request, name, configuration);
    }
    return UnknownCodec(name, short_name);
  } catch (const std::bad_alloc&) {
    return NoSpaceError("no memory to make a codec");
  } catch (const std::exception& error) {
    return InvalidArgumentError("codec \"" + std::string(name) + "\": " + error.what());
  }
}

}  // namespace h5zarr::codec
