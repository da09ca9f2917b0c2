#include "mirror/pieces.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.h"
#include "mirror/connector_files.h"
#include "mirror/hdf5_read.h"
#include "mirror/shape.h"
#include "shadow/h5_types.h"

namespace h5zarr::mirror {
namespace {
constexpr uint64_t kPieceBytes = 16 << 20;

// The pieces of chunks that come in any order, most of them next to the one before.
struct Marker {
  const std::vector<hsize_t>& piece;
  const std::vector<uint64_t>& grid;
  std::vector<uint64_t> stored;
  std::size_t tidy_at = 1 << 20;

  void Add(uint64_t number) {
    if (!stored.empty() && stored.back() == number) return;
    stored.push_back(number);
    if (stored.size() < tidy_at) return;
    Tidy();
    tidy_at = std::max(tidy_at, 2 * stored.size());
  }

  void Tidy() {
    std::sort(stored.begin(), stored.end());
    stored.erase(std::unique(stored.begin(), stored.end()), stored.end());
  }
};

int MarkChunk(const hsize_t* offset, unsigned, haddr_t, hsize_t, void* opaque) {
  auto& marker = *static_cast<Marker*>(opaque);
  uint64_t number = 0;
  for (std::size_t d = 0; d < marker.grid.size(); ++d) {
    const uint64_t index = offset[d] / marker.piece[d];
    if (index >= marker.grid[d]) return 0;  // beyond the extent
    number = number * marker.grid[d] + index;
  }
  marker.Add(number);
  return 0;
}

}  // namespace

uint64_t Box::elems() const {
  uint64_t product = 1;
  for (const hsize_t n : count) product *= n;
  return product;
}

Result<Pieces> Pieces::Of(hid_t dataset, const std::vector<uint64_t>& unit) {
  Pieces pieces;
  const Handle space(H5Dget_space(dataset)), type(H5Dget_type(dataset));
  const Handle dcpl(H5Dget_create_plist(dataset));
  if (!space.valid() || !type.valid() || !dcpl.valid()) return Hdf5Error("its description");
  H5ZARR_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(space.get()));
  if (shape.kind == H5S_NULL) return pieces;
  pieces.extent_.assign(shape.dims.begin(), shape.dims.end());
  pieces.chunk_.assign(shape.dims.size(), 1);
  pieces.chunked_ = H5Pget_layout(dcpl.get()) == H5D_CHUNKED;
  if (pieces.chunked_) {
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    if (H5Pget_chunk(dcpl.get(), H5S_MAX_RANK, chunk.data()) < 0) return Hdf5Error("its chunk");
    std::copy_n(chunk.begin(), pieces.chunk_.size(), pieces.chunk_.begin());
  }
  bool whole_chunks = true;
  pieces.piece_ = pieces.chunk_;
  for (std::size_t d = 0; d < unit.size() && d < pieces.piece_.size(); ++d) {
    whole_chunks = whole_chunks && unit[d] % pieces.chunk_[d] == 0;
    pieces.piece_[d] = std::max<hsize_t>(unit[d], 1);
  }
  uint64_t bytes = H5Tget_size(type.get());
  for (const hsize_t extent : pieces.piece_) bytes = CheckedMul(bytes, extent).value_or(UINT64_MAX);
  // Whole rows of chunks, from the last axis on, as long as they fit.
  for (std::size_t d = pieces.piece_.size(); d-- > 0;) {
    const uint64_t chunks = CeilDiv(pieces.extent_[d], pieces.piece_[d]);
    const uint64_t fit =
        std::clamp<uint64_t>(kPieceBytes / std::max<uint64_t>(bytes, 1), 1, std::max<uint64_t>(chunks, 1));
    pieces.piece_[d] *= fit;
    bytes = CheckedMul(bytes, fit).value_or(UINT64_MAX);
    if (fit < chunks) break;
  }
  pieces.boxes_ = 1;
  for (std::size_t d = 0; d < pieces.extent_.size(); ++d) {
    pieces.grid_.push_back(CeilDiv(pieces.extent_[d], pieces.piece_[d]));
    const auto boxes = CheckedMul(pieces.boxes_, pieces.grid_.back());
    if (!boxes) return OutOfRangeError("more elements than can be counted");
    pieces.boxes_ = *boxes;
  }
  if (pieces.chunked_ && whole_chunks) {
    H5ZARR_RETURN_IF_ERROR(pieces.MarkStored(dataset));
  }
  return pieces;
}

