// Running a CodecChain: the stages of decoding and encoding one chunk.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "base/nd_copy.h"
#include "zarr/codec_chain_impl.h"

namespace h5zarr::zarr {

namespace {

std::span<const VlenRef> AsRefs(ByteSpan elems) {
  return {reinterpret_cast<const VlenRef*>(elems.data()), elems.size() / sizeof(VlenRef)};
}

std::span<VlenRef> AsMutableRefs(MutableByteSpan elems) {
  return {reinterpret_cast<VlenRef*>(elems.data()), elems.size() / sizeof(VlenRef)};
}

// Byte offset of inner chunk `entry` within a decoded shard that has `strides_bytes`.
uint64_t InnerOffset(const CodecChain::Sharding& sharding, uint64_t entry, std::span<const int64_t> strides_bytes) {
  std::vector<uint64_t> coords(strides_bytes.size());
  sharding.EntryCoords(entry, coords);
  uint64_t offset = 0;
  for (std::size_t dim = 0; dim < coords.size(); ++dim) {
    offset += coords[dim] * sharding.inner.shape()[dim] * static_cast<uint64_t>(strides_bytes[dim]);
  }
  return offset;
}

// Encoders ask for their worst case; keeping that for each of many inner chunks would waste memory.
Result<Buffer> Trimmed(Buffer buffer, uint64_t used_bytes) {
  if (used_bytes > buffer.size_bytes()) return InternalError("a codec overran its buffer");
  const bool wasteful = used_bytes < buffer.size_bytes() / 4 * 3;
  buffer.Shrink(used_bytes);
  if (wasteful) return Buffer::CopyOf(buffer.span());
  return buffer;
}

// Runs body(begin, end) over [0, count): in one go, or with an `executor` in several at once.
Status ForRuns(uint64_t count, double cost_ns, Executor* executor,
               const std::function<Status(uint64_t, uint64_t)>& body) {
  constexpr uint64_t kRunsAThread = 4;  // so that the last one to finish is not far behind
  if (executor == nullptr) return body(0, count);
  const uint64_t runs = std::min<uint64_t>(count, kRunsAThread * executor->threads());
  return executor->ParallelFor(runs, cost_ns,
                               [&](std::size_t run) { return body(count * run / runs, count * (run + 1) / runs); });
}

}  // namespace

uint64_t DecodedChunk::heap_bytes() const {
  uint64_t total = 0;
  for (const Buffer& heap : heaps) total += heap.size_bytes();
  return total;
}

Result<ByteSpan> CodecChain::Impl::DecodeBytes(ByteSpan encoded, std::size_t down_to, Buffer* holder) const {
  for (std::size_t i = bytes_codecs.size(); i-- > down_to;) {
    Buffer decoded;
    if (sizes_bytes[i].has_value()) {
      H5ZARR_ASSIGN_OR_RETURN(decoded, Buffer::Allocate(*sizes_bytes[i]));
      H5ZARR_RETURN_IF_ERROR(bytes_codecs[i]->Decode(encoded, decoded.span()).WithContext(bytes_codecs[i]->name()));
    } else {
      auto result = bytes_codecs[i]->DecodeUnsized(encoded, caps_bytes[i]);
      if (!result.ok()) return result.status().WithContext(bytes_codecs[i]->name());
      decoded = std::move(result).value();
    }
    *holder = std::move(decoded);
    encoded = holder->span();
  }
  return encoded;
}

Status CodecChain::Impl::DecodeInto(ByteSpan encoded, MutableByteSpan target, Executor* executor) const {
  Buffer holder;
  if (sharding != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(ByteSpan shard, DecodeBytes(encoded, 0, &holder));
    return DecodeShard(shard, target, executor);
  }
  if (!array_codecs.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(ByteSpan array, DecodeBytes(encoded, 0, &holder));
    return DecodeArrayCodecs(array, target);
  }
  if (!bytes_codecs.empty()) {  // the innermost byte codec writes where the elements belong
    H5ZARR_ASSIGN_OR_RETURN(ByteSpan last, DecodeBytes(encoded, 1, &holder));
    return bytes_codecs[0]->Decode(last, target).WithContext(bytes_codecs[0]->name());
  }
  if (encoded.size() != target.size()) {
    return CorruptError("a chunk of " + std::to_string(encoded.size()) + " bytes, expected " +
                        std::to_string(target.size()));
  }
  std::memcpy(target.data(), encoded.data(), target.size());
  return OkStatus();
}

Status CodecChain::Impl::DecodePart(ByteSpan encoded, uint64_t offset, MutableByteSpan part) const {
  Buffer holder;
  H5ZARR_ASSIGN_OR_RETURN(const ByteSpan last, DecodeBytes(encoded, 1, &holder));
  return bytes_codecs[0]->DecodePart(last, decoded_bytes, offset, part).WithContext(bytes_codecs[0]->name());
}

Status CodecChain::Impl::DecodeArrayCodecs(ByteSpan encoded, MutableByteSpan target) const {
  Buffer holder;
  for (std::size_t i = array_codecs.size(); i-- > 0;) {
    const codec::ArrayCodec& codec = *array_codecs[i];
    const uint64_t expected_bytes = codec.encoded_spec().size_bytes();
    if (encoded.size() != expected_bytes) {
      return CorruptError(std::string(codec.name()) + ": " + std::to_string(encoded.size()) + " bytes, expected " +
                          std::to_string(expected_bytes));
    }
    if (i == 0) return codec.Decode(encoded, target).WithContext(codec.name());
    H5ZARR_ASSIGN_OR_RETURN(Buffer decoded, Buffer::Allocate(codec.decoded_spec().size_bytes()));
    H5ZARR_RETURN_IF_ERROR(codec.Decode(encoded, decoded.span()).WithContext(codec.name()));
    holder = std::move(decoded);
    encoded = holder.span();
  }
  return OkStatus();
}

Result<DecodedChunk> CodecChain::Impl::DecodeVlen(ByteSpan encoded) const {
  DecodedChunk chunk;
  H5ZARR_ASSIGN_OR_RETURN(chunk.elems, Buffer::Allocate(decoded_bytes));
  Buffer holder;
  H5ZARR_ASSIGN_OR_RETURN(ByteSpan bytes, DecodeBytes(encoded, 0, &holder));
  if (sharding != nullptr) {
    H5ZARR_RETURN_IF_ERROR(DecodeVlenShard(bytes, chunk.elems.span(), &chunk.heaps));
    return chunk;
  }
  if (holder.empty() && !bytes.empty()) {  // the caller's bytes do not outlive this call
    H5ZARR_ASSIGN_OR_RETURN(holder, Buffer::CopyOf(bytes));
    bytes = holder.span();
  }
  Buffer heap;
  H5ZARR_RETURN_IF_ERROR(vlen->Decode(bytes, AsMutableRefs(chunk.elems.span()), &heap).WithContext(vlen->name()));
  chunk.heaps.push_back(std::move(holder));
  if (!heap.empty()) chunk.heaps.push_back(std::move(heap));
  return chunk;
}

Status CodecChain::Impl::DecodeShard(ByteSpan shard, MutableByteSpan target, Executor* executor) const {
  H5ZARR_ASSIGN_OR_RETURN(const codec::ShardIndex index, sharding->IndexOf(shard));
  const CodecChain& inner = sharding->inner;
  return ForRuns(index.size(), decode_cost_ns, executor, [&](uint64_t begin, uint64_t end) {
    Buffer scratch;
    for (uint64_t entry = begin; entry < end; ++entry) {
      std::byte* to = target.data() + InnerOffset(*sharding, entry, strides_bytes);
      if (index[entry].missing()) {
        inner.Fill(to, strides_bytes, inner.shape(), 0, inner.strides_bytes());
        continue;
      }
      if (scratch.empty()) {
        H5ZARR_ASSIGN_OR_RETURN(scratch, Buffer::Allocate(inner.decoded_bytes()));
      }
      const ByteSpan bytes = shard.subspan(index[entry].offset, index[entry].length);
      H5ZARR_RETURN_IF_ERROR(
          inner.DecodeInto(bytes, scratch.span()).WithContext("inner chunk " + std::to_string(entry)));
      CopyStrided(scratch.data(), inner.strides_bytes(), to, strides_bytes, inner.shape(), dtype.item_bytes);
    }
    return OkStatus();
  });
}

Status CodecChain::Impl::DecodeVlenShard(ByteSpan shard, MutableByteSpan target, std::vector<Buffer>* heaps) const {
  H5ZARR_ASSIGN_OR_RETURN(const codec::ShardIndex index, sharding->IndexOf(shard));
  const CodecChain& inner = sharding->inner;
  for (uint64_t entry = 0; entry < index.size(); ++entry) {
    std::byte* to = target.data() + InnerOffset(*sharding, entry, strides_bytes);
    if (index[entry].missing()) {
      inner.Fill(to, strides_bytes, inner.shape(), 0, inner.strides_bytes());
      continue;
    }
    auto decoded = inner.Decode(shard.subspan(index[entry].offset, index[entry].length));
    if (!decoded.ok()) {
      return decoded.status().WithContext("inner chunk " + std::to_string(entry));
    }
    CopyStrided(decoded->elems.data(), inner.strides_bytes(), to, strides_bytes, inner.shape(), dtype.item_bytes);
    for (Buffer& heap : decoded->heaps) heaps->push_back(std::move(heap));
  }
  return OkStatus();
}

Result<Buffer> CodecChain::Impl::EncodeArrayCodecs(ByteSpan elements) const {
  Buffer current;
  for (const auto& codec : array_codecs) {
    H5ZARR_ASSIGN_OR_RETURN(Buffer encoded, Buffer::Allocate(codec->encoded_spec().size_bytes()));
    H5ZARR_RETURN_IF_ERROR(codec->Encode(elements, encoded.span()).WithContext(codec->name()));
    current = std::move(encoded);
    elements = current.span();
  }
  return current;
}

Result<Buffer> CodecChain::Impl::EncodeShard(ByteSpan elements, Executor* executor) const {
  const CodecChain& inner = sharding->inner;
  std::vector<Buffer> encoded(sharding->entries);
  std::vector<std::optional<uint64_t>> sizes(sharding->entries);
  const auto encode_run = [&](uint64_t begin, uint64_t end) -> Status {
    H5ZARR_ASSIGN_OR_RETURN(Buffer scratch, Buffer::Allocate(inner.decoded_bytes()));
    for (uint64_t entry = begin; entry < end; ++entry) {
      const std::byte* from = elements.data() + InnerOffset(*sharding, entry, strides_bytes);
      CopyStrided(from, strides_bytes, scratch.data(), inner.strides_bytes(), inner.shape(), dtype.item_bytes);
      if (inner.IsFill(scratch.span())) continue;
      H5ZARR_ASSIGN_OR_RETURN(encoded[entry], inner.Encode(scratch.span()));
      sizes[entry] = encoded[entry].size_bytes();
    }
    return OkStatus();
  };
  H5ZARR_RETURN_IF_ERROR(ForRuns(sharding->entries, encode_cost_ns, executor, encode_run));
  H5ZARR_ASSIGN_OR_RETURN(Sharding::Layout layout, sharding->Place(sizes));
  H5ZARR_ASSIGN_OR_RETURN(Buffer shard, Buffer::Allocate(layout.shard_bytes));
  for (uint64_t entry = 0; entry < sharding->entries; ++entry) {
    if (!sizes[entry]) continue;
    std::copy_n(encoded[entry].data(), *sizes[entry], shard.data() + layout.index[entry].offset);
  }
  H5ZARR_RETURN_IF_ERROR(
      sharding->EncodeIndex(layout.index, shard.span().subspan(layout.index_offset, sharding->index_bytes)));
  return shard;
}

Result<Buffer> CodecChain::Impl::Encode(ByteSpan elements, Executor* executor) const {
  Buffer current;
  bool copied = false;  // whether `current` holds what `elements` was made into
  if (!array_codecs.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(current, EncodeArrayCodecs(elements));
    copied = true;
  }
  if (vlen != nullptr) {
    auto result = vlen->Encode(AsRefs(elements));
    if (!result.ok()) return result.status().WithContext(vlen->name());
    current = std::move(result).value();
    copied = true;
  } else if (sharding != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(current, EncodeShard(elements, executor));
    copied = true;
  }
  for (const auto& codec : bytes_codecs) {
    const ByteSpan input = copied ? current.span() : elements;
    H5ZARR_ASSIGN_OR_RETURN(uint64_t room, codec->MaxEncodedBytes(input.size()));
    H5ZARR_ASSIGN_OR_RETURN(Buffer encoded, Buffer::Allocate(room));
    auto used = codec->Encode(input, encoded.span());
    if (!used.ok()) return used.status().WithContext(codec->name());
    H5ZARR_ASSIGN_OR_RETURN(current, Trimmed(std::move(encoded), *used));
    copied = true;
  }
  if (!copied) return Buffer::CopyOf(elements);
  return current;
}

Result<uint64_t> CodecChain::Impl::EncodeInto(ByteSpan elements, MutableByteSpan room) const {
  Buffer current;
  if (!array_codecs.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(current, EncodeArrayCodecs(elements));
    elements = current.span();
  }
  for (std::size_t i = 0; i < bytes_codecs.size(); ++i) {
    const codec::BytesCodec& codec = *bytes_codecs[i];
    Buffer between;
    MutableByteSpan target = room;  // of the last codec
    if (i + 1 < bytes_codecs.size()) {
      H5ZARR_ASSIGN_OR_RETURN(const uint64_t most, codec.MaxEncodedBytes(elements.size()));
      H5ZARR_ASSIGN_OR_RETURN(between, Buffer::Allocate(most));
      target = between.span();
    }
    auto used = codec.Encode(elements, target);
    if (!used.ok()) return used.status().WithContext(codec.name());
    if (*used > target.size()) return InternalError("a codec overran its buffer");
    if (!between.empty()) current = std::move(between);
    elements = target.first(*used);
  }
  if (bytes_codecs.empty()) std::copy(elements.begin(), elements.end(), room.begin());
  return elements.size();
}

void CodecChain::Impl::Fill(std::byte* target, std::span<const int64_t> target_strides_bytes,
                            std::span<const uint64_t> counts, uint64_t chunk_offset_bytes,
                            std::span<const int64_t> chunk_strides_bytes) const {
  if (!fill_differs()) return FillStrided(target, target_strides_bytes, counts, fill->elem);
  // The block stands for the whole chunk: a step over blocks is none.
  const std::size_t block_bytes = fill->elem.size();
  std::vector<int64_t> strides(chunk_strides_bytes.begin(), chunk_strides_bytes.end());
  for (int64_t& stride : strides) {
    if (static_cast<uint64_t>(stride) % block_bytes == 0) stride = 0;
  }
  FillByBlock(target, target_strides_bytes, {counts.begin(), counts.end()}, chunk_offset_bytes % block_bytes, strides);
}

// Where they go beyond the block's end (a run of elements does), elements are taken in parts that do not.
void CodecChain::Impl::FillByBlock(std::byte* target, std::span<const int64_t> target_strides_bytes,
                                   std::vector<uint64_t> counts, uint64_t offset_bytes,
                                   std::span<const int64_t> strides_bytes) const {
  const uint64_t block_bytes = fill->elem.size();
  uint64_t last_bytes = offset_bytes, widest_bytes = 0;
  std::size_t widest = 0;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    if (counts[d] == 0) return;
    const uint64_t bytes = (counts[d] - 1) * static_cast<uint64_t>(strides_bytes[d]);
    if (bytes > widest_bytes) widest = d;
    widest_bytes = std::max(widest_bytes, bytes);
    last_bytes += bytes;
  }
  if (last_bytes + dtype.item_bytes <= block_bytes) {
    return CopyStrided(fill->elem.data() + offset_bytes, strides_bytes, target, target_strides_bytes, counts,
                       dtype.item_bytes);
  }
  const uint64_t count = counts[widest];
  const auto stride_bytes = static_cast<uint64_t>(strides_bytes[widest]);
  for (uint64_t i = 0; i < count; i += counts[widest]) {
    const uint64_t at_bytes = (offset_bytes + i * stride_bytes) % block_bytes;
    const uint64_t within = (block_bytes - at_bytes - 1) / stride_bytes + 1;
    counts[widest] = std::min(counts.size() > 1 ? 1 : within, count - i);
    FillByBlock(target + static_cast<int64_t>(i) * target_strides_bytes[widest], target_strides_bytes, counts, at_bytes,
                strides_bytes);
  }
}

bool CodecChain::Impl::IsFill(ByteSpan elements) const {
  if (fill_differs()) return false;
  if (!dtype.is_vlen()) return IsAll(elements, fill->elem);
  for (const VlenRef& ref : AsRefs(elements)) {
    if (ref.size_bytes != fill->content.size()) return false;
    if (ref.size_bytes != 0 && std::memcmp(ref.data, fill->content.data(), ref.size_bytes) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace h5zarr::zarr
