// Changing an array's shape: chunks that fall out are deleted, and what boundary chunks hold beyond
// the part that stays becomes fill — also when growing, since other writers leave old values there.
//
// The cost follows what is stored, or a bounded number of probes, never the size of the grid.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "zarr/array_impl.h"

namespace h5zarr::zarr {

namespace {

using CoordsList = std::vector<std::vector<uint64_t>>;

// Up to so many objects are looked for one by one; beyond, the stored keys are listed instead.
constexpr uint64_t kMaxProbes = 1024;
// A rough price of reading, changing and storing one object.
constexpr double kObjectNs = 300'000;

// A box of object coordinates.
struct Box {
  std::vector<uint64_t> begin, end;
  uint64_t count() const {
    std::vector<uint64_t> extents;
    for (std::size_t dim = 0; dim < begin.size(); ++dim) extents.push_back(end[dim] - begin[dim]);
    return CheckedProduct(extents).value_or(UINT64_MAX);
  }
};

// Which objects a resize has to do with.
class Affected {
 public:
  // `keep`: what stays of the shape. `clear[dim]`: what lies beyond it along dim must become fill.
  Affected(const ChunkGrid& grid, std::vector<uint64_t> keep, std::vector<bool> shrinks, std::vector<bool> clear)
      : grid_(grid), keep_(std::move(keep)), shrinks_(std::move(shrinks)), clear_(std::move(clear)) {}

  const std::vector<uint64_t>& keep() const { return keep_; }
  bool shrinks() const { return std::find(shrinks_.begin(), shrinks_.end(), true) != shrinks_.end(); }

  bool IsOutside(std::span<const uint64_t> coords) const {
    for (std::size_t dim = 0; dim < keep_.size(); ++dim) {
      if (shrinks_[dim] && coords[dim] >= Kept(dim)) return true;
    }
    return false;
  }
  bool IsBoundary(std::span<const uint64_t> coords) const {
    bool boundary = false;
    for (std::size_t dim = 0; dim < keep_.size(); ++dim) {
      if (coords[dim] >= Kept(dim)) return false;  // nothing of it stays
      if (ReachesBeyond(dim) && coords[dim] + 1 == Kept(dim)) boundary = true;
    }
    return boundary;
  }
  // Boxes that cover the objects outside, and those at the boundary, each object once.
  std::vector<Box> OutsideBoxes() const {
    std::vector<Box> boxes;
    Box rest = All();
    for (std::size_t dim = 0; dim < keep_.size(); ++dim) {
      if (!shrinks_[dim]) continue;
      Box box = rest;
      box.begin[dim] = Kept(dim);
      boxes.push_back(std::move(box));
      rest.end[dim] = Kept(dim);
    }
    return boxes;
  }
  std::vector<Box> BoundaryBoxes() const {
    std::vector<Box> boxes;
    Box rest = All();
    for (std::size_t dim = 0; dim < keep_.size(); ++dim) {
      rest.end[dim] = std::min(rest.end[dim], Kept(dim));
      if (rest.end[dim] == 0) return {};
    }
    for (std::size_t dim = 0; dim < keep_.size(); ++dim) {
      if (!ReachesBeyond(dim)) continue;
      Box box = rest;
      box.begin[dim] = Kept(dim) - 1;
      boxes.push_back(std::move(box));
      rest.end[dim] = Kept(dim) - 1;
    }
    return boxes;
  }

 private:
  uint64_t Kept(std::size_t dim) const { return CeilDiv(keep_[dim], grid_.chunk_shape()[dim]); }
  bool ReachesBeyond(std::size_t dim) const { return clear_[dim] && keep_[dim] % grid_.chunk_shape()[dim] != 0; }
  Box All() const {
    const auto counts = grid_.object_counts();
    return {std::vector<uint64_t>(counts.size(), 0), {counts.begin(), counts.end()}};
  }

