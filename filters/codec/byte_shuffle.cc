#include "codec/byte_shuffle.h"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace h5zarr::codec {
namespace {

// Sixteen elements at a time as 16-byte vectors. Interleaving the two halves of a set of vectors
// byte by byte is a riffle of their bytes; log2 of the element size riffles unshuffle, and as the
// bytes of 16 elements number 16 * size, four further ones are the identity: shuffling is four.
#if defined(__SSE2__)
#define H5ZARR_SHUFFLE_VECTORS 1
using Vector = __m128i;
Vector Load(const std::byte* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
void Store(std::byte* to, Vector value) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value); }
Vector InterleaveLow(Vector a, Vector b) { return _mm_unpacklo_epi8(a, b); }
Vector InterleaveHigh(Vector a, Vector b) { return _mm_unpackhi_epi8(a, b); }
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define H5ZARR_SHUFFLE_VECTORS 1
using Vector = uint8x16_t;
Vector Load(const std::byte* from) { return vld1q_u8(reinterpret_cast<const uint8_t*>(from)); }
void Store(std::byte* to, Vector value) { vst1q_u8(reinterpret_cast<uint8_t*>(to), value); }
Vector InterleaveLow(Vector a, Vector b) { return vzip1q_u8(a, b); }
Vector InterleaveHigh(Vector a, Vector b) { return vzip2q_u8(a, b); }
#endif

#ifdef H5ZARR_SHUFFLE_VECTORS

constexpr uint64_t kLanes = 16;

// The bytes of `vectors` riffled kRounds times.
//
// Loops over vectors are unrolled so that these stay in registers, which GCC sees to by itself only with -O3: through
// memory all of this takes three to four times as long.
template <int kRounds, int kVectors>
inline void Riffle(Vector (&vectors)[kVectors]) {
  if constexpr (kRounds > 0) {
    Vector riffled[kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kVectors / 2; ++i) {
      riffled[2 * i] = InterleaveLow(vectors[i], vectors[i + kVectors / 2]);
      riffled[2 * i + 1] = InterleaveHigh(vectors[i], vectors[i + kVectors / 2]);
    }
    Riffle<kRounds - 1>(riffled);
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) vectors[i] = riffled[i];
  }
}

constexpr int Log2(int value) { return value <= 1 ? 0 : 1 + Log2(value / 2); }

// The vector part; returns how many elements it did.
template <int kElemBytes>
uint64_t ShuffleVectors(const std::byte* source, std::byte* target, uint64_t elems) {
  uint64_t done = 0;
  for (; elems - done >= kLanes; done += kLanes) {
    Vector vectors[kElemBytes];
#pragma GCC unroll 16
    for (int i = 0; i < kElemBytes; ++i) {
      vectors[i] = Load(source + done * kElemBytes + static_cast<uint64_t>(i) * kLanes);
    }
    Riffle<4>(vectors);
#pragma GCC unroll 16
    for (int i = 0; i < kElemBytes; ++i) {
      Store(target + static_cast<uint64_t>(i) * elems + done, vectors[i]);
    }
  }
  return done;
}

template <int kElemBytes>
uint64_t UnshuffleVectors(const std::byte* source, std::byte* target, uint64_t elems) {
  uint64_t done = 0;
  for (; elems - done >= kLanes; done += kLanes) {
    Vector vectors[kElemBytes];
#pragma GCC unroll 16
    for (int i = 0; i < kElemBytes; ++i) {
      vectors[i] = Load(source + static_cast<uint64_t>(i) * elems + done);
    }
    Riffle<Log2(kElemBytes)>(vectors);
#pragma GCC unroll 16
    for (int i = 0; i < kElemBytes; ++i) {
      Store(target + done * kElemBytes + static_cast<uint64_t>(i) * kLanes, vectors[i]);
    }
  }
  return done;
}

uint64_t ShuffleFast(const std::byte* source, std::byte* target, uint64_t elems, uint64_t elem_bytes) {
  switch (elem_bytes) {
    case 2: return ShuffleVectors<2>(source, target, elems);
    case 4: return ShuffleVectors<4>(source, target, elems);
    case 8: return ShuffleVectors<8>(source, target, elems);
    case 16: return ShuffleVectors<16>(source, target, elems);
    default: return 0;
  }
}
uint64_t UnshuffleFast(const std::byte* source, std::byte* target, uint64_t elems, uint64_t elem_bytes) {
  switch (elem_bytes) {
    case 2: return UnshuffleVectors<2>(source, target, elems);
    case 4: return UnshuffleVectors<4>(source, target, elems);
    case 8: return UnshuffleVectors<8>(source, target, elems);
    case 16: return UnshuffleVectors<16>(source, target, elems);
    default: return 0;
  }
}

#else

uint64_t ShuffleFast(const std::byte*, std::byte*, uint64_t, uint64_t) { return 0; }
uint64_t UnshuffleFast(const std::byte*, std::byte*, uint64_t, uint64_t) { return 0; }

#endif

// Elements of any size, in blocks that stay in the first-level cache together with one line of each
// byte plane.
constexpr uint64_t kBlockElems = 256;

}  // namespace

void ByteShuffle(const std::byte* source, std::byte* target, uint64_t elems, uint64_t elem_bytes) {
  if (elems == 0 || elem_bytes == 0) return;
  if (elem_bytes == 1) {
    std::memcpy(target, source, elems);
    return;
  }
  for (uint64_t first = ShuffleFast(source, target, elems, elem_bytes); first < elems;) {
    const uint64_t last = elems - first > kBlockElems ? first + kBlockElems : elems;
    for (uint64_t k = 0; k < elem_bytes; ++k) {
      for (uint64_t i = first; i < last; ++i) target[k * elems + i] = source[i * elem_bytes + k];
    }
    first = last;
  }
}

void ByteUnshuffle(const std::byte* source, std::byte* target, uint64_t elems, uint64_t elem_bytes) {
  if (elems == 0 || elem_bytes == 0) return;
  if (elem_bytes == 1) {
    std::memcpy(target, source, elems);
    return;
  }
  for (uint64_t first = UnshuffleFast(source, target, elems, elem_bytes); first < elems;) {
    const uint64_t last = elems - first > kBlockElems ? first + kBlockElems : elems;
    for (uint64_t k = 0; k < elem_bytes; ++k) {
      for (uint64_t i = first; i < last; ++i) target[i * elem_bytes + k] = source[k * elems + i];
    }
    first = last;
  }
}

}  // namespace h5zarr::codec
