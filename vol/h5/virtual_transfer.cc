// The transfers of virtual datasets: cut into pieces of sources, and gaps filled.

#include <algorithm>

#include "h5/connector.h"
#include "h5/virtual_dataset.h"
#include "shadow/dataset_map.h"
#include "shadow/h5_types.h"
#include "store/memory_store.h"
#include "transfer/dataset_io.h"
#include "transfer/elements.h"

namespace h5zarr {
namespace {

using shadow::VirtualMapping;
using transfer::MappedSide;
using transfer::Piece;
using transfer::VirtualCutter;

// Virtual datasets may have virtual sources; deeper ones than this lead back to themselves.
constexpr int kMaxDepth = 16;
int depth = 0;

class DepthScope {
 public:
  DepthScope() { ++depth; }
  ~DepthScope() { --depth; }
  DepthScope(const DepthScope&) = delete;
  Status Check() const {
    if (depth <= kMaxDepth) return OkStatus();
    return InvalidArgumentError("virtual datasets are nested more than " + std::to_string(kMaxDepth) +
                                " deep: one may be a source of itself");
  }
};

std::string Describe(const std::string& file, const std::string& dataset) {
  return "source '" + dataset + "' in '" + file + "'";
}

}  // namespace

Status VirtualDataset::Transfer(const DatasetPart& part, bool write, hid_t dxpl) {
  const DepthScope scope;
  H5ZARR_RETURN_IF_ERROR(scope.Check());
  if (write) H5ZARR_RETURN_IF_ERROR(CheckWritable());
  if (!refreshed_) H5ZARR_RETURN_IF_ERROR(Refresh());
  H5ZARR_ASSIGN_OR_RETURN(VirtualCutter cutter, VirtualCutter::Make(part.file_space, part.mem_space, layout_->shape,
                                                                    H5Tget_size(part.mem_type)));
  if (cutter.elems() == 0) return OkStatus();
  if (write ? part.write_buffer == nullptr : part.read_buffer == nullptr) {
    return InvalidArgumentError(write ? "no input buffer" : "no output buffer");
  }
  missing_.clear();
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<SourcePiece> pieces, CutAll(cutter, write));
  uint64_t covered = 0;
  std::vector<transfer::Bounds> bounds;
  for (const SourcePiece& piece : pieces) {
    covered += piece.piece.elems;
    bounds.push_back(transfer::BoundsOf(piece.target));
  }
  if (write && covered != cutter.elems()) {
    return InvalidArgumentError("write requested to unmapped portion of virtual dataset");
  }
  const bool ordered = transfer::MayOverlap(bounds);
  if (!write && (covered < cutter.elems() || ordered)) {
    H5ZARR_RETURN_IF_ERROR(FillGaps(cutter, pieces, part, dxpl));
  }
  H5ZARR_RETURN_IF_ERROR(TransferPieces(pieces, part, ordered, write, dxpl));
  return ReleaseFiles();
}

bool VirtualDataset::PiecesAreLarge(const DatasetPart& part, bool whatever_size) const {
  constexpr uint64_t kLeastBytes = 1 << 20, kLeastPieceBytes = 128 << 10;
  if (layout_->has_unlimited()) return false;
  for (const VirtualMapping& mapping : layout_->mappings) {
    if (mapping.is_printf()) return false;
  }
  if (whatever_size) return true;
  const uint64_t elem_bytes = H5Tget_size(part.mem_type);
  const Result<VirtualCutter> cutter = VirtualCutter::Make(part.file_space, part.mem_space, layout_->shape, elem_bytes);
  if (!cutter.ok() || cutter->elems() < kLeastBytes / std::max<uint64_t>(elem_bytes, 1)) {
    return false;
  }
  uint64_t pieces = 0;
  for (std::size_t i = 0; i < layout_->mappings.size(); ++i) {
    pieces += Touches(i, cutter->bounds()) ? 1 : 0;
  }
  return cutter->elems() / std::max<uint64_t>(pieces, 1) >= kLeastPieceBytes / elem_bytes;
}

bool VirtualDataset::ReadInPieces(const DatasetPart& part, hid_t dxpl) {
  Object* const object = part.object;
  if (object->virtual_data == nullptr || object->store != nullptr || object->read_by_hdf5) {
    return false;
  }
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  object->read_by_hdf5 = !GetConnector().native_files.Knows(*object);
  VirtualDataset* const self = object->virtual_data.get();
  const bool whatever_size = GetConnector().native_files.ReadsAlways(*object);
  if (object->read_by_hdf5 || !self->PiecesAreLarge(part, whatever_size)) return false;
  return self->Transfer(part, false, dxpl).ok();
}

