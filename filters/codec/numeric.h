// Numbers of any NumPy type in blocks: loaded from and stored to either byte order, and converted
// as NumPy's astype does. What delta, fixedscaleoffset, quantize and astype are made of. Private to
// filters/codec.
#ifndef H5ZARR_CODEC_NUMERIC_H_
#define H5ZARR_CODEC_NUMERIC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/dtype.h"
#include "base/status.h"
#include "codec/codec_config.h"
#include "codec/factories.h"
#include "codec/half.h"

namespace h5zarr::codec {

// In this order: PromotedKind compares.
enum class NumberKind : uint8_t {
  kBool,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kF32,
  kF64,
};

// A boolean as one byte; anything but 0 is true.
struct Boolean {
  uint8_t value = 0;
};

struct NumberType {
  NumberKind kind = NumberKind::kBool;
  bool is_swapped = false;  // stored in the other byte order than this machine's
  uint64_t item_bytes = 1;
};

// Nothing for a type that is no number here (complex, strings, bfloat16, …).
std::optional<NumberType> ToNumberType(const DType& dtype);

// A block of numbers in this machine's order, in any type: never more than kBlockElems.
constexpr std::size_t kBlockElems = 512;
struct alignas(16) Block {
  std::byte bytes[kBlockElems * 8];
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(bytes);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes);
  }
};

// Moves `elems` numbers of `type` from or to where they are stored, unaligned.
void LoadBlock(const NumberType& type, const std::byte* from, std::size_t elems, Block* block);
void StoreBlock(const NumberType& type, const Block& block, std::size_t elems, std::byte* to);

// Converts in C's manner, as NumPy does. A float that an integer type cannot hold gives some value
// (NumPy's depends on the machine), never undefined behaviour.
void ConvertBlock(NumberKind from_kind, const Block& from, NumberKind to_kind, std::size_t elems, Block* to);

// The type NumPy computes `a + b` in.
NumberKind PromotedKind(NumberKind a, NumberKind b);
uint64_t ItemBytes(NumberKind kind);
inline bool IsFloat(NumberKind kind) { return kind >= NumberKind::kF16; }

// numcodecs' pair of types. `dtype` (member `decoded_member`) is how the decoded bytes are seen,
// and `astype` (member `encoded_member`, the same where absent) what is stored.
struct NumberTypes {
  DType decoded_dtype;
  DType encoded_dtype;
  NumberType decoded;
  NumberType encoded;
};
// kInvalidArgument when a type is missing or has another size than the input's elements,
// kUnsupported when it is no number. Zarr v2 takes byte orders from the configuration, Zarr v3 from
// its `bytes` codec, which is in input.dtype.
Result<NumberTypes> ReadNumberTypes(const CodecRequest& request, ConfigReader& config, std::string_view decoded_member,
                                    std::string_view encoded_member);

// Calls `function.template operator()<T>()` with the C++ type of `kind`.
template <typename Function>
decltype(auto) VisitNumber(NumberKind kind, Function&& function) {
  switch (kind) {
    case NumberKind::kBool: return function.template operator()<Boolean>();
    case NumberKind::kI8: return function.template operator()<int8_t>();
    case NumberKind::kI16: return function.template operator()<int16_t>();
    case NumberKind::kI32: return function.template operator()<int32_t>();
    case NumberKind::kI64: return function.template operator()<int64_t>();
    case NumberKind::kU8: return function.template operator()<uint8_t>();
    case NumberKind::kU16: return function.template operator()<uint16_t>();
    case NumberKind::kU32: return function.template operator()<uint32_t>();
    case NumberKind::kU64: return function.template operator()<uint64_t>();
    case NumberKind::kF16: return function.template operator()<Half>();
    case NumberKind::kF32: return function.template operator()<float>();
    case NumberKind::kF64: break;
  }
  return function.template operator()<double>();
}

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_NUMERIC_H_
