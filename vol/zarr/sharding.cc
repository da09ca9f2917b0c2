#include "zarr/sharding.h"

#include <string>

#include "base/checked.h"

namespace h5zarr::zarr {

namespace {

// An inner chunk that lies over the index is as wrong as one behind the end.
Status CheckOffIndex(const codec::ShardIndex& index, uint64_t index_offset, uint64_t index_bytes) {
  for (std::size_t entry = 0; entry < index.size(); ++entry) {
    if (index[entry].missing() || index[entry].length == 0) continue;
    const uint64_t begin = index[entry].offset;
    const uint64_t end = begin + index[entry].length;
    if (begin < index_offset + index_bytes && end > index_offset) {
      return CorruptError("shard index entry " + std::to_string(entry) + " [" + std::to_string(begin) + ", " +
                          std::to_string(end) + ") lies over the index at " + std::to_string(index_offset));
    }
  }
  return OkStatus();
}

}  // namespace

Result<codec::ShardIndex> CodecChain::Sharding::DecodeIndex(ByteSpan encoded, uint64_t shard_bytes) const {
  if (encoded.size() != index_bytes || shard_bytes < index_bytes) {
    return CorruptError("a shard of " + std::to_string(shard_bytes) + " bytes cannot hold its index of " +
                        std::to_string(index_bytes) + " bytes");
  }
  Buffer holder;
  std::vector<uint64_t> sizes = {format.EncodedBytes(entries)};
  for (const auto& codec : index_codecs) sizes.push_back(*codec->EncodedBytes(sizes.back()));
  for (std::size_t i = index_codecs.size(); i-- > 0;) {
    H5ZARR_ASSIGN_OR_RETURN(Buffer decoded, Buffer::Allocate(sizes[i]));
    H5ZARR_RETURN_IF_ERROR(index_codecs[i]->Decode(encoded, decoded.span()).WithContext("shard index"));
    holder = std::move(decoded);
    encoded = holder.span();
  }
  H5ZARR_ASSIGN_OR_RETURN(codec::ShardIndex index, codec::DecodeShardIndex(encoded, entries, format));
  H5ZARR_RETURN_IF_ERROR(codec::ValidateShardIndex(index, shard_bytes));
  const uint64_t index_offset = format.at_start ? 0 : shard_bytes - index_bytes;
  H5ZARR_RETURN_IF_ERROR(CheckOffIndex(index, index_offset, index_bytes));
  return index;
}

Status CodecChain::Sharding::EncodeIndex(const codec::ShardIndex& index, MutableByteSpan encoded) const {
  if (index_codecs.empty()) return codec::EncodeShardIndex(index, format, encoded);
  H5ZARR_ASSIGN_OR_RETURN(Buffer plain, Buffer::Allocate(format.EncodedBytes(entries)));
  H5ZARR_RETURN_IF_ERROR(codec::EncodeShardIndex(index, format, plain.span()));
  for (const auto& codec : index_codecs) {
    H5ZARR_ASSIGN_OR_RETURN(uint64_t room, codec->MaxEncodedBytes(plain.size_bytes()));
    H5ZARR_ASSIGN_OR_RETURN(Buffer next, Buffer::Allocate(room));
    H5ZARR_ASSIGN_OR_RETURN(uint64_t used, codec->Encode(plain.span(), next.span()));
    next.Shrink(used);
    plain = std::move(next);
  }
  if (plain.size_bytes() != encoded.size()) {
    return InternalError("shard index of " + std::to_string(plain.size_bytes()) + " bytes where " +
                         std::to_string(encoded.size()) + " were reserved");
  }
  std::copy(plain.data(), plain.data() + plain.size_bytes(), encoded.begin());
  return OkStatus();
}

Result<codec::ShardIndex> CodecChain::Sharding::IndexOf(ByteSpan shard) const {
  if (shard.size() < index_bytes) {
    return CorruptError("a shard of " + std::to_string(shard.size()) + " bytes cannot hold its index of " +
                        std::to_string(index_bytes) + " bytes");
  }
  const uint64_t offset = format.at_start ? 0 : shard.size() - index_bytes;
  return DecodeIndex(shard.subspan(offset, index_bytes), shard.size());
}

Result<CodecChain::Sharding::Layout> CodecChain::Sharding::Place(
    std::span<const std::optional<uint64_t>> sizes_bytes) const {
  Layout layout;
  layout.index.resize(entries);
  uint64_t end = format.at_start ? index_bytes : 0;
  for (std::size_t entry = 0; entry < sizes_bytes.size(); ++entry) {
    if (!sizes_bytes[entry].has_value()) continue;
    layout.index[entry] = {end, *sizes_bytes[entry]};
    layout.empty = false;
    const auto next = CheckedAdd(end, *sizes_bytes[entry]);
    if (!next) return OutOfRangeError("a shard would exceed 2^64 bytes");
    end = *next;
  }
  const auto total = CheckedAdd(end, format.at_start ? 0 : index_bytes);
  if (!total) return OutOfRangeError("a shard would exceed 2^64 bytes");
  layout.index_offset = format.at_start ? 0 : end;
  layout.shard_bytes = *total;
  return layout;
}

uint64_t CodecChain::Sharding::Entry(std::span<const uint64_t> inner_coords) const {
  uint64_t entry = 0;
  for (uint64_t dim : index_order) entry = entry * per_shard[dim] + inner_coords[dim];
  return entry;
}

void CodecChain::Sharding::EntryCoords(uint64_t entry, std::span<uint64_t> inner_coords) const {
  for (std::size_t i = index_order.size(); i-- > 0;) {
    const uint64_t dim = index_order[i];
    inner_coords[dim] = entry % per_shard[dim];
    entry /= per_shard[dim];
  }
}

}  // namespace h5zarr::zarr
