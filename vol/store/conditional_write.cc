// Writing under a condition to a store that knows none: a look first.
#include "store/store.h"

namespace h5zarr {

Result<bool> Store::WriteNew(std::string_view key, ByteSpan bytes, Generation* written) {
  if (written != nullptr) *written = Generation();
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<uint64_t> there, ObjectBytes(key));
  if (there) return false;
  H5ZARR_RETURN_IF_ERROR(Write(key, bytes));
  return true;
}

Result<bool> Store::Replace(std::string_view key, ByteSpan bytes, const Generation& expected, Generation* written) {
  if (written != nullptr) *written = Generation();
  Generation now;
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<Buffer> there, Read(key, &now));
  if (!there || now != expected) return false;
  H5ZARR_RETURN_IF_ERROR(Write(key, bytes));
  return true;
}

}  // namespace h5zarr
