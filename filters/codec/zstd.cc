// zstd (zarr-extensions, numcodecs Zstd): Zstandard frames. One is written, any number are read.
#include <zstd.h>
#include <zstd_errors.h>

#include <string>

#include "codec/codec_errors.h"
#include "codec/compressor.h"
#include "codec/factories.h"
#include "codec/per_thread.h"

namespace h5zarr::codec {
namespace {

struct Contexts {
  ZSTD_DCtx* decoder = nullptr;
  ZSTD_CCtx* encoder = nullptr;
  ~Contexts() {
    ZSTD_freeDCtx(decoder);
    ZSTD_freeCCtx(encoder);
  }
};

// This thread's; null when there is no memory.
ZSTD_DCtx* ThreadDecoder() {
  Contexts* contexts = PerThread<Contexts>::Get();
  if (contexts == nullptr) return nullptr;
  if (contexts->decoder == nullptr) contexts->decoder = ZSTD_createDCtx();
  return contexts->decoder;
}

// Whether the first frame says that its content's checksum stands at its end (RFC 8878, 3.1.1.1.1).
bool HasChecksum(ByteSpan encoded) {
  constexpr std::size_t kDescriptor = 4;  // behind the magic number
  constexpr std::byte kChecksumFlag{1 << 2};
  return encoded.size() > kDescriptor && (encoded[kDescriptor] & kChecksumFlag) != std::byte{0};
}

class Zstd final : public Compressor {
 public:
  Zstd(int level, bool checksum) : level_(level), checksum_(checksum) {}
  std::string_view name() const override { return "zstd"; }
  Result<uint64_t> MaxEncodedBytes(uint64_t decoded_bytes) const override {
    // The library's own limit (0xFF00FF00FF00FF00) leaves no room for a check of ours to overflow.
    const std::size_t bound = ZSTD_compressBound(decoded_bytes);
    if (bound == 0 || ZSTD_isError(bound) != 0) {
      return OutOfRangeError("zstd: cannot encode " + std::to_string(decoded_bytes) + " bytes at once");
    }
    return bound;
  }
  CodecCost cost() const override {
    return {1.3, level_ <= 3 ? 3.0 : level_ <= 7 ? 12.0 : level_ <= 12 ? 50.0 : 500.0};
  }
  // A part is copied once more. Where there is a checksum, it is over all.
  PartialDecoding partial_decoding() const override {
    if (checksum_) return {};
    return {.slowdown = 2, .unit_bytes = ZSTD_BLOCKSIZE_MAX};
  }
  Status DecodePart(ByteSpan encoded, uint64_t decoded_bytes, uint64_t offset, MutableByteSpan part) const override;

 protected:
  Result<uint64_t> DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const override {
    ZSTD_DCtx* decoder = ThreadDecoder();
    if (decoder == nullptr) return NoSpaceError("zstd: no memory for a context");
    // The library takes no bytes for no frames; a chunk is one frame at least.
    if (encoded.empty()) return Corrupt("no bytes, expected a frame");
    const std::size_t written =
        ZSTD_decompressDCtx(decoder, target.data(), target.size(), encoded.data(), encoded.size());
    if (ZSTD_isError(written) == 0) return written;
    if (ZSTD_getErrorCode(written) == ZSTD_error_dstSize_tooSmall) {
      return OutOfRangeError("target too small");
    }
    return DecodeError(written);
  }
  uint64_t GuessDecodedBytes(ByteSpan encoded) const override {
    const unsigned long long size = ZSTD_getFrameContentSize(encoded.data(), encoded.size());
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) {
      return encoded.size() * 4;
    }
    // A frame of nothing but one repeated byte stores 4 bytes for a block of 128 KiB; what claims
    // more than that is lying.
    const uint64_t most = encoded.size() * uint64_t{32768} + (128 << 10);
    return size < most ? size : most;
  }
  Result<uint64_t> EncodeTo(ByteSpan decoded, MutableByteSpan encoded) const override {
    Contexts* contexts = PerThread<Contexts>::Get();
    if (contexts != nullptr && contexts->encoder == nullptr) contexts->encoder = ZSTD_createCCtx();
    if (contexts == nullptr || contexts->encoder == nullptr) {
      return NoSpaceError("zstd: no memory for a context");
    }
    ZSTD_CCtx* encoder = contexts->encoder;
    ZSTD_CCtx_reset(encoder, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(encoder, ZSTD_c_compressionLevel, level_);
    ZSTD_CCtx_setParameter(encoder, ZSTD_c_checksumFlag, checksum_ ? 1 : 0);
    const std::size_t written = ZSTD_compress2(encoder, encoded.data(), encoded.size(), decoded.data(), decoded.size());
    if (ZSTD_isError(written) == 0) return written;
    if (ZSTD_getErrorCode(written) == ZSTD_error_memory_allocation) {
      return NoSpaceError("zstd: no memory to encode");
    }
    return InternalError(std::string("zstd: ") + ZSTD_getErrorName(written));
  }

 private:
  Status DecodeError(std::size_t result) const {
    return ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation ? NoSpaceError("zstd: no memory to decode")
                                                                     : Corrupt(ZSTD_getErrorName(result));
  }

  int level_;
  bool checksum_;
};

Status Zstd::DecodePart(ByteSpan encoded, uint64_t decoded_bytes, uint64_t, MutableByteSpan part) const {
  ZSTD_DCtx* decoder = ThreadDecoder();
  if (decoder == nullptr) return NoSpaceError("zstd: no memory for a context");
  const unsigned long long claimed = ZSTD_getFrameContentSize(encoded.data(), encoded.size());
  if (claimed < ZSTD_CONTENTSIZE_ERROR && claimed > decoded_bytes) {
    return CheckDecodedSize(name(), claimed, decoded_bytes);
  }
  if (HasChecksum(encoded)) return DecodeAllForPart(encoded, decoded_bytes, 0, part);
  ZSTD_DCtx_reset(decoder, ZSTD_reset_session_only);
  ZSTD_inBuffer in{encoded.data(), encoded.size(), 0};
  ZSTD_outBuffer out{part.data(), part.size(), 0};
  while (out.pos < out.size) {
    const std::size_t in_before = in.pos, out_before = out.pos;
    const std::size_t result = ZSTD_decompressStream(decoder, &out, &in);
    if (ZSTD_isError(result) != 0) {
      // A window larger than a stream may have: its frame decodes in one piece only.
      return ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge
                 ? DecodeAllForPart(encoded, decoded_bytes, 0, part)
                 : DecodeError(result);
    }
    if (in.pos == in_before && out.pos == out_before) {
      return Corrupt("the frames end after " + std::to_string(out.pos) + " of the first " + std::to_string(out.size) +
                     " bytes");
    }
  }
  return OkStatus();
}

}  // namespace

Result<AnyCodec> MakeZstd(const CodecRequest&, ConfigReader& config) {
  const int level = static_cast<int>(config.Int("level", 0, ZSTD_minCLevel(), ZSTD_maxCLevel()));  // 0: default
  const bool checksum = config.Bool("checksum", false);
  config.Ignore("nbWorkers");  // n5-zarr's threads
  return MakeAs<BytesCodec, Zstd>(level, checksum);
}

}  // namespace h5zarr::codec
