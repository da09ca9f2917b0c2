// A dataset of one version of a versioned-hdf5 file: its document as a Zarr array, which chunk of
// `raw_data` each of its chunks is, and the encoded bytes of those.
//
// versioned-hdf5 keeps the chunks of all versions of a dataset stacked in one, `raw_data`; a version is a
// virtual dataset with a mapping a chunk. A chunk of `raw_data` is a whole chunk whatever part of it a
// version sees, so that its bytes are a chunk of a Zarr array at any place of the grid.
#ifndef H5ZARR_MIRROR_SOURCE_DATASET_H_
#define H5ZARR_MIRROR_SOURCE_DATASET_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "host/handle.h"
#include "mirror/source_file.h"
#include "shadow/type_map.h"
#include "transfer/slot_map.h"
#include "zarr/codec_chain.h"
#include "zarr/metadata.h"

namespace h5zarr::mirror {

// How chunks are stored.
enum class Encoding {
  kPassthrough,  // as the file has them, where a Zarr codec says the same; else like kPortable
  kPortable,     // decoded, and encoded by codecs that every Zarr v3 reader has
};

class SourceDataset {
 public:
  // The dataset at `member` of `group`, which is at `path` below the version's group (no leading '/'). `file`
  // must outlive it. kUnsupported, saying what, for a dataset that versioned-hdf5 would not make, and for
  // elements that have no form in Zarr.
  static Result<SourceDataset> Open(SourceFile* file, hid_t group, const std::string& member, const std::string& path,
                                    Encoding encoding);

  const std::string& path() const { return path_; }
  const zarr::ArrayMetadata& metadata() const { return metadata_; }
  const std::string& document() const { return document_; }  // its zarr.json
  const RawData& raw() const { return *raw_; }
  const transfer::ChunkMap& chunks() const { return chunks_; }

  // Of a chunk of raw_data: whether anything was ever stored; whether its stored bytes are those of the mirror,
  // and at hand; and about how many bytes it takes in memory. REQUIRES: `slot` is one of chunks().
  bool IsWritten(uint64_t slot) const { return raw_->chunks[slot].bytes > 0; }
  bool IsAtHand(uint64_t slot) const { return passthrough_ && raw_->are_at_hand && raw_->chunks[slot].has_all_filters; }
  uint64_t SlotBytes(uint64_t slot) const;

  // A chunk of raw_data through HDF5: encoded, or its elements, which Encode encodes. REQUIRES: it was
  // written. kIo, kCorrupt.
  Result<Buffer> ReadSlot(uint64_t slot, bool* is_encoded) const;
  // Thread-safe.
  Result<Buffer> Encode(ByteSpan elems) const { return chain_->Encode(elems); }

 private:
  struct Header {
    Handle space;
    std::optional<Buffer> mappings;  // as they lie in the file; else HDF5 is asked
    Handle dataset;                  // then
  };
  SourceDataset() = default;
  static Result<Header> ReadHeader(const SourceFile& file, hid_t group, const std::string& member);
  Status PlanDocument(hid_t group, const std::string& member, hid_t space, Encoding encoding);
  Status FindChunks(hid_t group, const std::string& member, Header* header);
  Status CheckSlots() const;
  Result<Buffer> ReadElements(uint64_t slot, bool* is_encoded) const;
  Result<Buffer> EncodeTexts(hid_t memory_space, hid_t file_space) const;

  std::string path_;
  const RawData* raw_ = nullptr;
  zarr::ArrayMetadata metadata_;
  shadow::ElementMap element_;
  std::string document_;
  std::vector<uint64_t> shape_;  // of HDF5's dataset
  std::vector<uint64_t> chunk_shape_;
  transfer::ChunkMap chunks_;
  bool passthrough_ = false;
  std::optional<zarr::CodecChain> chain_;  // for what is not passed through
};

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_SOURCE_DATASET_H_
