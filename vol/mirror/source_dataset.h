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
#include "shadow/type_map.h"
#include "zarr/codec_chain.h"
#include "zarr/metadata.h"

namespace h5zarr::mirror {

// How chunks are stored.
enum class Encoding {
  kPassthrough,  // as the file has them, where a Zarr codec says the same; else like kPortable
  kPortable,     // decoded, and encoded by codecs that every Zarr v3 reader has
};

struct SourceChunk {
  std::vector<uint32_t> index;  // in the grid of the version's dataset
  uint64_t slot = 0;            // which chunk of raw_data, along its first axis
};

// The chunks that versions of one dataset share.
struct SlotSource {
  std::string name;  // of raw_data, in the file: its identity
  Handle dataset;
};

class SourceDataset {
 public:
  // `dataset`: the version's, at `path` below its group (no leading '/'). kUnsupported, saying what,
  // for a dataset that versioned-hdf5 would not make, and for elements that have no form in Zarr.
  static Result<SourceDataset> Open(hid_t file, hid_t dataset, const std::string& path,
                                    Encoding encoding);

  const std::string& path() const { return path_; }
  const zarr::ArrayMetadata& metadata() const { return metadata_; }
  const std::string& document() const { return document_; }  // its zarr.json
  const std::string& raw_name() const { return source_.name; }
  const std::vector<SourceChunk>& chunks() const { return chunks_; }  // ascending by index

  // The encoded bytes of a chunk of raw_data; nothing when it was never written (fill). kIo, kCorrupt.
  Result<std::optional<Buffer>> ReadSlot(uint64_t slot) const;

 private:
  SourceDataset() = default;
  Status PlanDocument(hid_t dataset, Encoding encoding);
  Status ReadMapping(hid_t dataset);
  Result<SourceChunk> MappingAt(hid_t dcpl, std::size_t number) const;
  Result<Buffer> EncodeSlot(uint64_t slot) const;
  Result<Buffer> EncodeTexts(hid_t memory_space, hid_t file_space) const;

  std::string path_;
  SlotSource source_;
  zarr::ArrayMetadata metadata_;
  shadow::ElementMap element_;
  std::string document_;
  std::vector<uint64_t> shape_;        // of HDF5's dataset
  std::vector<uint64_t> chunk_shape_;
  std::vector<SourceChunk> chunks_;
  bool passthrough_ = false;
  std::optional<zarr::CodecChain> chain_;  // for what is not passed through
};

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_SOURCE_DATASET_H_
