// Store: keys and bytes. The one interface between everything above and any place where a Zarr
// store lives (local folder, memory; later HTTP, S3, references).
//
// It knows no metadata, no chunk and no codec. Keys are '/'-separated, relative to the store's
// root, without a leading or trailing '/', never containing empty, "." or ".." segments
// (kInvalidArgument otherwise); "" names the root itself where a prefix is meant. Above store/
// nobody holds a file descriptor or a socket.
#ifndef H5ZARR_STORE_STORE_H_
#define H5ZARR_STORE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "exec/executor.h"

namespace h5zarr {

// Identifies one state of one object (local: inode, size and modification time; remote: ETag).
// Equal generations mean equal bytes. The default value means "not known" and matches anything.
struct Generation {
  uint64_t words[4] = {0, 0, 0, 0};
  bool known() const { return words[0] | words[1] | words[2] | words[3]; }
  bool operator==(const Generation&) const = default;
};

// Which bytes of an object to read.
struct ByteRange {
  enum class Kind : uint8_t {
    kWhole,   // all of it
    kSpan,    // exactly [offset, offset + length)
    kSuffix,  // exactly the last `length` bytes
  };
  Kind kind = Kind::kWhole;
  uint64_t offset = 0;
  uint64_t length = 0;

  static ByteRange Whole() { return {}; }
  static ByteRange Span(uint64_t offset, uint64_t length) { return {Kind::kSpan, offset, length}; }
  static ByteRange Suffix(uint64_t length) { return {Kind::kSuffix, 0, length}; }
};

// One read of a batch.
struct ReadOp {
  std::string key;
  ByteRange range;
  // Where to put the bytes; its size must equal the range's length. For kWhole: the size the object
  // must have, else kCorrupt. When empty the store brings its own memory, which lives until the
  // sink returns.
  MutableByteSpan target;
  // When known: the object must still be in this state, else kChanged.
  Generation expected;
  // Estimated nanoseconds that the sink will spend on the bytes, for the choice of threads.
  double sink_cost_ns = 0;
};

// What a read found. `bytes` is nothing when there is no object at the key — which is no error.
struct ReadResult {
  std::optional<ByteSpan> bytes;
  Generation generation;
  // Whether every later state of the object is sure to have another generation. (A file that changes twice
  // within a tick of the clock may look the same afterwards.)
  bool settled = true;
  uint64_t object_bytes = 0;  // size of the whole object; 0 when absent
};

// In what state an object is.
struct ObjectState {
  Generation generation;  // not known: there is no object
  bool settled = true;    // as in ReadResult
};

// Receives the outcome of ops[index], on any thread, several at once, once per op, in any order.
// A failure it returns ends the batch.
using ReadSink = std::function<Status(std::size_t index, const ReadResult& result)>;

struct ListEntry {
  std::string name;        // one segment, directly under the prefix
  bool is_prefix = false;  // there are (or may be) keys below it
};

// The resource that is all of an array at once: excludes every other resource of its document.
inline constexpr uint64_t kWholeArray = UINT64_MAX;

// An object that is written piece by piece (Store::BeginWrite). Nobody sees anything of it before
// Commit; destroyed without, it leaves nothing behind. One thread at a time, not always the same.
// Must not outlive its store.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  // Adds `bytes` behind what is there. After a failure only destruction is allowed. Blocks.
  virtual Status Append(ByteSpan bytes) = 0;
  // Puts the object in place, as Store::Write does. Once, and last. Blocks.
  virtual Status Commit() = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // For messages: "file:///a/x.zarr", "memory:".
  virtual std::string Describe() const = 0;
  virtual bool read_only() const { return false; }
  // Only ranges of objects can be read: one is all of a file that holds much else.
  virtual bool ranges_only() const { return false; }
  // All of it is a folder of this machine, or, of a store over another, what that is. For formats whose other writers
  // name files there as they name objects nowhere else.
  virtual bool is_local_folder() const { return false; }

  // kIo (ENOENT) when the place of the store itself is gone, so that nothing it does not have can be
  // taken for absent. A store whose place cannot go, or that cannot tell cheaply, says ok.
  virtual Status CheckThere() { return OkStatus(); }

