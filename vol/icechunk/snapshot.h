// Snapshots: the nodes of one version of a repository, with their documents and with the manifests
// that know where their chunks are.
//
// Pure values: no I/O here.
#ifndef H5ZARR_ICECHUNK_SNAPSHOT_H_
#define H5ZARR_ICECHUNK_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "icechunk/ids.h"

namespace h5zarr::icechunk {

// Chunk indexes along one dimension.
struct IndexRange {
  uint32_t from = 0;  // inclusive
  uint32_t to = 0;    // exclusive
  bool operator==(const IndexRange&) const = default;
};

// A manifest in which an array has chunks, and within which indexes all of them are.
struct ManifestRef {
  ObjectId id;
  std::vector<IndexRange> extents;  // one a dimension
};

struct Dimension {
  uint64_t array_elems = 0;
  uint64_t chunk_elems = 0;  // 0: not known (version 2 keeps none)
  std::optional<std::string> name;
};

struct Node {
  NodeId id;
  std::string path;      // "/a/b"; "/" for the root
  std::string document;  // its zarr.json
  bool is_array = false;
  // Of arrays:
  std::vector<Dimension> dimensions;
  std::vector<ManifestRef> manifests;
};

struct ManifestInfo {
  ObjectId id;
  uint64_t bytes = 0;
  uint32_t chunks = 0;
};

struct Snapshot {
  int spec_version = 1;
  ObjectId id;
  std::optional<ObjectId> parent;  // version 1 only
  std::vector<Node> nodes;         // ascending by path, bytewise
  uint64_t flushed_at_us = 0;      // microseconds since 1970
  std::string message;
  std::map<std::string, std::string> metadata;  // text items only
  std::vector<ManifestInfo> manifests;          // ascending by id
};

// The snapshot in the file `file`, whose key is `key`. kCorrupt when it is damaged: nodes out of
// order, paths that are none, extents of another rank than their array.
Result<Snapshot> DecodeSnapshot(std::string_view key, ByteSpan file);

// The file of `snapshot` in version 1. Its id is taken from its content, and set: equal snapshots
// are equal files. REQUIRES: nodes and manifests are in order. kNoSpace.
Result<Buffer> EncodeSnapshot(Snapshot* snapshot);
// The same for a snapshot whose id is given.
Result<Buffer> EncodeSnapshotAs(const ObjectId& id, Snapshot* snapshot);

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_SNAPSHOT_H_
