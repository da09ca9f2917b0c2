// The hashes that tell equal contents, and make identifiers.
#ifndef H5ZARR_ICECHUNK_CONTENT_HASH_H_
#define H5ZARR_ICECHUNK_CONTENT_HASH_H_

#include "base/buffer.h"
#include "base/sha256.h"
#include "base/status.h"
#include "icechunk/ids.h"

namespace h5zarr::icechunk {

using ContentHash = Sha256Digest;

// Errors as those of Sha256Of. Thread-safe.
inline Result<ContentHash> HashOf(ByteSpan bytes) { return Sha256Of(bytes); }

// The identifier of an object with this hash: its first 12 bytes.
ObjectId IdOf(const ContentHash& hash);

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_CONTENT_HASH_H_
