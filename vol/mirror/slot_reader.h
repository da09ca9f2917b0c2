// SlotReader: the encoded bytes of chunks of `raw_data`, and their hashes, many at a time. Within mirror/ only.
#ifndef H5ZARR_MIRROR_SLOT_READER_H_
#define H5ZARR_MIRROR_SLOT_READER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "exec/executor.h"
#include "icechunk/content_hash.h"
#include "mirror/pack_writer.h"
#include "mirror/source_dataset.h"
#include "store/native_file.h"

namespace h5zarr::mirror {

class SlotReader {
 public:
  using Visit = std::function<Status(std::size_t number, const icechunk::ContentHash& hash, ByteSpan bytes)>;

  // `file`: its bytes, or null. Both must outlive it.
  SlotReader(FileBytes* file, Executor* executor) : file_(file), executor_(executor) {}

  // Calls `visit`, which adds it to `packs`, for every chunk in `slots` that was ever written, in this order, on the
  // calling thread; the bytes are gone when it returns. Reading, encoding and hashing are done in parallel, but for
  // HDF5's part. kIo, kCorrupt, and what `visit` returns. Blocks.
  Status Read(const SourceDataset& dataset, std::span<const uint64_t> slots, PackWriter* packs, const Visit& visit);

 private:
  struct Chunk {
    ByteSpan bytes;  // encoded; empty for one that was never written
    std::optional<Buffer> own;
    bool is_encoded = true;
    icechunk::ContentHash hash;
  };

  Status ReadWindow(const SourceDataset& dataset, std::span<const uint64_t> slots, PackWriter* packs);
  Status ReadFromFile(const SourceDataset& dataset, std::span<const uint64_t> slots,
                      std::span<const std::size_t> numbers, MutableByteSpan memory);
  Status Encode(const SourceDataset& dataset, std::span<const std::size_t> numbers);

  FileBytes* const file_;
  Executor* const executor_;
  Buffer window_;              // where packs have no room for what is read
  std::vector<Chunk> chunks_;  // of the window
};

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_SLOT_READER_H_
