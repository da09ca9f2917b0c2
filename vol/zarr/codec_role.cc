#include "zarr/codec_role.h"

#include <algorithm>
#include <array>

namespace h5zarr::zarr {
namespace {

template <std::size_t N>
bool Contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 10> kArrayToArray = {"transpose",
                                                            "bitround",
                                                            "cast_value",
                                                            "scale_offset",
                                                            "reshape",
                                                            "numcodecs.astype",
                                                            "numcodecs.delta",
                                                            "numcodecs.bitround",
                                                            "numcodecs.fixedscaleoffset",
                                                            "numcodecs.quantize"};
// zarr-python wraps numcodecs' packbits as array → array, its result being uint8 elements.
constexpr std::string_view kNumcodecsPackbits = "numcodecs.packbits";

constexpr std::array<std::string_view, 14> kArrayToBytes = {"bytes",
                                                            "endian",
                                                            "sharding_indexed",
                                                            "vlen-utf8",
                                                            "vlen-bytes",
                                                            "vlen-array",
                                                            "vlen_v2",
                                                            "vlen",
                                                            "packbits",
                                                            "zfp",
                                                            "n5_default",
                                                            "numcodecs.zfpy",
                                                            "numcodecs.pcodec",
                                                            "numcodecs.vlen-utf8"};

constexpr std::array<std::string_view, 19> kBytesToBytes = {"gzip",
                                                            "zlib",
                                                            "blosc",
                                                            "zstd",
                                                            "crc32c",
                                                            "bz2",
                                                            "lz4",
                                                            "shuffle",
                                                            "fletcher32",
                                                            "numcodecs.gzip",
                                                            "numcodecs.zlib",
                                                            "numcodecs.blosc",
                                                            "numcodecs.zstd",
                                                            "numcodecs.lz4",
                                                            "numcodecs.bz2",
                                                            "numcodecs.lzma",
                                                            "numcodecs.shuffle",
                                                            "numcodecs.fletcher32",
                                                            "numcodecs.crc32c"};
constexpr std::array<std::string_view, 3> kNumcodecsChecksums = {"numcodecs.crc32", "numcodecs.adler32",
                                                                 "numcodecs.jenkins_lookup3"};

constexpr std::array<std::string_view, 8> kObjectCodecs = {"vlen-utf8", "vlen-bytes", "vlen-array", "json2",
                                                           "msgpack2",  "pickle",     "categorize", "json"};
constexpr std::array<std::string_view, 7> kCompressors = {"zlib", "gzip", "zstd", "bz2", "lzma", "lz4", "blosc"};

}  // namespace

CodecRole CodecRoleV3(std::string_view name) {
  if (Contains(kArrayToArray, name) || name == kNumcodecsPackbits) return CodecRole::kArrayToArray;
  if (Contains(kArrayToBytes, name)) return CodecRole::kArrayToBytes;
  if (Contains(kBytesToBytes, name) || Contains(kNumcodecsChecksums, name)) {
    return CodecRole::kBytesToBytes;
  }
  return CodecRole::kUnknown;
}

bool IsObjectCodecV2(std::string_view id) { return Contains(kObjectCodecs, id); }

bool IsCompressorV2(std::string_view id) { return Contains(kCompressors, id); }

}  // namespace h5zarr::zarr
