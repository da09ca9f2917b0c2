// delta (numcodecs Delta): each element less the one before it, over the flattened chunk.
#include <type_traits>

#include "codec/factories.h"
#include "codec/number_codec.h"

namespace h5zarr::codec {
namespace {

// In the type itself, as NumPy: integers wrap, halves round after each step, booleans differ or
// not.
template <typename T>
T Difference(T a, T b) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return Boolean{static_cast<uint8_t>((a.value != 0) != (b.value != 0) ? 1 : 0)};
  } else if constexpr (std::is_same_v<T, Half>) {
    return DoubleToHalf(static_cast<double>(HalfToFloat(a) - HalfToFloat(b)));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
}

template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return Boolean{static_cast<uint8_t>(a.value != 0 || b.value != 0 ? 1 : 0)};
  } else if constexpr (std::is_same_v<T, Half>) {
    return DoubleToHalf(static_cast<double>(HalfToFloat(a) + HalfToFloat(b)));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

class Delta final : public NumberCodec {
 public:
  Delta(const ChunkSpec& decoded, const NumberTypes& types)
      : NumberCodec(decoded, types), sum_kind_(PromotedKind(types.decoded.kind, types.encoded.kind)) {}
  std::string_view name() const override { return "delta"; }
  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckDecodeSpans(*this, encoded, decoded));
    // The sums are taken in the type that holds both, as numpy.cumsum does.
    VisitNumber(sum_kind_, [&]<typename T>() {
      bool is_first = true;
      T sum{};
      Block wide;
      ForEachBlock(types_.encoded, encoded, types_.decoded, decoded,
                   [&](const Block& from, Block* to, std::size_t elems) {
                     ConvertBlock(types_.encoded.kind, from, sum_kind_, elems, &wide);
                     T* values = wide.as<T>();
                     for (std::size_t i = 0; i < elems; ++i) {
                       sum = is_first ? values[i] : Sum(sum, values[i]);  // -0.0 stays
                       is_first = false;
                       values[i] = sum;
                     }
                     ConvertBlock(sum_kind_, wide, types_.decoded.kind, elems, to);
                   });
    });
    return OkStatus();
  }
  Status Encode(ByteSpan decoded, MutableByteSpan encoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckEncodeSpans(*this, decoded, encoded));
    VisitNumber(types_.decoded.kind, [&]<typename T>() {
      bool is_first = true;
      T before{};
      Block differences;
      ForEachBlock(types_.decoded, decoded, types_.encoded, encoded,
                   [&](const Block& from, Block* to, std::size_t elems) {
                     const T* values = from.as<T>();
                     T* out = differences.as<T>();
                     for (std::size_t i = 0; i < elems; ++i) {
                       out[i] = is_first ? values[i] : Difference(values[i], before);
                       is_first = false;
                       before = values[i];
                     }
                     ConvertBlock(types_.decoded.kind, differences, types_.encoded.kind, elems, to);
                   });
    });
    return OkStatus();
  }
  CodecCost cost() const override { return {0.4, 0.4}; }

 private:
  NumberKind sum_kind_;
};

}  // namespace

Result<AnyCodec> MakeDelta(const CodecRequest& request, ConfigReader& config) {
  H5ZARR_ASSIGN_OR_RETURN(NumberTypes types, ReadNumberTypes(request, config, "dtype", "astype"));
  return MakeAs<ArrayCodec, Delta>(request.input, types);
}

}  // namespace h5zarr::codec
