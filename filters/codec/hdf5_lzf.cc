// hdf5_lzf: h5py's filter 32000, decoding only: one LZF stream, whose decoded size nothing says. No Zarr
// metadata name it: it is for chunks of native HDF5 files.
#include <algorithm>
#include <cstring>

#include "codec/codec_errors.h"
#include "codec/compressor.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

// A stream is a sequence of two forms. A first byte below 32 says that this many bytes and one follow as
// they are. Any other is the head of a match: three bits of length (all set: a byte of more follows), five
// bits of distance, another byte of distance. A match repeats at least three bytes from at most 8 KiB
// before.
constexpr unsigned kFirstMatch = 32;
constexpr unsigned kLongMatch = 7;

constexpr std::size_t kMostLiterals = kFirstMatch;

// Bytes are moved in steps of this where there is room for a whole one at both ends: most runs are shorter than one,
// and a copy of a length that varies takes longer than a step.
constexpr std::size_t kStep = 16;

void CopySteps(std::byte* to, const std::byte* from, std::size_t length) {
  std::size_t done = 0;
  do {
    std::memcpy(to + done, from + done, kStep);
    done += kStep;
  } while (done < length);
}

// Repeats `length` bytes that lie `distance` before `to`, which may overlap: `room` bytes may be written.
void CopyMatch(std::byte* to, std::size_t distance, std::size_t length, std::size_t room) {
  const std::byte* from = to - distance;
  if (distance >= kStep && room >= length + kStep) {
    CopySteps(to, from, length);
  } else if (distance == 1) {
    std::memset(to, std::to_integer<int>(*from), length);
  } else {
    for (std::size_t i = 0; i < length; ++i) to[i] = from[i];
  }
}

class Hdf5Lzf final : public Compressor {
 public:
  std::string_view name() const override { return "hdf5_lzf"; }
  Result<uint64_t> MaxEncodedBytes(uint64_t decoded_bytes) const override {
    return BoundedSum(name(), decoded_bytes, decoded_bytes / kFirstMatch + 64);
  }
  CodecCost cost() const override { return {1.0, 4.0}; }

 protected:
  Result<uint64_t> DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const override;
  uint64_t GuessDecodedBytes(ByteSpan encoded) const override { return encoded.size() * 3; }
  Result<uint64_t> EncodeTo(ByteSpan, MutableByteSpan) const override {
    return UnsupportedError("hdf5_lzf is decoded only");
  }
};

Result<uint64_t> Hdf5Lzf::DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const {
  const std::byte* in = encoded.data();
  const std::byte* const in_end = in + encoded.size();
  std::byte* out = target.data();
  std::byte* const out_end = out + target.size();
  while (in < in_end) {
    const unsigned head = std::to_integer<unsigned>(*in++);
    const auto in_left = static_cast<std::size_t>(in_end - in);
    const auto room = static_cast<std::size_t>(out_end - out);
    if (head < kFirstMatch) {
      const std::size_t length = head + 1;
      if (length > in_left) return Corrupt("the stream breaks off");
      if (length > room) return OutOfRangeError("target too small");
      if (in_left >= kMostLiterals && room >= kMostLiterals) {
        CopySteps(out, in, length);
      } else {
        std::memcpy(out, in, length);
      }
      in += length;
      out += length;
      continue;
    }
    std::size_t length = head >> 5;
    const bool is_long = length == kLongMatch;
    if (in_left < (is_long ? 2u : 1u)) return Corrupt("the stream breaks off");
    if (is_long) length += std::to_integer<std::size_t>(*in++);
    length += 2;
    const std::size_t distance = (std::size_t{head & 31} << 8 | std::to_integer<std::size_t>(*in++)) + 1;
    if (distance > static_cast<std::size_t>(out - target.data())) {
      return Corrupt("a match of bytes before the first");
    }
    if (length > room) return OutOfRangeError("target too small");
    CopyMatch(out, distance, length, room);
    out += length;
  }
  return static_cast<uint64_t>(out - target.data());
}

}  // namespace

Result<AnyCodec> MakeHdf5Lzf(const CodecRequest&, ConfigReader&) { return MakeAs<BytesCodec, Hdf5Lzf>(); }

}  // namespace h5zarr::codec
