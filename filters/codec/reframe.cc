#include "codec/reframe.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "codec/inflate.h"
#include "codec/little_endian.h"

namespace h5zarr::codec {
namespace {

// RFC 1950: two bytes before the stream, Adler-32 behind it, big endian.
constexpr std::size_t kZlibHeadBytes = 2, kZlibTailBytes = 4;
// RFC 1952: what a member has at least, and CRC-32 and the size behind it, little endian.
constexpr std::size_t kGzipHeadBytes = 10, kGzipTailBytes = 8;
constexpr unsigned kGzipHeadCrc = 2, kGzipExtra = 4, kGzipName = 8, kGzipComment = 16;

// Decodes `encoded`, which must be one stream of the size of `decoded`; of several ones this is the first.
Status DecodeAll(DeflateFraming framing, ByteSpan encoded, MutableByteSpan decoded) {
  const Result<InflatedStream> stream = InflateOne(framing, encoded, decoded);
  const std::string expected = " bytes, expected " + std::to_string(decoded.size());
  if (stream.status().code() == StatusCode::kOutOfRange) {
    return CorruptError("the stream decodes to more" + expected);
  }
  H5ZARR_RETURN_IF_ERROR(stream.status());
  if (stream->encoded_bytes != encoded.size()) return UnsupportedError("more than one stream");
  if (stream->decoded_bytes == decoded.size()) return OkStatus();
  return CorruptError("the stream decodes to " + std::to_string(stream->decoded_bytes) + expected);
}

// How long the head of a member is. REQUIRES: it was decoded, so that all of it is there.
std::size_t GzipHeadBytes(ByteSpan member) {
  const auto at = [&](std::size_t i) { return std::to_integer<std::size_t>(member[i]); };
  const std::size_t flags = at(3);
  std::size_t head = kGzipHeadBytes;
  if (flags & kGzipExtra) head += 2 + (at(head) | at(head + 1) << 8);
  for (const unsigned text : {kGzipName, kGzipComment}) {
    if ((flags & text) == 0) continue;
    while (at(head) != 0) ++head;
    ++head;
  }
  return flags & kGzipHeadCrc ? head + 2 : head;
}

}  // namespace

Result<Buffer> ZlibToGzip(ByteSpan encoded, MutableByteSpan decoded) {
  H5ZARR_RETURN_IF_ERROR(DecodeAll(DeflateFraming::kZlib, encoded, decoded));
  const ByteSpan stream = encoded.subspan(kZlibHeadBytes, encoded.size() - kZlibHeadBytes - kZlibTailBytes);
  H5ZARR_ASSIGN_OR_RETURN(Buffer gzip, Buffer::Allocate(kGzipHeadBytes + stream.size() + kGzipTailBytes));
  // No flags, no time, no word on the effort, no operating system.
  constexpr std::array<unsigned char, kGzipHeadBytes> kHead = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255};
  std::byte* to =
      std::transform(kHead.begin(), kHead.end(), gzip.data(), [](unsigned char byte) { return std::byte{byte}; });
  to = std::copy(stream.begin(), stream.end(), to);
  StoreLe32(to, libdeflate_crc32(0, decoded.data(), decoded.size()));
  StoreLe32(to + 4, static_cast<uint32_t>(decoded.size()));
  return gzip;
}

Result<Buffer> GzipToZlib(ByteSpan encoded, MutableByteSpan decoded) {
  H5ZARR_RETURN_IF_ERROR(DecodeAll(DeflateFraming::kGzip, encoded, decoded));
  const std::size_t head = GzipHeadBytes(encoded);
  const ByteSpan stream = encoded.subspan(head, encoded.size() - head - kGzipTailBytes);
  H5ZARR_ASSIGN_OR_RETURN(Buffer zlib, Buffer::Allocate(kZlibHeadBytes + stream.size() + kZlibTailBytes));
  // A window of 32 KiB, the usual effort, no dictionary.
  zlib.data()[0] = std::byte{0x78};
  zlib.data()[1] = std::byte{0x9C};
  std::byte* const tail = std::copy(stream.begin(), stream.end(), zlib.data() + kZlibHeadBytes);
  const uint32_t checksum = libdeflate_adler32(1, decoded.data(), decoded.size());
  StoreLe32(tail, __builtin_bswap32(checksum));
  return zlib;
}

}  // namespace h5zarr::codec
