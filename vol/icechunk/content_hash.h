// SHA-256: what tells equal contents, and makes identifiers.
#ifndef H5ZARR_ICECHUNK_CONTENT_HASH_H_
#define H5ZARR_ICECHUNK_CONTENT_HASH_H_

#include <array>
#include <cstdint>
#include <memory>

#include "base/buffer.h"
#include "base/status.h"
#include "icechunk/ids.h"

namespace h5zarr::icechunk {

using ContentHash = std::array<uint8_t, 32>;

// The hash of pieces that come one after the other. One thread at a time.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void Add(ByteSpan bytes);
  // kUnsupported without libcrypto, kInternal when it refused. Once, and last.
  Result<ContentHash> Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Errors as those of Finish. Thread-safe.
Result<ContentHash> HashOf(ByteSpan bytes);

// The identifier of an object with this hash: its first 12 bytes.
ObjectId IdOf(const ContentHash& hash);

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_CONTENT_HASH_H_
