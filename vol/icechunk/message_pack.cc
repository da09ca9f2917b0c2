#include "icechunk/message_pack.h"

#include <cstddef>

namespace h5zarr::icechunk {
namespace {

// A text begins with 0xa0 + its length, or with one of these and its length in so many bytes.
constexpr uint8_t kShort = 0xa0;
constexpr std::size_t kShortMost = 31;
constexpr uint8_t kText8 = 0xd9;
constexpr uint8_t kText16 = 0xda;
constexpr uint8_t kText32 = 0xdb;

}  // namespace

std::vector<uint8_t> TextToMessagePack(std::string_view text) {
  std::vector<uint8_t> value;
  const std::size_t bytes = text.size();
  int length_bytes = 0;
  if (bytes <= kShortMost) {
    value.push_back(static_cast<uint8_t>(kShort + bytes));
  } else if (bytes <= 0xff) {
    value.push_back(kText8);
    length_bytes = 1;
  } else if (bytes <= 0xffff) {
    value.push_back(kText16);
    length_bytes = 2;
  } else {
    value.push_back(kText32);
    length_bytes = 4;
  }
  for (int i = length_bytes - 1; i >= 0; --i) value.push_back(static_cast<uint8_t>(bytes >> 8 * i));
  value.insert(value.end(), text.begin(), text.end());
  return value;
}

std::optional<std::string> TextFromMessagePack(std::span<const uint8_t> value) {
  if (value.empty()) return std::nullopt;
  const uint8_t kind = value[0];
  std::size_t length_bytes = 0;
  std::size_t text_bytes = 0;
  if (kind >= kShort && kind <= kShort + kShortMost) {
    text_bytes = kind - kShort;
  } else if (kind == kText8 || kind == kText16 || kind == kText32) {
    length_bytes = kind == kText8 ? 1 : kind == kText16 ? 2 : 4;
  } else {
    return std::nullopt;
  }
  if (value.size() < 1 + length_bytes) return std::nullopt;
  for (std::size_t i = 0; i < length_bytes; ++i) text_bytes = text_bytes << 8 | value[1 + i];
  const std::span<const uint8_t> text = value.subspan(1 + length_bytes);
  if (text.size() != text_bytes) return std::nullopt;
  return std::string(text.begin(), text.end());
}

}  // namespace h5zarr::icechunk
