#include "icechunk/ids.h"

#include <cstddef>

namespace h5zarr::icechunk {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr int kDigitBits = 5;
constexpr std::size_t kIdChars = 20;  // 96 bits, and 4 more that are zero

}  // namespace

constinit const ObjectId kFirstSnapshot = {{0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34}};

std::string ToText(const ObjectId& id) {
  std::string text;
  unsigned pending = 0;
  int pending_bits = 0;
  for (const uint8_t byte : id.bytes) {
    pending = pending << 8 | byte;
    pending_bits += 8;
    while (pending_bits >= kDigitBits) {
      pending_bits -= kDigitBits;
      text += kDigits[pending >> pending_bits & 31];
    }
    pending &= (1u << pending_bits) - 1;
  }
  if (pending_bits > 0) text += kDigits[pending << (kDigitBits - pending_bits) & 31];
  return text;
}

Result<ObjectId> ParseObjectId(std::string_view text) {
  const auto fail = [&] {
    return InvalidArgumentError("'" + std::string(text.substr(0, 40)) +
                                "' is no identifier of an Icechunk object: 20 digits and capital letters");
  };
  if (text.size() != kIdChars) return fail();
  ObjectId id;
  unsigned pending = 0;
  int pending_bits = 0;
  std::size_t next = 0;
  for (const char digit : text) {
    const std::size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) return fail();
    pending = pending << kDigitBits | static_cast<unsigned>(value);
    pending_bits += kDigitBits;
    if (pending_bits < 8) continue;
    pending_bits -= 8;
    id.bytes[next++] = static_cast<uint8_t>(pending >> pending_bits);
    pending &= (1u << pending_bits) - 1;
  }
  if (pending != 0) return fail();
  return id;
}

}  // namespace h5zarr::icechunk
