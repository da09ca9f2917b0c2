// bitround (zarr-extensions, numcodecs BitRound): floats rounded to a number of fraction bits.
#include <cstring>
#include <optional>

#include "codec/codec_errors.h"
#include "codec/factories.h"
#include "codec/numeric.h"

namespace h5zarr::codec {
namespace {

// To the nearest, ties to even, on the bits: a carry moves into the exponent.
template <typename Word>
void RoundBits(Word* words, std::size_t elems, int dropped_bits) {
  const Word less_than_half = static_cast<Word>((Word{1} << (dropped_bits - 1)) - 1);
  const Word mask = static_cast<Word>(static_cast<Word>(~Word{0}) << dropped_bits);
  for (std::size_t i = 0; i < elems; ++i) {
    const Word odd = static_cast<Word>(words[i] >> dropped_bits & 1);
    words[i] = static_cast<Word>((words[i] + odd + less_than_half) & mask);
  }
}

// Reading needs no more than to leave numbers as they are: those without a `type` are not rounded.
class BitRound final : public ArrayCodec {
 public:
  BitRound(const ChunkSpec& spec, std::optional<NumberType> type, int dropped_bits)
      : spec_(spec), type_(type), dropped_bits_(dropped_bits) {}
  std::string_view name() const override { return "bitround"; }
  const ChunkSpec& decoded_spec() const override { return spec_; }
  const ChunkSpec& encoded_spec() const override { return spec_; }
  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckDecodeSpans(*this, encoded, decoded));
    if (!encoded.empty()) std::memcpy(decoded.data(), encoded.data(), encoded.size());
    return OkStatus();
  }
  Status Encode(ByteSpan decoded, MutableByteSpan encoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckEncodeSpans(*this, decoded, encoded));
    if (!type_) return UnsupportedError("codec bitround: only IEEE floats of 2, 4 or 8 bytes can be rounded");
    Block block;
    const uint64_t elems = decoded.size() / type_->item_bytes;
    for (uint64_t done = 0; done < elems;) {
      const std::size_t count = elems - done < kBlockElems ? static_cast<std::size_t>(elems - done) : kBlockElems;
      LoadBlock(*type_, decoded.data() + done * type_->item_bytes, count, &block);
      if (dropped_bits_ > 0) Round(&block, count);
      StoreBlock(*type_, block, count, encoded.data() + done * type_->item_bytes);
      done += count;
    }
    return OkStatus();
  }
  CodecCost cost() const override { return {0.05, 0.2}; }

 private:
  void Round(Block* block, std::size_t elems) const {
    if (type_->item_bytes == 2) RoundBits(block->as<uint16_t>(), elems, dropped_bits_);
    if (type_->item_bytes == 4) RoundBits(block->as<uint32_t>(), elems, dropped_bits_);
    if (type_->item_bytes == 8) RoundBits(block->as<uint64_t>(), elems, dropped_bits_);
  }

  ChunkSpec spec_;
  std::optional<NumberType> type_;
  int dropped_bits_;
};

}  // namespace

Result<AnyCodec> MakeBitRound(const CodecRequest& request, ConfigReader& config) {
  const std::optional<NumberType> type = ToNumberType(request.input.dtype);
  if (!type || !IsFloat(type->kind)) {
    if (request.input.dtype.is_vlen()) return UnsupportedError("codec bitround: elements that are no numbers");
    config.Require("keepbits");
    config.Int("keepbits", 0, 0, 64);
    return MakeAs<ArrayCodec, BitRound>(request.input, std::nullopt, 0);
  }
  const int fraction_bits = type->item_bytes == 2 ? 10 : type->item_bytes == 4 ? 23 : 52;
  config.Require("keepbits");
  const int kept_bits = static_cast<int>(config.Int("keepbits", 0, 0, fraction_bits));
  return MakeAs<ArrayCodec, BitRound>(request.input, *type, fraction_bits - kept_bits);
}

}  // namespace h5zarr::codec