  const ChunkGrid& grid_;
  std::vector<uint64_t> keep_;
  std::vector<bool> shrinks_, clear_;
};

uint64_t CountOf(const std::vector<Box>& boxes) {
  uint64_t total = 0;
  for (const Box& box : boxes) total = CheckedAdd(total, box.count()).value_or(UINT64_MAX);
  return total;
}

CoordsList CoordsIn(const std::vector<Box>& boxes) {
  CoordsList list;
  for (const Box& box : boxes) {
    std::vector<uint64_t> at = box.begin;
    for (uint64_t left = box.count(); left > 0; --left) {
      list.push_back(at);
      for (std::size_t dim = at.size(); dim-- > 0;) {
        if (++at[dim] < box.end[dim]) break;
        at[dim] = box.begin[dim];
      }
    }
  }
  return list;
}

// Makes fill of the elements of a decoded inner chunk at `inner_coords` that lie beyond `keep`.
// True when that changed anything.
Result<bool> FillBeyond(const CodecChain& chain, std::span<const uint64_t> inner_coords, std::span<const uint64_t> keep,
                        MutableByteSpan elems) {
  const std::size_t rank = keep.size();
  std::vector<uint64_t> kept(rank), counts(chain.shape().begin(), chain.shape().end());
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const auto begin = CheckedMul(inner_coords[dim], counts[dim]);
    kept[dim] = !begin || *begin >= keep[dim] ? 0 : std::min(counts[dim], keep[dim] - *begin);
  }
  H5ZARR_ASSIGN_OR_RETURN(const Buffer before, Buffer::CopyOf(elems));
  uint64_t offset = 0;  // of the box that is left: kept along the dimensions before `dim`
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const uint64_t beyond = counts[dim] - kept[dim];
    if (beyond > 0) {
      counts[dim] = beyond;
      offset = kept[dim] * static_cast<uint64_t>(chain.strides_bytes()[dim]);
      chain.Fill(elems.data() + offset, chain.strides_bytes(), counts, offset, chain.strides_bytes());
    }
    counts[dim] = kept[dim];
  }
  return std::memcmp(before.data(), elems.data(), elems.size()) != 0;
}

// The stored objects that a resize changes, handled one by one, by any thread.
class Refill {
 public:
  Refill(Array::Impl& array, std::span<const uint64_t> keep) : array_(array), keep_(keep) {}

  Status Run(std::span<const uint64_t> object_coords) const {
    return array_.sharding() ? RunShard(object_coords) : RunChunk(object_coords);
  }

 private:
  Status RunChunk(std::span<const uint64_t> object_coords) const {
    const std::string key = array_.KeyOf(object_coords);
    H5ZARR_ASSIGN_OR_RETURN(std::optional<Buffer> stored, array_.store->Read(key));
    if (!stored) return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(DecodedChunk chunk, array_.leaf().Decode(stored->span()));
    H5ZARR_ASSIGN_OR_RETURN(const bool changed, FillBeyond(array_.leaf(), object_coords, keep_, chunk.elems.span()));
    if (!changed) return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(const EncodedChunk encoded, array_.EncodeElems(chunk.elems.span()));
    return array_.PutObject(array_.grid.ObjectId(object_coords), encoded.bytes);
  }

  Status RunShard(std::span<const uint64_t> object_coords) const {
    const std::string key = array_.KeyOf(object_coords);
    const uint64_t object = array_.grid.ObjectId(object_coords);
    H5ZARR_ASSIGN_OR_RETURN(const std::shared_ptr<void> lock, array_.LockObject(object));
    H5ZARR_ASSIGN_OR_RETURN(std::optional<Buffer> stored, array_.store->Read(key));
    if (!stored) return OkStatus();
    H5ZARR_ASSIGN_OR_RETURN(const codec::ShardIndex entries, array_.sharding()->IndexOf(stored->span()));
    std::vector<ShardChange> changes;
    bool changed = false;
    for (uint64_t entry = 0; entry < entries.size(); ++entry) {
      if (entries[entry].missing()) continue;
      ShardChange change{entry, {}};
      H5ZARR_ASSIGN_OR_RETURN(
          const bool differs,
          RunEntry(object, stored->span().subspan(entries[entry].offset, entries[entry].length), &change));
      changed = changed || differs;
      changes.push_back(std::move(change));
    }
    if (!changed) return OkStatus();
    return array_.PutShard(object, changes, /*whole=*/true);
  }

