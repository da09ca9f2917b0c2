#include "transfer/slot_map.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "base/checked.h"
#include "codec/lookup3.h"
#include "host/handle.h"
#include "transfer/byte_cursor.h"

namespace h5zarr::transfer {
namespace {

constexpr std::string_view kSameFile = ".";

// One block of a selection, of as many dimensions as the dataset has.
struct Block {
  std::array<uint64_t, H5S_MAX_RANK> start, size;
};

class MapBuilder {
 public:
  explicit MapBuilder(const MappedDataset& dataset) : dataset_(dataset) {
    map_.indexes.rank = std::max(dataset.index_rank, dataset.shape.size());
  }

  void Reserve(std::size_t mappings) {
    map_.indexes.numbers.reserve(mappings * map_.indexes.rank);
    map_.slots.reserve(mappings);
  }

  Status Add(const Block& target, const Block& source) {
    const std::vector<uint64_t>& chunk = dataset_.chunk_shape;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const uint64_t shape = dataset_.shape[i];
      const uint64_t whole = std::min(chunk[i], shape - std::min(shape, target.start[i]));
      const bool starts_chunk =
          target.start[i] % chunk[i] == 0 && source.start[i] % chunk[i] == 0 && (i == 0 || source.start[i] == 0);
      if (!starts_chunk || target.size[i] != whole || source.size[i] != whole) {
        return UnsupportedError("not from one chunk to one");
      }
      const uint64_t index = target.start[i] / chunk[i];
      if (index >= UINT32_MAX) return UnsupportedError("beyond 2^32 chunks");
      map_.indexes.numbers.push_back(static_cast<uint32_t>(index));
    }
    map_.indexes.numbers.resize((map_.slots.size() + 1) * map_.indexes.rank);
    map_.slots.push_back(source.start[0] / chunk[0]);
    return OkStatus();
  }

  Result<ChunkMap> Finish() {
    const auto before = [this](std::size_t a, std::size_t b) {
      const auto x = map_.indexes[a], y = map_.indexes[b];
      return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
    };
    std::vector<std::size_t> order(map_.slots.size());
    std::iota(order.begin(), order.end(), 0);
    if (!std::is_sorted(order.begin(), order.end(), before)) {
      std::sort(order.begin(), order.end(), before);
      ChunkMap sorted;
      sorted.indexes.rank = map_.indexes.rank;
      sorted.indexes.numbers.reserve(map_.indexes.numbers.size());
      sorted.slots.reserve(map_.slots.size());
      for (const std::size_t i : order) {
        const auto index = map_.indexes[i];
        sorted.indexes.numbers.insert(sorted.indexes.numbers.end(), index.begin(), index.end());
        sorted.slots.push_back(map_.slots[i]);
      }
      map_ = std::move(sorted);
    }
    for (std::size_t i = 1; i < map_.slots.size(); ++i) {
      if (std::ranges::equal(map_.indexes[i - 1], map_.indexes[i])) {
        return CorruptError("two mappings of one chunk");
      }
    }
    return std::move(map_);
  }

 private:
  const MappedDataset& dataset_;
  ChunkMap map_;
};

// --- as they lie in the file ---------------------------------------------------------------------

Status ForHdf5(const char* what) { return UnsupportedError(std::string("a mapping: ") + what); }

// A selection of HDF5's, serialised: a single block of a hyperslab.
Status TakeSelection(ByteCursor& cursor, std::size_t rank, Block* block) {
  constexpr uint64_t kHyperslab = 2, kRegular = 1;
  const uint64_t type = cursor.Number(4);
  const uint64_t version = cursor.Number(4);
  if (type != kHyperslab || version < 1 || version > 3) return ForHdf5("no hyperslab");
  uint64_t flags = 0;
  std::size_t bytes = 8;
  if (version == 1) {
    cursor.Take(8);
    bytes = 4;
  } else {
    flags = cursor.Number(1);
    if (version == 3) bytes = cursor.Number(1);
    if (version == 2) cursor.Take(4);
  }
  if (bytes != 2 && bytes != 4 && bytes != 8) return ForHdf5("numbers of another size");
  if (cursor.Number(4) != rank) return ForHdf5("another rank");
  if ((flags & kRegular) != 0) {
    for (std::size_t i = 0; i < rank; ++i) {
      block->start[i] = cursor.Number(bytes);
      const uint64_t stride = cursor.Number(bytes), count = cursor.Number(bytes);
      block->size[i] = cursor.Number(bytes);
      const bool no_end = count == UINT64_MAX >> (64 - 8 * bytes);
      if (count != 1 && (no_end || stride != block->size[i])) return ForHdf5("several blocks");
      const auto size = CheckedMul(block->size[i], count);
      if (!size) return ForHdf5("a size beyond 2^64");
      block->size[i] = *size;
    }
    return cursor.ok() ? OkStatus() : ForHdf5("it ends early");
  }
  if (cursor.Number(version == 1 ? 4 : bytes) != 1) return ForHdf5("several blocks");
  for (std::size_t i = 0; i < rank; ++i) block->start[i] = cursor.Number(bytes);
  for (std::size_t i = 0; i < rank; ++i) {
    const uint64_t last = cursor.Number(bytes);
    if (last < block->start[i] || last == UINT64_MAX) return ForHdf5("a block without elements");
    block->size[i] = last - block->start[i] + 1;
  }
  return cursor.ok() ? OkStatus() : ForHdf5("it ends early");
}

Status CannotBeRead() { return Status(StatusCode::kIo, "its mappings cannot be read"); }

// --- as HDF5 tells them --------------------------------------------------------------------------

bool TakeSelection(const Handle& space, std::size_t rank, Block* block) {
  if (!space.valid() || H5Sget_simple_extent_ndims(space.get()) != static_cast<int>(rank)) return false;
  std::array<hsize_t, H5S_MAX_RANK> first, last;
  if (H5Sget_select_bounds(space.get(), first.data(), last.data()) < 0) return false;
  uint64_t elems = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    block->start[i] = first[i];
    block->size[i] = last[i] - first[i] + 1;
    elems = CheckedMul(elems, block->size[i]).value_or(UINT64_MAX);
  }
  const hssize_t selected = H5Sget_select_npoints(space.get());
  return selected >= 0 && static_cast<uint64_t>(selected) == elems;
}

