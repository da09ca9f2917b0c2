// astype (numcodecs AsType): elements stored as another numeric type.
#include "codec/factories.h"
#include "codec/number_codec.h"

namespace h5zarr::codec {
namespace {

class AsType final : public NumberCodec {
 public:
  using NumberCodec::NumberCodec;
  std::string_view name() const override { return "astype"; }
  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckDecodeSpans(*this, encoded, decoded));
    Convert(types_.encoded, encoded, types_.decoded, decoded);
    return OkStatus();
  }
  Status Encode(ByteSpan decoded, MutableByteSpan encoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckEncodeSpans(*this, decoded, encoded));
    Convert(types_.decoded, decoded, types_.encoded, encoded);
    return OkStatus();
  }
  CodecCost cost() const override { return {0.15, 0.15}; }
};

}  // namespace

Result<AnyCodec> MakeAsType(const CodecRequest& request, ConfigReader& config) {
  config.Require("encode_dtype");
  H5ZARR_ASSIGN_OR_RETURN(NumberTypes types, ReadNumberTypes(request, config, "decode_dtype", "encode_dtype"));
  return MakeAs<ArrayCodec, AsType>(request.input, types);
}

}  // namespace h5zarr::codec
