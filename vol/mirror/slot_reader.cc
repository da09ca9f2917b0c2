#include "mirror/slot_reader.h"

#include <algorithm>
#include <string>
#include <utility>

namespace h5zarr::mirror {
namespace {

// Estimates, for the choice of threads.
constexpr double kHashNsPerByte = 0.6;
constexpr double kEncodeNsPerByte = 5;
// Less is no work for several threads.
constexpr uint64_t kLeastWindowBytes = PackWriter::kPackBytes / 4;

}  // namespace

Status SlotReader::Read(const SourceDataset& dataset, std::span<const uint64_t> slots, PackWriter* packs,
                        const Visit& visit) {
  for (std::size_t first = 0; first < slots.size();) {
    // What goes into one pack is read where it will be written from.
    const uint64_t left = packs->left();
    const bool fits = left >= kLeastWindowBytes && dataset.SlotBytes(slots[first]) <= left;
    const uint64_t window_bytes = fits ? left : PackWriter::kPackBytes;
    uint64_t bytes = 0;
    std::size_t last = first;
    while (last < slots.size() && (last == first || bytes + dataset.SlotBytes(slots[last]) <= window_bytes)) {
      bytes += dataset.SlotBytes(slots[last++]);
    }
    H5ZARR_RETURN_IF_ERROR(ReadWindow(dataset, slots.subspan(first, last - first), packs));
    for (std::size_t i = first; i < last; ++i) {
      const Chunk& chunk = chunks_[i - first];
      if (!chunk.bytes.empty()) H5ZARR_RETURN_IF_ERROR(visit(i, chunk.hash, chunk.bytes));
    }
    first = last;
  }
  chunks_.clear();
  return OkStatus();
}

Status SlotReader::ReadWindow(const SourceDataset& dataset, std::span<const uint64_t> slots, PackWriter* packs) {
  chunks_.clear();
  chunks_.resize(slots.size());
  std::vector<std::size_t> from_file, by_hdf5;
  uint64_t bytes = 0;  // from the file
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!dataset.IsWritten(slots[i])) continue;
    const bool is_at_hand = file_ != nullptr && dataset.IsAtHand(slots[i]);
    (is_at_hand ? from_file : by_hdf5).push_back(i);
    if (is_at_hand) bytes += dataset.SlotBytes(slots[i]);
  }
  for (const std::size_t i : by_hdf5) {
    Chunk& chunk = chunks_[i];
    H5ZARR_ASSIGN_OR_RETURN(chunk.own, dataset.ReadSlot(slots[i], &chunk.is_encoded));
  }
  H5ZARR_RETURN_IF_ERROR(Encode(dataset, by_hdf5));
  if (from_file.empty()) return OkStatus();
  if (by_hdf5.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(const MutableByteSpan memory, packs->SpaceFor(bytes));
    return ReadFromFile(dataset, slots, from_file, memory);
  }
  // (Others would be added in between.)
  if (bytes > window_.size_bytes()) {
    H5ZARR_ASSIGN_OR_RETURN(window_, Buffer::Allocate(bytes));
  }
  return ReadFromFile(dataset, slots, from_file, window_.span().first(bytes));
}

Status SlotReader::Encode(const SourceDataset& dataset, std::span<const std::size_t> numbers) {
  uint64_t bytes = 0;
  for (const std::size_t i : numbers) bytes += chunks_[i].own->size_bytes();
  return executor_->ParallelFor(numbers.size(), static_cast<double>(bytes) * kEncodeNsPerByte,
                                [&](std::size_t task) -> Status {
                                  Chunk& chunk = chunks_[numbers[task]];
                                  if (!chunk.is_encoded) {
                                    H5ZARR_ASSIGN_OR_RETURN(chunk.own, dataset.Encode(*chunk.own));
                                  }
                                  chunk.bytes = chunk.own->span();
                                  H5ZARR_ASSIGN_OR_RETURN(chunk.hash, icechunk::HashOf(chunk.bytes));
                                  return OkStatus();
                                });
}

// Each chunk is hashed by the thread that read it.
Status SlotReader::ReadFromFile(const SourceDataset& dataset, std::span<const uint64_t> slots,
                                std::span<const std::size_t> numbers, MutableByteSpan memory) {
  std::vector<ReadOp> ops(numbers.size());
  uint64_t at = 0;
  for (std::size_t op = 0; op < ops.size(); ++op) {
    const RawChunk& raw = dataset.raw().chunks[slots[numbers[op]]];
    ops[op].key = "file";
    ops[op].range = ByteRange::Span(raw.offset, raw.bytes);
    ops[op].target = memory.subspan(at, raw.bytes);
    ops[op].sink_cost_ns = static_cast<double>(raw.bytes) * kHashNsPerByte;
    chunks_[numbers[op]].bytes = ops[op].target;
    at += raw.bytes;
  }
  const ReadSink sink = [&](std::size_t op, const ReadResult&) -> Status {
    Chunk& chunk = chunks_[numbers[op]];
    H5ZARR_ASSIGN_OR_RETURN(chunk.hash, icechunk::HashOf(chunk.bytes));
    return OkStatus();
  };
  return file_->ReadRanges(ops, sink, *executor_);
}

}  // namespace h5zarr::mirror
