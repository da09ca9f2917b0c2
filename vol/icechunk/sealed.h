// Identifiers from content: what is equal has one name, so that writing it again writes nothing new.
// For the encoders of this folder only.
#ifndef H5ZARR_ICECHUNK_SEALED_H_
#define H5ZARR_ICECHUNK_SEALED_H_

#include <flatbuffers/flatbuffers.h>

#include <cstring>

#include "base/buffer.h"
#include "base/status.h"
#include "icechunk/content_hash.h"
#include "icechunk/ids.h"

namespace h5zarr::icechunk {

// What a finished builder holds.
inline ByteSpan BytesOf(flatbuffers::FlatBufferBuilder& builder) {
  return {reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize()};
}

// Gives the finished root table, whose `id` must be all zero so far, the identifier that its bytes
// hash to. Returns it.
template <typename Table>
Result<ObjectId> Seal(flatbuffers::FlatBufferBuilder& builder) {
  H5ZARR_ASSIGN_OR_RETURN(const ContentHash hash, HashOf(BytesOf(builder)));
  const ObjectId id = IdOf(hash);
  auto* root = flatbuffers::GetMutableRoot<Table>(builder.GetBufferPointer());
  // The identifier lies in the buffer itself, which is the builder's and not const.
  std::memcpy(const_cast<void*>(static_cast<const void*>(root->id())), id.bytes.data(), id.bytes.size());
  return id;
}

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_SEALED_H_