Status AddByHdf5(const MappedDataset& dataset, hid_t dcpl, std::size_t number, MapBuilder* builder) {
  char name[1024];
  if (H5Pget_virtual_filename(dcpl, number, name, sizeof name) < 0) return CannotBeRead();
  if (name != kSameFile) {
    return UnsupportedError("its source is in another file, '" + std::string(name) + "'");
  }
  if (H5Pget_virtual_dsetname(dcpl, number, name, sizeof name) < 0) return CannotBeRead();
  if (name != dataset.raw_name) {
    return UnsupportedError("its source is '" + std::string(name) + "', not raw_data");
  }
  Block target, source;
  const std::size_t rank = dataset.shape.size();
  if (!TakeSelection(Handle(H5Pget_virtual_vspace(dcpl, number)), rank, &target) ||
      !TakeSelection(Handle(H5Pget_virtual_srcspace(dcpl, number)), rank, &source)) {
    return UnsupportedError("not from one block to one");
  }
  return builder->Add(target, source);
}

}  // namespace

Result<ChunkMap> MapFromBytes(const MappedDataset& dataset, ByteSpan block) {
  constexpr std::size_t kChecksumBytes = 4;
  if (block.size() < kChecksumBytes) return ForHdf5("it ends early");
  ByteCursor checksum(block.last(kChecksumBytes));
  const ByteSpan list = block.first(block.size() - kChecksumBytes);
  if (checksum.Number(kChecksumBytes) != codec::Lookup3(list, 0)) return ForHdf5("its checksum");
  ByteCursor cursor(list);
  if (cursor.Number(1) != 0) return ForHdf5("a later format");
  const uint64_t mappings = cursor.Number(8);
  // Each has two names and two selections.
  if (mappings > list.size() / 32) return ForHdf5("more mappings than there can be");
  MapBuilder builder(dataset);
  builder.Reserve(mappings);
  for (uint64_t i = 0; i < mappings; ++i) {
    if (cursor.Text() != kSameFile || cursor.Text() != dataset.raw_name) {
      return ForHdf5("another source");
    }
    Block source, target;
    H5ZARR_RETURN_IF_ERROR(TakeSelection(cursor, dataset.shape.size(), &source));
    H5ZARR_RETURN_IF_ERROR(TakeSelection(cursor, dataset.shape.size(), &target));
    H5ZARR_RETURN_IF_ERROR(builder.Add(target, source));
  }
  return builder.Finish();
}

Result<ChunkMap> MapByHdf5(const MappedDataset& dataset, hid_t dcpl) {
  std::size_t mappings = 0;
  if (H5Pget_virtual_count(dcpl, &mappings) < 0) return CannotBeRead();
  MapBuilder builder(dataset);
  builder.Reserve(mappings);
  for (std::size_t i = 0; i < mappings; ++i) {
    const Status added = AddByHdf5(dataset, dcpl, i, &builder);
    if (!added.ok()) return added.WithContext("mapping " + std::to_string(i));
  }
  return builder.Finish();
}

}  // namespace h5zarr::transfer
