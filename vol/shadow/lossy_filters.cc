#include "shadow/lossy_filters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "shadow/h5_types.h"

namespace h5zarr::shadow {
namespace {

// --- scale-offset ----------------------------------------------------------------------------------

// The filter's parameters, where set_local leaves them.
constexpr std::size_t kScaleOffsetWords = 20;
enum ScaleOffsetWord { kScaleType = 0, kScaleFactor = 1, kFillDefined = 7, kFillValue = 8 };
constexpr unsigned kDecimalScale = H5Z_SO_FLOAT_DSCALE;

template <typename T>
using UintOf = std::conditional_t<
    sizeof(T) == 1, uint8_t,
    std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

template <typename T>
T Swapped(T value) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  for (std::size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(bytes[i], bytes[sizeof(T) - 1 - i]);
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// Native numbers of type T in memory that may be unaligned or of the other byte order.
template <typename T>
class Elements {
 public:
  Elements(MutableByteSpan chunk, bool swap) : chunk_(chunk), swap_(swap) {}
  std::size_t size() const { return chunk_.size() / sizeof(T); }
  T operator[](std::size_t i) const {
    T value;
    std::memcpy(&value, chunk_.data() + i * sizeof(T), sizeof(T));
    return swap_ ? Swapped(value) : value;
  }
  void Set(std::size_t i, T value) {
    if (swap_) value = Swapped(value);
    std::memcpy(chunk_.data() + i * sizeof(T), &value, sizeof(T));
  }

 private:
  MutableByteSpan chunk_;
  bool swap_;
};

template <typename T>
struct ScaleOffset {
  int scale = 0;  // integers: bits kept; floats: decimal digits kept
  bool fill_defined = false;
  T fill = 0;
  bool swap = false;
};

// The least element, fill left out. 0 where there is none.
template <typename T, typename IsFill>
std::pair<T, T> MinMax(const Elements<T>& elements, IsFill is_fill) {
  T least = 0, greatest = 0;
  bool any = false;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T value = elements[i];
    if (is_fill(value)) continue;
    if (!any) least = greatest = value;
    any = true;
    if (value > greatest) greatest = value;
    if (value < least) least = value;
  }
  return {least, greatest};
}

// Integers keep their low bits above the chunk's least element. (Without a number of bits the filter
// finds out how many it takes, and loses nothing.)
template <typename T>
void KeepBits(const ScaleOffset<T>& how, MutableByteSpan chunk) {
  using Bits = UintOf<T>;
  Elements<T> elements(chunk, how.swap);
  const auto is_fill = [&how](T value) { return how.fill_defined && value == how.fill; };
  const auto least = static_cast<Bits>(MinMax<T>(elements, is_fill).first);
  const auto mask = static_cast<Bits>((Bits{1} << how.scale) - 1);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T value = elements[i];
    if (is_fill(value)) continue;
    const auto code = static_cast<Bits>(static_cast<Bits>(static_cast<Bits>(value) - least) & mask);
    // The greatest code means fill.
    const bool becomes_fill = how.fill_defined && code == mask;
    elements.Set(i, becomes_fill ? how.fill : static_cast<T>(static_cast<Bits>(code + least)));
  }
}

int CeilLog2(uint64_t number) { return number <= 1 ? 0 : static_cast<int>(std::bit_width(number - 1)); }

long RoundToLong(float value) { return std::lroundf(value); }
long RoundToLong(double value) { return std::lround(value); }
long long RoundToLongLong(float value) { return std::llroundf(value); }
long long RoundToLongLong(double value) { return std::llround(value); }

// Floats become multiples of 10^-digits above the chunk's least element. In the type's own arithmetic,
// step by step as the filter does it: results are equal to the last bit.
template <typename T>
void KeepDigits(const ScaleOffset<T>& how, MutableByteSpan chunk) {
  using Code = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  using Bits = UintOf<T>;
  constexpr int kBits = sizeof(T) * 8;
  Elements<T> elements(chunk, how.swap);
  const double digits = how.scale;
  const T power = std::pow(T{10}, static_cast<T>(digits));
  const double near_fill = std::pow(10.0, -digits);
  const auto [least, greatest] = MinMax<T>(elements, [&](T value) {
    return how.fill_defined && std::fabs(static_cast<double>(value - how.fill)) < near_fill;
  });
  const T range = greatest * power - least * power;
  // Too wide for the filter: it keeps elements as they are.
  if (std::round(range) > std::pow(T{2}, static_cast<T>(kBits - 1))) return;
  const auto span = static_cast<uint64_t>(RoundToLongLong(range)) + 1;
  const int bits = CeilLog2(how.fill_defined ? span + 1 : span);
  if (bits >= kBits) return;
  const auto mask = static_cast<Bits>((Bits{1} << bits) - 1);
  const T near_fill_own = std::pow(T{10}, static_cast<T>(-digits));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T value = elements[i];
    Bits code = mask;
    if (!how.fill_defined || !(std::fabs(value - how.fill) < near_fill_own)) {
      code = static_cast<Bits>(static_cast<Code>(RoundToLong(value * power - least * power))) & mask;
    }
    const bool is_fill = how.fill_defined && code == mask;
    elements.Set(i, is_fill ? how.fill : static_cast<T>(static_cast<Code>(code)) / power + least);
  }
}

