// virtual_dataset: an open virtual dataset: its mappings, its sources as far as they were opened, and the
// extent that follows them.
//
// Those of stores, and those of native files with a store among their sources, which HDF5 itself would
// read as fill. All others are HDF5's, but for large reads of what the engine can read in parallel. Sources are
// opened through this connector, so that they are native datasets, arrays of stores, or virtual themselves.
#ifndef H5ZARR_H5_VIRTUAL_DATASET_H_
#define H5ZARR_H5_VIRTUAL_DATASET_H_

#include <hdf5.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "h5/dataset_transfer.h"
#include "h5/target_file.h"
#include "host/handle.h"
#include "host/object.h"
#include "shadow/type_map.h"
#include "shadow/virtual_layout.h"
#include "store/store.h"
#include "transfer/virtual_map.h"
#include "zarr/array.h"

namespace h5zarr {

class VirtualDataset {
 public:
  // What `object` is, found out once; null for a dataset that is not virtual, or is HDF5's business.
  // `part`: what is about to be transferred, if anything: sources that are virtual in native files are
  // only looked into where it leads to them.
  static Result<VirtualDataset*> Of(Object* object, const DatasetPart* part = nullptr);
  ~VirtualDataset();
  VirtualDataset(const VirtualDataset&) = delete;

  // Reads `part` of a native dataset that is HDF5's business piece by piece, its sources as one batch, where
  // that is likely to take less time. False where it does not, or fails: HDF5 is to read it.
  static bool ReadInPieces(const DatasetPart& part, hid_t dxpl);

  // Brings the extent up to date: as far as unlimited mappings have sources.
  Result<Handle> Space();
  // After H5Dset_extent.
  void NoteExtent(const hsize_t* shape);
  const shadow::VirtualLayout& layout() const { return *layout_; }

  // Reads what the mappings cover from their sources, and fill elsewhere; where mappings overlap the
  // last wins. A write must be covered. A source that is not there counts as no mapping; one that cannot
  // be opened is an error.
  Status Transfer(const DatasetPart& part, bool write, hid_t dxpl);

  Status Flush();
  // Of a native file: from now on it is not HDF5's business.
  void TakeOver() { ours_ = true; }
  // They are opened again when needed. On failure HDF5's error stack says it.
  Status CloseSources();

 private:
  // Sources that are open at the same time: native files take a descriptor each.
  static constexpr std::size_t kMaxOpenSources = 256;

  struct Source {
    Object* dataset = nullptr;
    bool writable = false;
  };
  // One mapping's piece of a transfer.
  struct SourcePiece {
    std::string file, dataset;
    transfer::MappedSide target;
    transfer::Piece piece;
    uint64_t mem_start_elems = 0;  // of piece.mem_space
  };

  VirtualDataset(Object* dataset, std::shared_ptr<shadow::VirtualLayout> layout);
  static Result<std::shared_ptr<VirtualDataset>> Open(Object* object, std::shared_ptr<shadow::VirtualLayout> layout);
  static Result<std::shared_ptr<VirtualDataset>> OpenNative(Object* object);
  // Of a native dataset: whether a store is among the files that hold the sources.
  Result<bool> NamesStore();
  // …or behind a virtual dataset that is the source of a mapping in `bounds`.
  Result<bool> LeadsToStore(const transfer::Bounds& bounds);
  Result<bool> SourceLeadsToStore(const shadow::VirtualMapping& mapping, uint64_t block);

  // Whether a read of native sources is of few and large pieces, or of pieces at all (`whatever_size`).
  bool PiecesAreLarge(const DatasetPart& part, bool whatever_size) const;

  // That the file of a native dataset may be changed (of a store it is known already).
  Status CheckWritable();
  Status Refresh();
  Status TakeNativeExtent();
  Result<uint64_t> FollowSource(const shadow::VirtualMapping& mapping);
  Result<uint64_t> FollowBlocks(std::size_t index);
  bool Touches(std::size_t index, const transfer::Bounds& bounds) const;

  Result<std::vector<std::string>> Candidates(const std::string& file) const;
  Result<TargetFile*> OpenFile(const std::string& file, bool write);
  // Null where it is not there.
  Result<Object*> OpenSource(const std::string& file, const std::string& dataset, bool write);
  Status ReleaseFiles();

  // virtual_transfer.cc
  Result<std::vector<SourcePiece>> CutAll(transfer::VirtualCutter& cutter, bool write);
  Status CutBlocks(transfer::VirtualCutter& cutter, const shadow::VirtualMapping& mapping, bool write,
                   std::vector<SourcePiece>* pieces);
  Status CutMapping(transfer::VirtualCutter& cutter, const shadow::VirtualMapping& mapping, bool write,
                    std::vector<SourcePiece>* pieces);
  Status CutOne(transfer::VirtualCutter& cutter, const shadow::MappedSelection& source, Object* dataset,
                uint64_t slices, SourcePiece piece, std::vector<SourcePiece>* pieces);
  Status FillGaps(transfer::VirtualCutter& cutter, std::span<const SourcePiece> pieces, const DatasetPart& whole,
                  hid_t dxpl);
  Status FindGapFill(hid_t type);
  Status FillPlainGaps(transfer::VirtualCutter& cutter, std::span<const SourcePiece> pieces, const DatasetPart& whole,
                       hid_t type, hid_t dxpl);
  Status MakeGapArray(hid_t type);
  Status TransferPieces(std::span<const SourcePiece> pieces, const DatasetPart& whole, bool ordered, bool write,
                        hid_t dxpl);

  Object* const dataset_;  // owns this
  const std::shared_ptr<shadow::VirtualLayout> layout_;
  Handle dapl_;
  H5D_vds_view_t view_ = H5D_VDS_LAST_AVAILABLE;
  uint64_t printf_gap_ = 0;
  std::string prefix_;
  std::string file_name_;

  bool ours_ = true;                   // of a native file: whether a store is behind it
  std::set<std::string> examined_;     // sources that lead to no store
  std::vector<hsize_t> header_shape_;  // of a native dataset, as HDF5 has it
  bool refreshed_ = false;
  std::vector<uint64_t> bounds_;           // of each mapping's target: low and high, dimension by dimension
  std::vector<uint64_t> found_blocks_;     // of each printf mapping
  std::map<std::string, Source> sources_;  // by file and dataset
  std::map<std::string, TargetFile> files_;
  std::set<std::string> missing_;  // of the transfer that is going on

  // What no mapping covers of elements of variable length is read of an array that has no chunks.
  std::optional<bool> gaps_are_plain_;
  std::optional<std::vector<std::byte>> gap_fill_;  // of plain elements, in the dataset's type; else HDF5's default
  std::unique_ptr<Store> gap_store_;
  std::unique_ptr<zarr::Array> gap_array_;
  shadow::ElementMap gap_element_;
  bool gaps_are_undefined_ = false;
};

}  // namespace h5zarr

#endif  // H5ZARR_H5_VIRTUAL_DATASET_H_
