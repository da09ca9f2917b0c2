// Random arrays, selections, writes, flushes, reopenings and resizes against a plain array in
// memory. A failure prints its seed: pass it to Run alone to see it again.
#include <algorithm>
#include <numeric>
#include <random>

#include "unit/zarr/array_fixture.h"

namespace h5zarr::zarr::test {
namespace {

using Rng = std::mt19937_64;

uint64_t Below(Rng& rng, uint64_t bound) { return rng() % bound; }
bool Chance(Rng& rng, int percent) { return Below(rng, 100) < static_cast<uint64_t>(percent); }

// Elements as byte strings: the stored bytes, or the content of a vlen element.
struct Model {
  std::vector<uint64_t> shape;
  std::vector<std::string> elems;
  std::string fill;

  uint64_t Linear(const std::vector<uint64_t>& coords) const {
    uint64_t linear = 0;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) linear = linear * shape[dim] + coords[dim];
    return linear;
  }
  static uint64_t Count(const std::vector<uint64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), uint64_t{1}, std::multiplies<>());
  }
  void Resize(const std::vector<uint64_t>& new_shape) {
    Model next{new_shape, std::vector<std::string>(Count(new_shape), fill), fill};
    std::vector<uint64_t> coords(shape.size(), 0);
    for (uint64_t i = 0; i < elems.size(); ++i) {
      bool inside = true;
      for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        inside = inside && coords[dim] < new_shape[dim];
      }
      if (inside) next.elems[next.Linear(coords)] = elems[i];
      for (std::size_t dim = shape.size(); dim-- > 0;) {
        if (++coords[dim] < shape[dim]) break;
        coords[dim] = 0;
      }
    }
    *this = std::move(next);
  }
};

// A selection with, for every selected element in some order, its place in the array and in memory.
struct Picked {
  Selection selection;
  std::vector<uint64_t> array_index;
  std::vector<uint64_t> mem_index;  // in elements
  uint64_t mem_elems = 0;
  uint64_t base_elem = 0;  // where the request's buffer begins in memory
};

DimSelection PickDim(Rng& rng, uint64_t extent, bool everything) {
  if (extent == 0) return {0, 1, 0, 1};
  if (everything || Chance(rng, 20)) {
    return Chance(rng, 50) ? DimSelection{0, 1, 1, extent} : DimSelection{0, 1, extent, 1};
  }
  DimSelection dim;
  dim.start = Below(rng, extent);
  const uint64_t room = extent - dim.start;
  dim.block = Chance(rng, 50) ? 1 : 1 + Below(rng, room);
  dim.stride = dim.block + (Chance(rng, 30) ? 0 : Below(rng, 4));
  dim.count = 1 + Below(rng, (room - dim.block) / dim.stride + 1);
  if (Chance(rng, 30)) dim.block = 1 + Below(rng, dim.stride), dim.count = 1 + (room - dim.block) / dim.stride;
  if (dim.block > room) dim.block = 1, dim.count = 1;
  if (dim.count > 1 && (dim.count - 1) * dim.stride + dim.block > room) dim.count = 1;
  return dim;
}

// The indices that a selection has in each dimension.
using Indices = std::vector<std::vector<uint64_t>>;

// Memory for them: any order of dimensions, some padded, some backwards. Sets how much it is, and where the first
// element lies; returns strides in elements.
std::vector<int64_t> PickMemory(Rng& rng, const Indices& indices, Picked* picked) {
  const std::size_t rank = indices.size();
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (Chance(rng, 40)) std::shuffle(order.begin(), order.end(), rng);
  std::vector<int64_t> strides(rank);
  const bool plain = Chance(rng, 50);
  uint64_t step = plain ? 1 : 1 + Below(rng, 2);
  uint64_t base = 0;
  for (std::size_t i = rank; i-- > 0;) {
    const uint64_t extent = indices[order[i]].size();
    strides[order[i]] = static_cast<int64_t>(step);
    if (!plain && Chance(rng, 20) && extent > 0) {
      strides[order[i]] = -strides[order[i]];
      base += step * (extent - 1);
    }
    step *= extent + (plain ? 0 : Below(rng, 2));
  }
  picked->mem_elems = step + base + 1;
  picked->base_elem = base;
  return strides;
}