// --- cutting ---------------------------------------------------------------------------------------

Result<std::vector<VirtualDataset::SourcePiece>> VirtualDataset::CutAll(VirtualCutter& cutter, bool write) {
  std::vector<SourcePiece> pieces;
  for (std::size_t i = 0; i < layout_->mappings.size(); ++i) {
    if (!Touches(i, cutter.bounds())) continue;
    const VirtualMapping& mapping = layout_->mappings[i];
    H5ZARR_RETURN_IF_ERROR(mapping.is_printf() ? CutBlocks(cutter, mapping, write, &pieces)
                                               : CutMapping(cutter, mapping, write, &pieces));
    if (sources_.size() > kMaxOpenSources) H5ZARR_RETURN_IF_ERROR(CloseSources());
  }
  return pieces;
}

// Every block within the selection has a source of its own.
Status VirtualDataset::CutBlocks(VirtualCutter& cutter, const VirtualMapping& mapping, bool write,
                                 std::vector<SourcePiece>* pieces) {
  const auto d = static_cast<std::size_t>(mapping.target.unlimited_dim);
  const zarr::DimSelection& dim = mapping.target.dims[d];
  const uint64_t low = cutter.bounds().low[d], high = cutter.bounds().high[d];
  if (high < dim.start) return OkStatus();
  const uint64_t first = low <= dim.start ? 0 : (low - dim.start) / dim.stride;
  for (uint64_t block = first; block <= (high - dim.start) / dim.stride; ++block) {
    SourcePiece piece;
    H5ZARR_ASSIGN_OR_RETURN(piece.file, shadow::ExpandSourceName(mapping.file, block));
    H5ZARR_ASSIGN_OR_RETURN(piece.dataset, shadow::ExpandSourceName(mapping.dataset, block));
    H5ZARR_ASSIGN_OR_RETURN(Object* const source, OpenSource(piece.file, piece.dataset, write));
    if (source == nullptr) continue;
    piece.target.parts = {mapping.target.dims};
    piece.target.parts[0][d] = transfer::BlockOf(dim, block);
    H5ZARR_RETURN_IF_ERROR(CutOne(cutter, mapping.source, source, 0, std::move(piece), pieces));
    if (sources_.size() > kMaxOpenSources) H5ZARR_RETURN_IF_ERROR(CloseSources());
  }
  return OkStatus();
}

Status VirtualDataset::CutMapping(VirtualCutter& cutter, const VirtualMapping& mapping, bool write,
                                  std::vector<SourcePiece>* pieces) {
  SourcePiece piece;
  H5ZARR_ASSIGN_OR_RETURN(piece.file, shadow::ExpandSourceName(mapping.file, 0));
  H5ZARR_ASSIGN_OR_RETURN(piece.dataset, shadow::ExpandSourceName(mapping.dataset, 0));
  H5ZARR_ASSIGN_OR_RETURN(Object* const source, OpenSource(piece.file, piece.dataset, write));
  if (source == nullptr) return OkStatus();
  uint64_t slices = 0;
  if (mapping.target.unlimited_dim >= 0) {
    // As much as both sides have.
    H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> extent, ExtentOfDataset(source));
    const auto from = static_cast<std::size_t>(mapping.source.unlimited_dim);
    const auto to = static_cast<std::size_t>(mapping.target.unlimited_dim);
    if (from >= extent.size()) {
      return InvalidArgumentError(Describe(piece.file, piece.dataset) + " has too few dimensions");
    }
    slices = std::min(transfer::SlicesWithin(mapping.source.dims[from], extent[from]),
                      transfer::SlicesWithin(mapping.target.dims[to], layout_->shape[to]));
  }
  H5ZARR_ASSIGN_OR_RETURN(piece.target, transfer::ResolveSide(mapping.target, layout_->shape, slices));
  return CutOne(cutter, mapping.source, source, slices, std::move(piece), pieces);
}

