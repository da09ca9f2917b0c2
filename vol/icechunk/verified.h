// FlatBuffers of a file, verified before anything in them is looked at. For the decoders of this
// folder only: it drags in FlatBuffers.
#ifndef H5ZARR_ICECHUNK_VERIFIED_H_
#define H5ZARR_ICECHUNK_VERIFIED_H_

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "icechunk/format_generated.h"
#include "icechunk/ids.h"

namespace h5zarr::icechunk {

// The root table in `bytes`, which must outlive it: every offset, length and string in it leads to
// where it says. kCorrupt when one does not.
template <typename Table>
Result<const Table*> VerifiedRoot(std::string_view key, const std::vector<uint8_t>& bytes) {
  // A table takes at least 4 bytes, but several references may share one: some more than fit.
  // FlatBuffers' own limit, a million, is less than the chunks of one large manifest.
  constexpr flatbuffers::uoffset_t kDepth = 32;
  const auto most_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 2 + 64);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kDepth, most_tables);
  if (!verifier.VerifyBuffer<Table>(nullptr)) {
    return CorruptError("'" + std::string(key) + "': its FlatBuffers are damaged");
  }
  return flatbuffers::GetRoot<Table>(bytes.data());
}

// Of a vector of structs, one that may lie anywhere: of these FlatBuffers verifies the place, but not that
// it is aligned.
template <typename Struct>
Struct StructAt(const flatbuffers::Vector<const Struct*>& vector, flatbuffers::uoffset_t index) {
  Struct copy;
  std::memcpy(&copy, vector.Data() + index * sizeof(Struct), sizeof(Struct));
  return copy;
}

inline ObjectId FromFlat(const fb::Id12& id) {
  ObjectId copy;
  for (std::size_t i = 0; i < copy.bytes.size(); ++i) {
    copy.bytes[i] = id.bytes()->Get(static_cast<flatbuffers::uoffset_t>(i));
  }
  return copy;
}

inline NodeId FromFlat(const fb::Id8& id) {
  NodeId copy;
  for (std::size_t i = 0; i < copy.bytes.size(); ++i) {
    copy.bytes[i] = id.bytes()->Get(static_cast<flatbuffers::uoffset_t>(i));
  }
  return copy;
}

inline fb::Id12 ToFlat(const ObjectId& id) {
  return fb::Id12(flatbuffers::span<const uint8_t, 12>(id.bytes.data(), id.bytes.size()));
}

inline fb::Id8 ToFlat(const NodeId& id) {
  return fb::Id8(flatbuffers::span<const uint8_t, 8>(id.bytes.data(), id.bytes.size()));
}

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_VERIFIED_H_
