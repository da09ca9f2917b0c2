// Chunks, packed into few objects, each content once: what an Icechunk repository knows as chunk objects.
//
// A pack is chunks one after the other, and then a trailer that has the SHA-256 of each, so that a later
// run knows what is there without reading it. Icechunk never looks at the trailer: no chunk is in it.
#ifndef H5ZARR_MIRROR_PACK_WRITER_H_
#define H5ZARR_MIRROR_PACK_WRITER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "icechunk/content_hash.h"
#include "icechunk/ids.h"
#include "icechunk/repository.h"
#include "store/store.h"

namespace h5zarr::mirror {

// Where a chunk is. Its pack has an identifier once it is stored (PackWriter::IdOf).
struct Place {
  uint32_t pack = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool operator==(const Place&) const = default;
};

class PackWriter {
 public:
  static constexpr uint64_t kPackBytes = 64 << 20;

  // `store` and `written` must outlive it. Reads nothing.
  PackWriter(Store* store, icechunk::Written* written) : store_(store), written_(written) {}

  // Learns the contents of all packs that are there. Chunk objects of others are passed over.
  Status LoadTrailers();

  // Where a chunk of these bytes is, or will be after Flush; adds it to the current pack where it is
  // nowhere yet. A full pack is stored. kNoSpace, kIo. Blocks.
  Result<Place> Add(ByteSpan chunk);
  // Stores the current pack, if anything is in it.
  Status Flush();

  // A place in the object `id`, which is there.
  Place PlaceIn(const icechunk::ObjectId& id, uint64_t offset, uint64_t length);
  // REQUIRES: Flush was called after `place` was given.
  const icechunk::ObjectId& IdOf(const Place& place) const { return packs_[place.pack]; }

  uint64_t chunks_added() const { return chunks_added_; }
  uint64_t chunk_bytes_added() const { return chunk_bytes_added_; }

 private:
  struct HashHasher {
    std::size_t operator()(const icechunk::ContentHash& hash) const;
  };

  Status LoadTrailer(const icechunk::ObjectId& id, uint64_t object_bytes);
  uint32_t NumberOf(const icechunk::ObjectId& id);
  uint32_t CurrentNumber();

  Store* const store_;
  icechunk::Written* const written_;
  std::vector<icechunk::ObjectId> packs_;
  std::map<icechunk::ObjectId, uint32_t> number_of_;
  std::unordered_map<icechunk::ContentHash, Place, HashHasher> known_;
  std::vector<std::byte> current_;   // chunks of the pack that is being made…
  std::vector<std::byte> trailer_;   // …and what its trailer says of them
  std::optional<uint32_t> current_number_;
  uint64_t chunks_added_ = 0;
  uint64_t chunk_bytes_added_ = 0;
};

// Whether `object` ends as packs do.
bool IsPack(ByteSpan object);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_PACK_WRITER_H_
