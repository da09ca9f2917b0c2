#include "mirror/pack_writer.h"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/checked.h"

namespace h5zarr::mirror {
namespace {

using icechunk::ContentHash;
using icechunk::ObjectId;

constexpr std::string_view kChunksFolder = "chunks";

// The trailer: an entry a chunk (hash, offset, length), their number, the magic. Little endian.
constexpr std::string_view kMagic = "h5zpack2";
constexpr std::size_t kHashBytes = sizeof(ContentHash);
constexpr std::size_t kEntryBytes = kHashBytes + 16;
constexpr std::size_t kEndBytes = 16;
// Of a pack that is being made: most trailers are not longer.
constexpr uint64_t kBufferBytes = PackWriter::kPackBytes + PackWriter::kPackBytes / 64;

void AppendNumber(uint64_t value, std::vector<std::byte>* bytes) {
  for (int i = 0; i < 8; ++i) bytes->push_back(static_cast<std::byte>(value >> 8 * i));
}

uint64_t NumberAt(const std::byte* bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  return value;
}

// The last `bytes` of an object; nothing when it is shorter, or gone.
Result<std::optional<Buffer>> ReadEnd(Store& store, const std::string& key, uint64_t bytes) {
  ReadOp op;
  op.key = key;
  op.range = ByteRange::Suffix(bytes);
  std::optional<Buffer> end;
  Executor here(1);
  H5ZARR_RETURN_IF_ERROR(store.ReadBatch(
      {&op, 1},
      [&](std::size_t, const ReadResult& result) -> Status {
        if (!result.bytes) return OkStatus();
        H5ZARR_ASSIGN_OR_RETURN(end, Buffer::CopyOf(*result.bytes));
        return OkStatus();
      },
      here));
  return end;
}

}  // namespace

bool IsPack(ByteSpan object) { return object.size() >= kEndBytes && AsText(object.last(kMagic.size())) == kMagic; }

Status CheckPack(ByteSpan object, const ObjectId& id) {
  const uint64_t chunks = NumberAt(object.last(kEndBytes).data());
  if (chunks > (object.size() - kEndBytes) / kEntryBytes) {
    return CorruptError("its trailer has " + std::to_string(chunks) + " chunks, for which it is too short");
  }
  const uint64_t trailer_bytes = chunks * kEntryBytes + kEndBytes;
  const ByteSpan trailer = object.last(trailer_bytes);
  H5ZARR_ASSIGN_OR_RETURN(const ContentHash named, icechunk::HashOf(trailer));
  if (icechunk::IdOf(named) != id) return CorruptError("its trailer is not what it is named by");
  ByteSpan rest = object.first(object.size() - trailer_bytes);
  for (uint64_t i = 0; i < chunks; ++i) {
    const std::byte* const entry = trailer.data() + i * kEntryBytes;
    const uint64_t bytes = NumberAt(entry + kHashBytes + 8);
    if (bytes > rest.size()) return CorruptError("its chunks end beyond its end");
    H5ZARR_ASSIGN_OR_RETURN(const ContentHash hash, icechunk::HashOf(rest.first(bytes)));
    if (std::memcmp(hash.data(), entry, kHashBytes) != 0) {
      return CorruptError("chunk " + std::to_string(i) + " is not what its hash says");
    }
    rest = rest.subspan(bytes);
  }
  return rest.empty() ? OkStatus() : CorruptError("it has bytes that are in no chunk");
}

Result<std::optional<Buffer>> ReadTrailer(Store& store, const std::string& key, uint64_t object_bytes) {
  if (object_bytes < kEndBytes) return std::optional<Buffer>();
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> end, ReadEnd(store, key, kEndBytes));
  if (!end || !IsPack(*end)) return std::optional<Buffer>();
  const uint64_t chunks = NumberAt(end->data());
  if (chunks > (object_bytes - kEndBytes) / kEntryBytes) return std::optional<Buffer>();
  return ReadEnd(store, key, chunks * kEntryBytes + kEndBytes);
}

std::size_t PackWriter::HashHasher::operator()(const ContentHash& hash) const {
  std::size_t bits;
  std::memcpy(&bits, hash.data(), sizeof bits);
  return bits;
}

uint32_t PackWriter::NumberOf(const ObjectId& id) {
  const auto [it, is_new] = number_of_.emplace(id, static_cast<uint32_t>(packs_.size()));
  if (is_new) packs_.push_back(id);
  return it->second;
}

Status PackWriter::LoadTrailers() {
  std::vector<std::pair<ObjectId, uint64_t>> objects;
  H5ZARR_RETURN_IF_ERROR(store_->Walk(kChunksFolder, [&](std::string_view key, uint64_t bytes) -> Status {
    const auto id = icechunk::ParseObjectId(key.substr(key.rfind('/') + 1));
    if (id.ok()) objects.emplace_back(*id, bytes);
    return OkStatus();
  }));
  for (const auto& [id, bytes] : objects) H5ZARR_RETURN_IF_ERROR(LoadTrailer(id, bytes));
  return OkStatus();
}

