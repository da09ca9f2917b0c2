// Standard base64 (RFC 4648, with padding).
#ifndef H5ZARR_BASE_BASE64_H_
#define H5ZARR_BASE_BASE64_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"

namespace h5zarr {

// kCorrupt, saying where, for a text that is none.
Result<std::vector<std::byte>> DecodeBase64(std::string_view text);
std::string EncodeBase64(ByteSpan bytes);

}  // namespace h5zarr

#endif  // H5ZARR_BASE_BASE64_H_