  // Reads everything in `ops` as one batch: sorted and coalesced by this store's own limits, in
  // parallel on `executor`, each op delivered to `sink` as soon as its bytes are there, on the
  // thread that will use them. Returns after the last sink call. An object that is shorter than its
  // range is kCorrupt, naming key, range and size; absence is not an error. The first failure, of a
  // read or of a sink, is returned and the rest skipped. Blocks. Thread-safe.
  virtual Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) = 0;

  // The whole object, or nothing where there is none. `generation`, when given, receives its state.
  // Blocks. Thread-safe.
  virtual Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation = nullptr) = 0;

  // In what state the object is, where the store can tell without reading and without asking a server; nothing
  // where it cannot. For whoever keeps what was read: it is as good as before while the generation is that of a
  // settled read. Thread-safe.
  virtual std::optional<ObjectState> StateNow(std::string_view key) {
    (void)key;
    return std::nullopt;
  }

  // Replaces the object at `key` by `bytes`, atomically: a reader, or a later process after this
  // one was killed, sees the old object or the new one, whole. Missing parent prefixes are made.
  // Blocks. Thread-safe for different keys.
  virtual Status Write(std::string_view key, ByteSpan bytes) = 0;

  // Write where there is no object: false, and nothing is changed, where there is one. Of several writers, in whatever
  // processes, one succeeds where the place can tell (a local file system, S3); elsewhere it is a look before a
  // Write. An error where it cannot be told whose the object is that is there now. `written`, when given, receives the
  // state of what was written, where the store knows it. Blocks.
  virtual Result<bool> WriteNew(std::string_view key, ByteSpan bytes, Generation* written = nullptr);

  // Write over the object that is in state `expected`: false, and nothing is changed, where it is in another one, or
  // gone. In S3 of several writers one succeeds; elsewhere it is a look before a Write. Errors and
  // `written` as WriteNew. Blocks.
  virtual Result<bool> Replace(std::string_view key, ByteSpan bytes, const Generation& expected,
                               Generation* written = nullptr);

  // Write, whose outcome `done` is told on any thread, before or after this returns: a store where one takes long
  // may have many on their way. `bytes` must last until then. `done` must be quick. Thread-safe for different
  // keys.
  virtual void StartWrite(std::string_view key, ByteSpan bytes, std::function<void(Status)> done) {
    done(Write(key, bytes));
  }

  // Write, but for the name: what is in the object is as safe as after a Write when this returns, but after a crash of
  // the machine it may not be there, unless SyncNames has returned. Blocks. Thread-safe for different keys.
  virtual Status WriteNamedLater(std::string_view key, ByteSpan bytes) { return Write(key, bytes); }

  // Makes the names of what lies directly under each of `prefixes` as safe as Write makes those of objects, whoever
  // wrote it; "" is the root, and its own name. Blocks. Thread-safe.
  virtual Status SyncNames(std::span<const std::string> prefixes) {
    (void)prefixes;
    return OkStatus();
  }

  // Write of an object that is made piece by piece. Unless a store has something better, the
  // pieces are gathered in memory. Thread-safe for different keys.
  virtual Result<std::unique_ptr<ObjectWriter>> BeginWrite(std::string_view key);

  // Removes the object; false when there was none, where the store can tell. Thread-safe.
  virtual Result<bool> Delete(std::string_view key) = 0;

  // Removes every object under `prefix` (and a local folder itself). Ok when there is none. Killed
  // in the middle, it never leaves a document whose chunks are gone: see local_tree.h.
  virtual Status DeletePrefix(std::string_view prefix) = 0;
  // Whether DeletePrefix takes all of it out of sight in one step, or fails and leaves it as it was. (What then cannot
  // be deleted is under a temporary name, which its error says.)
  virtual bool deletes_at_once() const { return false; }

  // Moves every object under `from` (kNotFound when there is nothing) to `to`, where no object may
  // be (kAlreadyExists), nor may it lie below `from` (kInvalidArgument). Atomic on a local file
  // system.
  virtual Status RenamePrefix(std::string_view from, std::string_view to) = 0;

  // The object's size in bytes, or nothing.
  virtual Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) = 0;

  // The entries directly under `prefix`, sorted by name. Empty where there is nothing. Temporary
  // names of unfinished writes are left out. kUnsupported for a store that cannot list.
  virtual Result<std::vector<ListEntry>> List(std::string_view prefix) = 0;

  // Calls `visit(key, size in bytes)` for every object under `prefix`, in any order; a failure it
  // returns ends the walk.
  virtual Status Walk(std::string_view prefix,
                      const std::function<Status(std::string_view key, uint64_t bytes)>& visit) = 0;

  // Excludes other writers, in this and in other local processes, from the `resource` (any number,
  // e.g. a hash of a chunk key) of the array whose metadata document is `document_key`, until the
  // returned guard is destroyed. Needed around read-modify-write only. Blocks. Hold one at a time
  // on a thread: a second of the same document may wait for the first. A store that cannot lock, or
  // has no such document, returns a guard that does nothing (it may be null).
  virtual Result<std::shared_ptr<void>> Lock(std::string_view document_key, uint64_t resource) = 0;
};

// kInvalidArgument unless `key` is well-formed as described above ("" is allowed when
// `allow_root`).
Status CheckKey(std::string_view key, bool allow_root = false);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_STORE_H_
