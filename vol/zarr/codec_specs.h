// codec_specs: the codecs this connector writes, spelled as each Zarr format wants them.
#ifndef H5ZARR_ZARR_CODEC_SPECS_H_
#define H5ZARR_ZARR_CODEC_SPECS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "zarr/metadata.h"

namespace h5zarr::zarr {

inline constexpr int64_t kDefaultZstdLevel = 3;

// blosc's scale for zstd's levels (it maps back as level = 2 * clevel - 1).
int64_t BloscLevelOfZstd(int64_t level);

enum class BloscShuffle : int { kNone = 0, kByte = 1, kBit = 2 };

struct BloscOptions {
  std::string cname = "lz4";
  int64_t clevel = 5;
  BloscShuffle shuffle = BloscShuffle::kByte;
};

CodecSpec BloscSpec(const BloscOptions& options, const DType& dtype, int zarr_format);
CodecSpec ZstdSpec(int64_t level, int zarr_format);
// HDF5's deflate: gzip framing in v3 (every reader has it), zlib framing in v2.
CodecSpec DeflateSpec(int64_t level, int zarr_format);
CodecSpec ChecksumSpec(int zarr_format);
// A v3 `compressor` whose bytes are shuffled before: gzip and zstd become blosc, which every reader
// has; none but zarr-python's has a shuffle of its own. What compresses nothing stays: a shuffle alone
// changes no size.
CodecSpec WithShuffle(CodecSpec compressor, const DType& dtype);
// The codec that makes bytes of `dtype`'s elements: v3's `bytes`, or the one for variable length.
CodecSpec ArrayToBytesSpec(const DType& dtype);

// Nothing where `spec` is no blosc, or its members are not understood.
std::optional<BloscOptions> ParseBlosc(const CodecSpec& spec, const DType& dtype);
// The integer member `name` of a codec's configuration, or `otherwise`.
int64_t LevelOf(const CodecSpec& spec, std::string_view name, int64_t otherwise);
// The level of a codec gzip or zlib, from 0 to 9, as every reader takes it: -1 is zlib's own, 6.
int64_t DeflateLevelOf(const CodecSpec& spec);
// Whether it is the codec gzip by name, and has zlib's framing: so n5-zarr writes it (`useZlib`).
bool IsZlibAsGzip(const CodecSpec& spec);
// The name without "numcodecs.".
std::string_view BareName(const CodecSpec& spec);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_CODEC_SPECS_H_
