// scale_offset (zarr-extensions): (x - offset) * scale, in the arithmetic of the elements' own type. What that type
// cannot hold is an error, in both directions.
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "codec/factories.h"
#include "codec/number_codec.h"

namespace h5zarr::codec {
namespace {

__extension__ typedef __int128 Wide;

struct Parameters {
  double offset = 0;
  double scale = 1;
  Wide int_offset = 0;  // of arrays of integers
  Wide int_scale = 1;
};

float RoundedToHalf(float number) { return HalfToFloat(DoubleToHalf(static_cast<double>(number))); }

template <typename T>
std::optional<T> Narrowed(Wide value) {
  constexpr Wide kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  return value < kLeast || value > kMost ? std::nullopt : std::optional<T>(static_cast<T>(value));
}

class ScaleOffset final : public NumberCodec {
 public:
  ScaleOffset(const ChunkSpec& decoded, const NumberTypes& types, const Parameters& parameters)
      : NumberCodec(decoded, types), parameters_(parameters) {}
  std::string_view name() const override { return "scale_offset"; }

  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckDecodeSpans(*this, encoded, decoded));
    return Compute<true>(encoded, decoded)
               ? OkStatus()
               : CorruptError("scale_offset: a stored number that offset and scale make none of the array's type of");
  }
  Status Encode(ByteSpan decoded, MutableByteSpan encoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckEncodeSpans(*this, decoded, encoded));
    return Compute<false>(decoded, encoded)
               ? OkStatus()
               : InvalidArgumentError("scale_offset: an element that its type cannot hold scaled");
  }
  CodecCost cost() const override { return {0.6, 0.6}; }

 private:
  // False where a result has no place in the type.
  template <bool kDecodes>
  bool Compute(ByteSpan from, MutableByteSpan to) const {
    bool fits = true;
    const NumberType& type = types_.decoded;
    ForEachBlock(type, from, type, to, [&](const Block& source, Block* target, std::size_t elems) {
      VisitNumber(type.kind, [&]<typename T>() {
        const T* in = source.as<T>();
        T* out = target->as<T>();
        for (std::size_t i = 0; i < elems; ++i) {
          if constexpr (std::is_integral_v<T>) {
            const std::optional<T> result = OfInteger<T, kDecodes>(in[i]);
            fits = fits && result;
            out[i] = result.value_or(0);
          } else if constexpr (std::is_same_v<T, Half>) {
            out[i] = DoubleToHalf(static_cast<double>(OfFloat<kDecodes>(HalfToFloat(in[i]), RoundedToHalf)));
          } else if constexpr (std::is_floating_point_v<T>) {
            out[i] = OfFloat<kDecodes>(in[i], [](T number) { return number; });
          }
        }
      });
    });
    return fits;
  }

  template <typename T, bool kDecodes>
  std::optional<T> OfInteger(T number) const {
    Wide value = static_cast<Wide>(number);
    if constexpr (kDecodes) {
      if (parameters_.int_scale == 0 || value % parameters_.int_scale != 0) return std::nullopt;
      value = value / parameters_.int_scale + parameters_.int_offset;
    } else {
      const std::optional<T> shifted = Narrowed<T>(value - parameters_.int_offset);
      if (!shifted) return std::nullopt;
      value = static_cast<Wide>(*shifted) * parameters_.int_scale;
    }
    return Narrowed<T>(value);
  }

  template <bool kDecodes, typename Float, typename Round>
  Float OfFloat(Float number, Round&& round) const {
    const Float offset = round(static_cast<Float>(parameters_.offset));
    const Float scale = round(static_cast<Float>(parameters_.scale));
    if constexpr (kDecodes) return round(round(number / scale) + offset);
    return round(round(number - offset) * scale);
  }

  const Parameters parameters_;
};

Wide ReadInteger(ConfigReader& config, std::string_view member, int64_t fallback) {
  const Json* value = config.Get(member);
  if (value == nullptr) return fallback;
  if (value->is_number_unsigned()) return static_cast<Wide>(value->get<uint64_t>());
  return config.Int(member, fallback, INT64_MIN, INT64_MAX);
}

}  // namespace

Result<AnyCodec> MakeScaleOffset(const CodecRequest& request, ConfigReader& config) {
  const std::optional<NumberType> type = ToNumberType(request.input.dtype);
  if (!type || type->kind == NumberKind::kBool) {
    return UnsupportedError("codec scale_offset: only integers and IEEE floats can be scaled");
  }
  Parameters parameters;
  if (IsFloat(type->kind)) {
    parameters.offset = config.Number("offset", 0);
    parameters.scale = config.Number("scale", 1);
  } else {
    parameters.int_offset = ReadInteger(config, "offset", 0);
    parameters.int_scale = ReadInteger(config, "scale", 1);
  }
  const NumberTypes types{request.input.dtype, request.input.dtype, *type, *type};
  return MakeAs<ArrayCodec, ScaleOffset>(request.input, types, parameters);
}

}  // namespace h5zarr::codec
