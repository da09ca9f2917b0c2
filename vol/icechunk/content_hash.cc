#include "icechunk/content_hash.h"

#include <algorithm>

namespace h5zarr::icechunk {

ObjectId IdOf(const ContentHash& hash) {
  ObjectId id;
  std::copy_n(hash.begin(), id.bytes.size(), id.bytes.begin());
  return id;
}

}  // namespace h5zarr::icechunk