// Adds the piece whose file, dataset and target are given, if the transfer has any of it.
Status VirtualDataset::CutOne(VirtualCutter& cutter, const shadow::MappedSelection& source, Object* dataset,
                              uint64_t slices, SourcePiece piece, std::vector<SourcePiece>* pieces) {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> extent, ExtentOfDataset(dataset));
  const auto in_context = [&](Status status) { return status.WithContext(Describe(piece.file, piece.dataset)); };
  Result<MappedSide> side = transfer::ResolveSide(source, extent, slices);
  if (!side.ok()) return in_context(side.status());
  Result<std::optional<Piece>> cut = cutter.Cut(piece.target, *side, extent);
  if (!cut.ok()) return in_context(cut.status());
  if (!cut->has_value()) return OkStatus();
  piece.piece = std::move(**cut);
  if (piece.piece.grid && (!HasArray(dataset) || IsExternal(dataset))) {
    // HDF5 takes dataspaces, and not every grid is one.
    const transfer::GridTransfer& grid = *piece.piece.grid;
    H5ZARR_ASSIGN_OR_RETURN(piece.piece.mem_space, transfer::MemorySpaceOfGrid(grid));
    if (piece.piece.mem_space.valid()) {
      H5ZARR_ASSIGN_OR_RETURN(piece.piece.source_space, transfer::SpaceOfGrid(grid.dims, extent));
      piece.mem_start_elems = grid.mem_start_elems;
      piece.piece.grid.reset();
    } else {
      H5ZARR_ASSIGN_OR_RETURN(cut, cutter.CutSpaces(piece.target, *side, extent));
      if (!cut->has_value()) return InternalError("a piece of a virtual dataset got lost");
      piece.piece = std::move(**cut);
    }
  }
  pieces->push_back(std::move(piece));
  return OkStatus();
}

// --- gaps ------------------------------------------------------------------------------------------

// What gaps are filled with, found out once.
Status VirtualDataset::FindGapFill(hid_t type) {
  if (gaps_are_plain_) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, NativeDcpl(dataset_));
  H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
  if (H5Pfill_value_defined(dcpl.get(), &defined) < 0) return host::AlreadyReported();
  gaps_are_undefined_ = defined == H5D_FILL_VALUE_UNDEFINED;
  const bool plain = !shadow::HoldsVlenOrReference(type);
  if (plain && defined == H5D_FILL_VALUE_USER_DEFINED) {
    std::vector<std::byte> fill(H5Tget_size(type));
    if (H5Pget_fill_value(dcpl.get(), type, fill.data()) < 0) return host::AlreadyReported();
    gap_fill_ = std::move(fill);
  }
  gaps_are_plain_ = plain;
  return OkStatus();
}

// As HDF5 does: it fills whatever the fill time says, and its default is zero in memory.
Status VirtualDataset::FillPlainGaps(VirtualCutter& cutter, std::span<const SourcePiece> pieces,
                                     const DatasetPart& whole, hid_t type, hid_t dxpl) {
  H5ZARR_ASSIGN_OR_RETURN(hid_t mem_space, cutter.MemorySpace());
  Piece gaps;
  if (H5Tdetect_class(whole.mem_type, H5T_COMPOUND) > 0) {
    // Members in memory that the sources do not have must stay as they are.
    std::vector<MappedSide> targets;
    for (const SourcePiece& piece : pieces) targets.push_back(piece.target);
    H5ZARR_ASSIGN_OR_RETURN(gaps, cutter.Uncovered(targets));
    if (gaps.elems == 0) return OkStatus();
    mem_space = gaps.mem_space.get();
  }
  if (!gap_fill_) {
    return NativeStatus(H5Dfill(nullptr, type, whole.read_buffer, whole.mem_type, mem_space));
  }
  // Converted here, where the program's transfer list holds; to a copy of its type, as HDF5 sorts the members.
  const Handle mem_type(H5Tcopy(whole.mem_type));
  std::vector<std::byte> fill = *gap_fill_, background(H5Tget_size(whole.mem_type));
  fill.resize(std::max(fill.size(), background.size()));
  H5ZARR_RETURN_IF_ERROR(transfer::ConvertElements(type, mem_type.get(), 1, fill.data(), background.data(), dxpl));
  return NativeStatus(H5Dfill(fill.data(), whole.mem_type, whole.read_buffer, whole.mem_type, mem_space));
}

