// Manifests: where the bytes of chunks are.
//
// Pure values: no I/O here.
#ifndef H5ZARR_ICECHUNK_MANIFEST_H_
#define H5ZARR_ICECHUNK_MANIFEST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "icechunk/ids.h"

namespace h5zarr::icechunk {

namespace fb {
struct Manifest;
struct ArrayManifest;
struct ChunkRef;
}  // namespace fb

// Where the encoded bytes of one chunk are.
struct ChunkPlace {
  enum class Kind : uint8_t { kInline, kObject, kVirtual };
  Kind kind = Kind::kObject;
  ByteSpan bytes;        // kInline: in the manifest, which must outlive them
  ObjectId object;       // kObject: in this chunk object…
  uint64_t offset = 0;   // …from here. offset + length does not overflow
  uint64_t length = 0;   // of every kind
  std::string location;  // kVirtual: outside of the repository; empty where it is compressed
};

class Manifest {
 public:
  // The manifest in the file `file`, whose key is `key`. kCorrupt when it is damaged: references out
  // of order, or to nothing.
  static Result<Manifest> Decode(std::string_view key, ByteSpan file);

  // The chunk of array `node` at `index`, or nothing when this manifest has none.
  std::optional<ChunkPlace> Find(const NodeId& node, std::span<const uint32_t> index) const;

  // Calls `visit` for every chunk of array `node`, ascending; a failure it returns ends that.
  Status ForEach(const NodeId& node,
                 const std::function<Status(std::span<const uint32_t> index, const ChunkPlace& place)>& visit) const;

  // Memory that it takes.
  uint64_t bytes() const { return bytes_.size(); }

 private:
  Manifest() = default;
  const fb::ArrayManifest* ArrayOf(const NodeId& node) const;

  std::vector<uint8_t> bytes_;  // verified; moving it leaves them where they are
  const fb::Manifest* root_ = nullptr;
};

// A chunk of a manifest that is made: in a chunk object of the repository.
struct NewChunk {
  std::vector<uint32_t> index;
  ObjectId object;
  uint64_t offset = 0;
  uint64_t length = 0;
};

struct EncodedManifest {
  ObjectId id;  // from its content
  Buffer file;
};

// The file of a manifest with the chunks of array `node`, in version 1. REQUIRES: `chunks` ascend by
// index. kNoSpace.
Result<EncodedManifest> EncodeManifest(const NodeId& node, std::span<const NewChunk> chunks);

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_MANIFEST_H_
