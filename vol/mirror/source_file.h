// SourceFile: what the versions in a versioned-hdf5 file share: its bytes, and each `raw_data`, which has the
// chunks of all versions of a dataset. Within mirror/ only.
#ifndef H5ZARR_MIRROR_SOURCE_FILE_H_
#define H5ZARR_MIRROR_SOURCE_FILE_H_

#include <hdf5.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "host/handle.h"
#include "store/native_file.h"
#include "transfer/raw_header.h"

namespace h5zarr::mirror {

// A chunk of raw_data, as it is stored.
struct RawChunk {
  uint64_t offset = 0;  // in the file
  uint64_t bytes = 0;   // 0: never written
  bool has_all_filters = true;
};

struct RawData {
  std::string name;  // in the file: its identity
  Handle dataset, type, dcpl;
  std::vector<uint64_t> extent;
  std::vector<RawChunk> chunks;  // by slot: the number along the first axis
  bool are_at_hand = false;      // the file's bytes can be read where `chunks` says
};

class SourceFile {
 public:
  // `file`, an HDF5 file that nobody changes meanwhile, must outlive it. What cannot be read but through HDF5
  // is read by it. One thread at a time.
  explicit SourceFile(hid_t file);

  hid_t id() const { return file_; }
  // Null where only HDF5 gets at them.
  FileBytes* bytes() const { return bytes_.get(); }
  const transfer::RawHeaders* headers() const { return headers_ ? &*headers_ : nullptr; }

  // The dataset `name` and its chunks; asked for once. Lives as long as this. kIo; kUnsupported for one
  // without chunks.
  Result<const RawData*> FindRaw(const std::string& name);

 private:
  Status ListChunks(RawData* raw) const;

  const hid_t file_;
  std::shared_ptr<FileBytes> bytes_;
  std::optional<transfer::RawHeaders> headers_;
  std::map<std::string, RawData> raws_;
};

// The descriptor that HDF5's default driver has of the file; nothing where another driver has it.
std::optional<int> DescriptorOf(hid_t file);

// The extent of a dataspace.
Result<std::vector<uint64_t>> ExtentOf(hid_t space);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_SOURCE_FILE_H_
