// The configurations that the conformance suite runs on, and data to run them with. A new codec
// adds a line here first.
#ifndef H5ZARR_TEST_CONFORMANCE_CODEC_SUBJECTS_H_
#define H5ZARR_TEST_CONFORMANCE_CODEC_SUBJECTS_H_

#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "codec/registry.h"

namespace h5zarr::codec {

struct ByteSubject {
  const char* name;
  const char* configuration;
  std::size_t unit_bytes = 1;    // encodes multiples of this only
  bool keeps_any_bytes = false;  // decodes whatever has the right size
};

inline constexpr ByteSubject kByteSubjects[] = {
    {"gzip", R"({"level": 1})"},
    {"gzip", R"({"level": 0})"},
    {"zlib", R"({"level": 9})"},
    {"zstd", R"({"level": 3, "checksum": false})"},
    {"zstd", R"({"level": -1, "checksum": true})"},
    {"blosc", R"({"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4})"},
    {"blosc", R"({"cname": "zstd", "clevel": 3, "shuffle": "bitshuffle", "typesize": 8})"},
    {"blosc", R"({"cname": "blosclz", "clevel": 9, "shuffle": 0, "blocksize": 512})"},
    {"blosc", R"({"cname": "zlib", "clevel": 1, "shuffle": -1, "typesize": 1})"},
    {"blosc", R"({"cname": "lz4hc", "clevel": 0, "shuffle": 1, "typesize": 300})"},
    {"lz4", R"({"acceleration": 1})"},
    {"bz2", R"({"level": 1})"},
    {"lzma", R"({"preset": 0})"},
    {"lzma", R"({"format": 2, "preset": 1})"},
    {"lzma", R"({"format": 3, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 0}]})"},
    {"lzma", R"({"format": 3, "filters": [{"id": 4611686018427387905, "preset": 0}]})"},
    {"shuffle", R"({"elementsize": 2})", 2, true},
    {"shuffle", R"({"elementsize": 4})", 4, true},
    {"shuffle", R"({"elementsize": 8})", 8, true},
    {"shuffle", R"({"elementsize": 7})", 7, true},
    {"shuffle", R"({"elementsize": 1})", 1, true},
    {"crc32c", R"({})"},
    {"crc32c", R"({"location": "start"})"},
    {"crc32", R"({})"},
    {"adler32", R"({"location": "end"})"},
    {"fletcher32", R"({})"},
    {"jenkins_lookup3", R"({"initval": 3})"},
};

struct ArraySubject {
  const char* name;
  const char* configuration;
  DType dtype;
};

inline std::vector<ArraySubject> ArraySubjects() {
  return {
      {"delta", R"({"dtype": "<i4", "astype": "<i4"})", DType::Int(4)},
      {"delta", R"({"dtype": ">i2", "astype": "<i8"})", DType::Int(2, Endian::kBig)},
      {"numcodecs.delta", R"({"dtype": "<u8"})", DType::Uint(8, Endian::kBig)},
      {"fixedscaleoffset", R"({"dtype": "<i4", "astype": "<i8", "scale": 1, "offset": 10})", DType::Int(4)},
      {"astype", R"({"encode_dtype": "<i8", "decode_dtype": "<i4"})", DType::Int(4)},
      {"numcodecs.packbits", R"({})", DType::Bool()},
      {"packbits", R"({})", DType::Bool()},
      {"packbits", R"({"padding_encoding": "last_byte"})", DType::Bool()},
      {"packbits", R"({"padding_encoding": "first_byte"})", DType::Complex(8)},
      {"packbits", R"({})", DType::Uint(8)},
      {"scale_offset", R"({})", DType::Int(4)},
      {"cast_value", R"({"data_type": "int64"})", DType::Int(4, Endian::kBig)},
      {"bitround", R"({"keepbits": 23})", DType::Float(4)},
  };
}

template <typename Role>
std::unique_ptr<Role> MakeSubject(const char* name, const char* configuration, const ChunkSpec& spec) {
  Result<AnyCodec> made = MakeCodec(name, Json::parse(configuration), spec);
  if (!made.ok()) throw std::runtime_error(made.status().message());
  return std::get<std::unique_ptr<Role>>(std::move(made).value());
}

inline std::unique_ptr<BytesCodec> MakeSubject(const ByteSubject& subject) {
  return MakeSubject<BytesCodec>(subject.name, subject.configuration, ChunkSpec{DType::Uint(1), {1}});
}

using Bytes = std::vector<std::byte>;

// Bytes that compress: a slow ramp.
inline Bytes Ramp(std::size_t bytes) {
  Bytes ramp(bytes);
  for (std::size_t i = 0; i < bytes; ++i) ramp[i] = static_cast<std::byte>(i / 9 % 251 + i % 3);
  return ramp;
}

// Bytes that do not; the same for the same seed.
inline Bytes Noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  Bytes noise(bytes);
  for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
  return noise;
}

inline Bytes EncodeWith(const BytesCodec& codec, ByteSpan decoded) {
  Bytes encoded(codec.MaxEncodedBytes(decoded.size()).value());
  Result<uint64_t> written = codec.Encode(decoded, encoded);
  if (!written.ok()) throw std::runtime_error(written.status().message());
  encoded.resize(*written);
  return encoded;
}

}  // namespace h5zarr::codec

#endif  // H5ZARR_TEST_CONFORMANCE_CODEC_SUBJECTS_H_
