#include "view/image.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "view/array_batch.h"
#include "view/refused_header.h"

namespace h5zarr::view {
namespace {

// Elements of scattered pieces are copied in so many runs at a time.
constexpr uint64_t kRunsAtOnce = 1 << 16;

Status Outside(uint64_t at) {
  return InternalError("HDF5 asks for address " + std::to_string(at) + ", where the view has nothing");
}

bool MayPass(const Status& why) { return why.code() == StatusCode::kIo; }

}  // namespace

Image::Image(std::shared_ptr<shadow::StoreFile> store)
    : store_(std::move(store)), blocks_(store_->config().cache_bytes) {}

uint64_t Image::Allocate(bool raw, uint64_t bytes, uint64_t* end) {
  const bool first = raw && expected_.chunks > 0 && expected_.chunk_bytes == 0;
  const bool chunk = first || (raw && expected_.chunks > 0 && bytes == expected_.chunk_bytes);
  if (!chunk || first) {
    const std::optional<uint64_t> all_bytes = CheckedMul(chunk ? expected_.chunks : 1, bytes);
    if (!all_bytes || *end > kMostBytes || *all_bytes > kMostBytes - *end) return HADDR_UNDEF;
    if (chunk) expected_ = {expected_.chunks, bytes, *end};
    *end += *all_bytes;
    GrowTo(*end);
  }
  if (!raw) return *end - bytes;
  uint64_t& raw_bytes = raw_bytes_[chunk ? expected_.begin : *end - bytes];
  if (chunk) --expected_.chunks;
  raw_bytes += bytes;
  return chunk ? expected_.begin + raw_bytes - bytes : *end - bytes;
}

uint64_t Image::RawBytesAt(uint64_t begin) const {
  const auto found = raw_bytes_.find(begin);
  return found == raw_bytes_.end() ? 0 : found->second;
}

void Image::Add(Region region) {
  partial_ = partial_ || MayPass(region.unreadable());
  regions_.emplace(region.begin(), std::move(region));
}

Status Image::Refuse(uint64_t header, uint32_t links, const Status& why) {
  partial_ = partial_ || MayPass(why);
  // (No object begins within another's header.)
  const uint64_t elsewhere = header + 1;
  H5ZARR_ASSIGN_OR_RETURN(const bool listed, LeadElsewhere(header, elsewhere, links, &held_));
  refused_.insert_or_assign(listed ? elsewhere : header, why);
  return OkStatus();
}

void Image::NoteClosed() {
  if (--open_files_ > 0 || !MayRest()) return;
  blocks_.Clear();
  courses_.clear();
  store_->Rest();
}

const Region* Image::RegionAt(uint64_t at) const {
  auto next = regions_.upper_bound(at);
  if (next == regions_.begin()) return nullptr;
  const Region& region = std::prev(next)->second;
  return at < region.end() ? &region : nullptr;
}

Status Image::ReadMetadata(uint64_t at, MutableByteSpan out) const {
  // (HDF5 reads a header from its beginning, and may read past the end of the one before.)
  if (const auto found = refused_.find(at); found != refused_.end()) return found->second;
  if (at > end_ || out.size() > end_ - at) return Outside(at);
  held_.Read(at, out);
  return OkStatus();
}

Status Image::Read(uint64_t at, MutableByteSpan out) {
  while (!out.empty()) {
    if (at >= end_) return Outside(at);
    const Region* region = RegionAt(at);
    std::size_t count = out.size();
    if (region == nullptr) {
      const auto next = regions_.upper_bound(at);
      if (next != regions_.end()) count = std::min<uint64_t>(count, next->first - at);
      held_.Read(at, out.first(count));
    } else {
      H5ZARR_RETURN_IF_ERROR(region->unreadable());
      const Block block = region->BlockAt(at);
      H5ZARR_ASSIGN_OR_RETURN(const Buffer* bytes, Require(*region, block));
      const uint64_t within = at - block.at;
      count = std::min<uint64_t>(count, block.bytes - within);
      std::copy_n(bytes->data() + within, count, out.data());
    }
    out = out.subspan(count);
    at += count;
  }
  return OkStatus();
}

Status Image::ReadPieces(std::span<const Piece> pieces) {
  ArrayBatch batch(store_.get());
  std::vector<const Piece*> scattered;  // of chunks: no grids
  for (const Piece& piece : pieces) {
    const Region* region = RegionAt(piece.at);
    if (region == nullptr) {
      H5ZARR_RETURN_IF_ERROR(ReadHeld(piece));
      continue;
    }
    H5ZARR_RETURN_IF_ERROR(region->unreadable());
    if (!region->chunked()) {
      batch.AddSpaces(*region, piece.mem_space, piece.file_space, piece.buffer);
      continue;
    }
    const Block chunk = region->BlockAt(piece.at);
    if (chunk.at != piece.at) return Outside(piece.at);
    H5ZARR_ASSIGN_OR_RETURN(const transfer::SelectionPair pair,
                            transfer::ResolveSelections(piece.file_space, piece.mem_space, region->geometry().chunk));
    if (pair.elems() == 0) continue;
    H5ZARR_RETURN_IF_ERROR(transfer::CheckMemoryBytes(pair.mem, piece.elem_bytes));
    std::optional<transfer::GridTransfer> grid = transfer::MatchGrid(pair);
    if (!grid) {
      scattered.push_back(&piece);
      continue;
    }
    for (std::size_t d = 0; d < grid->dims.size(); ++d) grid->dims[d].start += chunk.origin[d];
    batch.Add(*region, std::move(*grid), piece.buffer);
  }
  H5ZARR_RETURN_IF_ERROR(batch.Read());
  for (const Piece* piece : scattered) {
    H5ZARR_RETURN_IF_ERROR(ReadScattered(*RegionAt(piece->at), *piece));
  }
  return OkStatus();
}

namespace {

// Calls `copy(offset in the file space, bytes, where to)` for each run that the piece's spaces select.
template <typename Copy>
Status ForEachRun(const Piece& piece, std::span<const uint64_t> extent, Copy&& copy) {
  H5ZARR_ASSIGN_OR_RETURN(const transfer::SelectionPair pair,
                          transfer::ResolveSelections(piece.file_space, piece.mem_space, extent));
  if (pair.elems() == 0) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(transfer::CheckMemoryBytes(pair.mem, piece.elem_bytes));
  H5ZARR_ASSIGN_OR_RETURN(transfer::RunStream stream, transfer::RunStream::Open(pair, extent));
  std::vector<transfer::ElementRun> runs;
  while (!stream.done()) {
    H5ZARR_RETURN_IF_ERROR(stream.Next(kRunsAtOnce, UINT64_MAX, runs));
    for (const transfer::ElementRun& run : runs) {
      H5ZARR_RETURN_IF_ERROR(
          copy(run.array_offset * piece.elem_bytes,
               MutableByteSpan(piece.buffer + run.mem_offset * piece.elem_bytes, run.elems * piece.elem_bytes)));
    }
  }
  return OkStatus();
}

std::vector<uint64_t> ExtentOf(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  std::vector<uint64_t> extent(rank > 0 ? static_cast<std::size_t>(rank) : 0);
  if (!extent.empty()) H5Sget_simple_extent_dims(space, extent.data(), nullptr);
  return extent;
}

}  // namespace

// What the image itself holds: parts of variable length, references.
Status Image::ReadHeld(const Piece& piece) {
  return ForEachRun(piece, ExtentOf(piece.file_space),
                    [&](uint64_t offset, MutableByteSpan to) { return Read(piece.at + offset, to); });
}

Status Image::ReadScattered(const Region& region, const Piece& piece) {
  const Block block = region.BlockAt(piece.at);
  H5ZARR_ASSIGN_OR_RETURN(const Buffer* bytes, Require(region, block));
  return ForEachRun(piece, region.geometry().chunk, [&](uint64_t offset, MutableByteSpan to) {
    std::copy_n(bytes->data() + offset, to.size(), to.data());
    return OkStatus();
  });
}

Result<const Buffer*> Image::Require(const Region& region, const Block& block) {
  if (const Buffer* found = blocks_.Find(block.at)) return found;
  const std::vector<Block> wanted = Ahead(region, block);
  H5ZARR_RETURN_IF_ERROR(Load(region, wanted));
  const Buffer* loaded = blocks_.Find(block.at);
  if (loaded == nullptr) return InternalError("a block that was read is not there");
  return loaded;
}

// The missing block, and those a program that goes on as it did will want next: twice as many each time.
std::vector<Block> Image::Ahead(const Region& region, const Block& missing) {
  Course& course = courses_[region.begin()];
  if (missing.at == course.next) {
    course.blocks *= 2;
  } else {
    const auto step_bytes = static_cast<int64_t>(missing.at - course.last);
    course.blocks = course.last != 0 && step_bytes != 0 ? 2 : 1;
    course.step_bytes = step_bytes;
  }
  course.blocks = std::clamp<uint64_t>(blocks_.budget_bytes() / 2 / missing.bytes, 1, course.blocks);
  std::vector<Block> blocks{missing};
  course.last = missing.at;
  course.next = missing.at + static_cast<uint64_t>(course.step_bytes);
  while (blocks.size() < course.blocks && course.next >= region.begin() && course.next < region.end()) {
    Block next = region.BlockAt(course.next);
    course.last = next.at;
    course.next = next.at + static_cast<uint64_t>(course.step_bytes);
    if (std::find(next.shape.begin(), next.shape.end(), 0u) != next.shape.end()) break;
    if (blocks_.Find(next.at) == nullptr) blocks.push_back(std::move(next));
  }
  return blocks;
}

Status Image::Load(const Region& region, std::span<const Block> blocks) {
  ArrayBatch batch(store_.get());
  std::vector<Buffer> buffers;
  for (const Block& block : blocks) {
    H5ZARR_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(block.bytes));
    batch.Add(region, region.Whole(block), buffer.data());
    buffers.push_back(std::move(buffer));
  }
  H5ZARR_RETURN_IF_ERROR(batch.Read());
  // The first one is wanted now: it is the last to be dropped again.
  for (std::size_t i = blocks.size(); i > 0; --i) {
    blocks_.Insert(blocks[i - 1].at, std::move(buffers[i - 1]));
  }
  return OkStatus();
}

}  // namespace h5zarr::view
