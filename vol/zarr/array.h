// Array: reads and writes the elements of one Zarr array, given any selection.
//
// Here a selection becomes a plan (which inner chunks, which of their elements, where these go),
// the plan becomes batches of byte ranges, and arriving bytes are decoded straight to where they
// belong. Sharding is resolved here: it changes how bytes are found, never when they are decoded.
// It moves stored elements only; converting to another type is the caller's. It knows no HDF5.
#ifndef H5ZARR_ZARR_ARRAY_H_
#define H5ZARR_ZARR_ARRAY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "exec/background.h"
#include "exec/executor.h"
#include "store/store.h"
#include "zarr/codec_chain.h"
#include "zarr/metadata.h"

namespace h5zarr::zarr {

// The selected indices of one dimension: `count` blocks of `block` indices, block i beginning at
// start + i * stride. REQUIRES: stride >= block >= 1 where count > 1.
struct DimSelection {
  uint64_t start = 0;
  uint64_t stride = 1;
  uint64_t count = 0;
  uint64_t block = 1;
  uint64_t elems() const { return count * block; }
};

// A regular selection: the product of one DimSelection a dimension (none for rank 0: the one
// element). Its element with ordinals (k0, k1, …) within the dimensions' selected indices lies in
// memory at sum(k_d * mem_strides_bytes[d]) from the request's buffer.
struct GridSelection {
  std::vector<DimSelection> dims;
  std::vector<int64_t> mem_strides_bytes;
};

// `elems` consecutive elements in C order, at array_offset (in elements, linear over the array's
// shape), that lie consecutively in memory at mem_offset_bytes from the request's buffer.
struct Run {
  uint64_t array_offset = 0;
  uint64_t mem_offset_bytes = 0;
  uint64_t elems = 0;
};
using RunSelection = std::vector<Run>;  // in any order; overlapping writes: the last wins

using Selection = std::variant<GridSelection, RunSelection>;

class Array;

// One array's part of a batch. Elements in memory have the array's stored type (VlenRef for vlen).
struct ReadRequest {
  Array* array = nullptr;
  const Selection* selection = nullptr;
  std::byte* buffer = nullptr;  // the caller has checked that the selection stays within it
  // Vlen arrays: what the VlenRefs written to `buffer` point into; keep it while they are used.
  std::vector<std::shared_ptr<const void>> keep_alive;
};

struct WriteRequest {
  Array* array = nullptr;
  const Selection* selection = nullptr;
  const std::byte* buffer = nullptr;
};

// What the functions for stored chunks call a chunk.
enum class ChunkUnit {
  kObject,  // an object: the shard, where there are shards
  kInner,   // an inner chunk of a shard; an object where there are none
};

struct ArrayOptions {
  Executor* executor = nullptr;      // must outlive the array
  Background* background = nullptr;  // the same; for ReadLater and WriteLater only
  uint64_t cache_bytes = 64 << 20;   // decoded chunks kept (clean and dirty)
  // A read of no more than so many bytes of chunks keeps these as well where it wants all of them.
  uint64_t keep_whole_bytes = 0;
  uint64_t memory_bytes = 256 << 20;  // in flight beside caller's buffers and the cache
  bool read_only = false;
  ChunkUnit chunk_unit = ChunkUnit::kObject;
  // Changes the packed elements of a whole inner chunk before they are encoded (a copy of them: what is
  // cached stays as it was written). Called by several threads at a time. Not for vlen arrays.
  std::function<void(MutableByteSpan elems)> before_encode;
};

struct ChunkInfo {
  std::vector<uint64_t> coords;  // in the grid of ArrayOptions::chunk_unit
  uint64_t stored_bytes = 0;
};

// One open array. Not thread-safe: one call at a time per array (HDF5's own lock sees to it);
// inside, calls use the executor. Except for metadata(), shape() and what else is said to never
// change, calls wait for the array's jobs.
class Array {
 public:
  // kUnsupported, naming it, where one of the codecs is unknown: only the array's elements need it.
  static Status CheckCodecs(const ArrayMetadata& metadata);

  // Binds the codecs. kUnsupported or kInvalidArgument when the chain cannot be made: then the
  // array cannot be read but everything else of the store can. `store` must outlive the array; keys
  // are below `path`.
  static Result<std::unique_ptr<Array>> Open(Store* store, std::string path, ArrayMetadata metadata,
                                             const ArrayOptions& options);
  ~Array();  // drops dirty chunks: whoever cares has called Flush
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  const ArrayMetadata& metadata() const;
  std::span<const uint64_t> shape() const;
  uint64_t elem_bytes() const;  // in memory: metadata().dtype.item_bytes
  bool is_vlen() const;
  Background* background() const;
  Executor& executor() const;
  std::span<const uint64_t> chunk_shape() const;  // stored objects (shards)
  // Unit of reading and compression; = chunk_shape() unsharded, or where byte codecs stand behind
  // the sharding. For a sharding within a sharding that of the outer one.
  std::span<const uint64_t> inner_chunk_shape() const;

