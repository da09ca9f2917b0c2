// The inside of Array, shared by the files array_*.cc and read_batch.cc.
#ifndef H5ZARR_ZARR_ARRAY_IMPL_H_
#define H5ZARR_ZARR_ARRAY_IMPL_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "zarr/array.h"
#include "zarr/chunk_cache.h"
#include "zarr/chunk_grid.h"
#include "zarr/codec_chain.h"
#include "zarr/plan.h"
#include "zarr/read_history.h"
#include "zarr/scratch_pool.h"
#include "zarr/shard.h"
#include "zarr/shard_writer.h"
#include "zarr/sharding.h"
#include "zarr/writes_under_way.h"

namespace h5zarr::zarr {

class ObjectStates;

struct Array::Impl {
  Impl(CodecChain object_chain, ChunkGrid chunk_grid)
      : chain(std::move(object_chain)),
        grid(std::move(chunk_grid)),
        cache(grid.entries()),
        indexes(kIndexBudgetBytes) {}

  static constexpr uint64_t kIndexBudgetBytes = 16 << 20;

  Store* store = nullptr;
  std::string path;
  ArrayMetadata metadata;
  ArrayOptions options;
  CodecChain chain;  // of an object
  ChunkGrid grid;
  ChunkCache cache;
  ShardIndexCache indexes;
  ReadHistory history;
  ScratchPool scratch;  // empty between calls
  std::function<Status()> before_first_write;
  bool document_stored = false;
  // In which state the document was last found to be this array's, and the extents it said then.
  Generation document_state;
  std::vector<uint64_t> document_shape;
  // Another process has made the array smaller than it is here: to these extents.
  bool shrunk = false;
  std::vector<uint64_t> shrunk_shape;
  mutable std::atomic<bool> omitted_fill = false;  // see Array::omitted_fill
  // By dimension: what existing objects hold beyond the extent along it is known to be fill.
  std::vector<bool> beyond_is_fill;

  // Jobs that may still use this array, and what the failed ones returned that nobody asks.
  struct Pending {
    JobPtr job;
    bool report = false;
  };
  std::deque<Pending> jobs;
  Status unreported;

  // --- array_later.cc ---
  // Waits until no job uses the array.
  void WaitForJobs();
  // The same; returns a failure that was not reported yet, once.
  Status Settle();
  bool HasJobs();
  Status BeginLater(bool write);

  const CodecChain::Sharding* sharding() const { return chain.sharding(); }
  // The chain of an inner chunk.
  const CodecChain& leaf() const { return sharding() ? sharding()->inner : chain; }
  ChunkLayout layout() const { return {leaf().strides_bytes(), leaf().dtype().item_bytes}; }
  uint64_t elem_bytes() const { return metadata.dtype.item_bytes; }
  bool is_vlen() const { return metadata.dtype.is_vlen(); }
  Executor& executor() const { return *options.executor; }

  // --- array.cc ---
  static Result<std::unique_ptr<Array>> Open(Store* store, std::string path, ArrayMetadata metadata,
                                             const ArrayOptions& options);
  std::string Prefix() const;  // path + "/", or nothing for the root
  std::string Key(uint64_t object) const;
  std::string KeyOf(std::span<const uint64_t> object_coords) const;
  std::string DocumentKey() const;
  // For messages: which chunk of which array.
  std::string Describe(uint64_t id) const;
  Status CheckWritable() const;
  // Whether a chunk is not to be stored: of nothing but fill, unless what absence means is undefined.
  // Called by several threads at a time.
  bool Omits(ByteSpan elems) const;

  // --- array_document.cc ---
  // That the array's document, once it was stored, is there and still of this array. kIo where it is gone: whoever
  // removed it may have removed chunks, too, so that their absence means nothing. kChanged where it is of another
  // array, whose chunks would be read, and written, wrong. Of a store that cannot tell the document's state for
  // nothing, kCheap asks nothing, and kAsk only whether it is there.
  enum class Check { kCheap, kAsk };
  Status CheckDocument(Check check);
  Status ReadDocumentAgain(const std::string& key, const ObjectState& now);
  // kChanged where the inner chunk reaches beyond what another process has left of the extent.
  Status CheckExtent(uint64_t id) const;

  // --- array_chunks.cc ---
  bool deals_in_inner_chunks() const;
  const CodecChain& unit_chain() const;
  Status CheckUnitCoords(std::span<const uint64_t> coords) const;
  // The id of the inner chunk at `coords` in the grid of all inner chunks.
  uint64_t InnerId(std::span<const uint64_t> coords) const;
  Result<std::pair<codec::ShardEntry, Generation>> FindInner(uint64_t id);
  Result<std::optional<Buffer>> ReadInner(uint64_t id);
  Result<std::optional<Buffer>> ReadStoredChunk(std::span<const uint64_t> coords);
  Status WriteInner(uint64_t id, ByteSpan stored);
  Result<std::vector<ChunkInfo>> ListStoredChunks();
  Result<std::vector<ChunkInfo>> ListObjects();
  Result<std::vector<ChunkInfo>> ListInner(const std::vector<ChunkInfo>& objects);
  Result<Buffer> DecodeStoredChunk(ByteSpan stored) const;
  Result<Buffer> EncodeStoredChunk(ByteSpan decoded) const;
  Result<Buffer> EncodedFill() const;

  // --- array_read.cc ---
  static Status Read(std::span<ReadRequest> requests);
  // The cached chunk, or null: one that is not what is stored any more, and not dirty, is dropped.
  ChunkCache::Ptr FindFresh(uint64_t id, ObjectStates& states);
  // Decodes chunks into memory of their own; null where a chunk is absent. Not put into the cache.
  Result<std::vector<ChunkCache::Ptr>> LoadChunks(std::span<const uint64_t> ids);
  // A chunk of nothing but fill.
  Result<ChunkCache::Ptr> NewChunk(uint64_t id) const;

