#include "codec/lookup3.h"

#include <bit>

#include "codec/little_endian.h"

namespace h5zarr::codec {
namespace {

struct State {
  uint32_t a, b, c;
  void Mix() {
    a -= c;
    a ^= std::rotl(c, 4);
    c += b;
    b -= a;
    b ^= std::rotl(a, 6);
    a += c;
    c -= b;
    c ^= std::rotl(b, 8);
    b += a;
    a -= c;
    a ^= std::rotl(c, 16);
    c += b;
    b -= a;
    b ^= std::rotl(a, 19);
    a += c;
    c -= b;
    c ^= std::rotl(b, 4);
    b += a;
  }
  void Final() {
    c ^= b;
    c -= std::rotl(b, 14);
    a ^= c;
    a -= std::rotl(c, 11);
    b ^= a;
    b -= std::rotl(a, 25);
    c ^= b;
    c -= std::rotl(b, 16);
    a ^= c;
    a -= std::rotl(c, 4);
    b ^= a;
    b -= std::rotl(a, 14);
    c ^= b;
    c -= std::rotl(b, 24);
  }
};

}  // namespace

uint32_t Lookup3(ByteSpan bytes, uint32_t initial) {
  constexpr std::size_t kRoundBytes = 12;
  const uint32_t start = 0xdeadbeef + static_cast<uint32_t>(bytes.size()) + initial;
  State state{start, start, start};
  if (bytes.empty()) return state.c;
  const std::byte* data = bytes.data();
  std::size_t left = bytes.size();
  for (; left > kRoundBytes; left -= kRoundBytes, data += kRoundBytes) {
    state.a += LoadLe32(data);
    state.b += LoadLe32(data + 4);
    state.c += LoadLe32(data + 8);
    state.Mix();
  }
  std::byte last[kRoundBytes] = {};  // 1 to 12 bytes are left, the rest counts as 0
  std::memcpy(last, data, left);
  state.a += LoadLe32(last);
  state.b += LoadLe32(last + 4);
  state.c += LoadLe32(last + 8);
  state.Final();
  return state.c;
}

}  // namespace h5zarr::codec
