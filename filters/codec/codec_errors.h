// The size checks that every codec makes, and their messages. Private to filters/codec.
#ifndef H5ZARR_CODEC_CODEC_ERRORS_H_
#define H5ZARR_CODEC_CODEC_ERRORS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/checked.h"
#include "base/status.h"
#include "codec/codec.h"

namespace h5zarr::codec {

// kCorrupt, saying both, unless equal.
inline Status CheckDecodedSize(std::string_view codec, uint64_t decoded_bytes, uint64_t expected_bytes) {
  if (decoded_bytes == expected_bytes) return OkStatus();
  return CorruptError(std::string(codec) + ": data decode to " + std::to_string(decoded_bytes) + " bytes, expected " +
                      std::to_string(expected_bytes));
}

// kInvalidArgument when `target_bytes` may be too small for Encode.
inline Status CheckEncodeTarget(const BytesCodec& codec, uint64_t decoded_bytes, uint64_t target_bytes) {
  Result<uint64_t> most = codec.MaxEncodedBytes(decoded_bytes);
  if (!most.ok()) return most.status();
  if (target_bytes >= *most) return OkStatus();
  return InvalidArgumentError(std::string(codec.name()) + ": a target of " + std::to_string(target_bytes) + " bytes, " +
                              std::to_string(*most) + " may be needed");
}

// decoded_bytes + more_bytes; kOutOfRange, naming the codec, when that is more than `limit`.
inline Result<uint64_t> BoundedSum(std::string_view codec, uint64_t decoded_bytes, uint64_t more_bytes,
                                   uint64_t limit = UINT64_MAX) {
  const std::optional<uint64_t> sum = CheckedAdd(decoded_bytes, more_bytes);
  if (sum && *sum <= limit) return *sum;
  return OutOfRangeError(std::string(codec) + ": cannot encode " + std::to_string(decoded_bytes) + " bytes at once");
}

// For array codecs: both spans must have the sizes of their specs.
inline Status CheckDecodeSpans(const ArrayCodec& codec, ByteSpan encoded, MutableByteSpan decoded) {
  if (encoded.size() != codec.encoded_spec().size_bytes()) {
    return CorruptError(std::string(codec.name()) + ": " + std::to_string(encoded.size()) +
                        " encoded bytes, expected " + std::to_string(codec.encoded_spec().size_bytes()));
  }
  return CheckDecodedSize(codec.name(), codec.decoded_spec().size_bytes(), decoded.size());
}
inline Status CheckEncodeSpans(const ArrayCodec& codec, ByteSpan decoded, MutableByteSpan encoded) {
  if (decoded.size() == codec.decoded_spec().size_bytes() && encoded.size() == codec.encoded_spec().size_bytes()) {
    return OkStatus();
  }
  return InvalidArgumentError(std::string(codec.name()) + ": buffers of " + std::to_string(decoded.size()) + " and " +
                              std::to_string(encoded.size()) + " bytes, expected " +
                              std::to_string(codec.decoded_spec().size_bytes()) + " and " +
                              std::to_string(codec.encoded_spec().size_bytes()));
}

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_CODEC_ERRORS_H_
