// ChunkCache: the decoded inner chunks of one array that are kept — clean ones to be read again,
// dirty ones until they are stored. Least recently used first, by bytes.
//
// It does no I/O: the owner asks what has to go and stores it. Only the thread that calls the Array
// uses the cache; workers touch the chunks they were handed, which stay alive while they hold them.
#ifndef H5ZARR_ZARR_CHUNK_CACHE_H_
#define H5ZARR_ZARR_CHUNK_CACHE_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "base/dtype.h"
#include "store/store.h"
#include "zarr/codec_chain.h"

namespace h5zarr::zarr {

struct CachedChunk {
  uint64_t id = 0;
  DecodedChunk data;
  bool dirty = false;
  // Of the object it was read from, where that read was settled (ReadResult). Not known of what was stored here:
  // another process may have replaced it at once.
  Generation state;
  // Elements written since it was last stored, repetitions included: a hint that it is complete.
  uint64_t written_elems = 0;

  uint64_t bytes() const { return data.elems.size_bytes() + heap_bytes; }

  // Vlen: copies what `refs` refer to into heaps of this chunk and makes them refer to the copy.
  // Old content stays alive (readers may still refer to it) until Compact.
  Status AdoptContents(std::span<VlenRef> refs);
  // Vlen: a copy whose only heap holds live content and nothing else, to take this one's place.
  // This one is left as it is: readers may still refer to its heaps.
  Result<std::shared_ptr<CachedChunk>> Compacted() const;
  bool wants_compaction() const { return heap_bytes > compact_above_bytes; }

  uint64_t heap_bytes = 0;        // as data.heap_bytes(), kept up to date
  uint64_t arena_left_bytes = 0;  // unused at the end of data.heaps.back()
  uint64_t compact_above_bytes = 1 << 16;
};

class ChunkCache {
 public:
  using Ptr = std::shared_ptr<CachedChunk>;

  // `entries`: inner chunks an object, see ChunkGrid.
  explicit ChunkCache(uint64_t entries) : entries_(entries) {}

  // The chunk, now the most recently used, or null.
  CachedChunk* Find(uint64_t id);
  Ptr FindShared(uint64_t id);
  // Adds (or replaces) a chunk as the most recently used.
  void Insert(Ptr chunk);
  void MarkDirty(CachedChunk* chunk);
  void MarkClean(CachedChunk* chunk);
  // Tells that the chunk's size has changed from `old_bytes`.
  void Resized(const CachedChunk* chunk, uint64_t old_bytes);
  void Erase(uint64_t id);
  void EraseRange(uint64_t first_id, uint64_t end_id);
  void Clear();

  // Dirty chunks with first_id <= id < end_id, by rising id.
  std::vector<Ptr> Dirty(uint64_t first_id, uint64_t end_id);
  uint64_t dirty_count() const { return dirty_.size(); }
  // How many chunks of the object are dirty.
  uint64_t DirtyCount(uint64_t object) const;
  // The id of some dirty chunk not below `from`.
  std::optional<uint64_t> NextDirty(uint64_t from) const;

  // Drops clean chunks, the least recently used first, until `budget_bytes` are left or all are
  // dirty.
  void DropClean(uint64_t budget_bytes);
  // Calls visit for every chunk from the least recently used on, until it returns false.
  void ForEachOldest(const std::function<bool(const CachedChunk&)>& visit) const;

  // After a resize: gives every chunk the id that `renamed` tells, drops those it has none for.
  void Rename(const std::function<std::optional<uint64_t>(uint64_t id)>& renamed);

  uint64_t bytes() const { return bytes_; }
  std::size_t size() const { return index_.size(); }

 private:
  void AddDirty(uint64_t id);
  void RemoveDirty(uint64_t id);

  uint64_t entries_;
  std::list<Ptr> lru_;  // front: most recently used
  std::unordered_map<uint64_t, std::list<Ptr>::iterator> index_;
  std::set<uint64_t> dirty_;
  std::unordered_map<uint64_t, uint64_t> dirty_of_object_;
  uint64_t bytes_ = 0;
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_CHUNK_CACHE_H_
