#include "codec/checksum_codec.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "codec/codec_errors.h"
#include "codec/little_endian.h"

namespace h5zarr::codec {
namespace {

std::string Hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08x", value);
  return text;
}

}  // namespace

Result<uint64_t> ChecksumCodec::MaxEncodedBytes(uint64_t decoded_bytes) const {
  return BoundedSum(name(), decoded_bytes, kChecksumBytes);
}

Status ChecksumCodec::Decode(ByteSpan encoded, MutableByteSpan decoded) const {
  if (encoded.size() < kChecksumBytes) {
    return CorruptError(std::string(name()) + ": " + std::to_string(encoded.size()) +
                        " bytes have no room for a checksum of 4");
  }
  const uint64_t payload_bytes = encoded.size() - kChecksumBytes;
  H5ZARR_RETURN_IF_ERROR(CheckDecodedSize(name(), payload_bytes, decoded.size()));
  const bool at_start = place_ == ChecksumPlace::kStart;
  const ByteSpan payload = encoded.subspan(at_start ? kChecksumBytes : 0, payload_bytes);
  const uint32_t stored = LoadLe32(encoded.data() + (at_start ? 0 : payload_bytes));
  const uint32_t computed = Checksum(payload);
  if (!IsEquivalent(stored, computed)) {
    return CorruptError(std::string(name()) + ": checksum of " + std::to_string(payload_bytes) + " bytes is " +
                        Hex(computed) + ", stored is " + Hex(stored));
  }
  if (payload_bytes > 0) std::memcpy(decoded.data(), payload.data(), payload_bytes);
  return OkStatus();
}

Result<Buffer> ChecksumCodec::DecodeUnsized(ByteSpan encoded, uint64_t max_bytes) const {
  const uint64_t payload_bytes = encoded.size() < kChecksumBytes ? 0 : encoded.size() - kChecksumBytes;
  if (payload_bytes > max_bytes) {
    return CorruptError(std::string(name()) + ": " + std::to_string(payload_bytes) + " bytes, expected at most " +
                        std::to_string(max_bytes));
  }
  H5ZARR_ASSIGN_OR_RETURN(Buffer decoded, Buffer::Allocate(payload_bytes));
  H5ZARR_RETURN_IF_ERROR(Decode(encoded, decoded.span()));
  return decoded;
}

Result<uint64_t> ChecksumCodec::Encode(ByteSpan decoded, MutableByteSpan encoded) const {
  H5ZARR_RETURN_IF_ERROR(CheckEncodeTarget(*this, decoded.size(), encoded.size()));
  const bool at_start = place_ == ChecksumPlace::kStart;
  if (!decoded.empty()) {
    std::memcpy(encoded.data() + (at_start ? kChecksumBytes : 0), decoded.data(), decoded.size());
  }
  StoreLe32(encoded.data() + (at_start ? 0 : decoded.size()), Checksum(decoded));
  return decoded.size() + kChecksumBytes;
}

ChecksumPlace ReadChecksumPlace(ConfigReader& config, ChecksumPlace fallback) {
  const std::string word = config.String("location", fallback == ChecksumPlace::kStart ? "start" : "end");
  if (word != "start" && word != "end") config.Fail("location", "start or end");
  return word == "start" ? ChecksumPlace::kStart : ChecksumPlace::kEnd;
}

}  // namespace h5zarr::codec