// Lists where each element lies in the array and in memory.
void ListElements(const Model& model, const Indices& indices, std::span<const int64_t> strides, Picked* picked) {
  const std::size_t rank = indices.size();
  std::vector<uint64_t> at(rank, 0);
  uint64_t total = 1;
  for (const auto& list : indices) total *= list.size();
  for (uint64_t i = 0; i < total; ++i) {
    std::vector<uint64_t> coords(rank);
    auto mem = static_cast<int64_t>(picked->base_elem);
    for (std::size_t dim = 0; dim < rank; ++dim) {
      coords[dim] = indices[dim][at[dim]];
      mem += static_cast<int64_t>(at[dim]) * strides[dim];
    }
    picked->array_index.push_back(model.Linear(coords));
    picked->mem_index.push_back(static_cast<uint64_t>(mem));
    for (std::size_t dim = rank; dim-- > 0;) {
      if (++at[dim] < indices[dim].size()) break;
      at[dim] = 0;
    }
  }
}

Picked PickGrid(Rng& rng, const Model& model, uint64_t elem_bytes) {
  Picked picked;
  GridSelection box;
  Indices indices;
  const bool everything = Chance(rng, 15);
  for (uint64_t extent : model.shape) {
    const DimSelection dim = PickDim(rng, extent, everything);
    box.dims.push_back(dim);
    auto& list = indices.emplace_back();
    for (uint64_t i = 0; i < dim.count; ++i) {
      for (uint64_t j = 0; j < dim.block; ++j) list.push_back(dim.start + i * dim.stride + j);
    }
  }
  const std::vector<int64_t> strides = PickMemory(rng, indices, &picked);
  for (int64_t stride : strides) {
    box.mem_strides_bytes.push_back(stride * static_cast<int64_t>(elem_bytes));
  }
  ListElements(model, indices, strides, &picked);
  picked.selection = std::move(box);
  return picked;
}

Picked PickRuns(Rng& rng, const Model& model, uint64_t elem_bytes) {
  Picked picked;
  RunSelection runs;
  const uint64_t total = model.elems.size();
  uint64_t mem = 0;
  const uint64_t count = total == 0 ? 0 : Below(rng, 12);
  for (uint64_t i = 0; i < count; ++i) {
    Run run;
    run.array_offset = Chance(rng, 10) ? 0 : Below(rng, total);
    const uint64_t room = total - run.array_offset;
    run.elems = Chance(rng, 20) ? room : 1 + Below(rng, std::min<uint64_t>(room, 20));
    mem += Below(rng, 2);
    run.mem_offset_bytes = mem * elem_bytes;
    for (uint64_t k = 0; k < run.elems; ++k) {
      picked.array_index.push_back(run.array_offset + k);
      picked.mem_index.push_back(mem + k);
    }
    mem += run.elems;
    runs.push_back(run);
  }
  picked.mem_elems = mem + 1;
  picked.selection = std::move(runs);
  return picked;
}

Picked Pick(Rng& rng, const Model& model, uint64_t elem_bytes) {
  return Chance(rng, 70) ? PickGrid(rng, model, elem_bytes) : PickRuns(rng, model, elem_bytes);
}

// One random array and its model.
class Twin {
 public:
  explicit Twin(uint64_t seed) : rng_(seed) {
    options_.executor = &executor_;
    MakeMetadata();
    const uint64_t caches[] = {0, 60, 1000, 20000, 1 << 20};
    options_.cache_bytes = caches[Below(rng_, 5)];
    options_.memory_bytes = caches[Below(rng_, 5)] + 1;
    Open();
    RequireOk(Check());
  }

