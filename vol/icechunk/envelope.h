// The envelope of Icechunk's metadata files: who wrote it, in which version of the format, what it
// is; then FlatBuffers, compressed.
#ifndef H5ZARR_ICECHUNK_ENVELOPE_H_
#define H5ZARR_ICECHUNK_ENVELOPE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr::icechunk {

// What a file holds: its type byte.
enum class FileType : uint8_t {
  kSnapshot = 1,
  kManifest = 2,
  kTransactionLog = 4,
  kRepo = 6,
};

struct Payload {
  int spec_version = 0;        // 1 or 2
  std::vector<uint8_t> bytes;  // aligned for FlatBuffers; not verified
};

// Before the payload.
inline constexpr std::size_t kEnvelopeBytes = 39;

// True when `bytes` begins like a file of the format.
bool HasMagic(ByteSpan bytes);
// Whether the file that begins with `head` says that MakeEnvelope made it. REQUIRES: kEnvelopeBytes or more.
bool IsWrittenByUs(ByteSpan head);

// Takes the envelope off. kCorrupt when there is none, when it is of another type, or the payload is
// damaged or larger than 1 GiB; kUnsupported for a version of the format, or a compression, that is
// not known. `key` names the file in messages.
Result<Payload> OpenEnvelope(std::string_view key, ByteSpan file, FileType type);

// The file of `payload`, version 1, compressed. kNoSpace when there is no memory.
Result<Buffer> MakeEnvelope(FileType type, ByteSpan payload);

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_ENVELOPE_H_
