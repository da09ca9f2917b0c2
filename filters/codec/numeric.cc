#include "codec/numeric.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "codec/numpy_dtype.h"

namespace h5zarr::codec {
namespace {

constexpr Endian kNativeEndian = std::endian::native == std::endian::little ? Endian::kLittle : Endian::kBig;

template <typename Word>
void SwapWords(std::byte* words, std::size_t elems) {
  for (std::size_t i = 0; i < elems; ++i) {
    Word word;
    std::memcpy(&word, words + i * sizeof(Word), sizeof(Word));
    if constexpr (sizeof(Word) == 2) word = __builtin_bswap16(word);
    if constexpr (sizeof(Word) == 4) word = __builtin_bswap32(word);
    if constexpr (sizeof(Word) == 8) word = __builtin_bswap64(word);
    std::memcpy(words + i * sizeof(Word), &word, sizeof(Word));
  }
}

void Swap(const NumberType& type, std::byte* words, std::size_t elems) {
  if (!type.is_swapped) return;
  if (type.item_bytes == 2) SwapWords<uint16_t>(words, elems);
  if (type.item_bytes == 4) SwapWords<uint32_t>(words, elems);
  if (type.item_bytes == 8) SwapWords<uint64_t>(words, elems);
}

// Truncates; wraps within 64 bits where C would leave it undefined.
template <typename To>
To FloatToInt(double value) {
  if (value >= -0x1p63 && value < 0x1p63) return static_cast<To>(static_cast<int64_t>(value));
  if (std::is_unsigned_v<To> && value >= 0x1p63 && value < 0x1p64) {
    return static_cast<To>(static_cast<uint64_t>(value));
  }
  return static_cast<To>(std::numeric_limits<int64_t>::min());  // NaN, too
}

template <typename To, typename From>
To Convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Boolean>) {
    return Convert<To, uint8_t>(value.value != 0 ? 1 : 0);
  } else if constexpr (std::is_same_v<From, Half>) {
    return Convert<To, float>(HalfToFloat(value));
  } else if constexpr (std::is_same_v<To, Boolean>) {
    return Boolean{static_cast<uint8_t>(value != From{0} ? 1 : 0)};
  } else if constexpr (std::is_same_v<To, Half>) {
    // NumPy takes integers by way of float.
    if constexpr (std::is_same_v<From, double>) return DoubleToHalf(value);
    return DoubleToHalf(static_cast<double>(static_cast<float>(value)));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return FloatToInt<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

int KindBits(NumberKind kind) { return static_cast<int>(ItemBytes(kind)) * 8; }

bool IsSigned(NumberKind kind) { return kind >= NumberKind::kI8 && kind <= NumberKind::kI64; }

NumberKind SignedOf(int bits) {
  return bits <= 8 ? NumberKind::kI8 : bits <= 16 ? NumberKind::kI16 : bits <= 32 ? NumberKind::kI32 : NumberKind::kI64;
}

NumberKind FloatOf(int bits) {
  return bits <= 16 ? NumberKind::kF16 : bits <= 32 ? NumberKind::kF32 : NumberKind::kF64;
}

}  // namespace

uint64_t ItemBytes(NumberKind kind) {
  return VisitNumber(kind, []<typename T>() -> uint64_t { return sizeof(T); });
}

std::optional<NumberType> ToNumberType(const DType& dtype) {
  NumberType type;
  type.item_bytes = dtype.item_bytes;
  type.is_swapped = dtype.item_bytes > 1 && dtype.endian != kNativeEndian;
  const auto pick = [&](NumberKind one) -> std::optional<NumberType> {
    const int log2 = std::countr_zero(dtype.item_bytes);
    if (dtype.item_bytes > 8 || !std::has_single_bit(dtype.item_bytes)) return std::nullopt;
    type.kind = static_cast<NumberKind>(static_cast<int>(one) + log2);
    return type;
  };
  switch (dtype.kind) {
    case DType::Kind::kBool: return type;
    case DType::Kind::kInt: return dtype.format.empty() ? pick(NumberKind::kI8) : std::nullopt;
    case DType::Kind::kUint: return dtype.format.empty() ? pick(NumberKind::kU8) : std::nullopt;
    case DType::Kind::kFloat:
      if (!dtype.format.empty() || dtype.item_bytes < 2) return std::nullopt;
      return pick(static_cast<NumberKind>(static_cast<int>(NumberKind::kF16) - 1));
    default: return std::nullopt;
  }
}

void LoadBlock(const NumberType& type, const std::byte* from, std::size_t elems, Block* block) {
  std::memcpy(block->bytes, from, elems * type.item_bytes);
  Swap(type, block->bytes, elems);
}

void StoreBlock(const NumberType& type, const Block& block, std::size_t elems, std::byte* to) {
  std::memcpy(to, block.bytes, elems * type.item_bytes);
  Swap(type, to, elems);
}

void ConvertBlock(NumberKind from_kind, const Block& from, NumberKind to_kind, std::size_t elems, Block* to) {
  VisitNumber(from_kind, [&]<typename From>() {
    VisitNumber(to_kind, [&]<typename To>() {
      const From* source = from.as<From>();
      To* target = to->as<To>();
      for (std::size_t i = 0; i < elems; ++i) target[i] = Convert<To>(source[i]);
    });
  });
}

NumberKind PromotedKind(NumberKind a, NumberKind b) {
  if (a == b || b == NumberKind::kBool) return a;
  if (a == NumberKind::kBool) return b;
  if (IsFloat(a) && IsFloat(b)) return a > b ? a : b;
  if (IsFloat(b)) std::swap(a, b);
  // A float with an integer: the narrowest float that holds both, up to 64 bits.
  if (IsFloat(a)) return FloatOf(std::max(KindBits(a), KindBits(b) * 2));
  if (IsSigned(a) == IsSigned(b)) return a > b ? a : b;
  if (IsSigned(b)) std::swap(a, b);
  if (KindBits(a) > KindBits(b)) return a;
  return KindBits(b) == 64 ? NumberKind::kF64 : SignedOf(KindBits(b) * 2);
}

Result<NumberTypes> ReadNumberTypes(const CodecRequest& request, ConfigReader& config, std::string_view decoded_member,
                                    std::string_view encoded_member) {
  const DType& input = request.input.dtype;
  const auto read = [&](std::string_view member, const DType& fallback) -> Result<DType> {
    const std::string text = config.String(member, "");
    if (text.empty()) return fallback;
    std::optional<DType> parsed = ParseNumpyDType(text, kNativeEndian);
    if (!parsed) {
      return UnsupportedError("codec " + request.name + ": \"" + std::string(member) + "\" is \"" + text +
                              "\", expected a boolean, integer or IEEE float");
    }
    if (request.is_numcodecs_v3) parsed->endian = input.endian;
    return *parsed;
  };
  NumberTypes types;
  H5ZARR_ASSIGN_OR_RETURN(types.decoded_dtype, read(decoded_member, input));
  H5ZARR_ASSIGN_OR_RETURN(types.encoded_dtype, read(encoded_member, types.decoded_dtype));
  if (types.decoded_dtype.item_bytes != input.item_bytes) {
    return InvalidArgumentError("codec " + request.name + ": \"" + std::string(decoded_member) + "\" has " +
                                std::to_string(types.decoded_dtype.item_bytes) + " bytes, the array's elements have " +
                                std::to_string(input.item_bytes));
  }
  const std::optional<NumberType> decoded = ToNumberType(types.decoded_dtype);
  const std::optional<NumberType> encoded = ToNumberType(types.encoded_dtype);
  if (!decoded || !encoded) {
    return UnsupportedError("codec " + request.name +
                            ": the array's elements are no booleans, integers or IEEE floats");
  }
  types.decoded = *decoded;
  types.encoded = *encoded;
  return types;
}

}  // namespace h5zarr::codec
