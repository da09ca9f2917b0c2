#include "store/memory_store.h"

#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/checked.h"

namespace h5zarr {
namespace {

// Copying from memory, 5 GB/s.
constexpr double kByteCostNs = 0.2;

struct Object {
  std::shared_ptr<const Buffer> bytes;
  Generation generation;
};

// The locks held on a store's documents, by threads of this process. Outlives the store while a
// guard does.
class LockTable {
 public:
  void Acquire(const std::string& document_key, uint64_t resource) {
    std::unique_lock<std::mutex> lock(mutex_);
    released_.wait(lock, [&] { return IsFree(document_key, resource); });
    held_.emplace(document_key, resource);
  }

  void Release(const std::string& document_key, uint64_t resource) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_.erase({document_key, resource});
    released_.notify_all();
  }

 private:
  // REQUIRES: mutex_ is held.
  bool IsFree(const std::string& document_key, uint64_t resource) const {
    if (held_.contains({document_key, kWholeArray})) return false;
    if (resource != kWholeArray) return !held_.contains({document_key, resource});
    const auto first = held_.lower_bound({document_key, 0});
    return first == held_.end() || first->first != document_key;
  }

  std::mutex mutex_;
  std::condition_variable released_;
  std::set<std::pair<std::string, uint64_t>> held_;  // guarded by mutex_
};

// The bytes of `all` that `range` means.
Result<ByteSpan> Cut(const std::string& key, ByteSpan all, const ByteRange& range) {
  const auto too_short = [&](uint64_t offset) {
    return CorruptError("key '" + key + "': " + std::to_string(range.length) + " bytes from " + std::to_string(offset) +
                        " were asked for, the object has only " + std::to_string(all.size()));
  };
  switch (range.kind) {
    case ByteRange::Kind::kWhole: return all;
    case ByteRange::Kind::kSpan:
      if (range.offset > all.size() || range.length > all.size() - range.offset) {
        return too_short(range.offset);
      }
      return all.subspan(range.offset, range.length);
    case ByteRange::Kind::kSuffix:
      if (range.length > all.size()) return too_short(0);
      return all.last(range.length);
  }
  return InternalError("unknown kind of byte range");
}

class MemoryStore : public Store {
 public:
  std::string Describe() const override { return "memory:"; }

  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override {
    double cost_ns = 0;
    for (const ReadOp& op : ops) {
      H5ZARR_RETURN_IF_ERROR(CheckOp(op));
      cost_ns += op.sink_cost_ns + kByteCostNs * static_cast<double>(op.target.size());
    }
    return executor.ParallelFor(ops.size(), cost_ns, [&](std::size_t i) { return ReadOne(ops[i], i, sink); });
  }

  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(key));
    const std::optional<Object> object = Find(key);
    if (generation != nullptr) *generation = object ? object->generation : Generation();
    if (!object) return std::optional<Buffer>();
    H5ZARR_ASSIGN_OR_RETURN(Buffer copy, Buffer::CopyOf(*object->bytes));
    return std::optional<Buffer>(std::move(copy));
  }

  std::optional<ObjectState> StateNow(std::string_view key) override {
    const std::optional<Object> object = Find(key);
    return ObjectState{object ? object->generation : Generation(), true};
  }

  Status Write(std::string_view key, ByteSpan bytes) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(key));
    H5ZARR_ASSIGN_OR_RETURN(Buffer copy, Buffer::CopyOf(bytes));
    auto shared = std::make_shared<const Buffer>(std::move(copy));
    const std::lock_guard<std::mutex> lock(mutex_);
    Object& object = objects_[std::string(key)];
    object.bytes = std::move(shared);
    object.generation.words[0] = ++writes_;
    return OkStatus();
  }

  Result<bool> Delete(std::string_view key) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(key));
    const std::lock_guard<std::mutex> lock(mutex_);
    return objects_.erase(std::string(key)) > 0;
  }

  Status DeletePrefix(std::string_view prefix) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [first, last] = Below(prefix);
    objects_.erase(first, last);
    return OkStatus();
  }

  Status RenamePrefix(std::string_view from, std::string_view to) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(from));
    H5ZARR_RETURN_IF_ERROR(CheckKey(to));
    const std::string name = "cannot rename '" + std::string(from) + "' to '" + std::string(to) + "'";
    if ((std::string(to) + "/").starts_with(std::string(from) + "/") && from != to) {
      return InvalidArgumentError(name + ": the one lies below the other");
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [first, last] = Below(from);
    if (first == last) return NotFoundError(name + ": there is nothing");
    const auto [taken_first, taken_last] = Below(to);
    if (taken_first != taken_last || objects_.contains(std::string(to))) {
      return AlreadyExistsError(name + ": that exists");
    }
    std::vector<std::string> keys;
    for (auto it = first; it != last; ++it) keys.push_back(it->first);
    for (const std::string& key : keys) {
      auto node = objects_.extract(key);
      node.key() = std::string(to) + key.substr(from.size());
      objects_.insert(std::move(node));
    }
    return OkStatus();
  }

  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(key));
    const std::optional<Object> object = Find(key);
    if (!object) return std::optional<uint64_t>();
    return std::optional<uint64_t>(object->bytes->size_bytes());
  }

  Result<std::vector<ListEntry>> List(std::string_view prefix) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
    const std::size_t skipped = prefix.empty() ? 0 : prefix.size() + 1;
    std::map<std::string, bool> is_prefix_of_name;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [first, last] = Below(prefix);
    for (auto it = first; it != last; ++it) {
      const std::string_view rest = std::string_view(it->first).substr(skipped);
      const std::size_t slash = rest.find('/');
      is_prefix_of_name[std::string(rest.substr(0, slash))] |= slash != std::string_view::npos;
    }
    std::vector<ListEntry> entries;
    for (const auto& [name, is_prefix] : is_prefix_of_name) entries.push_back({name, is_prefix});
    return entries;
  }

  Status Walk(std::string_view prefix, const std::function<Status(std::string_view, uint64_t)>& visit) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
    // Visited without the lock, so that `visit` may use the store.
    std::vector<std::pair<std::string, uint64_t>> found;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto [first, last] = Below(prefix);
      for (auto it = first; it != last; ++it) {
        found.emplace_back(it->first, it->second.bytes->size_bytes());
      }
    }
    for (const auto& [key, bytes] : found) H5ZARR_RETURN_IF_ERROR(visit(key, bytes));
    return OkStatus();
  }

  Result<std::shared_ptr<void>> Lock(std::string_view document_key, uint64_t resource) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(document_key));
    if (!Find(document_key)) return std::shared_ptr<void>();
    const std::string key(document_key);
    locks_->Acquire(key, resource);
    return std::shared_ptr<void>(locks_.get(),
                                 [locks = locks_, key, resource](void*) { locks->Release(key, resource); });
  }

 private:
  using Objects = std::map<std::string, Object, std::less<>>;

  static Status CheckOp(const ReadOp& op) {
    H5ZARR_RETURN_IF_ERROR(CheckKey(op.key));
    if (op.range.kind == ByteRange::Kind::kWhole) return OkStatus();
    const uint64_t offset = op.range.kind == ByteRange::Kind::kSpan ? op.range.offset : 0;
    const std::optional<uint64_t> end = CheckedAdd(offset, op.range.length);
    if (!end || *end > INT64_MAX || (!op.target.empty() && op.target.size() != op.range.length)) {
      return InvalidArgumentError("key '" + op.key + "': the range has no meaning, or not the size " + "of its target");
    }
    return OkStatus();
  }

  Status ReadOne(const ReadOp& op, std::size_t index, const ReadSink& sink) {
    const std::optional<Object> object = Find(op.key);
    const Generation generation = object ? object->generation : Generation();
    if (op.expected.known() && op.expected != generation) {
      return ChangedError("key '" + op.key + "' has been changed or removed meanwhile");
    }
    if (!object) return sink(index, ReadResult{});
    const ByteSpan all = object->bytes->span();
    H5ZARR_ASSIGN_OR_RETURN(ByteSpan bytes, Cut(op.key, all, op.range));
    if (!op.target.empty()) {
      if (op.target.size() != bytes.size()) {
        return CorruptError("key '" + op.key + "' has " + std::to_string(bytes.size()) + " bytes, expected " +
                            std::to_string(op.target.size()));
      }
      std::memcpy(op.target.data(), bytes.data(), bytes.size());
      bytes = op.target;
    }
    ReadResult result;
    result.bytes = bytes;
    result.generation = generation;
    result.object_bytes = all.size();
    return sink(index, result);
  }

  std::optional<Object> Find(std::string_view key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = objects_.find(key);
    return found == objects_.end() ? std::nullopt : std::optional<Object>(found->second);
  }

  // The objects below `prefix`. REQUIRES: mutex_ is held.
  std::pair<Objects::iterator, Objects::iterator> Below(std::string_view prefix) {
    if (prefix.empty()) return {objects_.begin(), objects_.end()};
    const std::string first = std::string(prefix) + "/";
    const std::string last = std::string(prefix) + static_cast<char>('/' + 1);
    return {objects_.lower_bound(first), objects_.lower_bound(last)};
  }

  std::mutex mutex_;
  Objects objects_;      // guarded by mutex_
  uint64_t writes_ = 0;  // guarded by mutex_
  const std::shared_ptr<LockTable> locks_ = std::make_shared<LockTable>();
};

}  // namespace

std::unique_ptr<Store> MakeMemoryStore() { return std::make_unique<MemoryStore>(); }

}  // namespace h5zarr
