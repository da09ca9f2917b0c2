// packbits of zarr-extensions: the bits of each number that mean something, or those between two places, one number
// behind the other, from the lowest bit of a byte on. (numcodecs' is another: numcodecs_packbits.cc.)
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "codec/codec_errors.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

// How numbers lie in memory, and which bits of each are kept.
struct Layout {
  uint64_t part_bytes = 1;  // of one number, or of one part of a complex one
  uint64_t parts = 1;       // of an element
  unsigned part_bits = 8;   // that mean something
  bool is_signed = false;
  unsigned first_bit = 0;
  unsigned kept_bits = 8;
};

enum class Padding : uint8_t { kNone, kFirstByte, kLastByte };

uint64_t LoadLittle(const std::byte* from, uint64_t bytes) {
  uint64_t word = 0;
  for (uint64_t i = 0; i < bytes; ++i) word |= static_cast<uint64_t>(from[i]) << (8 * i);
  return word;
}

void StoreLittle(uint64_t word, uint64_t bytes, std::byte* to) {
  for (uint64_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(word >> (8 * i));
}

uint64_t LowBits(uint64_t word, unsigned bits) { return bits >= 64 ? word : word & ((uint64_t{1} << bits) - 1); }

class PackNumbers final : public ArrayCodec {
 public:
  PackNumbers(const ChunkSpec& decoded, const Layout& layout, Padding padding)
      : decoded_(decoded), layout_(layout), padding_(padding) {
    numbers_ = decoded.elems() * layout.parts;
    packed_bytes_ = CeilDiv(numbers_ * layout.kept_bits, 8);
    encoded_ = {DType::Uint(1), {packed_bytes_ + (padding == Padding::kNone ? 0 : 1)}};
  }
  std::string_view name() const override { return "packbits"; }
  const ChunkSpec& decoded_spec() const override { return decoded_; }
  const ChunkSpec& encoded_spec() const override { return encoded_; }

  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckDecodeSpans(*this, encoded, decoded));
    if (padding_ != Padding::kNone) {
      const auto stored = static_cast<uint64_t>(encoded[PaddingAt()]);
      if (stored != PaddingBits()) {
        return CorruptError("packbits: " + std::to_string(stored) + " bits of padding, expected " +
                            std::to_string(PaddingBits()));
      }
    }
    const std::byte* const packed = encoded.data() + PackedAt();
    for (uint64_t i = 0; i < numbers_; ++i) {
      uint64_t word = 0;
      uint64_t bit = i * layout_.kept_bits;
      for (unsigned done = 0; done < layout_.kept_bits;) {
        const auto within = static_cast<unsigned>(bit % 8);
        const unsigned taken = std::min(8 - within, layout_.kept_bits - done);
        const uint64_t piece = LowBits(static_cast<uint64_t>(packed[bit / 8]) >> within, taken);
        word |= piece << done;
        done += taken;
        bit += taken;
      }
      const bool is_negative = layout_.is_signed && (word >> (layout_.kept_bits - 1) & 1) != 0;
      if (is_negative && layout_.kept_bits < 64) word |= ~uint64_t{0} << layout_.kept_bits;
      StoreLittle(word << layout_.first_bit, layout_.part_bytes, decoded.data() + i * layout_.part_bytes);
    }
    return OkStatus();
  }

  Status Encode(ByteSpan decoded, MutableByteSpan encoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckEncodeSpans(*this, decoded, encoded));
    std::fill(encoded.begin(), encoded.end(), std::byte{0});
    if (padding_ != Padding::kNone) encoded[PaddingAt()] = static_cast<std::byte>(PaddingBits());
    std::byte* const packed = encoded.data() + PackedAt();
    for (uint64_t i = 0; i < numbers_; ++i) {
      const uint64_t number = LoadLittle(decoded.data() + i * layout_.part_bytes, layout_.part_bytes);
      uint64_t word = LowBits(number >> layout_.first_bit, layout_.kept_bits);
      uint64_t bit = i * layout_.kept_bits;
      for (unsigned done = 0; done < layout_.kept_bits;) {
        const auto within = static_cast<unsigned>(bit % 8);
        const unsigned put = std::min(8 - within, layout_.kept_bits - done);
        packed[bit / 8] |= static_cast<std::byte>(LowBits(word, put) << within);
        word >>= put;
        done += put;
        bit += put;
      }
    }
    return OkStatus();
  }
  CodecCost cost() const override { return {1.5, 1.5}; }

 private:
  uint64_t PaddingBits() const { return (8 - numbers_ * layout_.kept_bits % 8) % 8; }
  uint64_t PaddingAt() const { return padding_ == Padding::kFirstByte ? 0 : packed_bytes_; }
  uint64_t PackedAt() const { return padding_ == Padding::kFirstByte ? 1 : 0; }

  const ChunkSpec decoded_;
  const Layout layout_;
  const Padding padding_;
  uint64_t numbers_ = 0;
  uint64_t packed_bytes_ = 0;
  ChunkSpec encoded_;
};

