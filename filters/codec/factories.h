// The factory of every codec, one a codec file; registry.cc binds them to names. Private to
// filters/codec.
#ifndef H5ZARR_CODEC_FACTORIES_H_
#define H5ZARR_CODEC_FACTORIES_H_

#include <memory>
#include <string>
#include <utility>

#include "codec/codec.h"
#include "codec/codec_config.h"
#include "codec/registry.h"

namespace h5zarr::codec {

struct CodecRequest {
  std::string name;  // without "numcodecs."
  // "numcodecs." stood before the name: a Zarr v3 array, whose byte order is not the codec's
  // matter.
  bool is_numcodecs_v3 = false;
  const ChunkSpec& input;
};

// What every factory below does: reads all members, then kInvalidArgument or kUnsupported, or a
// codec. The caller ignores a codec whose `config` has unknown members.
using CodecFactory = Result<AnyCodec> (*)(const CodecRequest& request, ConfigReader& config);

Result<AnyCodec> MakeTranspose(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeDelta(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeFixedScaleOffset(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeQuantize(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeBitRound(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakePackBits(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakePackNumbers(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeScaleOffset(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeCastValue(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeAsType(const CodecRequest& request, ConfigReader& config);

Result<AnyCodec> MakeGzip(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeZlib(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeZstd(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeBlosc(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeLz4(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeHdf5Lz4(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeHdf5Lzf(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeBz2(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeLzma(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeShuffle(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeCrc32c(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeCrc32(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeAdler32(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeFletcher32(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeJenkinsLookup3(const CodecRequest& request, ConfigReader& config);

Result<AnyCodec> MakeVlenUtf8(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeVlenBytes(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeVlenArray(const CodecRequest& request, ConfigReader& config);
Result<AnyCodec> MakeJson2(const CodecRequest& request, ConfigReader& config);

// `Codec`, made from `args`, in its role.
template <typename Role, typename Codec, typename... Args>
Result<AnyCodec> MakeAs(Args&&... args) {
  return AnyCodec(std::unique_ptr<Role>(std::make_unique<Codec>(std::forward<Args>(args)...)));
}

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_FACTORIES_H_
