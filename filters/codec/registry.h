// From a codec's name and configuration to the codec. All names of Zarr v3's registry, of
// zarr-python's `numcodecs.*`, and of Zarr v2's `id`s that this build can do.
#ifndef H5ZARR_CODEC_REGISTRY_H_
#define H5ZARR_CODEC_REGISTRY_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>

#include "codec/codec.h"

namespace h5zarr::codec {

using Json = nlohmann::ordered_json;

// One of the three roles.
using AnyCodec = std::variant<std::unique_ptr<ArrayCodec>, std::unique_ptr<VlenCodec>, std::unique_ptr<BytesCodec>>;

// Makes the codec `name` (v3 "gzip", "numcodecs.delta"; v2 ids are the same words) with
// `configuration` (an object, or null for none; unknown members are kInvalidArgument unless the
// codec is known to write them, so that nothing is decoded wrongly). `input` is what stands before
// it on the decoded side: the chunk for an ArrayCodec or VlenCodec, the encoded chunk's element
// type for a BytesCodec that needs one (blosc and numcodecs.shuffle take their default element size
// from it; plain shuffle's is numcodecs' 4). Types within `configuration` ("<f4") have the byte
// order they say, but under the prefix "numcodecs." (Zarr v3, where `bytes` decides it) that of
// input.dtype. kUnsupported names a codec that does not exist here; kInvalidArgument names the bad
// member. Handled by the caller, not here: "bytes", "endian", "sharding_indexed".
Result<AnyCodec> MakeCodec(std::string_view name, const Json& configuration, const ChunkSpec& input);

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_REGISTRY_H_
