// NamesLater: what a Store can be as well, whose writes are durable: one that makes the names of many objects durable at
// once. (Who has a Store asks by dynamic_cast.)
#ifndef H5ZARR_STORE_NAMES_LATER_H_
#define H5ZARR_STORE_NAMES_LATER_H_

#include <span>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr {

class NamesLater {
 public:
  virtual ~NamesLater() = default;
  // Store::Write, but for the name: what is in the object is safe when this returns, but after a crash of the machine it
  // may not be there, unless SyncFolders has returned. Thread-safe for different keys.
  virtual Status WriteNamedLater(std::string_view key, ByteSpan bytes) = 0;
  // Makes the names of what lies directly under each of `prefixes` durable, whoever wrote it; "" is the root, and its
  // own name. Blocks. Thread-safe.
  virtual Status SyncFolders(std::span<const std::string> prefixes) = 0;
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_NAMES_LATER_H_
