// Which of Zarr's three roles a codec has, by its name: where the `bytes` codec belongs in a v3
// chain follows from it. Not the registry of codecs (codec/registry.h): it also knows names that
// this library cannot decode.
#ifndef H5ZARR_ZARR_CODEC_ROLE_H_
#define H5ZARR_ZARR_CODEC_ROLE_H_

#include <cstdint>
#include <string_view>

namespace h5zarr::zarr {

enum class CodecRole : uint8_t { kArrayToArray, kArrayToBytes, kBytesToBytes, kUnknown };

// The role of a v3 codec.
CodecRole CodecRoleV3(std::string_view name);

// Whether v2 `id` names an object codec, which turns Python objects into bytes.
bool IsObjectCodecV2(std::string_view id);
// Whether v2 metadata keep `id` as the compressor, where it is the last codec.
bool IsCompressorV2(std::string_view id);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_CODEC_ROLE_H_