template <typename T>
ChunkEffect MakeScaleOffset(const std::vector<unsigned>& words, bool swap) {
  ScaleOffset<T> how;
  how.scale = static_cast<int>(words[kScaleFactor]);
  how.fill_defined = words[kFillDefined] != 0;
  how.swap = swap;
  // The value lies in the words from its low end.
  uint64_t fill = words[kFillValue];
  if (sizeof(T) == 8) fill |= static_cast<uint64_t>(words[kFillValue + 1]) << 32;
  how.fill = std::bit_cast<T>(static_cast<UintOf<T>>(fill));
  if constexpr (std::is_floating_point_v<T>) {
    if (words[kScaleType] != kDecimalScale) return nullptr;
    return [how](MutableByteSpan chunk) { KeepDigits(how, chunk); };
  } else {
    if (how.scale <= 0 || how.scale >= static_cast<int>(sizeof(T) * 8)) return nullptr;
    return [how](MutableByteSpan chunk) { KeepBits(how, chunk); };
  }
}

ChunkEffect ScaleOffsetEffect(const Filter& filter, hid_t type) {
  // Where set_local did not accept the type, the (optional) filter does nothing.
  if (filter.cd_values.size() != kScaleOffsetWords) return nullptr;
  const H5T_order_t native = std::endian::native == std::endian::little ? H5T_ORDER_LE : H5T_ORDER_BE;
  const std::size_t size_bytes = H5Tget_size(type);
  const bool swap = size_bytes > 1 && H5Tget_order(type) != native;
  const std::vector<unsigned>& words = filter.cd_values;
  if (H5Tget_class(type) == H5T_FLOAT) {
    if (size_bytes == 4) return MakeScaleOffset<float>(words, swap);
    if (size_bytes == 8) return MakeScaleOffset<double>(words, swap);
    return nullptr;
  }
  if (H5Tget_class(type) != H5T_INTEGER) return nullptr;
  const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  switch (size_bytes) {
    case 1: return is_signed ? MakeScaleOffset<int8_t>(words, swap) : MakeScaleOffset<uint8_t>(words, swap);
    case 2: return is_signed ? MakeScaleOffset<int16_t>(words, swap) : MakeScaleOffset<uint16_t>(words, swap);
    case 4: return is_signed ? MakeScaleOffset<int32_t>(words, swap) : MakeScaleOffset<uint32_t>(words, swap);
    case 8: return is_signed ? MakeScaleOffset<int64_t>(words, swap) : MakeScaleOffset<uint64_t>(words, swap);
    default: return nullptr;
  }
}

