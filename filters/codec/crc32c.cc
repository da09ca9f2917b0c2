#include "codec/crc32c.h"

#include <array>
#include <cstddef>

#include "codec/little_endian.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#define H5ZARR_CRC_TARGET __attribute__((target("sse4.2")))
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define H5ZARR_CRC_TARGET __attribute__((target("+crc")))
#endif

namespace h5zarr::codec {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // bit-reflected

using Table = std::array<uint32_t, 256>;

// tables[0] moves a CRC past one byte; tables[k] past that byte and k zero bytes.
constexpr std::array<Table, 8> MakeByteTables() {
  std::array<Table, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}
constexpr std::array<Table, 8> kByteTables = MakeByteTables();

uint32_t UpdatePortable(uint32_t crc, const std::byte* data, std::size_t left_bytes) {
  for (; left_bytes >= 8; left_bytes -= 8, data += 8) {
    const uint64_t word = LoadLe64(data) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kByteTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; left_bytes > 0; --left_bytes, ++data) {
    crc = (crc >> 8) ^ kByteTables[0][(crc ^ static_cast<uint32_t>(*data)) & 0xff];
  }
  return crc;
}

#ifdef H5ZARR_CRC_TARGET

// The instruction gives a result every cycle but takes three, so three lanes run side by side.
// Their CRCs are then moved past the lanes behind them, which is linear: a table of the 4 * 256
// values of a CRC's bytes.
constexpr std::size_t kLaneBytes = 1024;

// A linear map of 32-bit words: the images of its bits.
using Matrix = std::array<uint32_t, 32>;

constexpr uint32_t Apply(const Matrix& matrix, uint32_t word) {
  uint32_t image = 0;
  for (std::size_t bit = 0; bit < 32; ++bit) {
    if ((word >> bit & 1) != 0) image ^= matrix[bit];
  }
  return image;
}

// "Past kLaneBytes zero bytes", by repeated squaring of "past one zero bit".
constexpr std::array<Table, 4> MakeLaneTables() {
  Matrix matrix{};
  matrix[0] = kPolynomial;
  for (std::size_t bit = 1; bit < 32; ++bit) matrix[bit] = uint32_t{1} << (bit - 1);
  for (std::size_t bits = 1; bits < kLaneBytes * 8; bits *= 2) {
    Matrix square{};
    for (std::size_t bit = 0; bit < 32; ++bit) square[bit] = Apply(matrix, matrix[bit]);
    matrix = square;
  }
  std::array<Table, 4> tables{};
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      tables[k][byte] = Apply(matrix, static_cast<uint32_t>(byte << (8 * k)));
    }
  }
  return tables;
}
constexpr std::array<Table, 4> kLaneTables = MakeLaneTables();

uint32_t PastLane(uint32_t crc) {
  return kLaneTables[0][crc & 0xff] ^ kLaneTables[1][crc >> 8 & 0xff] ^ kLaneTables[2][crc >> 16 & 0xff] ^
         kLaneTables[3][crc >> 24];
}

#if defined(__x86_64__)
H5ZARR_CRC_TARGET inline uint32_t Step8(uint32_t crc, uint64_t word) {
  return static_cast<uint32_t>(_mm_crc32_u64(crc, word));
}
H5ZARR_CRC_TARGET inline uint32_t Step1(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }
bool HasInstruction() { return __builtin_cpu_supports("sse4.2") != 0; }
#else
H5ZARR_CRC_TARGET inline uint32_t Step8(uint32_t crc, uint64_t word) { return __crc32cd(crc, word); }
H5ZARR_CRC_TARGET inline uint32_t Step1(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }
bool HasInstruction() {
  constexpr unsigned long kHwcapCrc32 = 1UL << 7;
  return (getauxval(AT_HWCAP) & kHwcapCrc32) != 0;
}
#endif

H5ZARR_CRC_TARGET uint32_t UpdateFast(uint32_t crc, const std::byte* data, std::size_t left_bytes) {
  for (; left_bytes >= 3 * kLaneBytes; left_bytes -= 3 * kLaneBytes, data += 3 * kLaneBytes) {
    uint32_t second = 0;
    uint32_t third = 0;
    for (std::size_t i = 0; i < kLaneBytes; i += 8) {
      crc = Step8(crc, LoadLe64(data + i));
      second = Step8(second, LoadLe64(data + kLaneBytes + i));
      third = Step8(third, LoadLe64(data + 2 * kLaneBytes + i));
    }
    crc = PastLane(PastLane(crc) ^ second) ^ third;
  }
  for (; left_bytes >= 8; left_bytes -= 8, data += 8) crc = Step8(crc, LoadLe64(data));
  for (; left_bytes > 0; --left_bytes, ++data) crc = Step1(crc, static_cast<uint8_t>(*data));
  return crc;
}

#else

bool HasInstruction() { return false; }
uint32_t UpdateFast(uint32_t crc, const std::byte* data, std::size_t left_bytes) {
  return UpdatePortable(crc, data, left_bytes);
}

#endif

}  // namespace

uint32_t Crc32c(ByteSpan bytes, uint32_t previous) {
  static const bool has_instruction = HasInstruction();
  const auto update = has_instruction ? UpdateFast : UpdatePortable;
  return ~update(~previous, bytes.data(), bytes.size());
}

uint32_t Crc32cPortable(ByteSpan bytes, uint32_t previous) {
  return ~UpdatePortable(~previous, bytes.data(), bytes.size());
}

}  // namespace h5zarr::codec
