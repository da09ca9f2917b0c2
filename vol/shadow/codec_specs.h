// codec_specs: the codecs this connector writes, spelled as each Zarr format wants them. Internal
// to shadow/.
#ifndef H5ZARR_SHADOW_CODEC_SPECS_H_
#define H5ZARR_SHADOW_CODEC_SPECS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {

enum class BloscShuffle : int { kNone = 0, kByte = 1, kBit = 2 };

struct BloscOptions {
  std::string cname = "lz4";
  int64_t clevel = 5;
  BloscShuffle shuffle = BloscShuffle::kByte;
};

zarr::CodecSpec BloscSpec(const BloscOptions& options, const DType& dtype, int zarr_format);
zarr::CodecSpec ZstdSpec(int64_t level, int zarr_format);
// HDF5's deflate: gzip framing in v3 (every reader has it), zlib framing in v2.
zarr::CodecSpec DeflateSpec(int64_t level, int zarr_format);
zarr::CodecSpec ChecksumSpec(int zarr_format);
zarr::CodecSpec ShuffleSpec(const DType& dtype, int zarr_format);
// The codec that makes bytes of `dtype`'s elements: v3's `bytes`, or the one for variable length.
zarr::CodecSpec ArrayToBytesSpec(const DType& dtype);

// Nothing where `spec` is no blosc, or its members are not understood.
std::optional<BloscOptions> ParseBlosc(const zarr::CodecSpec& spec, const DType& dtype);
// The integer member `name` of a codec's configuration, or `otherwise`.
int64_t LevelOf(const zarr::CodecSpec& spec, std::string_view name, int64_t otherwise);
// The name without "numcodecs.".
std::string_view BareName(const zarr::CodecSpec& spec);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_CODEC_SPECS_H_
