#include "icechunk/envelope.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace h5zarr::icechunk {
namespace {

constexpr std::string_view kMagic =
    "ICE\xF0\x9F\xA7\x8A"
    "CHUNK";
constexpr std::string_view kWriter = "h5zarr";
constexpr std::size_t kWriterBytes = 24;
constexpr std::size_t kHeaderBytes = kMagic.size() + kWriterBytes + 3;
static_assert(kHeaderBytes == kEnvelopeBytes);
constexpr uint8_t kUncompressed = 0;
constexpr uint8_t kZstd = 1;
constexpr int kLevel = 3;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

struct FreeDecoder {
  void operator()(ZSTD_DCtx* decoder) const { ZSTD_freeDCtx(decoder); }
};

Status Damaged(std::string_view key, const std::string& what) {
  return CorruptError("'" + std::string(key) + "': " + what);
}

// The frames in `compressed`. Grows with what is really there: the size that a frame claims is not
// believed, and most of Icechunk's claim none.
Result<std::vector<uint8_t>> Decompress(std::string_view key, ByteSpan compressed) {
  const std::unique_ptr<ZSTD_DCtx, FreeDecoder> decoder(ZSTD_createDCtx());
  if (decoder == nullptr) return NoSpaceError("zstd: no memory for a context");
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> step(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in = {compressed.data(), compressed.size(), 0};
  std::size_t state = 1;
  while (in.pos < in.size || state != 0) {
    ZSTD_outBuffer out = {step.data(), step.size(), 0};
    const std::size_t before = in.pos;
    state = ZSTD_decompressStream(decoder.get(), &out, &in);
    if (ZSTD_isError(state) != 0) {
      return Damaged(key, std::string("its zstd data are damaged: ") + ZSTD_getErrorName(state));
    }
    if (out.pos == 0 && in.pos == before && in.pos == in.size) {
      return Damaged(key, "its zstd data end too early");
    }
    if (bytes.size() + out.pos > kMostBytes) return Damaged(key, "it is larger than 1 GiB");
    bytes.insert(bytes.end(), step.begin(), step.begin() + static_cast<std::ptrdiff_t>(out.pos));
  }
  return bytes;
}

}  // namespace

bool HasMagic(ByteSpan bytes) { return AsText(bytes).starts_with(kMagic); }

bool IsWrittenByUs(ByteSpan head) {
  return HasMagic(head) && AsText(head.subspan(kMagic.size(), kWriterBytes)).starts_with(kWriter);
}

Result<Payload> OpenEnvelope(std::string_view key, ByteSpan file, FileType type) {
  if (file.size() < kHeaderBytes || !HasMagic(file)) {
    return Damaged(
        key, "no file of Icechunk: its " + std::to_string(file.size()) + " bytes do not begin with the header of one");
  }
  const auto byte = [&](std::size_t index) { return std::to_integer<uint8_t>(file[index]); };
  const int spec_version = byte(kHeaderBytes - 3);
  if (spec_version != 1 && spec_version != 2) {
    return UnsupportedError("'" + std::string(key) + "': version " + std::to_string(spec_version) +
                            " of Icechunk's format; known are 1 and 2");
  }
  if (byte(kHeaderBytes - 2) != static_cast<uint8_t>(type)) {
    return Damaged(key, "its type is " + std::to_string(byte(kHeaderBytes - 2)) + ", expected " +
                            std::to_string(static_cast<int>(type)));
  }
  Payload payload;
  payload.spec_version = spec_version;
  const ByteSpan rest = file.subspan(kHeaderBytes);
  switch (byte(kHeaderBytes - 1)) {
    case kUncompressed: {
      const auto* first = reinterpret_cast<const uint8_t*>(rest.data());
      payload.bytes.assign(first, first + rest.size());
      return payload;
    }
    case kZstd: {
      H5ZARR_ASSIGN_OR_RETURN(payload.bytes, Decompress(key, rest));
      return payload;
    }
    default:
      return UnsupportedError("'" + std::string(key) + "': compression " + std::to_string(byte(kHeaderBytes - 1)) +
                              "; known are 0 and 1 (zstd)");
  }
}

Result<Buffer> MakeEnvelope(FileType type, ByteSpan payload) {
  H5ZARR_ASSIGN_OR_RETURN(Buffer file, Buffer::Allocate(kHeaderBytes + ZSTD_compressBound(payload.size())));
  std::byte* const header = file.data();
  std::memcpy(header, kMagic.data(), kMagic.size());
  std::memset(header + kMagic.size(), ' ', kWriterBytes);
  std::memcpy(header + kMagic.size(), kWriter.data(), kWriter.size());
  header[kHeaderBytes - 3] = std::byte{1};
  header[kHeaderBytes - 2] = static_cast<std::byte>(type);
  header[kHeaderBytes - 1] = std::byte{kZstd};
  const std::size_t written =
      ZSTD_compress(header + kHeaderBytes, file.size_bytes() - kHeaderBytes, payload.data(), payload.size(), kLevel);
  if (ZSTD_isError(written) != 0) {
    return NoSpaceError(std::string("zstd: ") + ZSTD_getErrorName(written));
  }
  file.Shrink(kHeaderBytes + written);
  return file;
}

}  // namespace h5zarr::icechunk
