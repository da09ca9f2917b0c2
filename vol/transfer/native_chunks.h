// native_chunks: reads of a chunked dataset of a native HDF5 file by the engine: HDF5 says once where its
// chunks are, and workers read and decode them. Also of contiguous ones in remote files.
//
// For files that are open for reading only. HDF5 reads what is not for this, and what this fails to read:
// it is always right, and its errors are those a program expects.
#ifndef H5ZARR_TRANSFER_NATIVE_CHUNKS_H_
#define H5ZARR_TRANSFER_NATIVE_CHUNKS_H_

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "shadow/native_map.h"
#include "store/native_file.h"
#include "store/store.h"
#include "transfer/chunk_list.h"
#include "transfer/dataset_io.h"
#include "zarr/array.h"

namespace h5zarr::transfer {

// The file, and how its datasets are read.
struct NativeSource {
  std::shared_ptr<FileBytes> file;
  zarr::ArrayOptions options;
  int requests = 1;     // that a remote file answers at the same time
  bool always = false;  // contiguous datasets too, and whatever HDF5 would take for a read
};

class NativeChunks {
 public:
  // `dataset` is a native object (as all of this class's). kUnsupported where HDF5 has to read it. Costs
  // what a few questions to HDF5 do; where the chunks are is not asked yet.
  static Result<std::shared_ptr<NativeChunks>> Describe(void* dataset, const NativeSource& source);
  // The same of a virtual dataset whose chunks are those of the dataset at `raw_path` (versioned_map). What
  // its mappings are is not asked yet.
  static Result<std::shared_ptr<NativeChunks>> DescribeVersioned(void* dataset, const std::string& raw_path,
                                                                 const NativeSource& source);

  // Whether to read what `file_space` selects, `elems` elements, takes the engine clearly less time than
  // it takes HDF5. Reads that are left to HDF5 before the chunks are found count towards finding them.
  // Of a remote file it is requests that take time. With NativeSource::always every read pays.
  bool Pays(hid_t file_space, uint64_t elems);

  // Asks where the chunks are, once. kUnsupported where they are not all alike.
  Status FindChunks(void* dataset);
  bool chunks_found() const { return array_ != nullptr; }

  // The dataset's part of a transfer: array, element and extent are set. REQUIRES: FindChunks.
  void SetTransfer(DatasetTransfer* transfer) const;

  // Nobody has the dataset open: forgets decoded chunks.
  void DropCache();
  // What is kept for as long as the file is open.
  uint64_t index_bytes() const { return index_bytes_; }

 private:
  NativeChunks(shadow::NativePlan plan, const NativeSource& source);
  static Result<std::shared_ptr<NativeChunks>> Make(shadow::NativePlan plan, void* dataset, const NativeSource& source);
  bool PaysRemotely(uint64_t touched);
  bool IsFarApart(hid_t file_space, uint64_t elems) const;
  Result<ChunkList> List(void* dataset, std::span<const uint64_t> grid);
  Status CheckList(void* dataset, const ChunkList& list);
  Result<Buffer> ReadRange(uint64_t offset, uint64_t length);
  Result<std::vector<ChunkPlace>> FindVersioned(void* dataset);

  shadow::NativePlan plan_;
  const NativeSource source_;
  uint64_t chunk_bytes_ = 0;  // decoded
  double left_to_hdf5_ns_ = 0;
  std::string raw_path_;  // of a versioned dataset
  std::unique_ptr<Store> store_;
  std::unique_ptr<zarr::Array> array_;  // null before FindChunks
  uint64_t index_bytes_ = 0;
};

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_NATIVE_CHUNKS_H_
