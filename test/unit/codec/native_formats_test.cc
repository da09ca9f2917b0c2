// The formats of native HDF5 chunks that no Zarr has, and the heads of deflate streams.
#include "catch.h"
#include "conformance/codec/codec_subjects.h"

namespace h5zarr::codec {
namespace {

std::unique_ptr<BytesCodec> Make(const char* name) {
  return MakeSubject<BytesCodec>(name, "{}", {DType::Uint(1), {1}});
}

Bytes Of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

bool Decodes(const char* name, const Bytes& encoded, const Bytes& expected) {
  Bytes decoded(expected.size());
  return Make(name)->Decode(encoded, decoded).ok() && decoded == expected;
}

StatusCode Failure(const char* name, const Bytes& encoded, std::size_t size_bytes) {
  Bytes decoded(size_bytes);
  return Make(name)->Decode(encoded, decoded).code();
}

TEST_CASE("an LZF stream of literals and matches decodes") {
  CHECK(Decodes("hdf5_lzf", Of({2, 'a', 'b', 'c', 0x20, 2}), Of({'a', 'b', 'c', 'a', 'b', 'c'})));
  Bytes zeros(20);
  CHECK(Decodes("hdf5_lzf", Of({0, 0, 0xe0, 10, 0}), zeros));  // one, and 19 of distance one
  CHECK(Decodes("hdf5_lzf", {}, {}));
}

TEST_CASE("an LZF stream that breaks off or points before its start is corrupt") {
  CHECK(Failure("hdf5_lzf", Of({5, 'a'}), 6) == StatusCode::kCorrupt);
  CHECK(Failure("hdf5_lzf", Of({0, 'a', 0x20}), 4) == StatusCode::kCorrupt);
  CHECK(Failure("hdf5_lzf", Of({0, 'a', 0xe0, 3}), 13) == StatusCode::kCorrupt);
  CHECK(Failure("hdf5_lzf", Of({0, 'a', 0x20, 1}), 4) == StatusCode::kCorrupt);
  CHECK(Failure("hdf5_lzf", Of({0, 'a', 0x20, 0}), 3) == StatusCode::kCorrupt);
  CHECK(Failure("hdf5_lzf", Of({0, 'a', 0x20, 0}), 5) == StatusCode::kCorrupt);
}

TEST_CASE("an LZ4 chunk of blocks, one of them stored, decodes") {
  const Bytes encoded = Of({0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 3, 'a', 'b', 'c', 0, 0, 0, 2, 'd', 'e'});
  CHECK(Decodes("hdf5_lz4", encoded, Of({'a', 'b', 'c', 'd', 'e'})));
  for (std::size_t size = 0; size < encoded.size(); ++size) {
    CHECK(Failure("hdf5_lz4", Bytes(encoded.begin(), encoded.begin() + size), 5) == StatusCode::kCorrupt);
  }
  Bytes no_block_size = encoded;
  no_block_size[11] = std::byte{0};
  CHECK(Failure("hdf5_lz4", no_block_size, 5) == StatusCode::kCorrupt);
}

}  // namespace
}  // namespace h5zarr::codec
