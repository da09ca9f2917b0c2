#include "codec/inflate.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "codec/per_thread.h"

namespace h5zarr::codec {
namespace {

constexpr int kLevels = 10;

struct Contexts {
  libdeflate_decompressor* decompressor = nullptr;
  std::array<libdeflate_compressor*, kLevels> compressors{};  // by level, made at first use
  z_stream stream{};
  bool stream_made = false;
  ~Contexts() {
    if (stream_made) inflateEnd(&stream);
    libdeflate_free_decompressor(decompressor);
    for (libdeflate_compressor* compressor : compressors) libdeflate_free_compressor(compressor);
  }
};

libdeflate_decompressor* ThreadDecompressor() {
  Contexts* contexts = PerThread<Contexts>::Get();
  if (contexts == nullptr) return nullptr;
  if (contexts->decompressor == nullptr) {
    contexts->decompressor = libdeflate_alloc_decompressor();
  }
  return contexts->decompressor;
}

libdeflate_compressor* ThreadCompressor(int level) {
  Contexts* contexts = PerThread<Contexts>::Get();
  if (contexts == nullptr) return nullptr;
  libdeflate_compressor*& compressor = contexts->compressors[static_cast<std::size_t>(level)];
  if (compressor == nullptr) compressor = libdeflate_alloc_compressor(level);
  return compressor;
}

// Ready for a new stream of `framing`; null when there is no memory.
z_stream* ThreadStream(DeflateFraming framing) {
  constexpr int kWindowBits = 15, kGzipToo = 16;
  const int bits = framing == DeflateFraming::kGzip ? kWindowBits + kGzipToo : kWindowBits;
  Contexts* contexts = PerThread<Contexts>::Get();
  if (contexts == nullptr) return nullptr;
  z_stream* stream = &contexts->stream;
  if (contexts->stream_made) return inflateReset2(stream, bits) == Z_OK ? stream : nullptr;
  contexts->stream_made = inflateInit2(stream, bits) == Z_OK;
  return contexts->stream_made ? stream : nullptr;
}

}  // namespace

Status InflatePrefix(DeflateFraming framing, ByteSpan encoded, MutableByteSpan target) {
  constexpr std::size_t kMostAtOnce = 1 << 30;  // zlib counts in unsigned int
  z_stream* stream = ThreadStream(framing);
  if (stream == nullptr) return NoSpaceError("no memory for a decompressor");
  std::size_t in_offset = 0, out_offset = 0;
  while (out_offset < target.size()) {
    const std::size_t in = std::min(encoded.size() - in_offset, kMostAtOnce);
    const std::size_t out = std::min(target.size() - out_offset, kMostAtOnce);
    stream->next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(encoded.data() + in_offset));
    stream->avail_in = static_cast<uInt>(in);
    stream->next_out = reinterpret_cast<Bytef*>(target.data() + out_offset);
    stream->avail_out = static_cast<uInt>(out);
    const int result = inflate(stream, Z_SYNC_FLUSH);
    in_offset += in - stream->avail_in;
    out_offset += out - stream->avail_out;
    const bool progress = stream->avail_in < in || stream->avail_out < out;
    if (result == Z_OK && progress) continue;
    if (result == Z_STREAM_END && out_offset == target.size()) break;
    return CorruptError("the stream breaks off, or is none, at byte " + std::to_string(in_offset) + " of " +
                        std::to_string(encoded.size()));
  }
  return OkStatus();
}

Result<InflatedStream> InflateOne(DeflateFraming framing, ByteSpan encoded, MutableByteSpan target) {
  libdeflate_decompressor* decompressor = ThreadDecompressor();
  if (decompressor == nullptr) return NoSpaceError("no memory for a decompressor");
  const auto decompress =
      framing == DeflateFraming::kGzip ? libdeflate_gzip_decompress_ex : libdeflate_zlib_decompress_ex;
  std::size_t in_bytes = 0, out_bytes = 0;
  const libdeflate_result result =
      decompress(decompressor, encoded.data(), encoded.size(), target.data(), target.size(), &in_bytes, &out_bytes);
  if (result == LIBDEFLATE_INSUFFICIENT_SPACE) return OutOfRangeError("target too small");
  if (result != LIBDEFLATE_SUCCESS) {
    return CorruptError(std::to_string(encoded.size()) + " bytes are no whole stream");
  }
  return InflatedStream{in_bytes, out_bytes};
}

Result<uint64_t> Inflate(DeflateFraming framing, ByteSpan encoded, MutableByteSpan target) {
  std::size_t in_offset = 0;
  std::size_t out_offset = 0;
  do {
    auto stream = InflateOne(framing, encoded.subspan(in_offset), target.subspan(out_offset));
    if (!stream.ok()) {
      return in_offset == 0 ? stream.status() : stream.status().WithContext("from byte " + std::to_string(in_offset));
    }
    in_offset += stream->encoded_bytes;
    out_offset += stream->decoded_bytes;
    if (framing == DeflateFraming::kZlib) break;
    while (in_offset < encoded.size() && encoded[in_offset] == std::byte{0}) ++in_offset;
  } while (in_offset < encoded.size());
  if (in_offset != encoded.size()) {
    return CorruptError("the stream ends at byte " + std::to_string(in_offset) + " of " +
                        std::to_string(encoded.size()));
  }
  return out_offset;
}

Result<uint64_t> Deflate(DeflateFraming framing, int level, ByteSpan decoded, MutableByteSpan target) {
  libdeflate_compressor* compressor = ThreadCompressor(level);
  if (compressor == nullptr) return NoSpaceError("no memory for a compressor");
  const auto compress = framing == DeflateFraming::kGzip ? libdeflate_gzip_compress : libdeflate_zlib_compress;
  const std::size_t written = compress(compressor, decoded.data(), decoded.size(), target.data(), target.size());
  if (written == 0) return InternalError("libdeflate needs more than its own bound");
  return written;
}

uint64_t DeflateBound(DeflateFraming framing, uint64_t decoded_bytes) {
  return framing == DeflateFraming::kGzip ? libdeflate_gzip_compress_bound(nullptr, decoded_bytes)
                                          : libdeflate_zlib_compress_bound(nullptr, decoded_bytes);
}

}  // namespace h5zarr::codec
