// fixedscaleoffset (numcodecs FixedScaleOffset): round((x - offset) * scale), stored as another
// type.
#include <cmath>
#include <limits>
#include <type_traits>

#include "codec/factories.h"
#include "codec/number_codec.h"

namespace h5zarr::codec {
namespace {

// A number of the configuration: JSON's integers and floats are different things to NumPy.
struct Scalar {
  double value = 0;
  bool is_int = false;
  int64_t integer = 0;
};

float RoundedToHalf(float number) { return HalfToFloat(DoubleToHalf(static_cast<double>(number))); }

template <typename T>
bool Fits(int64_t value) {
  if constexpr (std::is_same_v<T, uint64_t>) return value >= 0;
  return value >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
         value <= static_cast<int64_t>(std::numeric_limits<T>::max());
}

class FixedScaleOffset final : public NumberCodec {
 public:
  FixedScaleOffset(const ChunkSpec& decoded, const NumberTypes& types, Scalar offset, Scalar scale)
      : NumberCodec(decoded, types), offset_(offset), scale_(scale) {}
  std::string_view name() const override { return "fixedscaleoffset"; }

  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckDecodeSpans(*this, encoded, decoded));
    // Floats are computed in their own precision, integers as double.
    const NumberKind kind = IsFloat(types_.encoded.kind) ? types_.encoded.kind : NumberKind::kF64;
    ForEachBlock(types_.encoded, encoded, types_.decoded, decoded,
                 [&](const Block& from, Block* to, std::size_t elems) {
                   Block values;
                   ConvertBlock(types_.encoded.kind, from, kind, elems, &values);
                   DecodeFloats(kind, elems, &values);
                   ConvertBlock(kind, values, types_.decoded.kind, elems, to);
                 });
    return OkStatus();
  }

  Status Encode(ByteSpan decoded, MutableByteSpan encoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckEncodeSpans(*this, decoded, encoded));
    const NumberKind from_kind = types_.decoded.kind;
    // Integers stay integers as long as they meet integers only.
    const bool int_offset = !IsFloat(from_kind) && offset_.is_int;
    const bool int_scale = int_offset && scale_.is_int;
    if ((int_offset && !FitsElements(offset_)) || (int_scale && !FitsElements(scale_))) {
      return InvalidArgumentError(
          "fixedscaleoffset: integer elements cannot hold offset or scale, so cannot be encoded");
    }
    const NumberKind kind = int_scale ? from_kind : IsFloat(from_kind) ? from_kind : NumberKind::kF64;
    ForEachBlock(types_.decoded, decoded, types_.encoded, encoded,
                 [&](const Block& from, Block* to, std::size_t elems) {
                   Block whole;
                   Block values;
                   if (int_offset) EncodeInts(from, int_scale, elems, &whole);
                   ConvertBlock(from_kind, int_offset ? whole : from, kind, elems, &values);
                   if (!int_scale) EncodeFloats(kind, !int_offset, elems, &values);
                   ConvertBlock(kind, values, types_.encoded.kind, elems, to);
                 });
    return OkStatus();
  }
  CodecCost cost() const override { return {0.6, 0.6}; }

 private:
  bool FitsElements(const Scalar& scalar) const {
    return VisitNumber(types_.decoded.kind, [&]<typename T>() {
      if constexpr (std::is_integral_v<T>) return Fits<T>(scalar.integer);
      return false;
    });
  }

  // x - offset, and times scale if `with_scale`, wrapping.
  void EncodeInts(const Block& from, bool with_scale, std::size_t elems, Block* to) const {
    VisitNumber(types_.decoded.kind, [&]<typename T>() {
      if constexpr (std::is_integral_v<T>) {
        const auto offset = static_cast<uint64_t>(offset_.integer);
        const uint64_t scale = with_scale ? static_cast<uint64_t>(scale_.integer) : 1;
        const T* values = from.as<T>();
        T* out = to->as<T>();
        for (std::size_t i = 0; i < elems; ++i) {
          out[i] = static_cast<T>((static_cast<uint64_t>(values[i]) - offset) * scale);
        }
      }
    });
  }

  // (x - offset if `with_offset`) * scale, rounded, in place.
  void EncodeFloats(NumberKind kind, bool with_offset, std::size_t elems, Block* values) const {
    const double offset = with_offset ? offset_.value : 0;
    ForFloats(kind, elems, values, [&]<typename Float>(Float value, auto round) {
      const auto own_offset = round(static_cast<Float>(offset));
      const auto own_scale = round(static_cast<Float>(scale_.value));
      const Float shifted = with_offset ? round(value - own_offset) : value;
      return std::rint(round(shifted * own_scale));
    });
  }

  // x / scale + offset, in place.
  void DecodeFloats(NumberKind kind, std::size_t elems, Block* values) const {
    ForFloats(kind, elems, values, [&]<typename Float>(Float value, auto round) {
      const auto own_offset = round(static_cast<Float>(offset_.value));
      const auto own_scale = round(static_cast<Float>(scale_.value));
      return round(round(value / own_scale) + own_offset);
    });
  }

  // Replaces each value by function(value, round), where `round` brings a result of one operation
  // to the type's precision. A half is computed as float.
  template <typename Function>
  static void ForFloats(NumberKind kind, std::size_t elems, Block* values, Function&& function) {
    const auto keep = [](auto number) { return number; };
    for (std::size_t i = 0; i < elems; ++i) {
      if (kind == NumberKind::kF64) {
        values->as<double>()[i] = function(values->as<double>()[i], keep);
      } else if (kind == NumberKind::kF32) {
        values->as<float>()[i] = function(values->as<float>()[i], keep);
      } else {
        const float value = HalfToFloat(values->as<Half>()[i]);
        values->as<Half>()[i] = DoubleToHalf(static_cast<double>(function(value, RoundedToHalf)));
      }
    }
  }

  Scalar offset_;
  Scalar scale_;
};

Scalar ReadScalar(ConfigReader& config, std::string_view member) {
  Scalar scalar;
  config.Require(member);
  scalar.value = config.Number(member, 0);
  const Json* value = config.Get(member);
  if (value == nullptr || !value->is_number_integer()) return scalar;
  scalar.is_int = true;
  scalar.integer = config.Int(member, 0, INT64_MIN, INT64_MAX);
  return scalar;
}

}  // namespace

Result<AnyCodec> MakeFixedScaleOffset(const CodecRequest& request, ConfigReader& config) {
  const Scalar offset = ReadScalar(config, "offset");
  const Scalar scale = ReadScalar(config, "scale");
  H5ZARR_ASSIGN_OR_RETURN(NumberTypes types, ReadNumberTypes(request, config, "dtype", "astype"));
  if (types.decoded.kind == NumberKind::kBool || types.encoded.kind == NumberKind::kBool) {
    return UnsupportedError("codec fixedscaleoffset: booleans cannot be scaled");
  }
  return MakeAs<ArrayCodec, FixedScaleOffset>(request.input, types, offset, scale);
}

}  // namespace h5zarr::codec