  // One stored inner chunk: what becomes of it, and whether that differs from what it is.
  Result<bool> RunEntry(uint64_t object, ByteSpan bytes, ShardChange* change) const {
    Coords coords;
    array_.grid.InnerCoords(object * array_.grid.entries() + change->entry, coords.data());
    bool outside = false, whole = true;
    for (std::size_t dim = 0; dim < keep_.size(); ++dim) {
      const uint64_t extent = array_.grid.inner_shape()[dim];
      const uint64_t begin = coords[dim] * extent;
      outside = outside || begin >= keep_[dim];
      whole = whole && begin < keep_[dim] && keep_[dim] - begin >= extent;
    }
    if (outside) return true;
    change->encoded.bytes = bytes;
    if (whole) return false;
    H5ZARR_ASSIGN_OR_RETURN(DecodedChunk chunk, array_.leaf().Decode(bytes));
    H5ZARR_ASSIGN_OR_RETURN(const bool changed,
                            FillBeyond(array_.leaf(), {coords.data(), keep_.size()}, keep_, chunk.elems.span()));
    if (!changed) return false;
    H5ZARR_ASSIGN_OR_RETURN(change->encoded, array_.EncodeElems(chunk.elems.span()));
    if (change->encoded.bytes && change->encoded.owner.empty()) {
      change->encoded.owner = std::move(chunk.elems);
    }
    return true;
  }

  Array::Impl& array_;
  std::span<const uint64_t> keep_;
};

// Finds the affected objects that may be stored: by number when there are few, else by listing.
Status FindAffected(Array::Impl& array, const Affected& affected, CoordsList* outside, CoordsList* boundary) {
  const std::vector<Box> outside_boxes = affected.OutsideBoxes();
  const std::vector<Box> boundary_boxes = affected.BoundaryBoxes();
  const uint64_t candidates = CheckedAdd(CountOf(outside_boxes), CountOf(boundary_boxes)).value_or(UINT64_MAX);
  if (candidates <= kMaxProbes) {
    *outside = CoordsIn(outside_boxes);
    *boundary = CoordsIn(boundary_boxes);
    return OkStatus();
  }
  const std::string prefix = array.Prefix();
  return array.store->Walk(array.path, [&](std::string_view key, uint64_t) -> Status {
    if (!key.starts_with(prefix)) return OkStatus();
    auto coords = array.metadata.key_encoding.Parse(key.substr(prefix.size()), array.grid.rank());
    if (!coords) return OkStatus();
    if (affected.IsOutside(*coords)) {
      outside->push_back(std::move(*coords));
    } else if (affected.IsBoundary(*coords)) {
      boundary->push_back(std::move(*coords));
    }
    return OkStatus();
  });
}

// Forgets cached chunks that fall out, and stores dirty ones at the boundary so that only stored
// objects need to be changed.
Status PrepareCache(Array::Impl& array, const Affected& affected) {
  std::vector<uint64_t> outside, boundary;
  uint64_t from = 0;
  Coords coords;
  while (const auto id = array.cache.NextDirty(from)) {
    const uint64_t object = array.grid.ObjectOf(*id);
    array.grid.ObjectCoords(object, coords.data());
    if (affected.IsOutside({coords.data(), array.grid.rank()})) {
      outside.push_back(object);
    } else if (affected.IsBoundary({coords.data(), array.grid.rank()})) {
      boundary.push_back(object);
    }
    from = (object + 1) * array.grid.entries();
  }
  H5ZARR_RETURN_IF_ERROR(array.StoreObjects(boundary));
  for (uint64_t object : outside) array.ForgetObject(object);
  return OkStatus();
}

