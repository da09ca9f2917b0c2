// other_format: an array's metadata in the other format of Zarr.
//
// Pure: no store, no I/O. For copies of arrays between stores of both formats.
#ifndef H5ZARR_ZARR_OTHER_FORMAT_H_
#define H5ZARR_ZARR_OTHER_FORMAT_H_

#include "base/status.h"
#include "zarr/metadata.h"

namespace h5zarr::zarr {

struct ConvertedArray {
  ArrayMetadata metadata;   // without attributes
  bool same_chunks = true;  // a chunk of the one is one of the other, byte for byte
};

// `metadata` as an array of `zarr_format` (2 or 3): data type, fill value, chunks, codecs, names of dimensions and
// the separator of chunk keys. Of its own format: as it is, with what is not known of its document. Of v3's
// transpositions v2 has only the reversal; v2's zlib is gzip in v3, its fletcher32 crc32c, and a
// shuffle before a compressor blosc, as other readers have these: then chunks are other ones. A v2 array without a
// fill value has zeros in v3, which knows none without. kUnsupported, naming it, for what the other format has no word
// for.
Result<ConvertedArray> InFormat(const ArrayMetadata& metadata, int zarr_format);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_OTHER_FORMAT_H_