// An array of the dataset's shape, type and fill value that has no chunks.
Status VirtualDataset::MakeGapArray(hid_t type) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, NativeDcpl(dataset_));
  if (H5Pset_layout(dcpl.get(), H5D_CONTIGUOUS) < 0 || H5Pset_fill_time(dcpl.get(), H5D_FILL_TIME_IFSET) < 0) {
    return host::AlreadyReported();
  }
  const std::vector<uint64_t>& shape = layout_->shape;
  const Handle space(shape.empty() ? H5Screate(H5S_SCALAR)
                                   : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
  if (!space.valid()) return host::AlreadyReported();
  H5ZARR_ASSIGN_OR_RETURN(shadow::DatasetPlan plan, shadow::PlanCreate(type, space.get(), dcpl.get(), Config()));
  zarr::ArrayOptions options;
  options.executor = ExecutorFor(0);
  options.read_only = true;
  gap_array_.reset();
  gap_store_ = MakeMemoryStore();
  gap_element_ = std::move(plan.element);
  H5ZARR_ASSIGN_OR_RETURN(gap_array_, zarr::Array::Open(gap_store_.get(), "gap", std::move(plan.metadata), options));
  return OkStatus();
}

Status VirtualDataset::FillGaps(VirtualCutter& cutter, std::span<const SourcePiece> pieces, const DatasetPart& whole,
                                hid_t dxpl) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, TypeOfDataset(dataset_));
  H5ZARR_RETURN_IF_ERROR(FindGapFill(type.get()));
  if (*gaps_are_plain_ && !transfer::HasConversion(type.get(), whole.mem_type)) {
    return UnsupportedError("no appropriate function for conversion path");
  }
  if (gaps_are_undefined_) return OkStatus();
  if (*gaps_are_plain_) return FillPlainGaps(cutter, pieces, whole, type.get(), dxpl);
  const std::vector<uint64_t>& shape = layout_->shape;
  if (gap_array_ == nullptr || !std::equal(shape.begin(), shape.end(), gap_array_->shape().begin())) {
    H5ZARR_RETURN_IF_ERROR(MakeGapArray(type.get()));
  }
  transfer::DatasetTransfer fill;
  fill.array = gap_array_.get();
  fill.element = &gap_element_;
  fill.extent = shape;
  fill.mem_type = whole.mem_type;
  fill.mem_space = whole.mem_space;
  fill.file_space = whole.file_space;
  fill.read_buffer = whole.read_buffer;
  Piece gaps;
  if (gap_element_.dtype.is_vlen() && !pieces.empty()) {
    // Elements with memory of their own must not be overwritten by those of a source.
    std::vector<MappedSide> targets;
    for (const SourcePiece& piece : pieces) targets.push_back(piece.target);
    H5ZARR_ASSIGN_OR_RETURN(gaps, cutter.Uncovered(targets));
    if (gaps.elems == 0) return OkStatus();
    fill.mem_space = gaps.mem_space.get();
    fill.file_space = gaps.source_space.get();
  }
  return transfer::ReadDatasets({&fill, 1}, dxpl).WithContext("fill value of a virtual dataset");
}

// --- transfer --------------------------------------------------------------------------------------

Status VirtualDataset::TransferPieces(std::span<const SourcePiece> pieces, const DatasetPart& whole, bool ordered,
                                      bool write, hid_t dxpl) {
  const uint64_t mem_bytes = H5Tget_size(whole.mem_type);
  std::vector<DatasetPart> parts;
  const auto transfer_parts = [&] {
    const Status status = TransferParts(parts, write, dxpl);
    parts.clear();
    return status;
  };
  for (const SourcePiece& piece : pieces) {
    if (sources_.size() > kMaxOpenSources) {
      H5ZARR_RETURN_IF_ERROR(transfer_parts());
      H5ZARR_RETURN_IF_ERROR(CloseSources());
    }
    DatasetPart part = whole;
    H5ZARR_ASSIGN_OR_RETURN(part.object, OpenSource(piece.file, piece.dataset, write));
    if (part.object == nullptr) {
      return Status(StatusCode::kChanged, Describe(piece.file, piece.dataset) + " vanished during a transfer");
    }
    const uint64_t offset_bytes = piece.mem_start_elems * mem_bytes;
    if (write) {
      part.write_buffer = static_cast<const std::byte*>(whole.write_buffer) + offset_bytes;
    } else {
      part.read_buffer = static_cast<std::byte*>(whole.read_buffer) + offset_bytes;
    }
    if (piece.piece.grid) {
      part.grid = &*piece.piece.grid;
    } else {
      part.mem_space = piece.piece.mem_space.get();
      part.file_space = piece.piece.source_space.get();
    }
    parts.push_back(part);
    if (ordered) H5ZARR_RETURN_IF_ERROR(transfer_parts());
  }
  return transfer_parts();
}

}  // namespace h5zarr
