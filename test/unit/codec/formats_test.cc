// What single formats allow beyond a plain round trip.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdlib>
#include <thread>

#include "catch.h"
#include "codec/byte_shuffle.h"
#include "conformance/codec/codec_subjects.h"

namespace h5zarr::codec {
namespace {

const ChunkSpec kByteSpec{DType::Uint(1), {1}};

std::unique_ptr<BytesCodec> Make(const char* name, const char* configuration = "{}") {
  return MakeSubject<BytesCodec>(name, configuration, kByteSpec);
}

Bytes Join(const Bytes& a, const Bytes& b) {
  Bytes joined = a;
  joined.insert(joined.end(), b.begin(), b.end());
  return joined;
}

TEST_CASE("several streams behind each other decode as one") {
  for (const char* name : {"gzip", "zstd", "bz2", "lzma"}) {
    INFO(name);
    const auto codec = Make(name);
    const Bytes first = Ramp(1000);
    const Bytes second = Noise(77, 1);
    const Bytes encoded = Join(EncodeWith(*codec, first), EncodeWith(*codec, second));
    Bytes decoded(first.size() + second.size());
    REQUIRE(codec->Decode(encoded, decoded).ok());
    CHECK(decoded == Join(first, second));
    Result<Buffer> unsized = codec->DecodeUnsized(encoded, 5000);
    REQUIRE(unsized.ok());
    CHECK(unsized->size_bytes() == decoded.size());
  }
}

TEST_CASE("zeros behind a gzip member are padding") {
  const auto codec = Make("gzip");
  const Bytes data = Ramp(100);
  Bytes decoded(data.size());
  REQUIRE(codec->Decode(Join(EncodeWith(*codec, data), Bytes(13)), decoded).ok());
  CHECK(decoded == data);
}

TEST_CASE("a zstd frame without a content size decodes") {
  const Bytes data = Ramp(300000);
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  Bytes encoded(ZSTD_compressBound(data.size()));
  encoded.resize(ZSTD_compress2(context, encoded.data(), encoded.size(), data.data(), data.size()));
  ZSTD_freeCCtx(context);
  REQUIRE(ZSTD_getFrameContentSize(encoded.data(), encoded.size()) == ZSTD_CONTENTSIZE_UNKNOWN);
  const auto codec = Make("zstd");
  Bytes decoded(data.size());
  REQUIRE(codec->Decode(encoded, decoded).ok());
  CHECK(decoded == data);
  Result<Buffer> unsized = codec->DecodeUnsized(encoded, data.size());
  REQUIRE(unsized.ok());
  CHECK(unsized->size_bytes() == data.size());
}

TEST_CASE("a zstd frame with a wrong checksum is corrupt") {
  const auto codec = Make("zstd", R"({"checksum": true})");
  const Bytes data = Ramp(100);
  Bytes encoded = EncodeWith(*codec, data);
  encoded.back() ^= std::byte{1};
  Bytes decoded(data.size());
  CHECK(codec->Decode(encoded, decoded).code() == StatusCode::kCorrupt);
}

TEST_CASE("a part of a zstd frame with a checksum is not believed without it") {
  const Bytes data = Noise(1 << 20, 1);
  Bytes encoded = EncodeWith(*Make("zstd", R"({"checksum": true})"), data);
  CHECK(Make("zstd", R"({"checksum": true})")->partial_decoding().slowdown == 0);
  const auto codec = Make("zstd");  // as metadata say that others wrote
  Bytes part(1000);
  REQUIRE(codec->DecodePart(encoded, data.size(), 0, part).ok());
  CHECK(part == Bytes(data.begin(), data.begin() + 1000));
  encoded.back() ^= std::byte{1};
  CHECK(codec->DecodePart(encoded, data.size(), 0, part).code() == StatusCode::kCorrupt);
}

TEST_CASE("a part of a zstd frame whose window is larger than a stream may have decodes") {
  const Bytes data = Ramp(1000);
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 30);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  Bytes encoded(2000);
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  ZSTD_outBuffer out{encoded.data(), encoded.size(), 0};
  REQUIRE(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush) == 0);
  REQUIRE(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) == 0);
  ZSTD_freeCCtx(context);
  encoded.resize(out.pos);
  Bytes part(300);
  REQUIRE(Make("zstd")->DecodePart(encoded, data.size(), 0, part).ok());
  CHECK(part == Bytes(data.begin(), data.begin() + 300));
}