  // --- array_write.cc ---
  Status Write(const WriteRequest& request);
  static Status Write(std::span<const WriteRequest> requests);
  bool WriteCached(const GridSelection& selection, const std::byte* buffer, Status* status);
  Status WriteWholeObjects(const Plan& plan, const std::byte* buffer, std::span<const uint64_t> object_ordinals);
  Result<std::vector<ChunkCache::Ptr>> FindTargets(std::span<const ChunkTask> tasks);
  Status WritePartial(const Plan& plan, const std::byte* buffer, std::span<const ChunkTask> tasks);
  // Changes the task's elements in a cached chunk.
  Status ApplyTask(const Plan& plan, const ChunkTask& task, const std::byte* buffer, CachedChunk* chunk) const;
  Status ApplyPiece(const Piece& piece, const std::byte* buffer, CachedChunk* chunk) const;
  ByteSpan GatherTask(const Plan& plan, const ChunkTask& task, const std::byte* buffer, MutableByteSpan target) const;
  bool LiesInRun(const Plan& plan, const ChunkTask& task) const;

  // --- array_put.cc ---
  // An object to be stored as a whole, from `chunks` inner chunks: all that have elements within
  // the array.
  struct WholeObject {
    uint64_t id = 0;
    uint64_t chunks = 0;
    Status status;  // the outcome
  };
  // Decoded inner chunks, one after the other in `elems`, whose ids follow each other.
  struct SourceChunks {
    uint64_t first_id = 0;
    ByteSpan elems;
    uint64_t count = 1;
  };
  // Gives the decoded inner chunk `chunk` (0 … chunks - 1) of an object: where it lies, which must
  // last until the object is stored, or else put into `target`. Where those behind it lie behind it, it may give
  // up to `most` at once. Called by several threads at once.
  using ChunkSource =
      std::function<SourceChunks(const WholeObject& object, uint64_t chunk, uint64_t most, MutableByteSpan target)>;
  // Encodes and stores all objects, whatever was there before; deletes those that are all fill.
  // Every one is tried; returns the first failure. `in_runs`: the source mostly gives as many at once as it may.
  Status PutWhole(std::span<WholeObject> objects, bool in_runs, const ChunkSource& source);
  struct Group;
  class GroupBytes;
  Status PutWholeSlice(std::span<WholeObject> objects, bool in_runs, const ChunkSource& source);
  std::vector<Group> MakeGroups(std::span<const WholeObject> objects, bool in_runs, double* cost_ns);
  bool TakesRuns() const;
  Result<Buffer> RoomForGroup(uint64_t chunks);
  Status AddPlain(const WholeObject& object, const Group& group, const ChunkSource& source, GroupBytes* bytes,
                  EncodedGroup* encoded);
  Status AddEncoded(const WholeObject& object, const Group& group, const ChunkSource& source, GroupBytes* bytes,
                    EncodedGroup* encoded);
  Result<EncodedGroup> EncodeGroup(const WholeObject& object, const Group& group, const ChunkSource& source);
  void PutPlain(WholeObject* object, EncodedGroup encoded, WritesUnderWay* writes);

  // --- array_store.cc ---
  Status BeforeWrite();
  // The elements of an inner chunk as they are to be encoded: where options.before_encode changes them a
  // copy in `*changed`, which may be used again for the next chunk.
  Result<ByteSpan> BeforeEncode(ByteSpan elems, Buffer* changed) const;
  // A decoded inner chunk. The result may borrow from `elems`.
  Result<EncodedChunk> EncodeElems(ByteSpan elems) const;
  // Stores all dirty chunks of these objects; those that were stored are clean afterwards. Tries
  // every one, returns the first failure.
  Status StoreObjects(std::span<const uint64_t> objects);
  Status StoreWhole(std::span<const uint64_t> ids);
  Status StorePartial(std::span<const uint64_t> objects);
  Status StorePartialSlice(std::span<const uint64_t> objects);
  void MarkStored(uint64_t object);
  // Stores or deletes one object.
  Status PutObject(uint64_t object, const std::optional<ByteSpan>& bytes);
  Result<std::shared_ptr<void>> LockObject(uint64_t object);
  // `whole`: the changes are all there is to the shard. Else it takes the lock.
  Status PutShard(uint64_t object, const std::vector<ShardChange>& changes, bool whole);
  // True when all of the object within the extent is dirty and was written.
  bool IsComplete(uint64_t object);
  // Stores objects of these that are complete.
  Status StoreComplete(std::span<const uint64_t> objects);
  // Brings the cache back into its budget, storing dirty chunks object by object.
  Status Evict();
  Status FlushObject(uint64_t object);
  Status FlushAll();
  void ForgetObject(uint64_t object);  // cached chunks and index

  // --- array_resize.cc ---
  Status Resize(std::span<const uint64_t> new_shape);
};

// Runs `body`, the inside of a public function: running out of memory becomes a Status.
template <typename Body>
auto Guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return NoSpaceError("no memory");
  } catch (const std::exception& error) {
    return InternalError(error.what());
  }
}

// A selection within one inner chunk, for readers and writers of single elements.
struct SingleChunk {
  uint64_t id = 0;
  uint64_t elems = 1;
  Piece piece;
};
// False when the selection is not within one chunk, or not within the array.
bool FindSingleChunk(const ChunkGrid& grid, const ChunkLayout& layout, const GridSelection& selection,
                     SingleChunk* single);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_ARRAY_IMPL_H_
