// ChecksumCodec: the bytes as they are, with 32 bits of checksum before or behind them. The base of
// crc32c, crc32, adler32, fletcher32 and jenkins_lookup3. Private to filters/codec.
#ifndef H5ZARR_CODEC_CHECKSUM_CODEC_H_
#define H5ZARR_CODEC_CHECKSUM_CODEC_H_

#include "codec/codec.h"
#include "codec/codec_config.h"

namespace h5zarr::codec {

enum class ChecksumPlace { kStart, kEnd };

class ChecksumCodec : public BytesCodec {
 public:
  static constexpr uint64_t kChecksumBytes = 4;  // little-endian

  explicit ChecksumCodec(ChecksumPlace place) : place_(place) {}
  std::optional<uint64_t> EncodedBytes(uint64_t decoded_bytes) const final { return decoded_bytes + kChecksumBytes; }
  Result<uint64_t> MaxEncodedBytes(uint64_t decoded_bytes) const final;
  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const final;
  Result<Buffer> DecodeUnsized(ByteSpan encoded, uint64_t max_bytes) const final;
  Result<uint64_t> Encode(ByteSpan decoded, MutableByteSpan encoded) const final;

 protected:
  virtual uint32_t Checksum(ByteSpan bytes) const = 0;
  // True for a `stored` value that is right although Checksum gives `computed`.
  virtual bool IsEquivalent(uint32_t stored, uint32_t computed) const { return stored == computed; }

 private:
  ChecksumPlace place_;
};

// numcodecs' member "location".
ChecksumPlace ReadChecksumPlace(ConfigReader& config, ChecksumPlace fallback);

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_CHECKSUM_CODEC_H_
