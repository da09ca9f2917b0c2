// Image: an HDF5 file that exists in memory only, and of which only metadata does: a store's groups,
// links, attributes and dataset headers. The elements of its datasets have addresses, and are read from
// the store through the engine when HDF5 asks for what is there.
//
// Read by HDF5 itself, through a file driver (image_driver.h). Used under HDF5's lock.
#ifndef H5ZARR_VIEW_IMAGE_H_
#define H5ZARR_VIEW_IMAGE_H_

#include <hdf5.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "shadow/store_file.h"
#include "view/block_cache.h"
#include "view/region.h"
#include "view/sparse_bytes.h"

namespace h5zarr::view {

// A part of one transfer, as HDF5 hands them to its drivers. Borrowed.
struct Piece {
  hid_t mem_space = H5I_INVALID_HID;
  hid_t file_space = H5I_INVALID_HID;  // of a chunk, or of a dataset without chunks
  uint64_t at = 0;                     // address of the first element of that space
  uint64_t elem_bytes = 0;
  std::byte* buffer = nullptr;
};

class Image {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 62;

  // `store` is open for reading only.
  explicit Image(std::shared_ptr<shadow::StoreFile> store);

  shadow::StoreFile& store() { return *store_; }
  SparseBytes& held() { return held_; }
  // The file's length: addresses given out so far.
  uint64_t end() const { return end_; }
  void GrowTo(uint64_t end) { end_ = std::max(end_, end); }
  // HDF5 is about to ask for addresses of so many chunks of one dataset, one by one: they get what lies together,
  // whatever metadata it asks for in between. 0: it is not.
  void ExpectChunks(uint64_t chunks) { expected_ = {chunks, 0, 0}; }
  // An address for so many bytes, `raw` ones or metadata, in a file that ends at `*end`, which moves. HADDR_UNDEF where
  // the file would become longer than kMostBytes.
  uint64_t Allocate(bool raw, uint64_t bytes, uint64_t* end);
  // How many raw bytes were asked for at once, or chunk by chunk, that begin at an address; 0 where none do.
  uint64_t RawBytesAt(uint64_t begin) const;
  void Add(Region region);
  // The object whose header is at `header`, with so many hard links, is listed, and can't be opened, for the reason
  // `why`. Not before HDF5 has written all of the file.
  Status Refuse(uint64_t header, uint32_t links, const Status& why);
  // Whether something that may pass kept parts of the store from the view: a server that was busy, a disk.
  bool is_partial() const { return partial_; }

  // HDF5 has opened it as a file once more, or closed one. With the last one all that was read of
  // arrays goes.
  void NoteOpened() { ++open_files_; }
  void NoteClosed();
  bool is_open() const { return open_files_ > 0; }
  // More than documents says what is in it: elements, or the sources of virtual datasets.
  void NoteElements() { of_documents_ = false; }
  // Whether it may serve again when it is not open any more, if it then IsStillStored.
  bool MayRest() const { return of_documents_ && !partial_ && store_->MayRest(); }
  // Whether the store's documents are what they were. Reads them again.
  bool IsStillStored() { return MayRest() && store_->IsStillStored(); }

  // Metadata at an address, or what Refuse was told of the object there. HDF5 reads more than the headers it wants,
  // whose ends it does not know: what of that are elements is zeros, and not read.
  Status ReadMetadata(uint64_t at, MutableByteSpan out) const;
  // The elements at an address, or what was written there. Fails with what the store says, or what the region is
  // unreadable for.
  Status Read(uint64_t at, MutableByteSpan out);
  // All pieces of a transfer, those of arrays as one batch.
  Status ReadPieces(std::span<const Piece> pieces);

 private:
  // What was read last of a dataset through blocks, to know where a program is heading.
  struct Course {
    uint64_t last = 0;           // address of the last block that was missing
    int64_t step_bytes = 0;      // from missing block to missing block
    uint64_t next = UINT64_MAX;  // the block behind those read ahead
    uint64_t blocks = 1;         // read at once
  };

  // Chunks that are expected.
  struct Expected {
    uint64_t chunks = 0;       // yet to come
    uint64_t chunk_bytes = 0;  // 0 before the first one came
    uint64_t begin = 0;        // address
  };

  const Region* RegionAt(uint64_t at) const;
  Status ReadHeld(const Piece& piece);
  Status ReadScattered(const Region& region, const Piece& piece);
  Result<const Buffer*> Require(const Region& region, const Block& block);
  std::vector<Block> Ahead(const Region& region, const Block& missing);
  Status Load(const Region& region, std::span<const Block> blocks);

  const std::shared_ptr<shadow::StoreFile> store_;
  SparseBytes held_;
  uint64_t end_ = 0;
  Expected expected_;
  std::map<uint64_t, uint64_t> raw_bytes_;  // RawBytesAt
  bool partial_ = false;
  bool of_documents_ = true;
  std::size_t open_files_ = 0;
  std::map<uint64_t, Region> regions_;  // by their first address
  std::map<uint64_t, Status> refused_;  // by the address at which HDF5 looks for what it would open
  std::map<uint64_t, Course> courses_;  // the same
  BlockCache blocks_;
};

}  // namespace h5zarr::view

#endif  // H5ZARR_VIEW_IMAGE_H_
