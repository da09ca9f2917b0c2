// Text in MessagePack: the values of a snapshot's metadata (version 1) that we write and read.
#ifndef H5ZARR_ICECHUNK_MESSAGE_PACK_H_
#define H5ZARR_ICECHUNK_MESSAGE_PACK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace h5zarr::icechunk {

std::vector<uint8_t> TextToMessagePack(std::string_view text);

// Nothing when `value` is anything but one text.
std::optional<std::string> TextFromMessagePack(std::span<const uint8_t> value);

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_MESSAGE_PACK_H_
