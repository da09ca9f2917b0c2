// cast_value (zarr-extensions): each number as the same number of another type. What has no place there is rounded, and
// then clamped or wrapped, as the configuration says, or else an error: unlike numcodecs' astype, which is C's cast.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "codec/factories.h"
#include "codec/number_codec.h"
#include "codec/numpy_dtype.h"

namespace h5zarr::codec {
namespace {

__extension__ typedef __int128 Wide;

enum class Rounding : uint8_t { kNearestEven, kTowardsZero, kTowardsPositive, kTowardsNegative, kNearestAway };
enum class Beyond : uint8_t { kFails, kClamps, kWraps };

// Numbers that are replaced by others whatever the rules say. Exact for integers up to 2^53.
using Replaced = std::vector<std::pair<double, double>>;

struct Rules {
  Rounding rounding = Rounding::kNearestEven;
  Beyond beyond = Beyond::kFails;
  Replaced on_encode;
  Replaced on_decode;
};

double Rounded(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven: return std::nearbyint(value);
    case Rounding::kTowardsZero: return std::trunc(value);
    case Rounding::kTowardsPositive: return std::ceil(value);
    case Rounding::kTowardsNegative: return std::floor(value);
    case Rounding::kNearestAway: return std::round(value);
  }
  return value;
}

// Whole numbers of at most 64 bits.
template <typename To>
std::optional<To> FromWhole(Wide value, Beyond beyond) {
  constexpr Wide kLeast = std::numeric_limits<To>::min(), kMost = std::numeric_limits<To>::max();
  if (value >= kLeast && value <= kMost) return static_cast<To>(value);
  if (beyond == Beyond::kWraps) return static_cast<To>(static_cast<uint64_t>(value));
  if (beyond == Beyond::kFails) return std::nullopt;
  return static_cast<To>(value < kLeast ? kLeast : kMost);
}

template <typename To>
std::optional<To> ToInteger(double value, const Rules& rules) {
  if (std::isnan(value)) return std::nullopt;
  const double whole = Rounded(value, rules.rounding);
  // (Beyond 128 bits: nothing that wraps; what is clamped has the sign.)
  if (std::fabs(whole) >= 0x1p126) {
    if (rules.beyond != Beyond::kClamps) return std::nullopt;
    return whole < 0 ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max();
  }
  return FromWhole<To>(static_cast<Wide>(whole), rules.beyond);
}

// The nearest float; any other rounding than to the nearest is known only where there is nothing to round.
template <typename To>
std::optional<To> ToFloat(double value, const Rules& rules) {
  To result;
  double back;
  if constexpr (std::is_same_v<To, Half>) {
    result = DoubleToHalf(value);
    back = static_cast<double>(HalfToFloat(result));
  } else {
    result = static_cast<To>(value);
    back = static_cast<double>(result);
  }
  if (std::isnan(value) || back == value) return result;
  if (std::isinf(back) && rules.beyond == Beyond::kFails) return std::nullopt;
  return rules.rounding == Rounding::kNearestEven || std::isinf(back) ? std::optional(result) : std::nullopt;
}

template <typename From>
double AsDouble(From number) {
  if constexpr (std::is_same_v<From, Half>) return static_cast<double>(HalfToFloat(number));
  else return static_cast<double>(number);
}

template <typename To, typename From>
std::optional<To> Cast(From number, const Rules& rules, const Replaced& replaced) {
  for (const auto& [from, to] : replaced) {
    const double own = AsDouble(number);
    if (own != from && !(std::isnan(own) && std::isnan(from))) continue;
    if constexpr (std::is_integral_v<To>) return ToInteger<To>(to, Rules{});
    else return ToFloat<To>(to, Rules{});
  }
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    return FromWhole<To>(static_cast<Wide>(number), rules.beyond);
  } else if constexpr (std::is_integral_v<To>) {
    return ToInteger<To>(AsDouble(number), rules);
  } else if constexpr (std::is_integral_v<From>) {
    // (Integers of 64 bits are rounded once: to a float directly, not by way of a double.)
    if constexpr (std::is_same_v<To, float>) {
      const auto direct = static_cast<float>(number);
      const bool exact = static_cast<Wide>(direct) == static_cast<Wide>(number);
      return exact || rules.rounding == Rounding::kNearestEven ? std::optional<To>(direct) : std::nullopt;
    }
    const double wide = static_cast<double>(number);
    const bool exact = static_cast<Wide>(wide) == static_cast<Wide>(number);
    if (!exact && rules.rounding != Rounding::kNearestEven) return std::nullopt;
    return ToFloat<To>(wide, rules);
  } else {
    return ToFloat<To>(AsDouble(number), rules);
  }
}

