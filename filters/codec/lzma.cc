// lzma (numcodecs LZMA, by Python's lzma module): .xz, .lzma or raw streams of liblzma.
#include <lzma.h>

#include <algorithm>
#include <optional>
#include <string>

#include "codec/codec_errors.h"
#include "codec/compressor.h"
#include "codec/factories.h"
#include "codec/lzma_filters.h"

namespace h5zarr::codec {
namespace {

// Python's numbers.
enum class Format { kAuto = 0, kXz = 1, kAlone = 2, kRaw = 3 };

// A stream names its dictionary's size, which is allocated before anything is decoded. The largest
// preset needs 65 MiB.
constexpr uint64_t kMemoryLimitBytes = uint64_t{1} << 30;

struct Options {
  Format format = Format::kXz;
  lzma_check check = LZMA_CHECK_CRC64;
  LzmaFilters filters;
};

class Stream {
 public:
  Stream() = default;
  ~Stream() { lzma_end(&stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  lzma_stream* get() { return &stream_; }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class Lzma final : public Compressor {
 public:
  explicit Lzma(const Options& options) : options_(options) {}
  std::string_view name() const override { return "lzma"; }
  Result<uint64_t> MaxEncodedBytes(uint64_t decoded_bytes) const override {
    // lzma_stream_buffer_bound is for one .xz block of LZMA2, which falls back to stored chunks.
    // The other formats have no such fallback: LZMA1 grows by less than an eighth on its worst
    // input.
    return BoundedSum(name(), decoded_bytes, decoded_bytes / 4 + 4096, UINT64_MAX / 4);
  }
  CodecCost cost() const override { return {15.0, 400.0}; }

 protected:
  Result<uint64_t> DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const override;
  uint64_t GuessDecodedBytes(ByteSpan encoded) const override { return encoded.size() * 4; }
  Result<uint64_t> EncodeTo(ByteSpan decoded, MutableByteSpan encoded) const override;

 private:
  lzma_ret BeginDecoder(lzma_stream* stream) const {
    switch (options_.format) {
      case Format::kAuto: return lzma_auto_decoder(stream, kMemoryLimitBytes, LZMA_CONCATENATED);
      case Format::kXz: return lzma_stream_decoder(stream, kMemoryLimitBytes, LZMA_CONCATENATED);
      case Format::kAlone: return lzma_alone_decoder(stream, kMemoryLimitBytes);
      case Format::kRaw: break;
    }
    LzmaFilters::Chain chain;
    options_.filters.Bind(&chain);
    return lzma_raw_decoder(stream, chain.filters.data());
  }
  lzma_ret BeginEncoder(lzma_stream* stream) const {
    LzmaFilters::Chain chain;
    options_.filters.Bind(&chain);
    switch (options_.format) {
      case Format::kAuto: return LZMA_OPTIONS_ERROR;
      case Format::kXz: return lzma_stream_encoder(stream, chain.filters.data(), options_.check);
      case Format::kAlone: return lzma_alone_encoder(stream, &chain.lzma[0]);
      case Format::kRaw: return lzma_raw_encoder(stream, chain.filters.data());
    }
    return LZMA_OPTIONS_ERROR;
  }

  Options options_;
};

Result<uint64_t> Lzma::DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const {
  Stream stream;
  lzma_ret code = BeginDecoder(stream.get());
  if (code == LZMA_MEM_ERROR) return NoSpaceError("lzma: no memory for a context");
  if (code != LZMA_OK) return UnsupportedError("lzma: liblzma refuses the filters");
  stream.get()->next_in = reinterpret_cast<const uint8_t*>(encoded.data());
  stream.get()->avail_in = encoded.size();
  stream.get()->next_out = reinterpret_cast<uint8_t*>(target.data());
  stream.get()->avail_out = target.size();
  while (code == LZMA_OK) code = lzma_code(stream.get(), LZMA_FINISH);
  uint8_t one_more = 0;
  if (code == LZMA_BUF_ERROR && stream.get()->avail_out == 0) {
    // An end marker may be all that is left, and LZMA1 reads it only where it has room for output.
    stream.get()->next_out = &one_more;
    stream.get()->avail_out = 1;
    do code = lzma_code(stream.get(), LZMA_FINISH);
    while (code == LZMA_OK && stream.get()->avail_out != 0);
  }
  if (stream.get()->total_out > target.size()) return OutOfRangeError("target too small");
  const uint64_t left = stream.get()->avail_in;
  switch (code) {
    case LZMA_STREAM_END:
      if (left != 0) return Corrupt(std::to_string(left) + " bytes follow the stream");
      return stream.get()->total_out;
    case LZMA_BUF_ERROR: return Corrupt("the stream is truncated at byte " + std::to_string(encoded.size()));
    case LZMA_MEM_ERROR: return NoSpaceError("lzma: no memory to decode");
    case LZMA_MEMLIMIT_ERROR: return UnsupportedError("lzma: the stream's dictionary is larger than 1 GiB");
    default: return Corrupt("the stream is damaged");
  }
}

Result<uint64_t> Lzma::EncodeTo(ByteSpan decoded, MutableByteSpan encoded) const {
  Stream stream;
  lzma_ret code = BeginEncoder(stream.get());
  if (code == LZMA_MEM_ERROR) return NoSpaceError("lzma: no memory for a context");
  if (code != LZMA_OK) return InvalidArgumentError("lzma: liblzma refuses the configuration");
  stream.get()->next_in = reinterpret_cast<const uint8_t*>(decoded.data());
  stream.get()->avail_in = decoded.size();
  stream.get()->next_out = reinterpret_cast<uint8_t*>(encoded.data());
  stream.get()->avail_out = encoded.size();
  while (code == LZMA_OK) code = lzma_code(stream.get(), LZMA_FINISH);
  if (code == LZMA_MEM_ERROR) return NoSpaceError("lzma: no memory to encode");
  if (code != LZMA_STREAM_END) return InternalError("lzma: encoding failed");
  return stream.get()->total_out;
}

// Python's rules: a check for .xz only, filters or a preset, raw needs filters, .lzma has LZMA1
// only.
Status ReadFilters(ConfigReader& config, Options* options) {
  const Json* filters = config.Get("filters");
  const bool has_preset = config.Has("preset");
  const auto preset = static_cast<uint32_t>(config.Int("preset", LZMA_PRESET_DEFAULT, 0, UINT32_MAX));
  if (filters != nullptr && has_preset) config.Fail("preset", "null where there are filters");
  if (filters == nullptr && options->format == Format::kRaw) {
    config.Fail("filters", "a list, since format is raw");
  }
  H5ZARR_RETURN_IF_ERROR(config.Finish());
  if (filters == nullptr) return options->filters.FromPreset(preset);
  H5ZARR_RETURN_IF_ERROR(options->filters.Parse(*filters));
  if (options->format == Format::kAlone && options->filters.Lzma1() == nullptr) {
    config.Fail("filters", "one LZMA1 filter, since format is alone");
  }
  return config.Finish();
}

// Refuses at once what every chunk would fail on.
Status CheckFilters(const Options& options) {
  LzmaFilters::Chain chain;
  options.filters.Bind(&chain);
  const uint64_t memory_bytes = options.format == Format::kRaw ? lzma_raw_decoder_memusage(chain.filters.data())
                                                               : lzma_raw_encoder_memusage(chain.filters.data());
  if (memory_bytes == UINT64_MAX) {
    return InvalidArgumentError("codec lzma: liblzma refuses \"filters\"");
  }
  if (options.format == Format::kRaw && memory_bytes > kMemoryLimitBytes) {
    return UnsupportedError("codec lzma: \"filters\" need more than 1 GiB to decode");
  }
  return OkStatus();
}

}  // namespace

Result<AnyCodec> MakeLzma(const CodecRequest&, ConfigReader& config) {
  Options options;
  options.format = static_cast<Format>(config.Int("format", 1, 0, 3));
  const int64_t check = config.Int("check", -1, -1, LZMA_CHECK_ID_MAX);
  if (options.format == Format::kXz) {
    if (check >= 0) options.check = static_cast<lzma_check>(check);
    if (!lzma_check_is_supported(options.check)) config.Fail("check", "a check of liblzma");
  } else if (check > 0) {
    config.Fail("check", "-1 or 0, since format has no checks");
  }
  H5ZARR_RETURN_IF_ERROR(ReadFilters(config, &options));
  H5ZARR_RETURN_IF_ERROR(CheckFilters(options));
  return MakeAs<BytesCodec, Lzma>(options);
}

}  // namespace h5zarr::codec