  // Reads all requests as one batch: at most one wave for missing shard indexes and one for data,
  // across all of them. Absent chunks give fill. Dirty cached chunks are seen; others only while what they were read
  // from is stored, as far as the store can tell (Store::StateNow). All or an error:
  // then buffers may be partly written. Arrays must all use the same executor. A failure names
  // array, chunk key and range. The same array may appear more than once.
  static Status Read(std::span<ReadRequest> requests);

  // Writes all requests. Chunks that are wholly covered (within the array's extent) are encoded and
  // stored now, in parallel, without reading what was there; partly covered ones are changed in the
  // cache (read first where they exist) and stored when the cache evicts them, or by Flush. All
  // inner chunks of one shard go out in one write; its untouched ones are carried over still
  // encoded. The last of overlapping elements wins.
  static Status Write(std::span<WriteRequest> requests);

  // As Read and Write, in the background: what they say of an outcome is the job's. Until it is done
  // every other call of these arrays waits for it; jobs run in the order they were given. `keep`
  // owns the selections and, for WriteLater, `held_bytes` of buffers that count against the
  // background's budget. Not for vlen arrays. kPermissionDenied at once.
  static Result<JobPtr> ReadLater(std::vector<ReadRequest> requests, std::shared_ptr<const void> keep);
  enum class Report {
    kJob,       // whoever asks the job
    kNextCall,  // nobody will: the next call of the array that can fail returns the failure
  };
  static Result<JobPtr> WriteLater(std::vector<WriteRequest> requests, std::shared_ptr<const void> keep,
                                   uint64_t held_bytes, Report report);

  // Waits for the jobs whose outcome somebody asks (Report::kJob, reads), and those before them.
  void WaitForRequests();

  // Called before the first object is written below this array (its document must be stored first).
  void SetBeforeFirstWrite(std::function<Status()> hook);
  // The array's document is in the store, and says what metadata() does. Should it be gone later, reading an absent
  // chunk and writing any is an error (kIo, ENOENT). Should it be of another array, whoever reads chunks from the
  // store or writes any learns that (kChanged): of every store for which telling costs nothing (Store::StateNow).
  // `state`: where it is known in which state it was read (Node::document_state).
  void DocumentStored(const Generation& state = {});

  // Stores every dirty chunk. On failure the unwritten ones stay dirty and a later call tries
  // again.
  Status Flush();
  bool dirty() const;  // also while a job is at work
  // Whether a chunk was left out since ForgetOmittedFill because it held nothing but fill.
  bool omitted_fill() const;
  void ForgetOmittedFill();

  // Drops all cached chunks and indexes, dirty ones too (refresh; deletion).
  void DropCache();

  // Changes the shape (same rank). Chunks wholly outside are deleted; elements beyond the new shape
  // within boundary chunks become fill, so that growing again shows fill. The cost follows what is
  // stored, not the size of the grid. The metadata document is the caller's to write (metadata()
  // has the new shape).
  Status Resize(std::span<const uint64_t> new_shape);

  // The whole array was given another place (the store renamed it).
  void MovedTo(Store* store, std::string path);

  // --- stored chunks ---------------------------------------------------------------------------
  // `coords` are in the grid of ArrayOptions::chunk_unit, whose shape is unit_shape(). Each first
  // flushes a dirty chunk there.
  std::span<const uint64_t> unit_shape() const;
  Result<std::optional<Buffer>> ReadStoredChunk(std::span<const uint64_t> coords);
  Status WriteStoredChunk(std::span<const uint64_t> coords, ByteSpan stored);
  // Size in bytes, or nothing where absent.
  Result<std::optional<uint64_t>> StoredChunkBytes(std::span<const uint64_t> coords);
  // Decodes or encodes one whole stored chunk to or from C order of unit_shape() (for pipelines
  // that HDF5 reports differently from what is stored). Fixed-size types only.
  Result<Buffer> DecodeStoredChunk(ByteSpan stored);
  Result<Buffer> EncodeStoredChunk(ByteSpan decoded);
  // Every stored chunk within the extent, sorted by coordinates in C order.
  Result<std::vector<ChunkInfo>> ListStoredChunks();
  // The sum of stored bytes.
  Result<uint64_t> StoredBytes();
  // Whether there is any.
  Result<bool> HasStoredChunks();
  // Where fill differs (FillValue::block), no document says it: stores a chunk of fill for every one that
  // is absent, so that other readers see it. Of other arrays nothing is stored.
  Status StoreFill();

  struct Impl;  // for the files of this class only

 private:
  explicit Array(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_ARRAY_H_