// --- n-bit -----------------------------------------------------------------------------------------

// Sets in `mask` the bits of an element that n-bit keeps: those within the precision of numbers, all of
// what is no number.
Status MarkKept(hid_t type, std::span<std::byte> mask) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_FLOAT: {
      const int offset = H5Tget_offset(type);
      const std::size_t precision = H5Tget_precision(type);
      const H5T_order_t order = H5Tget_order(type);
      if (offset < 0 || precision == 0) return Hdf5Failure("the precision of a type");
      if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) break;
      for (std::size_t bit = static_cast<std::size_t>(offset); bit < offset + precision; ++bit) {
        const std::size_t from_low = bit / 8;
        if (from_low >= mask.size()) break;
        const std::size_t at = order == H5T_ORDER_LE ? from_low : mask.size() - 1 - from_low;
        mask[at] |= std::byte{1} << (bit % 8);
      }
      return OkStatus();
    }
    case H5T_ARRAY: {
      const Handle base(H5Tget_super(type));
      const std::size_t base_bytes = H5Tget_size(base.get());
      if (base_bytes == 0) return Hdf5Failure("an array type");
      for (std::size_t at = 0; at + base_bytes <= mask.size(); at += base_bytes) {
        H5ZARR_RETURN_IF_ERROR(MarkKept(base.get(), mask.subspan(at, base_bytes)));
      }
      return OkStatus();
    }
    case H5T_COMPOUND: {
      const int members = H5Tget_nmembers(type);
      for (int i = 0; i < members; ++i) {
        const Handle member(H5Tget_member_type(type, static_cast<unsigned>(i)));
        const std::size_t at = H5Tget_member_offset(type, static_cast<unsigned>(i));
        const std::size_t member_bytes = H5Tget_size(member.get());
        if (at > mask.size() || member_bytes > mask.size() - at) {
          return Hdf5Failure("a compound type");
        }
        H5ZARR_RETURN_IF_ERROR(MarkKept(member.get(), mask.subspan(at, member_bytes)));
      }
      return OkStatus();
    }
    default: break;
  }
  std::fill(mask.begin(), mask.end(), std::byte{0xff});
  return OkStatus();
}

Result<ChunkEffect> NBitEffect(hid_t type) {
  std::vector<std::byte> mask(H5Tget_size(type));
  H5ZARR_RETURN_IF_ERROR(MarkKept(type, mask));
  const auto is_full = [](std::byte byte) { return byte == std::byte{0xff}; };
  if (mask.empty() || std::all_of(mask.begin(), mask.end(), is_full)) return ChunkEffect();
  return ChunkEffect([mask](MutableByteSpan chunk) {
    for (std::size_t at = 0; at + mask.size() <= chunk.size(); at += mask.size()) {
      for (std::size_t i = 0; i < mask.size(); ++i) chunk[at + i] &= mask[i];
    }
  });
}

}  // namespace

bool MayLose(int filter_id) { return filter_id == H5Z_FILTER_SCALEOFFSET || filter_id == H5Z_FILTER_NBIT; }

Result<ChunkEffect> EffectOfFilters(std::span<const Filter> filters, const ElementMap& map) {
  if (map.form != ElementMap::Form::kPlain) return ChunkEffect();
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, StoredType(map));
  std::vector<ChunkEffect> effects;
  for (const Filter& filter : filters) {
    ChunkEffect effect;
    if (filter.id == H5Z_FILTER_SCALEOFFSET) effect = ScaleOffsetEffect(filter, type.get());
    if (filter.id == H5Z_FILTER_NBIT) {
      H5ZARR_ASSIGN_OR_RETURN(effect, NBitEffect(type.get()));
    }
    if (effect) effects.push_back(std::move(effect));
  }
  if (effects.empty()) return ChunkEffect();
  return ChunkEffect([effects](MutableByteSpan chunk) {
    for (const ChunkEffect& effect : effects) effect(chunk);
  });
}

}  // namespace h5zarr::shadow