Status ChangeObjects(Array::Impl& array, const Affected& affected) {
  H5ZARR_RETURN_IF_ERROR(PrepareCache(array, affected));
  CoordsList outside, boundary;
  H5ZARR_RETURN_IF_ERROR(FindAffected(array, affected, &outside, &boundary));
  if (!boundary.empty()) H5ZARR_RETURN_IF_ERROR(array.BeforeWrite());
  const Refill refill(array, affected.keep());
  auto change = [&](std::size_t i) -> Status {
    const Status status = refill.Run(boundary[i]);
    return status.ok() ? status : status.WithContext("resizing, chunk " + array.KeyOf(boundary[i]));
  };
  H5ZARR_RETURN_IF_ERROR(
      array.executor().ParallelFor(boundary.size(), kObjectNs * static_cast<double>(boundary.size()), change));
  for (const auto& coords : boundary) array.ForgetObject(array.grid.ObjectId(coords));
  // Deleted last: until here a failure has lost nothing that would have stayed.
  return array.executor().ParallelFor(
      outside.size(), kObjectNs / 10 * static_cast<double>(outside.size()),
      [&](std::size_t i) { return array.store->Delete(array.KeyOf(outside[i])).status(); });
}

}  // namespace

Status Array::Impl::Resize(std::span<const uint64_t> new_shape) {
  const std::string context = "array '" + path + "'";
  if (options.read_only) return PermissionDeniedError(context + " is open for reading only");
  if (new_shape.size() != grid.rank()) {
    return InvalidArgumentError(context + ": a new shape of rank " + std::to_string(new_shape.size()));
  }
  std::vector<uint64_t> inner(grid.inner_shape().begin(), grid.inner_shape().end());
  std::vector<uint64_t> index_order;
  if (sharding()) index_order = sharding()->index_order;
  auto new_grid = ChunkGrid::Make({new_shape.begin(), new_shape.end()}, metadata.chunk_shape, std::move(inner),
                                  std::move(index_order));
  if (!new_grid.ok()) return new_grid.status().WithContext(context);
  std::vector<uint64_t> keep(grid.rank());
  std::vector<bool> shrinks(grid.rank()), clear(grid.rank());
  bool any = false;
  for (std::size_t dim = 0; dim < grid.rank(); ++dim) {
    keep[dim] = std::min(new_shape[dim], grid.shape()[dim]);
    shrinks[dim] = new_shape[dim] < grid.shape()[dim];
    clear[dim] = shrinks[dim] || (new_shape[dim] > grid.shape()[dim] && !beyond_is_fill[dim]);
    any = any || clear[dim];
  }
  if (any) {
    const Affected affected(grid, std::move(keep), std::move(shrinks), std::move(clear));
    H5ZARR_RETURN_IF_ERROR(ChangeObjects(*this, affected).WithContext(context));
  }
  for (std::size_t dim = 0; dim < grid.rank(); ++dim) {
    if (new_shape[dim] != grid.shape()[dim]) beyond_is_fill[dim] = true;
  }
  cache.Rename([&](uint64_t id) -> std::optional<uint64_t> {
    Coords coords;
    grid.InnerCoords(id, coords.data());
    uint64_t new_id = 0;
    for (std::size_t dim = 0; dim < grid.rank(); ++dim) {
      if (coords[dim] * grid.inner_shape()[dim] >= new_shape[dim]) return std::nullopt;
      new_id += new_grid->IdPart(dim, coords[dim]);
    }
    return new_id;
  });
  indexes.Clear();
  metadata.shape.assign(new_shape.begin(), new_shape.end());
  grid = std::move(new_grid).value();
  return OkStatus();
}

}  // namespace h5zarr::zarr
