// What the Array tests share: metadata by hand, a store that counts and fails on demand, and a
// plain in-memory array to compare with.
#ifndef H5ZARR_TEST_UNIT_ZARR_ARRAY_FIXTURE_H_
#define H5ZARR_TEST_UNIT_ZARR_ARRAY_FIXTURE_H_

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "exec/executor.h"
#include "store/memory_store.h"
#include "store/store.h"
#include "zarr/array.h"

namespace h5zarr::zarr::test {

template <typename T>
T Value(Result<T> result) {
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(result).value();
}

inline void RequireOk(const Status& status) {
  INFO(status.message());
  REQUIRE(status.ok());
}

inline ArrayMetadata Metadata(std::vector<uint64_t> shape, std::vector<uint64_t> chunk_shape,
                              DType dtype = DType::Uint(2), std::vector<CodecSpec> codecs = {}) {
  ArrayMetadata metadata;
  metadata.shape = std::move(shape);
  metadata.chunk_shape = std::move(chunk_shape);
  metadata.dtype = std::move(dtype);
  metadata.codecs = std::move(codecs);
  metadata.fill.defined = true;
  if (!metadata.dtype.is_vlen()) metadata.fill.bytes.resize(metadata.dtype.item_bytes);
  return metadata;
}

inline Json CodecsJson(const std::vector<CodecSpec>& codecs) {
  Json list = Json::array();
  for (const CodecSpec& codec : codecs) {
    Json item = {{"name", codec.name}};
    if (!codec.configuration.is_null()) item["configuration"] = codec.configuration;
    list.push_back(item);
  }
  return list;
}

inline CodecSpec Sharded(const std::vector<uint64_t>& inner_shape, const std::vector<CodecSpec>& codecs = {},
                         const std::string& location = "end",
                         const std::vector<CodecSpec>& index_codecs = {{"bytes", Json{{"endian", "little"}}},
                                                                       {"crc32c", Json()}}) {
  Json configuration;
  configuration["chunk_shape"] = inner_shape;
  configuration["codecs"] = CodecsJson(codecs);
  configuration["index_codecs"] = CodecsJson(index_codecs);
  configuration["index_location"] = location;
  return {"sharding_indexed", configuration};
}

inline CodecSpec Gzip() { return {"gzip", Json{{"level", 1}}}; }

// A memory store that counts what is asked of it, and refuses what `fail` says.
class CountingStore : public Store {
 public:
  CountingStore() : base_(MakeMemoryStore()) {}

  std::atomic<int> batches{0}, reads{0}, writes{0}, deletes{0}, locks{0}, walks{0}, states{0}, whole_reads{0};
  std::atomic<uint64_t> read_bytes{0};
  std::function<Status(std::string_view operation, std::string_view key)> fail;
  // Runs before a batch is passed on: the world changing between two waves.
  std::function<void(std::span<ReadOp>)> before_batch;
  bool tells_states = true;  // else as a store behind a server
  bool settled = true;       // else as if all had just been written
  void ResetCounts() { batches = reads = writes = deletes = locks = walks = states = whole_reads = 0, read_bytes = 0; }

  std::string Describe() const override { return "counting:"; }
  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override {
    ++batches;
    reads += static_cast<int>(ops.size());
    if (before_batch) before_batch(ops);
    for (const ReadOp& op : ops) {
      H5ZARR_RETURN_IF_ERROR(Refuse("read", op.key));
    }
    return base_->ReadBatch(
        ops,
        [&](std::size_t index, ReadResult result) {
          if (result.bytes) read_bytes += result.bytes->size();
          result.settled = settled;
          return sink(index, result);
        },
        executor);
  }
  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override {
    H5ZARR_RETURN_IF_ERROR(Refuse("read", key));
    ++whole_reads;
    return base_->Read(key, generation);
  }
  std::optional<ObjectState> StateNow(std::string_view key) override {
    ++states;
    std::optional<ObjectState> state = base_->StateNow(key);
    state->settled = settled;
    return tells_states ? state : std::nullopt;
  }
  Status Write(std::string_view key, ByteSpan bytes) override {
    H5ZARR_RETURN_IF_ERROR(Refuse("write", key));
    ++writes;
    return base_->Write(key, bytes);
  }
  Result<bool> Delete(std::string_view key) override {
    H5ZARR_RETURN_IF_ERROR(Refuse("delete", key));
    ++deletes;
    return base_->Delete(key);
  }
  Status DeletePrefix(std::string_view prefix) override { return base_->DeletePrefix(prefix); }
  Status RenamePrefix(std::string_view from, std::string_view to) override { return base_->RenamePrefix(from, to); }
  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override { return base_->ObjectBytes(key); }
  Result<std::vector<ListEntry>> List(std::string_view prefix) override { return base_->List(prefix); }
  Status Walk(std::string_view prefix, const std::function<Status(std::string_view, uint64_t)>& visit) override {
    ++walks;
    return base_->Walk(prefix, visit);
  }
  Result<std::shared_ptr<void>> Lock(std::string_view document_key, uint64_t resource) override {
    ++locks;
    return base_->Lock(document_key, resource);
  }