TEST_CASE("a part of a blosc chunk that no items begin or end with decodes") {
  const Bytes data = Ramp(100'003);  // of items of 8
  const auto codec = MakeSubject<BytesCodec>("blosc", R"({"typesize": 8})", kByteSpec);
  const Bytes encoded = EncodeWith(*codec, data);
  for (const auto& [begin, size] : {std::pair{3, 10}, {99'990, 13}, {100'002, 1}}) {
    Bytes part(static_cast<std::size_t>(size));
    REQUIRE(codec->DecodePart(encoded, data.size(), static_cast<uint64_t>(begin), part).ok());
    CHECK(part == Bytes(data.begin() + begin, data.begin() + begin + size));
  }
}

TEST_CASE("a checksum that differs is corrupt, and both are named") {
  for (const char* name : {"crc32c", "crc32", "adler32", "fletcher32", "jenkins_lookup3"}) {
    INFO(name);
    const auto codec = Make(name);
    Bytes encoded = EncodeWith(*codec, Ramp(40));
    encoded[20] ^= std::byte{1};
    Bytes decoded(40);
    const Status status = codec->Decode(encoded, decoded);
    CHECK(status.code() == StatusCode::kCorrupt);
    CHECK(status.message().find("stored is 0x") != std::string::npos);
  }
}

TEST_CASE("fletcher32 takes the swapped halves of HDF5 1.6.2 and before") {
  const auto codec = Make("fletcher32");
  const Bytes data = Ramp(31);
  Bytes encoded = EncodeWith(*codec, data);
  std::swap(encoded[31], encoded[32]);
  std::swap(encoded[33], encoded[34]);
  REQUIRE(encoded != EncodeWith(*codec, data));
  Bytes decoded(data.size());
  REQUIRE(codec->Decode(encoded, decoded).ok());
  CHECK(decoded == data);
}

TEST_CASE("shuffle decodes HDF5's tail in place and refuses to encode one") {
  const auto codec = Make("shuffle", R"({"elementsize": 2})");
  const Bytes encoded = {std::byte{1}, std::byte{3}, std::byte{2}, std::byte{4}, std::byte{5}};
  Bytes decoded(5);
  REQUIRE(codec->Decode(encoded, decoded).ok());
  CHECK(decoded == Bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}});
  Bytes again(5);
  CHECK(codec->Encode(decoded, again).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("the vector shuffle equals the definition") {
  for (const std::size_t elem_bytes : {1, 2, 3, 4, 8, 12, 16, 32}) {
    for (const std::size_t elems : {0, 1, 15, 16, 17, 47, 300}) {
      INFO(elems << " elements of " << elem_bytes << " bytes");
      const Bytes data = Noise(elems * elem_bytes, 9);
      Bytes expected(data.size());
      for (std::size_t i = 0; i < elems; ++i) {
        for (std::size_t k = 0; k < elem_bytes; ++k) {
          expected[k * elems + i] = data[i * elem_bytes + k];
        }
      }
      Bytes shuffled(data.size());
      ByteShuffle(data.data(), shuffled.data(), elems, elem_bytes);
      CHECK(shuffled == expected);
      Bytes unshuffled(data.size());
      ByteUnshuffle(shuffled.data(), unshuffled.data(), elems, elem_bytes);
      CHECK(unshuffled == data);
    }
  }
}

TEST_CASE("packbits with padding that contradicts the chunk is corrupt") {
  const auto codec = MakeSubject<ArrayCodec>("numcodecs.packbits", "{}", ChunkSpec{DType::Bool(), {9}});
  Bytes decoded(9);
  const Bytes encoded = {std::byte{6}, std::byte{0}, std::byte{0}};
  CHECK(codec->Decode(encoded, decoded).code() == StatusCode::kCorrupt);
}

TEST_CASE("transpose puts dimension order[i] at place i") {
  const ChunkSpec spec{DType::Uint(1), {2, 3}};
  const auto codec = MakeSubject<ArrayCodec>("transpose", R"({"order": [1, 0]})", spec);
  CHECK(codec->encoded_spec().shape == std::vector<uint64_t>{3, 2});
  REQUIRE(codec->transpose_order().size() == 2);
  CHECK(codec->transpose_order()[0] == 1);
  const Bytes decoded = {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};
  Bytes encoded(6);
  REQUIRE(codec->Encode(decoded, encoded).ok());
  CHECK(encoded == Bytes{std::byte{0}, std::byte{3}, std::byte{1}, std::byte{4}, std::byte{2}, std::byte{5}});
}

TEST_CASE("json2 nested deeper than 200 levels is corrupt") {
  const auto codec = MakeSubject<VlenCodec>("json2", "{}", ChunkSpec{DType::String(), {1}});
  const std::string text = "[" + std::string(5000, '[') + std::string(5000, ']') + ",\"|O\",[1]]";
  std::vector<VlenRef> elems(1);
  Buffer heap;
  const Status status = codec->Decode(AsBytes(text), elems, &heap);
  CHECK(status.code() == StatusCode::kCorrupt);
  CHECK(status.message().find("200") != std::string::npos);
}

TEST_CASE("json2 whose nesting contradicts its shape is corrupt") {
  const auto codec = MakeSubject<VlenCodec>("json2", "{}", ChunkSpec{DType::String(), {2, 2}});
  std::vector<VlenRef> elems(4);
  Buffer heap;
  for (const char* text :
       {R"([["a","b"],["c"],"|O",[2,2]])", R"(["a","b","c","d","|O",[2,2]])", R"([["a","b"],["c","d"],"|O",[2,3]])",
        R"(["|O",[2,2]])", R"([["a","b"],["c","d"],"|O",[-2,2]])"}) {
    INFO(text);
    CHECK(codec->Decode(AsBytes(text), elems, &heap).code() == StatusCode::kCorrupt);
  }
}

// Runs in a child: exit handlers run after the main thread's thread_local objects are gone.
void DecodeAtExit() {
  for (const char* name : {"gzip", "zstd"}) {
    const auto codec = Make(name);
    const Bytes data = Ramp(1000);
    Bytes decoded(data.size());
    if (!codec->Decode(EncodeWith(*codec, data), decoded).ok() || decoded != data) _exit(3);
  }
  _exit(42);
}

TEST_CASE("codecs still work in exit handlers") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    EncodeWith(*Make("gzip"), Ramp(10));  // the thread's contexts exist
    std::atexit(DecodeAtExit);
    std::exit(0);
  }
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  REQUIRE(WIFEXITED(state));
  CHECK(WEXITSTATUS(state) == 42);
}

TEST_CASE("codecs still work while a thread's own values are destroyed") {
  static bool worked = false;
  pthread_key_t key;
  REQUIRE(pthread_key_create(&key, [](void*) {
            const auto codec = Make("zstd");
            const Bytes data = Ramp(1000);
            Bytes decoded(data.size());
            worked = codec->Decode(EncodeWith(*codec, data), decoded).ok() && decoded == data;
          }) == 0);
  std::thread([&] {
    EncodeWith(*Make("zstd"), Ramp(10));
    pthread_setspecific(key, &worked);
  }).join();
  pthread_key_delete(key);
  CHECK(worked);
}

}  // namespace
}  // namespace h5zarr::codec
