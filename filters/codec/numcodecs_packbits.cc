// packbits (numcodecs PackBits): booleans as bits, the first in the highest bit, behind a byte that
// says how many bits of the last byte are padding. (The `packbits` of zarr-extensions is another: packbits.cc.)
#include "codec/codec_errors.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

class PackBits final : public ArrayCodec {
 public:
  explicit PackBits(const ChunkSpec& decoded)
      : decoded_(decoded), encoded_{DType::Uint(1), {1 + CeilDiv(decoded.elems(), 8)}} {}
  std::string_view name() const override { return "packbits"; }
  const ChunkSpec& decoded_spec() const override { return decoded_; }
  const ChunkSpec& encoded_spec() const override { return encoded_; }
  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckDecodeSpans(*this, encoded, decoded));
    const auto stored = static_cast<uint8_t>(encoded[0]);
    if (stored != PaddingBits()) {
      return CorruptError("packbits: " + std::to_string(stored) + " bits of padding, expected " +
                          std::to_string(PaddingBits()));
    }
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      decoded[i] = encoded[1 + i / 8] >> (7 - i % 8) & std::byte{1};
    }
    return OkStatus();
  }
  Status Encode(ByteSpan decoded, MutableByteSpan encoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckEncodeSpans(*this, decoded, encoded));
    encoded[0] = static_cast<std::byte>(PaddingBits());
    for (std::size_t i = 0; i < decoded.size(); i += 8) {
      unsigned bits = 0;
      for (std::size_t k = 0; k < 8; ++k) {
        bits <<= 1;
        if (i + k < decoded.size() && decoded[i + k] != std::byte{0}) bits |= 1;
      }
      encoded[1 + i / 8] = static_cast<std::byte>(bits);
    }
    return OkStatus();
  }
  CodecCost cost() const override { return {0.6, 0.8}; }

 private:
  unsigned PaddingBits() const { return static_cast<unsigned>((8 - decoded_.elems() % 8) % 8); }

  ChunkSpec decoded_;
  ChunkSpec encoded_;
};

}  // namespace

Result<AnyCodec> MakePackBits(const CodecRequest& request, ConfigReader& config) {
  // v2's, and v3's under numcodecs' name; by itself the name is that of zarr-extensions.
  if (!request.is_numcodecs_v3) return MakePackNumbers(request, config);
  const DType& dtype = request.input.dtype;
  if (dtype.item_bytes != 1 || dtype.is_vlen()) {
    return InvalidArgumentError("codec packbits: elements of " + std::to_string(dtype.item_bytes) +
                                " bytes, expected booleans");
  }
  return MakeAs<ArrayCodec, PackBits>(request.input);
}

}  // namespace h5zarr::codec