  std::string Bytes(std::string_view key) {
    auto found = Value(base_->Read(key));
    return found ? std::string(AsText(found->span())) : std::string("absent");
  }
  void Put(std::string_view key, std::string_view bytes) { RequireOk(base_->Write(key, AsBytes(bytes))); }
  bool Has(std::string_view key) { return Value(base_->ObjectBytes(key)).has_value(); }
  int Count() {
    int count = 0;
    RequireOk(base_->Walk("", [&](std::string_view, uint64_t) { return ++count, OkStatus(); }));
    return count;
  }

 private:
  Status Refuse(std::string_view operation, std::string_view key) { return fail ? fail(operation, key) : OkStatus(); }
  std::unique_ptr<Store> base_;
};

// A store, an executor and an array in them.
struct Fixture {
  CountingStore store;
  Executor executor{2};
  ArrayMetadata metadata;
  ArrayOptions options;
  std::unique_ptr<Array> array;

  explicit Fixture(ArrayMetadata array_metadata) : metadata(std::move(array_metadata)) {
    options.executor = &executor;
    Open();
  }
  void Open() { array = Value(Array::Open(&store, "a", metadata, options)); }
  // As another process would: nothing is remembered.
  void Reopen() {
    metadata = array->metadata();
    Open();
  }
};

// The box [start, start + count) in packed C order.
inline GridSelection Box(const std::vector<uint64_t>& start, const std::vector<uint64_t>& count, uint64_t elem_bytes) {
  GridSelection selection;
  selection.mem_strides_bytes.resize(start.size());
  auto stride = static_cast<int64_t>(elem_bytes);
  for (std::size_t dim = start.size(); dim-- > 0;) {
    selection.mem_strides_bytes[dim] = stride;
    stride *= static_cast<int64_t>(count[dim]);
  }
  for (std::size_t dim = 0; dim < start.size(); ++dim) {
    selection.dims.push_back({start[dim], 1, count[dim] ? 1u : 0u, count[dim]});
  }
  return selection;
}

template <typename T>
Status TryWriteBox(Array& array, const std::vector<uint64_t>& start, const std::vector<uint64_t>& count,
                   const std::vector<T>& values) {
  const Selection selection = Box(start, count, sizeof(T));
  WriteRequest request{&array, &selection, reinterpret_cast<const std::byte*>(values.data())};
  return Array::Write({&request, 1});
}

template <typename T>
void WriteBox(Array& array, const std::vector<uint64_t>& start, const std::vector<uint64_t>& count,
              const std::vector<T>& values) {
  RequireOk(TryWriteBox(array, start, count, values));
}

template <typename T>
Status TryReadBox(Array& array, const std::vector<uint64_t>& start, const std::vector<uint64_t>& count,
                  std::vector<T>* values) {
  uint64_t elems = 1;
  for (uint64_t extent : count) elems *= extent;
  values->assign(elems, T{});
  const Selection selection = Box(start, count, sizeof(T));
  ReadRequest request{&array, &selection, reinterpret_cast<std::byte*>(values->data()), {}};
  return Array::Read({&request, 1});
}

template <typename T>
std::vector<T> ReadBox(Array& array, const std::vector<uint64_t>& start, const std::vector<uint64_t>& count) {
  std::vector<T> values;
  RequireOk(TryReadBox(array, start, count, &values));
  return values;
}

// 0, 1, 2, … from `first`.
template <typename T>
std::vector<T> Iota(uint64_t elems, uint64_t first = 0) {
  std::vector<T> values(elems);
  for (uint64_t i = 0; i < elems; ++i) values[i] = static_cast<T>(first + i);
  return values;
}

}  // namespace h5zarr::zarr::test

#endif  // H5ZARR_TEST_UNIT_ZARR_ARRAY_FIXTURE_H_