class CastValue final : public NumberCodec {
 public:
  CastValue(const ChunkSpec& decoded, const NumberTypes& types, Rules rules)
      : NumberCodec(decoded, types), rules_(std::move(rules)) {}
  std::string_view name() const override { return "cast_value"; }
  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckDecodeSpans(*this, encoded, decoded));
    if (CastAll(types_.encoded, encoded, types_.decoded, decoded, rules_.on_decode)) return OkStatus();
    return CorruptError("cast_value: a stored number that the array's type cannot hold");
  }
  Status Encode(ByteSpan decoded, MutableByteSpan encoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckEncodeSpans(*this, decoded, encoded));
    if (CastAll(types_.decoded, decoded, types_.encoded, encoded, rules_.on_encode)) return OkStatus();
    return InvalidArgumentError("cast_value: an element that the type it is stored in cannot hold");
  }
  CodecCost cost() const override { return {0.8, 0.8}; }

 private:
  // False where one has no place in the other type.
  bool CastAll(const NumberType& from_type, ByteSpan from, const NumberType& to_type, MutableByteSpan to,
               const Replaced& replaced) const {
    bool fits = true;
    ForEachBlock(from_type, from, to_type, to, [&](const Block& source, Block* target, std::size_t elems) {
      VisitNumber(from_type.kind, [&]<typename From>() {
        VisitNumber(to_type.kind, [&]<typename To>() {
          if constexpr (!std::is_same_v<From, Boolean> && !std::is_same_v<To, Boolean>) {
            for (std::size_t i = 0; i < elems; ++i) {
              const std::optional<To> number = Cast<To, From>(source.as<From>()[i], rules_, replaced);
              fits = fits && number;
              target->as<To>()[i] = number.value_or(To{});
            }
          }
        });
      });
    });
    return fits;
  }

  const Rules rules_;
};

std::optional<double> ScalarOf(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string text = value.get<std::string>();
  if (text == "NaN") return std::nan("");
  if (text == "Infinity" || text == "+Infinity") return HUGE_VAL;
  if (text == "-Infinity") return -HUGE_VAL;
  return std::nullopt;
}

// [[from, to], …]; the first of several for one number counts. Nothing where it is no such list.
std::optional<Replaced> ReplacedOf(const Json& map, const char* member) {
  Replaced replaced;
  if (!map.contains(member)) return replaced;
  if (!map[member].is_array()) return std::nullopt;
  for (const Json& pair : map[member]) {
    if (!pair.is_array() || pair.size() != 2) return std::nullopt;
    const std::optional<double> from = ScalarOf(pair[0]), to = ScalarOf(pair[1]);
    if (!from || !to) return std::nullopt;
    replaced.emplace_back(*from, *to);
  }
  return replaced;
}

Rules ReadRules(ConfigReader& config) {
  Rules rules;
  constexpr std::string_view kRoundings[] = {"nearest-even", "towards-zero", "towards-positive", "towards-negative",
                                             "nearest-away"};
  const std::string rounding = config.String("rounding", kRoundings[0]);
  bool known = false;
  for (std::size_t i = 0; i < std::size(kRoundings); ++i) {
    if (kRoundings[i] != rounding) continue;
    rules.rounding = static_cast<Rounding>(i);
    known = true;
  }
  if (!known) config.Fail("rounding", "a way of rounding that zarr-extensions names");
  const std::string beyond = config.String("out_of_range", "");
  if (beyond == "clamp") rules.beyond = Beyond::kClamps;
  else if (beyond == "wrap") rules.beyond = Beyond::kWraps;
  else if (!beyond.empty()) config.Fail("out_of_range", "\"clamp\" or \"wrap\"");
  const Json* map = config.Get("scalar_map");
  if (map == nullptr) return rules;
  const auto encode = map->is_object() ? ReplacedOf(*map, "encode") : std::nullopt;
  const auto decode = map->is_object() ? ReplacedOf(*map, "decode") : std::nullopt;
  if (!encode || !decode) {
    config.Fail("scalar_map", "lists of pairs of numbers, \"encode\" and \"decode\"");
    return rules;
  }
  rules.on_encode = *encode;
  rules.on_decode = *decode;
  return rules;
}

}  // namespace

Result<AnyCodec> MakeCastValue(const CodecRequest& request, ConfigReader& config) {
  config.Require("data_type");
  NumberTypes types;
  types.decoded_dtype = request.input.dtype;
  const Json* name = config.Get("data_type");
  if (name != nullptr && name->is_object() && name->contains("name")) name = &(*name)["name"];
  const auto stored = name != nullptr && name->is_string()
                          ? ParseNumpyDType(name->get<std::string>(), request.input.dtype.endian)
                          : std::nullopt;
  const auto decoded = ToNumberType(types.decoded_dtype);
  const auto encoded = stored ? ToNumberType(*stored) : std::nullopt;
  const auto is_number = [](const auto& type) { return type && type->kind != NumberKind::kBool; };
  if (!is_number(decoded) || !is_number(encoded)) {
    return UnsupportedError("codec cast_value: only integers and IEEE floats are cast");
  }
  types.encoded_dtype = *stored;
  types.decoded = *decoded;
  types.encoded = *encoded;
  Rules rules = ReadRules(config);
  if (rules.beyond == Beyond::kWraps && (IsFloat(decoded->kind) && IsFloat(encoded->kind))) {
    config.Fail("out_of_range", "\"clamp\": floats do not wrap");
  }
  return MakeAs<ArrayCodec, CastValue>(request.input, types, std::move(rules));
}

}  // namespace h5zarr::codec
