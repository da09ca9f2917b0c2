#include "codec/compressor.h"

#include <algorithm>
#include <utility>

#include "codec/codec_errors.h"

namespace h5zarr::codec {
namespace {

// Libraries differ in whether they take a null pointer for no bytes, and memcpy does not.
ByteSpan NotNull(ByteSpan bytes) {
  static constexpr std::byte kNothing{};
  return bytes.data() != nullptr ? bytes : ByteSpan(&kNothing, 0);
}

}  // namespace

Status Compressor::Corrupt(std::string_view what) const {
  return CorruptError(std::string(name()) + ": " + std::string(what));
}

Status Compressor::Decode(ByteSpan encoded, MutableByteSpan decoded) const {
  std::byte nothing{};
  const MutableByteSpan target = decoded.data() != nullptr ? decoded : MutableByteSpan(&nothing, 0);
  Result<uint64_t> written = DecodeUpTo(NotNull(encoded), target);
  if (!written.ok()) {
    if (written.status().code() != StatusCode::kOutOfRange) return written.status();
    return Corrupt(std::to_string(encoded.size()) + " bytes decode to more than the expected " +
                   std::to_string(decoded.size()) + " bytes");
  }
  return CheckDecodedSize(name(), *written, decoded.size());
}

Status Compressor::DecodeAllForPart(ByteSpan encoded, uint64_t decoded_bytes, uint64_t offset,
                                    MutableByteSpan part) const {
  H5ZARR_ASSIGN_OR_RETURN(Buffer whole, Buffer::Allocate(decoded_bytes));
  H5ZARR_RETURN_IF_ERROR(Decode(encoded, whole.span()));
  std::copy_n(whole.data() + offset, part.size(), part.data());
  return OkStatus();
}

Result<Buffer> Compressor::DecodeUnsized(ByteSpan encoded, uint64_t max_bytes) const {
  constexpr uint64_t kLeastBytes = 256;
  encoded = NotNull(encoded);
  uint64_t capacity = std::min(max_bytes, std::max(kLeastBytes, GuessDecodedBytes(encoded)));
  for (;;) {
    // One byte at least, so that there is a pointer.
    H5ZARR_ASSIGN_OR_RETURN(Buffer decoded, Buffer::Allocate(std::max<uint64_t>(capacity, 1)));
    const MutableByteSpan target = decoded.span().first(static_cast<std::size_t>(capacity));
    Result<uint64_t> written = DecodeUpTo(encoded, target);
    if (written.ok()) {
      decoded.Shrink(static_cast<std::size_t>(*written));
      return decoded;
    }
    if (written.status().code() != StatusCode::kOutOfRange) return written.status();
    if (capacity >= max_bytes) {
      return Corrupt(std::to_string(encoded.size()) + " bytes decode to more than the most of " +
                     std::to_string(max_bytes) + " bytes");
    }
    capacity = capacity > max_bytes / 4 ? max_bytes : capacity * 4;
  }
}

Result<uint64_t> Compressor::Encode(ByteSpan decoded, MutableByteSpan encoded) const {
  H5ZARR_RETURN_IF_ERROR(CheckEncodeTarget(*this, decoded.size(), encoded.size()));
  return EncodeTo(NotNull(decoded), encoded);
}

}  // namespace h5zarr::codec
