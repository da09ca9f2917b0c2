#include "codec/codec.h"

#include "base/checked.h"

namespace h5zarr::codec {

uint64_t ChunkSpec::elems() const {
  // An overflow was refused when the array was opened; 0 keeps a broken promise from allocating.
  return CheckedProduct(shape).value_or(0);
}

Status BytesCodec::DecodePart(ByteSpan, uint64_t, uint64_t, MutableByteSpan) const {
  return InternalError(std::string(name()) + " decodes whole chunks only");
}

}  // namespace h5zarr::codec
