#include "transfer/utf32.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace h5zarr::transfer {
namespace {

uint32_t LoadCodePoint(const std::byte* bytes, Endian endian) {
  uint32_t value;
  std::memcpy(&value, bytes, 4);
  return endian == Endian::kLittle ? value : __builtin_bswap32(value);
}

void StoreCodePoint(std::byte* bytes, uint32_t value, Endian endian) {
  if (endian == Endian::kBig) value = __builtin_bswap32(value);
  std::memcpy(bytes, &value, 4);
}

bool IsCodePoint(uint32_t value) { return value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF); }

// Appends `value` at `bytes`; at most 4 bytes.
std::size_t EncodeUtf8(uint32_t value, std::byte* bytes) {
  const auto put = [bytes](std::size_t i, uint32_t byte) { bytes[i] = static_cast<std::byte>(byte); };
  if (value < 0x80) {
    put(0, value);
    return 1;
  }
  if (value < 0x800) {
    put(0, 0xC0 | value >> 6);
    put(1, 0x80 | (value & 0x3F));
    return 2;
  }
  if (value < 0x10000) {
    put(0, 0xE0 | value >> 12);
    put(1, 0x80 | (value >> 6 & 0x3F));
    put(2, 0x80 | (value & 0x3F));
    return 3;
  }
  put(0, 0xF0 | value >> 18);
  put(1, 0x80 | (value >> 12 & 0x3F));
  put(2, 0x80 | (value >> 6 & 0x3F));
  put(3, 0x80 | (value & 0x3F));
  return 4;
}

// The code point at the beginning of `text`, which becomes what follows it; nothing where it is no
// shortest-form UTF-8 of a code point.
std::optional<uint32_t> DecodeUtf8(ByteSpan& text) {
  const auto byte = [&text](std::size_t i) { return static_cast<uint32_t>(text[i]); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) {
    text = text.subspan(1);
    return lead;
  }
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return std::nullopt;
  uint32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
    value = value << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || !IsCodePoint(value)) return std::nullopt;
  text = text.subspan(length);
  return value;
}

}  // namespace

Status Utf32ToUtf8(MutableByteSpan texts, uint64_t text_bytes, Endian endian) {
  if (text_bytes == 0) return OkStatus();
  for (uint64_t begin = 0; begin + text_bytes <= texts.size(); begin += text_bytes) {
    std::byte* text = texts.data() + begin;
    // No code point is longer in UTF-8 than its four bytes here: writing never overtakes reading.
    std::size_t written = 0;
    for (uint64_t at = 0; at < text_bytes; at += 4) {
      const uint32_t value = LoadCodePoint(text + at, endian);
      if (!IsCodePoint(value)) {
        return CorruptError("UTF-32 text holds " + std::to_string(value) + ", which is no code point");
      }
      written += EncodeUtf8(value, text + written);
    }
    std::memset(text + written, 0, text_bytes - written);
  }
  return OkStatus();
}

Status Utf8ToUtf32(MutableByteSpan texts, uint64_t text_bytes, Endian endian) {
  if (text_bytes == 0) return OkStatus();
  std::vector<std::byte> source(text_bytes);
  for (uint64_t begin = 0; begin + text_bytes <= texts.size(); begin += text_bytes) {
    std::byte* text = texts.data() + begin;
    std::memcpy(source.data(), text, text_bytes);
    const auto end = std::find(source.begin(), source.end(), std::byte{0});
    ByteSpan rest(source.data(), static_cast<std::size_t>(end - source.begin()));
    uint64_t at = 0;
    while (!rest.empty()) {
      const auto value = DecodeUtf8(rest);
      if (!value) return InvalidArgumentError("text is not valid UTF-8, which UTF-32 can't hold");
      if (at == text_bytes) {
        return OutOfRangeError("text of more than " + std::to_string(text_bytes / 4) +
                               " code points, which is the length of this array's elements");
      }
      StoreCodePoint(text + at, *value, endian);
      at += 4;
    }
    std::memset(text + at, 0, text_bytes - at);
  }
  return OkStatus();
}

}  // namespace h5zarr::transfer
