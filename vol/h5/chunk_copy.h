// chunk_copy: the elements of a dataset from a native file into a store, or back, as encoded chunks, where
// both ends keep the same bytes.
#ifndef H5ZARR_H5_CHUNK_COPY_H_
#define H5ZARR_H5_CHUNK_COPY_H_

#include "base/status.h"
#include "host/native.h"
#include "shadow/store_file.h"

namespace h5zarr {

// One end of a copied dataset: the native object is a native file's, or with `array` the header of an
// array that a store holds.
struct ChunkEnd {
  host::NativeObject native;
  zarr::Array* array = nullptr;
};

// Copies every chunk that is stored, as it is, but for the framing of deflate. False where the two are not the
// same pipeline on the same elements and chunks, where one end keeps chunks in another form than it reports, and
// where no chunk is stored: then all elements are to be copied.
// REQUIRES: both have the same extent, and `to` no chunk yet.
Result<bool> CopyEncodedChunks(const ChunkEnd& from, const ChunkEnd& to);

}  // namespace h5zarr

#endif  // H5ZARR_H5_CHUNK_COPY_H_