Status Pieces::MarkStored(hid_t dataset) {
  Marker marker{piece_, grid_, {}};
  if (boxes_ > 0 && !IterateChunks(dataset, MarkChunk, &marker).ok()) {
    H5Eclear2(H5E_DEFAULT);
    return OkStatus();
  }
  marker.Tidy();
  stored_ = std::move(marker.stored);
  return OkStatus();
}

uint64_t Pieces::NextStored(uint64_t number) const {
  if (!stored_) return number;
  const auto next = std::lower_bound(stored_->begin(), stored_->end(), number);
  return next == stored_->end() ? boxes_ : *next;
}

Box Pieces::At(uint64_t number) const {
  Box box;
  box.start.resize(extent_.size());
  box.count.resize(extent_.size());
  for (std::size_t d = extent_.size(); d-- > 0; number /= grid_[d]) {
    box.start[d] = number % grid_[d] * piece_[d];
    box.count[d] = std::min(piece_[d], extent_[d] - box.start[d]);
  }
  return box;
}

std::vector<Box> Pieces::ChunksOf(const Box& piece) const {
  if (!chunked_) return {piece};
  std::vector<Box> chunks;
  Box chunk = piece;
  for (std::size_t d = 0; d < chunk.count.size(); ++d) {
    chunk.count[d] = std::min(chunk_[d], piece.count[d]);
  }
  while (true) {
    chunks.push_back(chunk);
    std::size_t d = chunk.start.size();
    while (d-- > 0) {
      const hsize_t end = piece.start[d] + piece.count[d];
      chunk.start[d] += chunk_[d];
      if (chunk.start[d] < end) {
        chunk.count[d] = std::min(chunk_[d], end - chunk.start[d]);
        break;
      }
      chunk.start[d] = piece.start[d];
      chunk.count[d] = std::min(chunk_[d], piece.count[d]);
      if (d == 0) return chunks;
    }
  }
}

Result<Handle> SpaceOf(hid_t dataset, const Box& box) {
  Handle space(H5Dget_space(dataset));
  if (!space.valid()) return Hdf5Error("its space");
  if (!box.start.empty() &&
      H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, box.start.data(), nullptr, box.count.data(), nullptr) < 0) {
    return Hdf5Error("a selection");
  }
  return space;
}

Result<Elements> Elements::Read(hid_t dataset, const Box& box, hid_t type) {
  Elements elements;
  H5ZARR_ASSIGN_OR_RETURN(const Handle file_space, SpaceOf(dataset, box));
  elements.count_ = box.elems();
  const auto bytes = CheckedMul(elements.count_, H5Tget_size(type));
  if (!bytes) return OutOfRangeError("a piece of more than 2^64 bytes");
  elements.space_ =
      Handle(box.count.empty() ? H5Screate(H5S_SCALAR)
                               : H5Screate_simple(static_cast<int>(box.count.size()), box.count.data(), nullptr));
  H5ZARR_ASSIGN_OR_RETURN(elements.bytes_, Buffer::Allocate(*bytes));
  std::memset(elements.bytes_.data(), 0, elements.bytes_.size_bytes());
  if (H5Dread(dataset, type, elements.space_.get(), file_space.get(), H5P_DEFAULT, elements.bytes_.data()) < 0) {
    return Hdf5Error("elements from " + DimsText(std::vector<uint64_t>(box.start.begin(), box.start.end())));
  }
  elements.type_ = type;
  return elements;
}

Elements::~Elements() {
  if (!space_.valid() || type_ < 0 || bytes_.empty()) return;
  if (shadow::HoldsVlenOrReference(type_)) {
    H5Treclaim(type_, space_.get(), H5P_DEFAULT, bytes_.data());
  }
}

}  // namespace h5zarr::mirror
