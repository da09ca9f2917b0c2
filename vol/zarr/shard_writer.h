// ShardWriter: one whole shard on its way to the store while its inner chunks are being encoded.
//
// Inner chunks come in groups, from several threads and in any order; they are stored in the order
// of the groups, so that the same data always make the same bytes, each as soon as those before it
// are: neither the shard nor all of its encoded chunks need to be in memory at once.
#ifndef H5ZARR_ZARR_SHARD_WRITER_H_
#define H5ZARR_ZARR_SHARD_WRITER_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "store/store.h"
#include "zarr/scratch_pool.h"
#include "zarr/sharding.h"

namespace h5zarr::zarr {

// Encoded inner chunks that lie one after the other in `bytes`: in `owner`, or somewhere that
// outlives the shard's writing. Chunks that are all fill are left out.
struct EncodedGroup {
  // Chunks of equal size, and of entries that follow each other.
  struct Chunks {
    uint64_t first_entry = 0;
    uint64_t chunk_bytes = 0;
    uint64_t count = 0;
  };
  std::vector<Chunks> chunks;
  ByteSpan bytes;
  Buffer owner;  // may be larger than `bytes`, which then are its beginning
};

class ShardWriter {
 public:
  // Groups are numbered 0 … groups - 1. Buffers go back to `scratch`. Everything must outlive this.
  ShardWriter(Store* store, std::string key, const CodecChain::Sharding& sharding, uint64_t groups,
              uint64_t max_waiting_bytes, ScratchPool* scratch);

  // Hands over a group; the last of all to arrive puts the shard in place (or deletes it, when it
  // has no inner chunk). Whoever hands over a group ahead of its turn waits while more than
  // max_waiting_bytes wait already: so groups must be begun in their order, by any number of
  // threads, and each be handed over or Fail be called. Returns the first failure, also when it was
  // another group's. Thread-safe.
  Status Put(uint64_t group, EncodedGroup encoded);
  // The shard is given up: nothing of it is stored.
  void Fail(const Status& status);
  bool failed() { return !outcome().ok(); }
  // The first failure so far.
  Status outcome();

 private:
  Status StoreGroup(EncodedGroup group);
  Status Finish();
  Status FinishInMemory();

  Store* const store_;
  const std::string key_;
  const CodecChain::Sharding& sharding_;
  const uint64_t groups_;
  const uint64_t max_waiting_bytes_;
  ScratchPool* const scratch_;
  const bool in_memory_;  // groups are held till the end: the index stands first, or one is all

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, EncodedGroup> waiting_;  // guarded by mutex_, as are the next four
  uint64_t waiting_bytes_ = 0;
  uint64_t next_group_ = 0;
  bool storing_ = false;  // a thread stores groups; what follows is that thread's
  Status failure_;

  codec::ShardIndex index_;
  uint64_t end_bytes_ = 0;
  bool empty_ = true;
  std::unique_ptr<ObjectWriter> writer_;  // null: nothing was stored yet
  std::vector<EncodedGroup> held_;        // in_memory_: all groups
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_SHARD_WRITER_H_
