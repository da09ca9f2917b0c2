#include "base/base64.h"

#include "zarr/metadata.h"

namespace h5zarr::zarr {

Result<std::vector<std::byte>> DecodeBase64(std::string_view text) { return h5zarr::DecodeBase64(text); }

std::string EncodeBase64(ByteSpan bytes) { return h5zarr::EncodeBase64(bytes); }

}  // namespace h5zarr::zarr
