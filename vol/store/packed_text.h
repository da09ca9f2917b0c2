// packed_text: a text that is kept compressed, as kerchunk's users keep reference files: by gzip or zstd, known by
// its first bytes. For objects that are whole in memory.
#ifndef H5ZARR_STORE_PACKED_TEXT_H_
#define H5ZARR_STORE_PACKED_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace h5zarr {

// Whether what begins so is packed.
bool IsPackedText(std::string_view beginning);

// The first bytes of the text, `most_bytes` at most, of which `packed` is the beginning, or all. Empty where it is
// none, or damaged.
std::string BeginningOfPackedText(std::string_view packed, uint64_t most_bytes);

// All of the text. kCorrupt where `packed` is damaged or cut off, kOutOfRange where the text is longer than
// `most_bytes`. REQUIRES: IsPackedText(packed).
Result<std::string> UnpackText(std::string_view packed, uint64_t most_bytes);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_PACKED_TEXT_H_
