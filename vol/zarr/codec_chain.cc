#include "zarr/codec_chain.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/nd_copy.h"
#include "codec/registry.h"
#include "zarr/codec_chain_impl.h"

namespace h5zarr::zarr {

namespace {

// A vlen chunk's encoded size is bounded by nothing in the metadata; this stops decompression
// bombs.
constexpr uint64_t kMaxVlenBytes = uint64_t{4} << 30;
constexpr int kMaxShardingDepth = 4;

bool IsByteOrderCodec(const std::string& name) { return name == "bytes" || name == "endian"; }

Result<std::vector<CodecSpec>> ParseCodecs(const Json& list, std::string_view member) {
  if (!list.is_array()) {
    return InvalidArgumentError("sharding_indexed: " + std::string(member) + " is not a list");
  }
  std::vector<CodecSpec> specs;
  for (const Json& item : list) {
    CodecSpec spec;
    if (item.is_string()) {
      spec.name = item.get<std::string>();
    } else if (item.is_object() && item.contains("name") && item["name"].is_string()) {
      spec.name = item["name"].get<std::string>();
      if (item.contains("configuration")) spec.configuration = item["configuration"];
    } else {
      return InvalidArgumentError("sharding_indexed: " + std::string(member) + " holds a codec without a name");
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

Result<std::shared_ptr<const FillElem>> MakeFill(const DType& dtype, const FillValue& fill) {
  auto elem = std::make_shared<FillElem>();
  elem->content = fill.bytes;
  if (dtype.is_vlen()) {
    elem->ref = {elem->content.size(), elem->content.empty() ? nullptr : elem->content.data()};
    elem->elem = ByteSpan(reinterpret_cast<const std::byte*>(&elem->ref), sizeof(VlenRef));
    return std::shared_ptr<const FillElem>(std::move(elem));
  }
  if (elem->content.empty()) elem->content.resize(dtype.item_bytes);
  if (elem->content.size() != dtype.item_bytes) {
    return InvalidArgumentError("a fill value of " + std::to_string(elem->content.size()) + " bytes for elements of " +
                                std::to_string(dtype.item_bytes));
  }
  if (!fill.block.empty()) elem->content = fill.block;
  elem->elem = elem->content;
  return std::shared_ptr<const FillElem>(std::move(elem));
}

// Whether a block of fill is that of the last dimensions of a chunk, which lies in C order.
Status CheckFillBlock(ByteSpan block, const DType& dtype, std::span<const uint64_t> shape,
                      std::span<const uint64_t> order) {
  if (dtype.is_vlen() || block.size() == dtype.item_bytes) return OkStatus();
  uint64_t bytes = dtype.item_bytes;
  for (std::size_t dim = shape.size(); dim-- > 0 && bytes < block.size();) bytes *= shape[dim];
  if (bytes == block.size() && std::is_sorted(order.begin(), order.end())) return OkStatus();
  return InvalidArgumentError("a fill value of " + std::to_string(block.size()) +
                              " bytes that is not that of the chunk's last dimensions");
}

}  // namespace

// Takes the codecs one after the other; `spec` follows what leaves the last array codec.
struct CodecChain::Builder {
  Impl* impl;
  FillValue fill;
  int depth;
  codec::ChunkSpec spec;

  static Result<CodecChain> Build(const DType& dtype, std::vector<uint64_t> shape, std::vector<uint64_t> order,
                                  const std::vector<CodecSpec>& codecs, const FillValue& fill,
                                  std::shared_ptr<const FillElem> elem, int depth) {
    auto impl = std::make_shared<Impl>();
    impl->dtype = dtype;
    impl->shape = std::move(shape);
    impl->order = std::move(order);
    impl->fill = std::move(elem);
    Builder builder{impl.get(), fill, depth, {}};
    H5ZARR_RETURN_IF_ERROR(builder.Begin());
    for (const CodecSpec& codec : codecs) {
      if (IsByteOrderCodec(codec.name)) continue;  // the byte order is part of the DType
      H5ZARR_RETURN_IF_ERROR(builder.Add(codec));
    }
    H5ZARR_RETURN_IF_ERROR(CheckFillBlock(impl->fill->elem, dtype, impl->shape, impl->order));
    H5ZARR_RETURN_IF_ERROR(builder.Finish());
    return CodecChain(std::move(impl));
  }

  Status Begin() {
    if (impl->dtype.item_bytes == 0) return UnsupportedError("elements of no bytes");
    for (uint64_t extent : impl->shape) {
      if (extent == 0) return InvalidArgumentError("a chunk of extent 0");
    }
    const auto elems = CheckedProduct(impl->shape);
    const auto bytes = elems ? CheckedMul(*elems, impl->dtype.item_bytes) : std::nullopt;
    if (!bytes || *bytes > INT64_MAX) return OutOfRangeError("a chunk of more than 2^63 bytes");
    impl->elems = *elems;
    impl->decoded_bytes = *bytes;
    spec.dtype = impl->dtype;
    for (uint64_t dim : impl->order) spec.shape.push_back(impl->shape[dim]);
    return OkStatus();
  }

  bool has_array_to_bytes() const { return impl->vlen != nullptr || impl->sharding != nullptr; }

  Status Add(const CodecSpec& codec) {
    if (codec.name == "sharding_indexed") return AddSharding(codec.configuration);
    codec::ChunkSpec input = spec;
    // Behind a codec that makes bytes of elements there is no element any more.
    if (has_array_to_bytes()) input = {DType::Uint(1), {impl->decoded_bytes}};
    H5ZARR_ASSIGN_OR_RETURN(codec::AnyCodec made, codec::MakeCodec(codec.name, codec.configuration, input));
    if (auto* array = std::get_if<std::unique_ptr<codec::ArrayCodec>>(&made)) {
      return AddArray(codec.name, std::move(*array));
    }
    if (auto* vlen = std::get_if<std::unique_ptr<codec::VlenCodec>>(&made)) {
      return AddVlen(codec.name, std::move(*vlen));
    }
    impl->bytes_codecs.push_back(std::get<std::unique_ptr<codec::BytesCodec>>(std::move(made)));
    return OkStatus();
  }

  Status AddArray(const std::string& name, std::unique_ptr<codec::ArrayCodec> codec) {
    if (has_array_to_bytes() || !impl->bytes_codecs.empty()) {
      return InvalidArgumentError("codec " + name + " works on elements but stands behind one that " + "makes bytes");
    }
    const auto permutation = codec->transpose_order();
    if (!permutation.empty() && impl->array_codecs.empty()) {
      std::vector<uint64_t> composed;
      for (uint64_t dim : permutation) {
        if (dim >= impl->order.size()) return InvalidArgumentError("transpose: order is no permutation");
        composed.push_back(impl->order[dim]);
      }
      impl->order = std::move(composed);
      spec = codec->encoded_spec();
      return OkStatus();
    }
    if (impl->dtype.is_vlen()) {
      return UnsupportedError("codec " + name + " on elements of variable length");
    }
    spec = codec->encoded_spec();
    impl->array_codecs.push_back(std::move(codec));
    return OkStatus();
  }

  Status AddVlen(const std::string& name, std::unique_ptr<codec::VlenCodec> codec) {
    if (has_array_to_bytes() || !impl->bytes_codecs.empty()) {
      return InvalidArgumentError("codec " + name + " stands behind one that makes bytes");
    }
    if (!impl->dtype.is_vlen()) {
      return InvalidArgumentError("codec " + name + " needs elements of variable length");
    }
    impl->vlen = std::move(codec);
    return OkStatus();
  }

  Status AddSharding(const Json& configuration);
  Status ParseInnerShape(const Json& configuration, std::vector<uint64_t>* inner_shape,
                         std::vector<uint64_t>* per_shard) const;
  Status AddIndexCodecs(const std::vector<CodecSpec>& codecs, Sharding* sharding);

  Status Finish() {
    if (impl->dtype.is_vlen() && !has_array_to_bytes()) {
      return InvalidArgumentError("elements of variable length without a codec for them");
    }
    SetStrides();
    H5ZARR_RETURN_IF_ERROR(SetSizes());
    SetCosts();
    return OkStatus();
  }

  void SetStrides() {
    impl->strides_bytes.resize(impl->shape.size());
    int64_t stride = static_cast<int64_t>(impl->dtype.item_bytes);
    for (std::size_t i = impl->order.size(); i-- > 0;) {
      impl->strides_bytes[impl->order[i]] = stride;
      stride *= static_cast<int64_t>(impl->shape[impl->order[i]]);
    }
  }

  Status SetSizes() {
    std::optional<uint64_t> size;
    uint64_t cap = kMaxVlenBytes;
    if (!has_array_to_bytes()) {
      size = spec.size_bytes();
      cap = *size;
    } else if (impl->sharding != nullptr && !impl->dtype.is_vlen()) {
      // Every inner chunk as large as its own codecs may make it, four times over, and the index.
      cap = std::max(kMaxVlenBytes, impl->decoded_bytes * 4 + impl->sharding->index_bytes);
    }
    impl->max_encoded_bytes = size;
    for (const auto& codec : impl->bytes_codecs) {
      if (impl->max_encoded_bytes) {
        const auto most = codec->MaxEncodedBytes(*impl->max_encoded_bytes);
        impl->max_encoded_bytes = most.ok() ? std::optional(*most) : std::nullopt;
      }
      impl->sizes_bytes.push_back(size);
      impl->caps_bytes.push_back(cap);
      if (size) size = codec->EncodedBytes(*size);
      if (size) {
        cap = *size;
      } else {
        auto most = codec->MaxEncodedBytes(cap);
        // Foreign encoders may need more than ours; twice as much and a header is still sane.
        const auto doubled = most.ok() ? CheckedMul(*most, 2) : std::nullopt;
        cap = doubled ? *doubled + 65536 : UINT64_MAX;
      }
    }
    impl->sizes_bytes.push_back(size);
    return OkStatus();
  }

  void SetCosts() {
    const double bytes = static_cast<double>(impl->decoded_bytes);
    double decode = 0.05, encode = 0.05;
    auto add = [&](const codec::CodecCost& cost) {
      decode += cost.decode_ns_per_byte;
      encode += cost.encode_ns_per_byte;
    };
    for (const auto& codec : impl->array_codecs) add(codec->cost());
    if (impl->vlen) add(impl->vlen->cost());
    for (const auto& codec : impl->bytes_codecs) add(codec->cost());
    impl->decode_cost_ns = decode * bytes;
    impl->encode_cost_ns = encode * bytes;
    if (impl->sharding) {
      const double count = static_cast<double>(impl->sharding->entries);
      impl->decode_cost_ns += count * impl->sharding->inner.decode_cost_ns();
      impl->encode_cost_ns += count * impl->sharding->inner.encode_cost_ns();
    }
  }
};

Status CodecChain::Builder::AddSharding(const Json& configuration) {
  if (has_array_to_bytes() || !impl->bytes_codecs.empty()) {
    return InvalidArgumentError("sharding_indexed stands behind a codec that makes bytes");
  }
  if (!impl->array_codecs.empty()) {
    return UnsupportedError("sharding_indexed behind " + std::string(impl->array_codecs.front()->name()));
  }
  if (depth >= kMaxShardingDepth) return UnsupportedError("sharding nested too deeply");
  const std::size_t rank = impl->shape.size();
  std::vector<uint64_t> inner_shape(rank), per_shard(rank);
  H5ZARR_RETURN_IF_ERROR(ParseInnerShape(configuration, &inner_shape, &per_shard));
  std::vector<CodecSpec> inner_codecs, index_codecs = {{"bytes", Json()}, {"crc32c", Json()}};
  if (configuration.contains("codecs")) {
    H5ZARR_ASSIGN_OR_RETURN(inner_codecs, ParseCodecs(configuration["codecs"], "codecs"));
  }
  if (configuration.contains("index_codecs")) {
    H5ZARR_ASSIGN_OR_RETURN(index_codecs, ParseCodecs(configuration["index_codecs"], "index_codecs"));
  }
  H5ZARR_ASSIGN_OR_RETURN(CodecChain inner, Build(impl->dtype, std::move(inner_shape), impl->order, inner_codecs, fill,
                                                  impl->fill, depth + 1));
  impl->sharding = std::make_unique<Sharding>(std::move(inner));
  Sharding& sharding = *impl->sharding;
  sharding.per_shard = std::move(per_shard);
  sharding.index_order = impl->order;
  sharding.entries = *CheckedProduct(sharding.per_shard);
  if (sharding.entries > (uint64_t{1} << 40)) {
    return UnsupportedError("a shard of " + std::to_string(sharding.entries) + " inner chunks");
  }
  const Json location = configuration.value("index_location", Json("end"));
  if (location != "end" && location != "start") {
    return InvalidArgumentError("sharding_indexed: index_location " + location.dump() +
                                " is neither \"start\" nor \"end\"");
  }
  sharding.format.at_start = location == "start";
  return AddIndexCodecs(index_codecs, &sharding);
}

Status CodecChain::Builder::ParseInnerShape(const Json& configuration, std::vector<uint64_t>* inner_shape,
                                            std::vector<uint64_t>* per_shard) const {
  if (!configuration.is_object() || !configuration.contains("chunk_shape") ||
      !configuration["chunk_shape"].is_array() || configuration["chunk_shape"].size() != impl->shape.size()) {
    return InvalidArgumentError("sharding_indexed: chunk_shape must list " + std::to_string(impl->shape.size()) +
                                " extents");
  }
  for (std::size_t i = 0; i < impl->shape.size(); ++i) {
    const Json& extent = configuration["chunk_shape"][i];
    const uint64_t dim = impl->order[i];
    if (!extent.is_number_integer() || extent.get<int64_t>() <= 0 || impl->shape[dim] % extent.get<uint64_t>() != 0) {
      return InvalidArgumentError("sharding_indexed: chunk_shape " + extent.dump() + " does not divide " +
                                  std::to_string(impl->shape[dim]));
    }
    (*inner_shape)[dim] = extent.get<uint64_t>();
    (*per_shard)[dim] = impl->shape[dim] / (*inner_shape)[dim];
  }
  return OkStatus();
}

Status CodecChain::Builder::AddIndexCodecs(const std::vector<CodecSpec>& codecs, Sharding* sharding) {
  sharding->format.crc32c = false;
  std::vector<CodecSpec> checksums;
  for (const CodecSpec& codec : codecs) {
    if (!IsByteOrderCodec(codec.name)) {
      checksums.push_back(codec);
      continue;
    }
    if (!checksums.empty()) {
      return InvalidArgumentError("sharding_indexed: index_codecs has \"bytes\" behind " + checksums.front().name);
    }
    const bool has_endian = codec.configuration.is_object() && codec.configuration.contains("endian");
    const Json endian = has_endian ? codec.configuration["endian"] : Json("little");
    if (endian != "little" && endian != "big") {
      return InvalidArgumentError("sharding_indexed: index_codecs endian " + endian.dump());
    }
    sharding->format.endian = endian == "big" ? Endian::kBig : Endian::kLittle;
  }
  if (checksums.size() == 1 && checksums[0].name == "crc32c") {
    sharding->format.crc32c = true;
    sharding->index_bytes = sharding->format.EncodedBytes(sharding->entries);
    return OkStatus();
  }
  sharding->index_bytes = sharding->format.EncodedBytes(sharding->entries);
  const codec::ChunkSpec index_spec{DType::Uint(8), {sharding->entries, 2}};
  for (const CodecSpec& spec : checksums) {
    H5ZARR_ASSIGN_OR_RETURN(codec::AnyCodec made, codec::MakeCodec(spec.name, spec.configuration, index_spec));
    auto* bytes = std::get_if<std::unique_ptr<codec::BytesCodec>>(&made);
    const auto size = bytes ? (*bytes)->EncodedBytes(sharding->index_bytes) : std::nullopt;
    if (!size) {
      return UnsupportedError("sharding_indexed: index codec " + spec.name + " (only checksums and byte order)");
    }
    sharding->index_bytes = *size;
    sharding->index_codecs.push_back(std::move(*bytes));
  }
  return OkStatus();
}

Result<CodecChain> CodecChain::Make(const DType& dtype, std::vector<uint64_t> shape,
                                    const std::vector<CodecSpec>& codecs, const FillValue& fill) {
  try {
    std::vector<uint64_t> order(shape.size());
    std::iota(order.begin(), order.end(), uint64_t{0});
    H5ZARR_ASSIGN_OR_RETURN(std::shared_ptr<const FillElem> elem, MakeFill(dtype, fill));
    return Builder::Build(dtype, std::move(shape), std::move(order), codecs, fill, std::move(elem), 0);
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgumentError(std::string("codec configuration: ") + error.what());
  } catch (const std::bad_alloc&) {
    return NoSpaceError("no memory for the codecs");
  }
}

const DType& CodecChain::dtype() const { return impl_->dtype; }
std::span<const uint64_t> CodecChain::shape() const { return impl_->shape; }
std::span<const uint64_t> CodecChain::order() const { return impl_->order; }
std::span<const int64_t> CodecChain::strides_bytes() const { return impl_->strides_bytes; }
uint64_t CodecChain::elems() const { return impl_->elems; }
uint64_t CodecChain::decoded_bytes() const { return impl_->decoded_bytes; }
ByteSpan CodecChain::fill_elem() const { return impl_->fill->elem; }
bool CodecChain::fill_differs() const { return impl_->fill_differs(); }
std::shared_ptr<const void> CodecChain::keep_fill() const { return impl_->fill; }
void CodecChain::Fill(std::byte* target, std::span<const int64_t> target_strides_bytes,
                      std::span<const uint64_t> counts, uint64_t chunk_offset_bytes,
                      std::span<const int64_t> chunk_strides_bytes) const {
  impl_->Fill(target, target_strides_bytes, counts, chunk_offset_bytes, chunk_strides_bytes);
}
bool CodecChain::is_identity() const { return impl_->is_identity(); }
double CodecChain::decode_cost_ns() const { return impl_->decode_cost_ns; }
double CodecChain::encode_cost_ns() const { return impl_->encode_cost_ns; }

const CodecChain::Sharding* CodecChain::sharding() const {
  return impl_->bytes_codecs.empty() ? impl_->sharding.get() : nullptr;
}

std::optional<uint64_t> CodecChain::EncodedBytes() const { return impl_->sizes_bytes.back(); }

Status CodecChain::DecodeInto(ByteSpan encoded, MutableByteSpan target, Executor* executor) const {
  if (impl_->dtype.is_vlen()) return InternalError("DecodeInto of elements of variable length");
  if (target.size() != impl_->decoded_bytes) return InternalError("DecodeInto of a wrong size");
  return impl_->DecodeInto(encoded, target, executor);
}

codec::PartialDecoding CodecChain::partial_decoding() const {
  const bool decodes_to_elems = !impl_->dtype.is_vlen() && impl_->sharding == nullptr && impl_->array_codecs.empty() &&
                                !impl_->bytes_codecs.empty();
  return decodes_to_elems ? impl_->bytes_codecs[0]->partial_decoding() : codec::PartialDecoding();
}

bool CodecChain::decodes_cut_off() const {
  const codec::PartialDecoding partial = partial_decoding();
  return partial.slowdown > 0 && partial.from_front && impl_->bytes_codecs.size() == 1;
}

Status CodecChain::DecodePart(ByteSpan encoded, uint64_t offset, MutableByteSpan part) const {
  const codec::PartialDecoding partial = partial_decoding();
  if (partial.slowdown == 0 || (partial.from_front && offset > 0) || offset > impl_->decoded_bytes ||
      part.size() > impl_->decoded_bytes - offset) {
    return InternalError("DecodePart of a chain, or a part, that it is not for");
  }
  return impl_->DecodePart(encoded, offset, part);
}

Result<DecodedChunk> CodecChain::Decode(ByteSpan encoded) const {
  if (impl_->dtype.is_vlen()) return impl_->DecodeVlen(encoded);
  DecodedChunk chunk;
  H5ZARR_ASSIGN_OR_RETURN(chunk.elems, Buffer::Allocate(impl_->decoded_bytes));
  H5ZARR_RETURN_IF_ERROR(impl_->DecodeInto(encoded, chunk.elems.span()));
  return chunk;
}

Result<Buffer> CodecChain::Encode(ByteSpan elems, Executor* executor) const {
  if (elems.size() != impl_->decoded_bytes) {
    return InvalidArgumentError("a chunk of " + std::to_string(elems.size()) + " bytes, expected " +
                                std::to_string(impl_->decoded_bytes));
  }
  return impl_->Encode(elems, executor);
}

std::optional<uint64_t> CodecChain::MaxEncodedBytes() const { return impl_->max_encoded_bytes; }

Result<uint64_t> CodecChain::EncodeInto(ByteSpan elems, MutableByteSpan room) const {
  if (!impl_->max_encoded_bytes) return InternalError("EncodeInto of a size that data decide");
  if (elems.size() != impl_->decoded_bytes || room.size() < *impl_->max_encoded_bytes) {
    return InternalError("EncodeInto of a wrong size");
  }
  return impl_->EncodeInto(elems, room);
}

bool CodecChain::IsFill(ByteSpan elems) const { return impl_->IsFill(elems); }

}  // namespace h5zarr::zarr