Status PackWriter::LoadTrailer(const ObjectId& id, uint64_t object_bytes) {
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> trailer,
                          ReadTrailer(*store_, icechunk::ChunkKey(id), object_bytes));
  if (!trailer) return OkStatus();
  const uint64_t trailer_bytes = trailer->size_bytes();
  const uint64_t chunks = (trailer_bytes - kEndBytes) / kEntryBytes;
  const uint32_t number = NumberOf(id);
  for (uint64_t i = 0; i < chunks; ++i) {
    const std::byte* entry = trailer->data() + i * kEntryBytes;
    ContentHash hash;
    std::memcpy(hash.data(), entry, kHashBytes);
    const Place place{number, NumberAt(entry + kHashBytes), NumberAt(entry + kHashBytes + 8)};
    const auto last = CheckedAdd(place.offset, place.length);
    if (last && *last <= object_bytes - trailer_bytes) known_.emplace(hash, place);
  }
  return OkStatus();
}

uint32_t PackWriter::CurrentNumber() {
  if (!current_number_) {
    current_number_ = static_cast<uint32_t>(packs_.size());
    packs_.emplace_back();
  }
  return *current_number_;
}

Result<MutableByteSpan> PackWriter::SpaceFor(uint64_t bytes) {
  if (bytes <= left() && (current_.empty() || used_bytes_ + bytes <= current_.size_bytes())) {
    if (current_.empty()) {
      H5ZARR_ASSIGN_OR_RETURN(current_, store_->TakeBuffer(kBufferBytes));
    }
    return current_.span().subspan(used_bytes_, bytes);
  }
  if (next_.size_bytes() < bytes) {
    H5ZARR_ASSIGN_OR_RETURN(next_, store_->TakeBuffer(std::max(kBufferBytes, bytes)));
  }
  return next_.span().first(bytes);
}

// Stores the current pack where `chunk` is too much for it.
Status PackWriter::MakeRoom(ByteSpan chunk) {
  if (used_bytes_ > 0 && used_bytes_ + chunk.size() > kPackBytes) H5ZARR_RETURN_IF_ERROR(Flush());
  const bool is_in_next =
      !next_.empty() && chunk.data() >= next_.data() && chunk.data() < next_.data() + next_.size_bytes();
  if (used_bytes_ == 0 && is_in_next) current_ = std::exchange(next_, Buffer());
  if (used_bytes_ + chunk.size() <= current_.size_bytes()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(Buffer larger,
                          store_->TakeBuffer(std::max<uint64_t>(kBufferBytes, used_bytes_ + chunk.size())));
  if (used_bytes_ > 0) std::memcpy(larger.data(), current_.data(), used_bytes_);
  current_ = std::move(larger);
  return OkStatus();
}

Result<Place> PackWriter::Add(const ContentHash& hash, ByteSpan chunk) {
  const auto found = known_.find(hash);
  if (found != known_.end()) return found->second;
  H5ZARR_RETURN_IF_ERROR(MakeRoom(chunk));
  const Place place{CurrentNumber(), used_bytes_, chunk.size()};
  std::byte* const to = current_.data() + used_bytes_;
  if (to != chunk.data() && !chunk.empty()) std::memmove(to, chunk.data(), chunk.size());
  used_bytes_ += chunk.size();
  const auto* hash_bytes = reinterpret_cast<const std::byte*>(hash.data());
  trailer_.insert(trailer_.end(), hash_bytes, hash_bytes + kHashBytes);
  AppendNumber(place.offset, &trailer_);
  AppendNumber(place.length, &trailer_);
  known_.emplace(hash, place);
  ++chunks_added_;
  chunk_bytes_added_ += chunk.size();
  return place;
}

Status PackWriter::Flush() {
  if (!current_number_) return OkStatus();
  AppendNumber(trailer_.size() / kEntryBytes, &trailer_);
  const ByteSpan magic = AsBytes(kMagic);
  trailer_.insert(trailer_.end(), magic.begin(), magic.end());
  H5ZARR_ASSIGN_OR_RETURN(const ContentHash hash, icechunk::HashOf(trailer_));
  const ObjectId id = icechunk::IdOf(hash);
  const uint64_t pack_bytes = used_bytes_ + trailer_.size();
  if (pack_bytes > current_.size_bytes()) {
    H5ZARR_ASSIGN_OR_RETURN(Buffer larger, Buffer::Allocate(pack_bytes));
    std::memcpy(larger.data(), current_.data(), used_bytes_);
    current_ = std::move(larger);
  }
  std::memcpy(current_.data() + used_bytes_, trailer_.data(), trailer_.size());
  ++written_->objects;
  written_->bytes += pack_bytes;
  H5ZARR_RETURN_IF_ERROR(store_->WriteLater(icechunk::ChunkKey(id), std::exchange(current_, Buffer()), pack_bytes));
  packs_[*current_number_] = id;
  number_of_.emplace(id, *current_number_);
  current_number_.reset();
  used_bytes_ = 0;
  trailer_.clear();
  return OkStatus();
}

}  // namespace h5zarr::mirror
