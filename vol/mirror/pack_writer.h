// Chunks, packed into few objects, each content once: what an Icechunk repository knows as chunk objects.
//
// A pack is chunks one after the other, and then a trailer that has the SHA-256 of each, so that a later run knows
// what is there without reading it. The pack is named by the trailer's hash, and so by its content. Icechunk never
// looks at the trailer: no chunk is in it.
#ifndef H5ZARR_MIRROR_PACK_WRITER_H_
#define H5ZARR_MIRROR_PACK_WRITER_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "icechunk/content_hash.h"
#include "icechunk/ids.h"
#include "icechunk/repository.h"
#include "mirror/placed_chunks.h"
#include "mirror/write_behind.h"

namespace h5zarr::mirror {

// A place has an identifier once its pack is stored (PackWriter::IdOf).
class PackWriter {
 public:
  static constexpr uint64_t kPackBytes = 15 << 20;

  // `store` and `written` must outlive it. Reads nothing.
  PackWriter(WriteBehind* store, icechunk::Written* written) : store_(store), written_(written) {}

  // Learns the contents of all packs that are there. Chunk objects of others are passed over.
  Status LoadTrailers();

  // Bytes of chunks that the current pack has room for.
  uint64_t left() const { return kPackBytes - std::min(used_bytes_, kPackBytes); }
  // Memory for `bytes` of chunks that are about to be read and added, at most kPackBytes, or one larger chunk.
  // Those that are added in the order in which they lie there are hardly ever copied. Holds until all of them were
  // added; nothing else may be added meanwhile. kNoSpace.
  Result<MutableByteSpan> SpaceFor(uint64_t bytes);
  // Where the chunk of these bytes, whose hash is `hash`, is, or will be after Flush; adds it to the current pack
  // where it is nowhere yet. A full pack is stored. kNoSpace, kIo. Blocks.
  Result<Place> Add(const icechunk::ContentHash& hash, ByteSpan chunk);
  // Stores the current pack, if anything is in it.
  Status Flush();

  // The number of the object `id`, which is there.
  uint32_t NumberOf(const icechunk::ObjectId& id);
  // REQUIRES: Flush was called after `place` was given.
  const icechunk::ObjectId& IdOf(const Place& place) const { return packs_[place.pack]; }

  uint64_t chunks_added() const { return chunks_added_; }
  uint64_t chunk_bytes_added() const { return chunk_bytes_added_; }

 private:
  struct HashHasher {
    std::size_t operator()(const icechunk::ContentHash& hash) const;
  };

  Status LoadTrailer(const icechunk::ObjectId& id, uint64_t object_bytes);
  uint32_t CurrentNumber();
  Status MakeRoom(ByteSpan chunk);

  WriteBehind* const store_;
  icechunk::Written* const written_;
  std::vector<icechunk::ObjectId> packs_;
  std::map<icechunk::ObjectId, uint32_t> number_of_;
  std::unordered_map<icechunk::ContentHash, Place, HashHasher> known_;
  Buffer current_;                  // begins with the chunks of the pack that is being made…
  uint64_t used_bytes_ = 0;         // …so many bytes…
  std::vector<std::byte> trailer_;  // …and what its trailer says of them
  Buffer next_;                     // that of the next pack, where it was given out already
  std::optional<uint32_t> current_number_;
  uint64_t chunks_added_ = 0;
  uint64_t chunk_bytes_added_ = 0;
};

// Whether `object` ends as packs do.
bool IsPack(ByteSpan object);
// The trailer of the chunk object at `key`, of `object_bytes` bytes; nothing when it is no pack.
Result<std::optional<Buffer>> ReadTrailer(Store& store, const std::string& key, uint64_t object_bytes);
// kCorrupt unless every byte of `object`, which is a pack, is as it was when the pack was named `id`.
Status CheckPack(ByteSpan object, const icechunk::ObjectId& id);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_PACK_WRITER_H_
