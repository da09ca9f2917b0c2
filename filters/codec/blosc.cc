// blosc (Zarr v3 core, numcodecs Blosc): c-blosc 1 containers.
#include <blosc.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "codec/codec_errors.h"
#include "codec/compressor.h"
#include "codec/factories.h"
#include "codec/little_endian.h"

namespace h5zarr::codec {
namespace {

struct BloscOptions {
  std::string compressor = "lz4";
  int level = 5;
  int shuffle = BLOSC_SHUFFLE;
  std::size_t typesize = 1;
  std::size_t block_bytes = 0;  // 0: the library chooses
};

class Blosc final : public Compressor {
 public:
  explicit Blosc(BloscOptions options) : options_(std::move(options)) {}
  std::string_view name() const override { return "blosc"; }
  Result<uint64_t> MaxEncodedBytes(uint64_t decoded_bytes) const override {
    H5ZARR_RETURN_IF_ERROR(BoundedSum(name(), decoded_bytes, 0, BLOSC_MAX_BUFFERSIZE).status());
    return decoded_bytes + BLOSC_MAX_OVERHEAD;
  }
  CodecCost cost() const override {
    const bool is_fast =
        options_.compressor == "lz4" || options_.compressor == "blosclz" || options_.compressor == "snappy";
    return is_fast ? CodecCost{0.5, 0.9} : CodecCost{1.2, options_.level <= 3 ? 8.0 : 30.0};
  }

  // The library chooses its blocks by level and compressor: up to some hundred KiB, mostly less.
  PartialDecoding partial_decoding() const override {
    return {.slowdown = 2, .unit_bytes = 128 << 10, .from_front = false};
  }
  Status DecodePart(ByteSpan encoded, uint64_t decoded_bytes, uint64_t offset, MutableByteSpan part) const override;

 protected:
  Result<uint64_t> DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const override;
  uint64_t GuessDecodedBytes(ByteSpan encoded) const override {
    return encoded.size() < BLOSC_MIN_HEADER_LENGTH ? 0 : LoadLe32(encoded.data() + 4);
  }
  Result<uint64_t> EncodeTo(ByteSpan decoded, MutableByteSpan encoded) const override {
    const int written =
        blosc_compress_ctx(options_.level, options_.shuffle, options_.typesize, decoded.size(), decoded.data(),
                           encoded.data(), encoded.size(), options_.compressor.c_str(), options_.block_bytes, 1);
    if (written <= 0) return InternalError("blosc: encoding failed: " + std::to_string(written));
    return static_cast<uint64_t>(written);
  }

 private:
  // The decoded size that the header says, which is valid.
  Result<std::size_t> ClaimedBytes(ByteSpan encoded) const;
  Status BadBlocks(std::size_t claimed) const {
    return Corrupt("its blocks do not hold the " + std::to_string(claimed) +
                   " bytes the header claims (or use a compressor this build lacks)");
  }

