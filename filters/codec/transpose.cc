// transpose (Zarr v3 core): encoded dimension i is decoded dimension order[i].
#include <algorithm>

#include "base/nd_copy.h"
#include "codec/codec_errors.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

class Transpose final : public ArrayCodec {
 public:
  Transpose(const ChunkSpec& decoded, std::vector<uint64_t> order)
      : decoded_(decoded), encoded_(decoded), order_(std::move(order)) {
    const std::size_t rank = order_.size();
    decoded_strides_.resize(rank);
    encoded_strides_.resize(rank);
    std::vector<int64_t> strides(rank);
    ContiguousStrides(decoded_.shape, decoded_.dtype.item_bytes, strides);
    for (std::size_t i = 0; i < rank; ++i) {
      encoded_.shape[i] = decoded_.shape[order_[i]];
      decoded_strides_[i] = strides[order_[i]];
    }
    ContiguousStrides(encoded_.shape, encoded_.dtype.item_bytes, encoded_strides_);
  }
  std::string_view name() const override { return "transpose"; }
  const ChunkSpec& decoded_spec() const override { return decoded_; }
  const ChunkSpec& encoded_spec() const override { return encoded_; }
  std::span<const uint64_t> transpose_order() const override { return order_; }
  Status Decode(ByteSpan encoded, MutableByteSpan decoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckDecodeSpans(*this, encoded, decoded));
    if (encoded.empty()) return OkStatus();
    CopyStrided(encoded.data(), encoded_strides_, decoded.data(), decoded_strides_, encoded_.shape,
                encoded_.dtype.item_bytes);
    return OkStatus();
  }
  Status Encode(ByteSpan decoded, MutableByteSpan encoded) const override {
    H5ZARR_RETURN_IF_ERROR(CheckEncodeSpans(*this, decoded, encoded));
    if (decoded.empty()) return OkStatus();
    CopyStrided(decoded.data(), decoded_strides_, encoded.data(), encoded_strides_, encoded_.shape,
                encoded_.dtype.item_bytes);
    return OkStatus();
  }
  CodecCost cost() const override { return {0.35, 0.35}; }

 private:
  ChunkSpec decoded_;
  ChunkSpec encoded_;
  std::vector<uint64_t> order_;
  std::vector<int64_t> decoded_strides_;  // by encoded dimension
  std::vector<int64_t> encoded_strides_;
};

}  // namespace

Result<AnyCodec> MakeTranspose(const CodecRequest& request, ConfigReader& config) {
  config.Require("order");
  const Json* value = config.Get("order");
  H5ZARR_RETURN_IF_ERROR(config.Finish());
  const std::size_t rank = request.input.shape.size();
  std::vector<uint64_t> order;
  if (value->is_string()) {  // before Zarr v3 was final
    const std::string word = value->get<std::string>();
    if (word != "C" && word != "F") config.Fail("order", "a permutation");
    for (std::size_t i = 0; i < rank; ++i) order.push_back(word == "F" ? rank - 1 - i : i);
  } else if (value->is_array() && value->size() == rank) {
    std::vector<bool> seen(rank, false);
    for (const Json& item : *value) {
      const uint64_t dim = item.is_number_unsigned() ? item.get<uint64_t>() : rank;
      if (dim >= rank || seen[dim]) break;
      seen[dim] = true;
      order.push_back(dim);
    }
  }
  if (order.size() != rank) {
    config.Fail("order", "a permutation of the array's " + std::to_string(rank) + " dimensions");
  }
  H5ZARR_RETURN_IF_ERROR(config.Finish());
  return MakeAs<ArrayCodec, Transpose>(request.input, std::move(order));
}

}  // namespace h5zarr::codec
