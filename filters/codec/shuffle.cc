// shuffle (numcodecs Shuffle, HDF5's shuffle): the bytes of elements by significance.
#include <algorithm>
#include <cstring>

#include "codec/byte_shuffle.h"
#include "codec/codec_errors.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

class Shuffle final : public BytesCodec {
 public:
  explicit Shuffle(uint64_t elem_bytes) : elem_bytes_(elem_bytes) {}
  std::string_view name() const override { return "shuffle"; }
  std::optional<uint64_t> EncodedBytes(uint64_t decoded_bytes) const override { return decoded_bytes; }
  Result<uint64_t> MaxEncodedBytes(uint64_t decoded_bytes) const override { return decoded_bytes; }
  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckDecodedSize(name(), encoded.size(), decoded.size()));
    const uint64_t elems = encoded.size() / elem_bytes_;
    ByteUnshuffle(encoded.data(), decoded.data(), elems, elem_bytes_);
    // HDF5 leaves what is behind the last whole element where it is; numcodecs refuses such data.
    const std::size_t whole_bytes = elems * elem_bytes_;
    if (whole_bytes != encoded.size()) {
      std::memcpy(decoded.data() + whole_bytes, encoded.data() + whole_bytes, encoded.size() - whole_bytes);
    }
    return OkStatus();
  }
  Result<Buffer> DecodeUnsized(ByteSpan encoded, uint64_t max_bytes) const override {
    if (encoded.size() > max_bytes) {
      return CorruptError("shuffle: " + std::to_string(encoded.size()) + " bytes, expected at most " +
                          std::to_string(max_bytes));
    }
    H5ZARR_ASSIGN_OR_RETURN(Buffer decoded, Buffer::Allocate(encoded.size()));
    H5ZARR_RETURN_IF_ERROR(Decode(encoded, decoded.span()));
    return decoded;
  }
  Result<uint64_t> Encode(ByteSpan decoded, MutableByteSpan encoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckEncodeTarget(*this, decoded.size(), encoded.size()));
    if (decoded.size() % elem_bytes_ != 0) {
      return InvalidArgumentError("shuffle: " + std::to_string(decoded.size()) +
                                  " bytes are no multiple of the element size " + std::to_string(elem_bytes_) +
                                  ": no other reader takes them");
    }
    ByteShuffle(decoded.data(), encoded.data(), decoded.size() / elem_bytes_, elem_bytes_);
    return decoded.size();
  }
  CodecCost cost() const override { return {0.12, 0.12}; }

 private:
  uint64_t elem_bytes_;
};

}  // namespace

Result<AnyCodec> MakeShuffle(const CodecRequest& request, ConfigReader& config) {
  // numcodecs writes the size always; left out it means 4 there, and the element's to zarr-python
  // 3.
  const uint64_t item_bytes = request.input.dtype.is_vlen() ? 1 : request.input.dtype.item_bytes;
  const int64_t fallback = request.is_numcodecs_v3 ? static_cast<int64_t>(item_bytes) : 4;
  const int64_t elem_bytes = config.Int("elementsize", fallback, 0, INT64_C(1) << 40);
  // netCDF-C writes 0 and shuffles by the element's size, which HDF5's filter takes from the type.
  const uint64_t meant = elem_bytes > 0 ? static_cast<uint64_t>(elem_bytes) : item_bytes;
  return MakeAs<BytesCodec, Shuffle>(std::max<uint64_t>(1, meant));
}

}  // namespace h5zarr::codec
