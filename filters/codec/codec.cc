#include "codec/codec.h"

#include "base/checked.h"

namespace h5zarr::codec {

uint64_t ChunkSpec::elems() const {
  // An overflow was refused when the array was opened; 0 keeps a broken promise from allocating.
  return CheckedProduct(shape).value_or(0);
}

}  // namespace h5zarr::codec