  void Step() {
    switch (Below(rng_, 12)) {
      case 0:
      case 1:
      case 2:
      case 3: return Write();
      case 4:
      case 5:
      case 6: return Read();
      case 7: return RequireOk(array_->Flush());
      case 8: return Reopen();
      case 9: return Resize();
      case 10: return Chance(rng_, 30) ? RoundTripStored() : Read();
      default: return RequireOk(Check());
    }
  }

  // The whole array, by a plain read.
  Status Check() {
    Picked all;
    all.selection = Box(std::vector<uint64_t>(model_.shape.size(), 0), model_.shape, elem_bytes());
    for (uint64_t i = 0; i < model_.elems.size(); ++i) {
      all.array_index.push_back(i);
      all.mem_index.push_back(i);
    }
    all.mem_elems = model_.elems.size();
    std::vector<Picked> picks;
    picks.push_back(std::move(all));
    return ReadAndCompare(picks);
  }

 private:
  uint64_t elem_bytes() const { return metadata_.dtype.item_bytes; }
  bool vlen() const { return metadata_.dtype.is_vlen(); }

  std::vector<CodecSpec> RandomCodecs(std::vector<uint64_t> shape, int depth) {
    std::vector<CodecSpec> codecs;
    const std::size_t rank = shape.size();
    if (rank > 0 && Chance(rng_, 30)) {
      std::vector<uint64_t> order(rank);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), rng_);
      codecs.push_back({"transpose", Json{{"order", order}}});
      std::vector<uint64_t> permuted;
      for (uint64_t dim : order) permuted.push_back(shape[dim]);
      shape = permuted;
    }
    if (depth < 3 && Chance(rng_, depth == 0 ? 60 : 20)) {
      std::vector<uint64_t> inner;
      for (uint64_t extent : shape) {
        std::vector<uint64_t> divisors;
        for (uint64_t d = 1; d <= extent; ++d) {
          if (extent % d == 0) divisors.push_back(d);
        }
        inner.push_back(divisors[Below(rng_, divisors.size())]);
      }
      std::vector<CodecSpec> index_codecs = {{"bytes", Json{{"endian", Chance(rng_, 80) ? "little" : "big"}}}};
      if (Chance(rng_, 70)) index_codecs.push_back({"crc32c", Json()});
      else if (Chance(rng_, 50)) index_codecs.push_back({"numcodecs.adler32", Json()});
      codecs.push_back(
          Sharded(inner, RandomCodecs(inner, depth + 1), Chance(rng_, 50) ? "end" : "start", index_codecs));
      if (Chance(rng_, 15)) codecs.push_back(Gzip());
      return codecs;
    }
    if (vlen()) codecs.push_back({metadata_.dtype.kind == DType::Kind::kString ? "vlen-utf8" : "vlen-bytes", Json()});
    else codecs.push_back({"bytes", Json{{"endian", "little"}}});
    if (Chance(rng_, 40)) codecs.push_back(Gzip());
    if (Chance(rng_, 20)) codecs.push_back({"zstd", Json{{"level", 1}, {"checksum", false}}});
    if (Chance(rng_, 30)) codecs.push_back({"crc32c", Json()});
    return codecs;
  }

  void MakeMetadata() {
    const std::size_t rank = Below(rng_, 5);
    const uint64_t largest[] = {1, 120, 24, 10, 6};
    std::vector<uint64_t> shape, chunk;
    for (std::size_t dim = 0; dim < rank; ++dim) {
      shape.push_back(Chance(rng_, 4) ? 0 : 1 + Below(rng_, largest[rank]));
      chunk.push_back(1 + Below(rng_, Chance(rng_, 20) ? largest[rank] + 3 : largest[rank] / 2 + 2));
    }
    const DType types[] = {DType::Uint(1),  DType::Uint(2),  DType::Float(4),   DType::Complex(16),
                           DType::Bytes(3), DType::String(), DType::VlenBytes()};
    metadata_ = Metadata(shape, chunk, types[Below(rng_, 7)]);
    if (vlen()) {
      if (Chance(rng_, 40)) metadata_.fill.bytes = {std::byte{'?'}, std::byte{'!'}};
    } else if (Chance(rng_, 60)) {
      for (std::byte& b : metadata_.fill.bytes) b = static_cast<std::byte>('a' + Below(rng_, 3));
    }
    metadata_.codecs = RandomCodecs(chunk, 0);
    if (Chance(rng_, 25) && metadata_.codecs.back().name != "sharding_indexed" &&
        metadata_.codecs[0].name != "sharding_indexed") {
      bool sharded = false;
      for (const auto& codec : metadata_.codecs) sharded = sharded || codec.name == "sharding_indexed";
      if (!sharded) {
        metadata_.zarr_format = 2;
        metadata_.fill.defined = Chance(rng_, 50);
        if (!metadata_.fill.defined) {
          metadata_.fill.bytes.assign(vlen() ? 0 : elem_bytes(), std::byte{0});
        }
      }
    }
    metadata_.key_encoding.kind = Chance(rng_, 50) ? ChunkKeyEncoding::Kind::kDefault : ChunkKeyEncoding::Kind::kV2;
    metadata_.key_encoding.separator = Chance(rng_, 50) ? '/' : '.';
    model_.fill = std::string(AsText(metadata_.fill.bytes));
    model_.shape = shape;
    model_.elems.assign(Model::Count(shape), model_.fill);
    UNSCOPED_INFO("codecs " << CodecsJson(metadata_.codecs).dump() << " kind "
                            << static_cast<int>(metadata_.dtype.kind));
  }

  void Open() { array_ = Value(Array::Open(store_.get(), "g/a", metadata_, options_)); }

  void Reopen() {
    RequireOk(array_->Flush());
    CHECK(!array_->dirty());
    metadata_ = array_->metadata();
    Open();
  }

  std::string RandomElem() {
    if (Chance(rng_, 25)) return model_.fill;
    std::string elem(vlen() ? Below(rng_, 9) : elem_bytes(), '\0');
    for (char& c : elem) c = static_cast<char>('a' + Below(rng_, 26));
    return elem;
  }

  void Write() {
    const int count = Chance(rng_, 80) ? 1 : 3;
    std::vector<Picked> picks;
    std::vector<std::vector<std::byte>> buffers;
    std::vector<std::string> contents;
    for (int r = 0; r < count; ++r) picks.push_back(Pick(rng_, model_, elem_bytes()));
    std::size_t total = 0;
    for (const Picked& pick : picks) total += pick.array_index.size();
    contents.reserve(total);
    std::vector<WriteRequest> requests;
    const bool all_fill = Chance(rng_, 10);
    for (const Picked& pick : picks) {
      auto& buffer = buffers.emplace_back(pick.mem_elems * elem_bytes(), std::byte{0xCD});
      for (std::size_t i = 0; i < pick.array_index.size(); ++i) {
        contents.push_back(all_fill ? model_.fill : RandomElem());
        std::byte* at = buffer.data() + pick.mem_index[i] * elem_bytes();
        if (vlen()) {
          const VlenRef ref{contents.back().size(), reinterpret_cast<const std::byte*>(contents.back().data())};
          std::memcpy(at, &ref, sizeof(ref));
        } else {
          std::memcpy(at, contents.back().data(), elem_bytes());
        }
        model_.elems[pick.array_index[i]] = contents.back();
      }
      requests.push_back({array_.get(), &pick.selection, buffer.data() + pick.base_elem * elem_bytes()});
    }
    RequireOk(Array::Write(requests));
  }

  void Read() {
    std::vector<Picked> picks;
    const int count = Chance(rng_, 70) ? 1 : 4;
    for (int r = 0; r < count; ++r) picks.push_back(Pick(rng_, model_, elem_bytes()));
    RequireOk(ReadAndCompare(picks));
  }

  Status ReadAndCompare(const std::vector<Picked>& picks) {
    std::vector<std::vector<std::byte>> buffers;
    std::vector<ReadRequest> requests;
    for (const Picked& pick : picks) {
      buffers.emplace_back(pick.mem_elems * elem_bytes(), std::byte{0xAB});
      requests.push_back({array_.get(), &pick.selection, buffers.back().data() + pick.base_elem * elem_bytes(), {}});
    }
    H5ZARR_RETURN_IF_ERROR(Array::Read(requests));
    for (std::size_t r = 0; r < picks.size(); ++r) {
      std::vector<bool> touched(picks[r].mem_elems, false);
      for (std::size_t i = 0; i < picks[r].array_index.size(); ++i) {
        const std::byte* at = buffers[r].data() + picks[r].mem_index[i] * elem_bytes();
        std::string seen(reinterpret_cast<const char*>(at), elem_bytes());
        if (vlen()) {
          VlenRef ref;
          std::memcpy(&ref, at, sizeof(ref));
          seen.assign(reinterpret_cast<const char*>(ref.data), ref.size_bytes);
        }
        touched[picks[r].mem_index[i]] = true;
        if (seen != model_.elems[picks[r].array_index[i]]) {
          return InternalError("element " + std::to_string(picks[r].array_index[i]) + " is '" + seen + "', expected '" +
                               model_.elems[picks[r].array_index[i]] + "'");
        }
      }
      for (uint64_t i = 0; i < touched.size(); ++i) {
        const bool clean =
            touched[i] || std::all_of(buffers[r].begin() + static_cast<std::ptrdiff_t>(i * elem_bytes()),
                                      buffers[r].begin() + static_cast<std::ptrdiff_t>((i + 1) * elem_bytes()),
                                      [](std::byte b) { return b == std::byte{0xAB}; });
        if (!clean) return InternalError("memory that was not selected changed");
      }
    }
    return OkStatus();
  }

  void Resize() {
    std::vector<uint64_t> shape = model_.shape;
    for (uint64_t& extent : shape) {
      if (Chance(rng_, 50)) continue;
      const uint64_t limit = shape.size() == 1 ? 150 : shape.size() == 2 ? 30 : 12;
      extent = Chance(rng_, 5)    ? 0
               : Chance(rng_, 50) ? std::min(limit, extent + Below(rng_, 4))
                                  : Below(rng_, extent + 1);
    }
    RequireOk(array_->Resize(shape));
    model_.Resize(shape);
    if (Chance(rng_, 50)) RequireOk(Check());
  }

  void RoundTripStored() {
    for (const ChunkInfo& info : Value(array_->ListStoredChunks())) {
      auto stored = Value(array_->ReadStoredChunk(info.coords));
      REQUIRE(stored.has_value());
      CHECK(stored->size_bytes() == info.stored_bytes);
      if (vlen() || Chance(rng_, 50)) {
        RequireOk(array_->WriteStoredChunk(info.coords, stored->span()));
        continue;
      }
      const Buffer decoded = Value(array_->DecodeStoredChunk(stored->span()));
      const Buffer encoded = Value(array_->EncodeStoredChunk(decoded.span()));
      RequireOk(array_->WriteStoredChunk(info.coords, encoded.span()));
    }
    RequireOk(Check());
  }

  Rng rng_;
  std::unique_ptr<Store> store_ = MakeMemoryStore();
  Executor executor_{2};
  ArrayMetadata metadata_;
  ArrayOptions options_;
  std::unique_ptr<Array> array_;
  Model model_;
};

void Run(uint64_t seed, int steps) {
  INFO("seed " << seed);
  Twin twin(seed);
  for (int step = 0; step < steps; ++step) {
    INFO("step " << step);
    twin.Step();
  }
  RequireOk(twin.Check());
}

}  // namespace

TEST_CASE("random arrays behave as a plain array in memory") {
  for (uint64_t seed = 1; seed <= 600; ++seed) Run(seed, 40);
}

TEST_CASE("one array behaves as a plain array in memory over a long life") {
  for (uint64_t seed = 100001; seed <= 100012; ++seed) Run(seed, 1000);
}

}  // namespace h5zarr::zarr::test
