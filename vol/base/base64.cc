#include "base/base64.h"

#include <algorithm>
#include <array>

namespace h5zarr {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xFF;

constexpr std::array<uint8_t, 256> MakeDigits() {
  std::array<uint8_t, 256> digits{};
  for (auto& digit : digits) digit = kNoDigit;
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return digits;
}
constexpr std::array<uint8_t, 256> kDigits = MakeDigits();

}  // namespace

Result<std::vector<std::byte>> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return CorruptError("base64 of " + std::to_string(text.size()) + " characters; expected a multiple of 4");
  }
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - padding - 1] == '=') ++padding;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t padded = i + 4 == text.size() ? padding : 0;
    uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const uint8_t digit = j >= 4 - padded ? 0 : kDigits[static_cast<unsigned char>(text[i + j])];
      if (digit == kNoDigit) {
        return CorruptError("not base64: character " + std::to_string(i + j) + " is none of its digits");
      }
      group = group << 6 | digit;
    }
    if ((padded == 2 && (group & 0xFFFF) != 0) || (padded == 1 && (group & 0xFF) != 0)) {
      return CorruptError("not base64: bits set behind the end");
    }
    for (std::size_t j = 0; j < 3 - padded; ++j) {
      bytes.push_back(static_cast<std::byte>(group >> (16 - 8 * j)));
    }
  }
  return bytes;
}

std::string EncodeBase64(ByteSpan bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? std::to_integer<uint32_t>(bytes[i + j]) : 0);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text.push_back(j <= count ? kAlphabet[group >> (18 - 6 * j) & 63] : '=');
    }
  }
  return text;
}

}  // namespace h5zarr
