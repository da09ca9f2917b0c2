// Types, shapes and storage of datasets in words: what `info` prints, and `diff` compares.
#ifndef H5ZARR_TOOLS_DESCRIBE_H_
#define H5ZARR_TOOLS_DESCRIBE_H_

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "mirror/shape.h"
#include "zarr/json.h"
#include "zarr/metadata.h"

namespace h5zarr::tools {

using mirror::DimsText;
using mirror::Shape;
using mirror::ShapeOf;

// "int32", "float64 big-endian", "string", "{x: float64, n: int32}".
std::string TypeText(hid_t type);

// "(3, 4)"; "scalar"; "empty".
std::string ShapeText(const Shape& shape);

// "12.3 KiB".
std::string BytesText(uint64_t bytes);

// How a dataset is stored.
struct Storage {
  std::string layout;               // "chunked", "contiguous", "compact", "virtual"
  std::vector<uint64_t> chunks;     // units of compression; of a sharded array those within shards
  std::vector<uint64_t> shards;     // units of storage, where these are larger
  std::vector<std::string> codecs;  // "zstd", "blosc(zlib)"; filters of HDF5 by name
  uint64_t stored_bytes = 0;
};
// Of a dataset as HDF5 says.
Result<Storage> StorageOf(hid_t dataset);
// What the document of its array says beyond that.
void AddArrayDocument(const zarr::ArrayMetadata& metadata, Storage* storage);

}  // namespace h5zarr::tools

#endif  // H5ZARR_TOOLS_DESCRIBE_H_
