// bz2 (numcodecs BZ2): bzip2 streams. One is written, any number are read.
#include <bzlib.h>

#include <algorithm>

#include "codec/codec_errors.h"
#include "codec/compressor.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

// A span handed to the library in pieces of an `unsigned`.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

class Decoder {
 public:
  Decoder() = default;
  ~Decoder() { End(); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  bool Begin() {
    End();
    open_ = BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK;
    return open_;
  }
  bz_stream& stream() { return stream_; }

 private:
  void End() {
    if (open_) BZ2_bzDecompressEnd(&stream_);
    open_ = false;
  }
  bz_stream stream_{};
  bool open_ = false;
};

class Bz2 final : public Compressor {
 public:
  explicit Bz2(int level) : level_(level) {}
  std::string_view name() const override { return "bz2"; }
  Result<uint64_t> MaxEncodedBytes(uint64_t decoded_bytes) const override {
    // The library's documentation: 1 % larger plus 600 bytes; it takes sizes of 32 bits.
    return BoundedSum(name(), decoded_bytes, decoded_bytes / 100 + 600, UINT32_MAX);
  }
  CodecCost cost() const override { return {40.0, 120.0}; }

 protected:
  Result<uint64_t> DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const override;
  uint64_t GuessDecodedBytes(ByteSpan encoded) const override { return encoded.size() * 4; }
  Result<uint64_t> EncodeTo(ByteSpan decoded, MutableByteSpan encoded) const override {
    auto written = static_cast<unsigned>(std::min<std::size_t>(encoded.size(), UINT32_MAX));
    const int code = BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(encoded.data()), &written,
                                              const_cast<char*>(reinterpret_cast<const char*>(decoded.data())),
                                              static_cast<unsigned>(decoded.size()), level_, 0, 0);
    if (code == BZ_MEM_ERROR) return NoSpaceError("bz2: no memory to encode");
    if (code != BZ_OK) return InternalError("bz2: encoding failed: " + std::to_string(code));
    return written;
  }

 private:
  int level_;
};

Result<uint64_t> Bz2::DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const {
  Decoder decoder;
  std::size_t in_offset = 0;
  std::size_t out_offset = 0;
  do {
    if (!decoder.Begin()) return NoSpaceError("bz2: no memory for a context");
    bz_stream& stream = decoder.stream();
    for (int code = BZ_OK; code != BZ_STREAM_END;) {
      const auto in_bytes = static_cast<unsigned>(std::min(kPieceBytes, encoded.size() - in_offset));
      const auto out_bytes = static_cast<unsigned>(std::min(kPieceBytes, target.size() - out_offset));
      stream.next_in = const_cast<char*>(reinterpret_cast<const char*>(encoded.data() + in_offset));
      stream.avail_in = in_bytes;
      stream.next_out = reinterpret_cast<char*>(target.data() + out_offset);
      stream.avail_out = out_bytes;
      code = BZ2_bzDecompress(&stream);
      if (code == BZ_MEM_ERROR) return NoSpaceError("bz2: no memory to decode");
      if (code != BZ_OK && code != BZ_STREAM_END) return Corrupt("the stream is damaged");
      in_offset += in_bytes - stream.avail_in;
      out_offset += out_bytes - stream.avail_out;
      const bool moved = stream.avail_in != in_bytes || stream.avail_out != out_bytes;
      if (code == BZ_STREAM_END || moved) continue;
      if (out_bytes == 0) return OutOfRangeError("target too small");
      return Corrupt("the stream is truncated at byte " + std::to_string(in_offset));
    }
  } while (in_offset < encoded.size());
  return out_offset;
}

}  // namespace

Result<AnyCodec> MakeBz2(const CodecRequest&, ConfigReader& config) {
  return MakeAs<BytesCodec, Bz2>(static_cast<int>(config.Int("level", 1, 1, 9)));
}

}  // namespace h5zarr::codec
