// vlen-utf8, vlen-bytes (zarr-extensions, numcodecs) and vlen-array (numcodecs): u32 little-endian
// count, then for each element u32 little-endian size in bytes and the bytes.
#include <cstring>

#include "base/checked.h"
#include "codec/factories.h"
#include "codec/little_endian.h"
#include "codec/numpy_dtype.h"

namespace h5zarr::codec {
namespace {

constexpr std::size_t kWordBytes = 4;

class Vlen final : public VlenCodec {
 public:
  // `unit_bytes`: every element's size is a multiple of it.
  Vlen(std::string name, uint64_t unit_bytes) : name_(std::move(name)), unit_bytes_(unit_bytes) {}
  std::string_view name() const override { return name_; }
  Status Decode(ByteSpan encoded, std::span<VlenRef> elems, Buffer* heap) const override;
  Result<Buffer> Encode(std::span<const VlenRef> elems) const override;
  CodecCost cost() const override { return {0.2, 0.3}; }

 private:
  std::string name_;
  uint64_t unit_bytes_;
};

Status Vlen::Decode(ByteSpan encoded, std::span<VlenRef> elems, Buffer*) const {
  const auto corrupt = [this](std::string what) { return CorruptError(name_ + ": " + what); };
  if (encoded.size() < kWordBytes) {
    return corrupt(std::to_string(encoded.size()) + " bytes have no room for a count of 4");
  }
  const uint32_t count = LoadLe32(encoded.data());
  if (count != elems.size()) {
    return corrupt(std::to_string(count) + " elements, expected " + std::to_string(elems.size()));
  }
  std::size_t offset = kWordBytes;
  for (std::size_t i = 0; i < elems.size(); ++i) {
    const std::size_t left = encoded.size() - offset;
    const uint32_t elem_bytes = left < kWordBytes ? 0 : LoadLe32(encoded.data() + offset);
    if (left < kWordBytes || elem_bytes > left - kWordBytes || elem_bytes % unit_bytes_ != 0) {
      return corrupt("element " + std::to_string(i) + " at byte " + std::to_string(offset) + " does not fit " +
                     std::to_string(encoded.size()) + " bytes or its type");
    }
    elems[i] = {elem_bytes, encoded.data() + offset + kWordBytes};
    offset += kWordBytes + elem_bytes;
  }
  if (offset != encoded.size()) {
    return corrupt("elements end at byte " + std::to_string(offset) + " of " + std::to_string(encoded.size()));
  }
  return OkStatus();
}

Result<Buffer> Vlen::Encode(std::span<const VlenRef> elems) const {
  std::optional<uint64_t> total_bytes = kWordBytes;
  for (std::size_t i = 0; i < elems.size(); ++i) {
    const uint64_t elem_bytes = elems[i].size_bytes;
    if (elem_bytes > UINT32_MAX) {
      return OutOfRangeError(name_ + ": element " + std::to_string(i) + " has " + std::to_string(elem_bytes) +
                             " bytes, the most is 2^32 - 1");
    }
    if (elem_bytes % unit_bytes_ != 0) {
      return InvalidArgumentError(name_ + ": element " + std::to_string(i) + " has " + std::to_string(elem_bytes) +
                                  " bytes, no multiple of " + std::to_string(unit_bytes_));
    }
    total_bytes = CheckedAdd(*total_bytes, kWordBytes + elem_bytes);
    if (!total_bytes) return OutOfRangeError(name_ + ": elements of more than 2^64 bytes");
  }
  if (elems.size() > UINT32_MAX) {
    return OutOfRangeError(name_ + ": " + std::to_string(elems.size()) + " elements, the most is 2^32 - 1");
  }
  H5ZARR_ASSIGN_OR_RETURN(Buffer encoded, Buffer::Allocate(*total_bytes));
  std::byte* to = encoded.data();
  StoreLe32(to, static_cast<uint32_t>(elems.size()));
  to += kWordBytes;
  for (const VlenRef& elem : elems) {
    StoreLe32(to, static_cast<uint32_t>(elem.size_bytes));
    to += kWordBytes;
    if (elem.size_bytes > 0) std::memcpy(to, elem.data, elem.size_bytes);
    to += elem.size_bytes;
  }
  return encoded;
}

Result<AnyCodec> Make(const CodecRequest& request, uint64_t unit_bytes) {
  if (!request.input.dtype.is_vlen()) {
    return InvalidArgumentError("codec " + request.name + ": the array's elements are not of variable length");
  }
  return MakeAs<VlenCodec, Vlen>(request.name, unit_bytes);
}

}  // namespace

Result<AnyCodec> MakeVlenUtf8(const CodecRequest& request, ConfigReader&) { return Make(request, 1); }

Result<AnyCodec> MakeVlenBytes(const CodecRequest& request, ConfigReader&) { return Make(request, 1); }

Result<AnyCodec> MakeVlenArray(const CodecRequest& request, ConfigReader& config) {
  config.Require("dtype");
  const std::string text = config.String("dtype", "");
  H5ZARR_RETURN_IF_ERROR(config.Finish());
  const std::optional<DType> dtype = ParseNumpyDType(text, Endian::kLittle);
  if (!dtype) {
    return UnsupportedError("codec vlen-array: \"dtype\" is \"" + text +
                            "\", expected a boolean, integer or IEEE float");
  }
  return Make(request, dtype->item_bytes);
}

}  // namespace h5zarr::codec