// The bits that the name of a small format says: "int4", "float6_e2m3fn".
std::optional<unsigned> BitsOfFormat(std::string_view format) {
  const std::size_t digit = format.find_first_of("0123456789");
  if (digit == std::string_view::npos) return std::nullopt;
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(format.data() + digit, format.data() + format.size(), bits);
  return error == std::errc() && bits > 0 && bits <= 64 ? std::optional(bits) : std::nullopt;
}

std::optional<Layout> LayoutOf(const DType& dtype) {
  Layout layout;
  layout.part_bytes = dtype.item_bytes;
  switch (dtype.kind) {
    case DType::Kind::kBool: layout.part_bits = 1; return layout;
    case DType::Kind::kInt:
    case DType::Kind::kDatetime:
    case DType::Kind::kTimedelta: layout.is_signed = true; break;
    case DType::Kind::kUint:
    case DType::Kind::kFloat: break;
    case DType::Kind::kComplex:
      layout.parts = 2;
      layout.part_bytes /= 2;
      break;
    default: return std::nullopt;
  }
  layout.part_bits = static_cast<unsigned>(8 * layout.part_bytes);
  if (!dtype.format.empty()) {
    const std::optional<unsigned> bits = BitsOfFormat(dtype.format);
    if (!bits || *bits > layout.part_bits) return std::nullopt;
    layout.part_bits = *bits;
  }
  return layout;
}

}  // namespace

Result<AnyCodec> MakePackNumbers(const CodecRequest& request, ConfigReader& config) {
  const DType& dtype = request.input.dtype;
  std::optional<Layout> layout = LayoutOf(dtype);
  if (!layout) return UnsupportedError("codec packbits: the array's elements are no numbers it packs");
  if (request.input.elems() >= uint64_t{1} << 56) return UnsupportedError("codec packbits: a chunk of 2^56 elements");
  const int64_t last_there = layout->part_bits - 1;
  const int64_t first_bit = config.Int("first_bit", 0, 0, last_there);
  const int64_t last_bit = config.Int("last_bit", last_there, 0, last_there);
  if (last_bit < first_bit) config.Fail("last_bit", "no less than first_bit");
  layout->first_bit = static_cast<unsigned>(first_bit);
  layout->kept_bits = static_cast<unsigned>(std::max(last_bit, first_bit) - first_bit + 1);
  const std::string word = config.String("padding_encoding", "none");
  const Padding padding = word == "first_byte"  ? Padding::kFirstByte
                          : word == "last_byte" ? Padding::kLastByte
                                                : Padding::kNone;
  if (padding == Padding::kNone && word != "none") {
    config.Fail("padding_encoding", "\"none\", \"first_byte\" or \"last_byte\"");
  }
  return MakeAs<ArrayCodec, PackNumbers>(request.input, *layout, padding);
}

}  // namespace h5zarr::codec