  BloscOptions options_;
};

// Header: version, version of the compressor, flags, type size, then u32 little-endian decoded
// size, block size, encoded size (this header included).
Result<std::size_t> Blosc::ClaimedBytes(ByteSpan encoded) const {
  std::size_t claimed = 0;
  if (blosc_cbuffer_validate(encoded.data(), encoded.size(), &claimed) != 0 ||
      claimed != LoadLe32(encoded.data() + 4)) {
    return Corrupt(std::to_string(encoded.size()) + " bytes do not begin with a valid header");
  }
  return claimed;
}

Status Blosc::DecodePart(ByteSpan encoded, uint64_t decoded_bytes, uint64_t offset, MutableByteSpan part) const {
  H5ZARR_ASSIGN_OR_RETURN(const std::size_t claimed, ClaimedBytes(encoded));
  H5ZARR_RETURN_IF_ERROR(CheckDecodedSize(name(), claimed, decoded_bytes));
  if (part.empty()) return OkStatus();
  // The library counts in items of the size that the header says.
  const uint64_t item_bytes = std::to_integer<uint64_t>(encoded[3]);
  const uint64_t first = item_bytes == 0 ? 0 : offset / item_bytes;
  const uint64_t end = item_bytes == 0 ? 0 : CeilDiv(offset + part.size(), item_bytes);
  if (end == 0 || end * item_bytes > claimed) {  // no such items, or the last is cut off
    return DecodeAllForPart(encoded, decoded_bytes, offset, part);
  }
  const uint64_t items_bytes = (end - first) * item_bytes;
  Buffer aligned;
  std::byte* target = part.data();
  if (items_bytes != part.size()) {
    H5ZARR_ASSIGN_OR_RETURN(aligned, Buffer::Allocate(items_bytes));
    target = aligned.data();
  }
  const int written = blosc_getitem(encoded.data(), static_cast<int>(first), static_cast<int>(end - first), target);
  if (written < 0 || static_cast<uint64_t>(written) != items_bytes) return BadBlocks(claimed);
  if (target != part.data()) {
    std::copy_n(target + (offset - first * item_bytes), part.size(), part.data());
  }
  return OkStatus();
}

Result<uint64_t> Blosc::DecodeUpTo(ByteSpan encoded, MutableByteSpan target) const {
  H5ZARR_ASSIGN_OR_RETURN(const std::size_t claimed, ClaimedBytes(encoded));
  if (claimed > target.size()) return OutOfRangeError("target too small");
  if (claimed == 0) return 0;
  const int written = blosc_decompress_ctx(encoded.data(), target.data(), claimed, 1);
  if (written < 0 || static_cast<std::size_t>(written) != claimed) {
    return BadBlocks(claimed);
  }
  return claimed;
}

// v3 says words, v2 numbers; -1 is "bits for single bytes, else bytes".
int ReadShuffle(ConfigReader& config, std::size_t typesize) {
  const int automatic = typesize == 1 ? BLOSC_BITSHUFFLE : BLOSC_SHUFFLE;
  const Json* value = config.Get("shuffle");
  if (value == nullptr) return BLOSC_SHUFFLE;
  if (value->is_string()) {
    const std::string word = value->get<std::string>();
    if (word == "noshuffle") return BLOSC_NOSHUFFLE;
    if (word == "shuffle") return BLOSC_SHUFFLE;
    if (word == "bitshuffle") return BLOSC_BITSHUFFLE;
    config.Fail("shuffle", "noshuffle, shuffle or bitshuffle");
    return BLOSC_NOSHUFFLE;
  }
  const int number = static_cast<int>(config.Int("shuffle", 1, -1, 2));
  return number < 0 ? automatic : number;
}

}  // namespace

Result<AnyCodec> MakeBlosc(const CodecRequest& request, ConfigReader& config) {
  BloscOptions options;
  const bool is_vlen = request.input.dtype.is_vlen();  // then it is bytes of all sorts that arrive
  const uint64_t item_bytes = is_vlen ? 1 : request.input.dtype.item_bytes;
  options.compressor = config.String("cname", "lz4");
  options.level = static_cast<int>(config.Int("clevel", 5, 0, 9));
  options.typesize = static_cast<std::size_t>(
      config.Int("typesize", static_cast<int64_t>(item_bytes > 0 ? item_bytes : 1), 0, INT32_MAX));
  // The container has one byte for it, and the library takes what is larger for 1.
  if (options.typesize < 1 || options.typesize > BLOSC_MAX_TYPESIZE) options.typesize = 1;
  options.shuffle = ReadShuffle(config, options.typesize);
  options.block_bytes = static_cast<std::size_t>(config.Int("blocksize", 0, 0, BLOSC_MAX_BUFFERSIZE));
  config.Ignore("nthreads");  // n5-zarr writes it
  H5ZARR_RETURN_IF_ERROR(config.Finish());
  if (blosc_compname_to_compcode(options.compressor.c_str()) < 0) {
    return UnsupportedError("codec blosc: \"cname\" is \"" + options.compressor +
                            "\", which this build of c-blosc lacks");
  }
  return MakeAs<BytesCodec, Blosc>(std::move(options));
}

}  // namespace h5zarr::codec
