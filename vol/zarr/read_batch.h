// ReadBatch: one slice of a read — jobs for inner chunks of any number of arrays — from missing
// shard indexes over byte ranges to decoded elements in their place.
#ifndef H5ZARR_ZARR_READ_BATCH_H_
#define H5ZARR_ZARR_READ_BATCH_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"
#include "zarr/array_impl.h"
#include "zarr/object_states.h"

namespace h5zarr::zarr {

// One inner chunk to read. With a plan its elements go to `buffer`; without one, or with `keep`,
// the decoded chunk is handed out in `loaded` (null when the chunk is absent).
struct ReadJob {
  Array::Impl* array = nullptr;
  const Plan* plan = nullptr;
  std::byte* buffer = nullptr;
  ReadRequest* request = nullptr;  // vlen: receives what keeps the elements alive
  ChunkTask task;
  ChunkCache::Ptr cached;  // when set, the source
  bool keep = false;
  bool keep_whole = false;  // ArrayOptions::keep_whole_bytes
  bool done = false;        // read along with the index of its shard
  // What is decoded of the chunk; no bytes: all of it.
  uint64_t part_offset_bytes = 0;
  uint64_t part_bytes = 0;
  bool cut_off = false;     // only the front of what is stored is read, for the part
  bool wants_more = false;  // which did not do
  ChunkCache::Ptr loaded;
};

class ReadBatch {
 public:
  explicit ReadBatch(Executor& executor) : executor_(executor) {}
  void Reserve(std::size_t jobs) { jobs_.reserve(jobs); }
  void Add(ReadJob job) { jobs_.push_back(std::move(job)); }
  std::vector<ReadJob>& jobs() { return jobs_; }

  // Reads everything. When a shard was replaced while it was read, its index is read anew and all
  // is done again, a few times. Then sees to it that the arrays' documents are still theirs.
  Status Run();

 private:
  // A byte range of a chunk without codecs: a part of one piece.
  struct Window {
    uint32_t piece_ordinal = 0;
    uint32_t first_dim = 0;  // the piece's dimensions from here on lie within the window,
    uint64_t steps = 0;      // of this one so much
    uint64_t chunk_offset_bytes = 0;
    int64_t mem_offset_bytes = 0;
    bool direct = false;  // read to its place by the store
  };
  struct DataOp {
    uint32_t job = 0;  // the first, of windows that were joined
    bool has_window = false;
    Window window;
  };
  // How a piece falls into windows, and all pieces of a job.
  struct Split;
  struct Splits;
  struct StoreOps {
    std::vector<ReadOp> ops;
    std::vector<DataOp> refs;
  };
  struct IndexNeed {
    Array::Impl* array = nullptr;
    uint64_t object = 0;
    IndexPtr index;  // null after the read: the shard is absent
    bool from_cache = false;
    // Those of the jobs that need it which stand together.
    uint32_t first_job = 0;
    uint32_t job_count = 0;
  };
  // Where a chunk's encoded bytes are.
  struct Place {
    bool absent = false;
    bool whole_object = true;
    uint64_t offset = 0;
    uint64_t length = 0;
    Generation generation;
  };

  Status RunAttempts();
  Status RunOnce();
  // That what was read is of these arrays. Where objects are absent because the array itself is, there is no fill to
  // be read.
  Status CheckDocuments() const;
  Status ReadIndexes();
  void DropOtherStates();
  Status CheckKept(const IndexNeed& need);
  Status ReadIndexesOf(Store* store, std::span<IndexNeed* const> needs);
  Status OnIndex(IndexNeed& need, bool whole_shard, const ReadResult& result);
  Status FinishFromShard(const IndexNeed& need, ByteSpan shard);
  IndexNeed& NeedIndex(Array::Impl* array, uint64_t object);
  void ForgetIndexes();
  Status PlanOps();
  Result<Place> Locate(const ReadJob& job);
  static Result<Place> PlaceIn(const LoadedIndex& index, const ReadJob& job);
  bool AddWindows(uint32_t job_index, const Place& place);
  static bool PrefersWhole(const ReadJob& job, const Splits& splits);
  static Split SplitPiece(const Piece& piece, uint64_t elem_bytes);
  bool ExtendsLast(const StoreOps& out, const ReadJob& job, const ReadOp& op) const;
  void AddPieceWindows(uint32_t job_index, const Place& place, const Piece& piece, uint32_t piece_ordinal,
                       const Split& split);
  void AddWindowOp(const DataOp& ref, const Place& place, uint64_t window_bytes);
  static void ChoosePart(ReadJob& job);
  static uint64_t FrontBytes(const ReadJob& job, uint64_t stored_bytes);
  void AddWholeOp(uint32_t job_index, const Place& place);
  Status RunStores();
  Status ReadCutOffAgain();
  StoreOps& OpsOf(Store* store);
  const std::string& KeyOf(const ReadJob& job);

  Status RunLocal();
  // `elems`: the decoded chunk from its byte `first_byte` on.
  Status Scatter(ReadJob& job, const std::byte* elems, uint64_t first_byte = 0) const;
  void FillJob(ReadJob& job) const;
  Status OnData(const ReadOp& op, const DataOp& ref, const ReadResult& result);
  Status OnWindow(ReadJob& job, const ReadOp& op, const Window& window, const ReadResult& result);
  // Whether a chunk without codecs may have so few bytes: all of its elements that lie within the array are
  // among them. (Who makes references into other files cuts chunks off at the end of the data.)
  static bool IsCutOffEdge(const ReadJob& job, uint64_t bytes);
  Status OnWholeIdentity(ReadJob& job, ByteSpan bytes);
  Status OnEncoded(ReadJob& job, ByteSpan bytes);
  Status DecodeDirect(ReadJob& job, ByteSpan bytes, bool* done);
  void KeepAlive(ReadJob& job, std::shared_ptr<const void> owner);

  Executor& executor_;
  std::vector<ReadJob> jobs_;
  std::vector<uint32_t> local_jobs_;  // cached, or fill
  std::vector<std::pair<Store*, StoreOps>> stores_;
  std::map<std::pair<Array::Impl*, uint64_t>, IndexNeed> needs_;
  IndexNeed* last_need_ = nullptr;
  // The key that was made last, and of what.
  std::string last_key_;
  const Array::Impl* last_key_array_ = nullptr;
  uint64_t last_key_object_ = 0;
  ScratchPool scratch_;
  ObjectStates states_;                      // of this attempt
  std::atomic<bool> saw_absent_ = false;     // some object was not there
  std::atomic<bool> saw_unsettled_ = false;  // some object has only just been written
  std::mutex keep_mutex_;                    // guards every request's keep_alive while workers run
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_READ_BATCH_H_
