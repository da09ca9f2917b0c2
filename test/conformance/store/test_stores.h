// The stores that the conformance suite runs on. A new Store adds itself here first.
#ifndef H5ZARR_TEST_CONFORMANCE_STORE_TEST_STORES_H_
#define H5ZARR_TEST_CONFORMANCE_STORE_TEST_STORES_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "catch.h"
#include "store/local_store.h"
#include "store/memory_store.h"
#include "store/traced_store.h"
#include "unit/store/temp_directory.h"

namespace h5zarr {

// An empty store of every kind in turn: each test case runs once for each.
class EachStore {
 public:
  EachStore() {
    kind_ =
        GENERATE(as<std::string>(), "memory", "local", "local durable", "local uncoalesced", "local direct", "traced");
    LocalStoreOptions options;
    options.durable = kind_ == "local durable";
    if (kind_ == "local uncoalesced") options.coalesce_max_bytes = 0;
    if (kind_ == "local direct") options.io = LocalStoreOptions::Io::kDirect;
    store_ = kind_ == "memory" ? MakeMemoryStore() : MakeLocalStore(directory_ / "x.zarr", options);
    if (kind_ == "traced") store_ = MakeTracedStore(std::move(store_));
  }

  const std::string& kind() const { return kind_; }
  Store& operator*() { return *store_; }
  Store* operator->() { return store_.get(); }

  // Writes `text`, which must succeed.
  void Put(const std::string& key, const std::string& text) {
    const Status status = store_->Write(key, AsBytes(text));
    INFO(status.message());
    REQUIRE(status.ok());
  }

  // The object's text, or nothing. Reading must succeed.
  std::optional<std::string> Get(const std::string& key) {
    const auto bytes = store_->Read(key);
    INFO(bytes.status().message());
    REQUIRE(bytes.ok());
    if (!*bytes) return std::nullopt;
    return std::string(AsText((*bytes)->span()));
  }

 private:
  TempDirectory directory_;
  std::string kind_;
  std::unique_ptr<Store> store_;
};

inline ReadOp Op(std::string key, ByteRange range, MutableByteSpan target = {}) {
  ReadOp op;
  op.key = std::move(key);
  op.range = range;
  op.target = target;
  return op;
}

// What a batch delivered, by op.
struct Delivered {
  Status status;
  std::map<std::size_t, std::optional<std::string>> texts;
  std::map<std::size_t, Generation> generations;
  std::map<std::size_t, uint64_t> object_bytes;
  std::size_t calls = 0;
};

inline Delivered ReadAll(Store& store, std::vector<ReadOp>& ops, Executor& executor) {
  Delivered delivered;
  std::mutex mutex;
  const auto sink = [&](std::size_t index, const ReadResult& result) {
    const std::lock_guard<std::mutex> lock(mutex);
    ++delivered.calls;
    delivered.texts[index] = result.bytes ? std::optional<std::string>(AsText(*result.bytes)) : std::nullopt;
    delivered.generations[index] = result.generation;
    delivered.object_bytes[index] = result.object_bytes;
    return OkStatus();
  };
  delivered.status = store.ReadBatch(ops, sink, executor);
  return delivered;
}

inline Delivered ReadAll(Store& store, std::vector<ReadOp> ops) {
  Executor executor(2);
  return ReadAll(store, ops, executor);
}

}  // namespace h5zarr

#endif  // H5ZARR_TEST_CONFORMANCE_STORE_TEST_STORES_H_
