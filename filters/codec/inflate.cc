#include "codec/inflate.h"

#include <libdeflate.h>

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
  ~Contexts() {
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

}  // namespace

Result<uint64_t> Inflate(DeflateFraming framing, ByteSpan encoded, MutableByteSpan target) {
  libdeflate_decompressor* decompressor = ThreadDecompressor();
  if (decompressor == nullptr) return NoSpaceError("no memory for a decompressor");
  const auto decompress = framing == DeflateFraming::kGzip ? libdeflate_gzip_decompress_ex
                                                           : libdeflate_zlib_decompress_ex;
  std::size_t in_offset = 0;
  std::size_t out_offset = 0;
  do {
    std::size_t in_bytes = 0;
    std::size_t out_bytes = 0;
    const libdeflate_result result =
        decompress(decompressor, encoded.data() + in_offset, encoded.size() - in_offset,
                   target.data() + out_offset, target.size() - out_offset, &in_bytes, &out_bytes);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) return OutOfRangeError("target too small");
    if (result != LIBDEFLATE_SUCCESS) {
      return CorruptError("bytes [" + std::to_string(in_offset) + ", " +
                          std::to_string(encoded.size()) + ") are no whole stream");
    }
    in_offset += in_bytes;
    out_offset += out_bytes;
    if (framing == DeflateFraming::kZlib) break;
    while (in_offset < encoded.size() && encoded[in_offset] == std::byte{0}) ++in_offset;
  } while (in_offset < encoded.size());
  if (in_offset != encoded.size()) {
    return CorruptError("the stream ends at byte " + std::to_string(in_offset) + " of " +
                        std::to_string(encoded.size()));
  }
  return out_offset;
}

Result<uint64_t> Deflate(DeflateFraming framing, int level, ByteSpan decoded,
                         MutableByteSpan target) {
  libdeflate_compressor* compressor = ThreadCompressor(level);
  if (compressor == nullptr) return NoSpaceError("no memory for a compressor");
  const auto compress =
      framing == DeflateFraming::kGzip ? libdeflate_gzip_compress : libdeflate_zlib_compress;
  const std::size_t written =
      compress(compressor, decoded.data(), decoded.size(), target.data(), target.size());
  if (written == 0) return InternalError("libdeflate needs more than its own bound");
  return written;
}

uint64_t DeflateBound(DeflateFraming framing, uint64_t decoded_bytes) {
  return framing == DeflateFraming::kGzip ? libdeflate_gzip_compress_bound(nullptr, decoded_bytes)
                                          : libdeflate_zlib_compress_bound(nullptr, decoded_bytes);
}

}  // namespace h5zarr::codec
