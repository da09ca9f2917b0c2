#include "codec/shard_index.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/checked.h"
#include "codec/crc32c.h"
#include "codec/little_endian.h"

namespace h5zarr::codec {
namespace {

constexpr std::size_t kEntryBytes = 16;

uint64_t LoadWord(const std::byte* from, Endian endian) {
  const uint64_t word = LoadLe64(from);
  return endian == Endian::kLittle ? word : __builtin_bswap64(word);
}

void StoreWord(std::byte* to, uint64_t word, Endian endian) {
  StoreLe64(to, endian == Endian::kLittle ? word : __builtin_bswap64(word));
}

std::string Hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08x", value);
  return text;
}

}  // namespace

Result<ShardIndex> DecodeShardIndex(ByteSpan encoded, uint64_t entries, const ShardIndexFormat& format) {
  // The division keeps a hostile count from overflowing EncodedBytes.
  if (entries > encoded.size() / kEntryBytes || encoded.size() != format.EncodedBytes(entries)) {
    return CorruptError("shard index: " + std::to_string(encoded.size()) + " bytes for " + std::to_string(entries) +
                        " entries of 16 bytes" + (format.crc32c ? " and a checksum of 4" : ""));
  }
  const std::size_t entries_bytes = entries * kEntryBytes;
  if (format.crc32c) {
    const uint32_t stored = LoadLe32(encoded.data() + entries_bytes);
    const uint32_t computed = Crc32c(encoded.first(entries_bytes));
    if (stored != computed) {
      return CorruptError("shard index: checksum is " + Hex(computed) + ", stored is " + Hex(stored));
    }
  }
  ShardIndex index(entries);
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::byte* entry = encoded.data() + i * kEntryBytes;
    index[i].offset = LoadWord(entry, format.endian);
    index[i].length = LoadWord(entry + 8, format.endian);
  }
  return index;
}

Status EncodeShardIndex(const ShardIndex& index, const ShardIndexFormat& format, MutableByteSpan encoded) {
  if (encoded.size() != format.EncodedBytes(index.size())) {
    return InvalidArgumentError("shard index: a target of " + std::to_string(encoded.size()) + " bytes, expected " +
                                std::to_string(format.EncodedBytes(index.size())));
  }
  for (std::size_t i = 0; i < index.size(); ++i) {
    std::byte* entry = encoded.data() + i * kEntryBytes;
    StoreWord(entry, index[i].offset, format.endian);
    StoreWord(entry + 8, index[i].length, format.endian);
  }
  if (format.crc32c) {
    const std::size_t entries_bytes = index.size() * kEntryBytes;
    StoreLe32(encoded.data() + entries_bytes, Crc32c(encoded.first(entries_bytes)));
  }
  return OkStatus();
}

Status ValidateShardIndex(const ShardIndex& index, uint64_t shard_bytes) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    const ShardEntry& entry = index[i];
    if (entry.missing()) continue;
    const std::optional<uint64_t> end = CheckedAdd(entry.offset, entry.length);
    const bool is_half_missing = entry.offset == ShardEntry::kMissing || entry.length == ShardEntry::kMissing;
    if (is_half_missing || !end || *end > shard_bytes) {
      return CorruptError("shard index: entry " + std::to_string(i) + " has offset " + std::to_string(entry.offset) +
                          " and length " + std::to_string(entry.length) + ", not within the shard's " +
                          std::to_string(shard_bytes) + " bytes");
    }
  }
  return OkStatus();
}

}  // namespace h5zarr::codec
