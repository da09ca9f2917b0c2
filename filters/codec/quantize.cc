// quantize (numcodecs Quantize): floats rounded to a number of decimal digits, by a power of two.
#include <cmath>
#include <type_traits>

#include "codec/factories.h"
#include "codec/number_codec.h"

namespace h5zarr::codec {
namespace {

// The scale is 2^bits with just enough bits for 10^-digits.
double ScaleForDigits(double digits) {
  double exponent = std::log10(std::pow(10.0, -digits));
  exponent = exponent < 0 ? std::floor(exponent) : std::ceil(exponent);
  return std::pow(2.0, std::ceil(std::log2(std::pow(10.0, -exponent))));
}

// In the elements' own precision, as NumPy.
template <typename T>
T Quantized(T value, double scale) {
  if constexpr (std::is_same_v<T, Half>) {
    const float half_scale = HalfToFloat(DoubleToHalf(scale));
    const auto rounded_to_half = [](float number) { return HalfToFloat(DoubleToHalf(static_cast<double>(number))); };
    const float scaled = std::rint(rounded_to_half(half_scale * HalfToFloat(value)));
    return DoubleToHalf(static_cast<double>(scaled / half_scale));
  } else {
    const T own_scale = static_cast<T>(scale);
    return std::rint(own_scale * value) / own_scale;
  }
}

class Quantize final : public NumberCodec {
 public:
  Quantize(const ChunkSpec& decoded, const NumberTypes& types, double scale)
      : NumberCodec(decoded, types), scale_(scale) {}
  std::string_view name() const override { return "quantize"; }
  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckDecodeSpans(*this, encoded, decoded));
    Convert(types_.encoded, encoded, types_.decoded, decoded);
    return OkStatus();
  }
  Status Encode(ByteSpan decoded, MutableByteSpan encoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckEncodeSpans(*this, decoded, encoded));
    ForEachBlock(types_.decoded, decoded, types_.encoded, encoded,
                 [this](const Block& from, Block* to, std::size_t elems) {
                   Block rounded;
                   Round(from, elems, &rounded);
                   ConvertBlock(types_.decoded.kind, rounded, types_.encoded.kind, elems, to);
                 });
    return OkStatus();
  }
  CodecCost cost() const override { return {0.15, 0.4}; }

 private:
  void Round(const Block& from, std::size_t elems, Block* to) const {
    const auto round = [&]<typename T>() {
      const T* values = from.as<T>();
      T* out = to->as<T>();
      for (std::size_t i = 0; i < elems; ++i) out[i] = Quantized(values[i], scale_);
    };
    if (types_.decoded.kind == NumberKind::kF16) round.template operator()<Half>();
    if (types_.decoded.kind == NumberKind::kF32) round.template operator()<float>();
    if (types_.decoded.kind == NumberKind::kF64) round.template operator()<double>();
  }

  double scale_;
};

}  // namespace

Result<AnyCodec> MakeQuantize(const CodecRequest& request, ConfigReader& config) {
  config.Require("digits");
  const double digits = config.Number("digits", 0);
  if (!(std::fabs(digits) <= 300)) config.Fail("digits", "a number from -300 to 300");
  H5ZARR_ASSIGN_OR_RETURN(NumberTypes types, ReadNumberTypes(request, config, "dtype", "astype"));
  if (!IsFloat(types.decoded.kind) || !IsFloat(types.encoded.kind)) {
    return InvalidArgumentError("codec quantize: \"dtype\" and \"astype\" must be floats");
  }
  return MakeAs<ArrayCodec, Quantize>(request.input, types, ScaleForDigits(digits));
}

}  // namespace h5zarr::codec
