// The words of filter 480.
#include "filter/shard_words.h"

#include <h5zarr/filters.h>

#include <cstring>

#include "catch.h"
#include "zarr/codec_specs.h"

namespace h5zarr::filter {
namespace {

using zarr::ArrayToBytesSpec;
using zarr::BloscShuffle;
using zarr::BloscSpec;
using zarr::Json;

using Words = std::vector<unsigned>;

constexpr unsigned kBloscZstdBits = H5ZARR_SHARD_CODEC(H5ZARR_SHARD_BLOSC, 7 + 16 * 4 + 256 * 2);

TEST_CASE("every inner codec survives words, codec and words") {
  const std::vector<uint64_t> chunk = {8, 6};
  for (const unsigned codec :
       {H5ZARR_SHARD_CODEC(H5ZARR_SHARD_GZIP, 9), H5ZARR_SHARD_CODEC(H5ZARR_SHARD_ZSTD, 22),
        H5ZARR_SHARD_CODEC(H5ZARR_SHARD_ZSTD, -7), kBloscZstdBits, H5ZARR_SHARD_CODEC(H5ZARR_SHARD_CRC32C, 0)}) {
    const Words words = {H5ZARR_SHARD_VERSION | H5ZARR_SHARD_INDEX_AT_START, 2, 4, 3, codec};
    const Result<Sharding> sharding = ShardingFromWords(words, DType::Int(4), chunk);
    REQUIRE(sharding.ok());
    CHECK(sharding.value().index_at_start);
    const auto spec = ShardingToCodec(sharding.value(), ArrayToBytesSpec(DType::Int(4)));
    const std::optional<Sharding> again = ShardingFromCodec(spec);
    REQUIRE(again);
    CHECK(again->plain_index);
    CHECK(WordsFromSharding(*again, 2) == words);
  }
}

TEST_CASE("a shuffle joins the compressor behind it, as blosc") {
  const auto inner = [](const Words& codecs) {
    Words words = {1, 1, 4};
    words.insert(words.end(), codecs.begin(), codecs.end());
    return ShardingFromWords(words, DType::Int(4), std::vector<uint64_t>{8}).value().inner_codecs;
  };
  constexpr unsigned kShuffle = H5ZARR_SHARD_SHUFFLE;
  CHECK(inner({kShuffle, H5ZARR_SHARD_CODEC(H5ZARR_SHARD_GZIP, 4)}) ==
        std::vector{BloscSpec({"zlib", 4, BloscShuffle::kByte}, DType::Int(4), 3)});
  CHECK(inner({kShuffle, H5ZARR_SHARD_CODEC(H5ZARR_SHARD_ZSTD, 5)}) ==
        std::vector{BloscSpec({"zstd", 3, BloscShuffle::kByte}, DType::Int(4), 3)});
  CHECK(inner({kShuffle, kBloscZstdBits}) == inner({kBloscZstdBits}));
  CHECK(inner({kShuffle}).empty());
}

TEST_CASE("blosc's word is its level, compressor and shuffle") {
  const Result<Sharding> sharding =
      ShardingFromWords(Words{1, 1, 4, kBloscZstdBits}, DType::Int(4), std::vector<uint64_t>{8});
  REQUIRE(sharding.ok());
  CHECK(sharding.value().inner_codecs[0].configuration.dump() ==
        R"({"cname":"zstd","clevel":7,"shuffle":"bitshuffle","typesize":4,"blocksize":0})");
}

TEST_CASE("words that the library appended are not the user's") {
  // One codec (marker 1 + 1), then chunk shape, element size and fill.
  const Words stored = {1 | (2u << 16), 1, 4, H5ZARR_SHARD_CODEC(H5ZARR_SHARD_GZIP, 1), 8, 4, 0, 0};
  CHECK(UserWords(stored) == Words{1, 1, 4, H5ZARR_SHARD_CODEC(H5ZARR_SHARD_GZIP, 1)});
  CHECK(ShardingFromWords(stored, DType::Int(4), std::vector<uint64_t>{8}).ok());
}

TEST_CASE("what the library appends comes back, and may be appended again") {
  const Words user = {H5ZARR_SHARD_VERSION, 2, 4, 3, kBloscZstdBits};
  for (const std::size_t elem_bytes : {1, 8, 13, 300}) {
    for (const int first : {0, 7}) {
      LocalWords local;
      local.chunk_shape = {8, 6};
      local.elem_bytes = elem_bytes;
      local.fill.assign(elem_bytes, std::byte{0});
      local.fill.back() = static_cast<std::byte>(first);
      auto words = WithLocalWords(user, local);
      REQUIRE(words.ok());
      CHECK(UserWords(*words) == user);
      words = WithLocalWords(*words, local);
      REQUIRE(words.ok());
      const auto back = ParseLocalWords(*words);
      REQUIRE(back.ok());
      CHECK(back->chunk_shape == local.chunk_shape);
      CHECK(back->elem_bytes == local.elem_bytes);
      CHECK(back->fill == local.fill);
    }
  }
}

TEST_CASE("words without all of what the library appends are refused") {
  LocalWords local;
  local.chunk_shape = {8, 6};
  local.elem_bytes = 4;
  local.fill.resize(4);
  const auto words = WithLocalWords(Words{H5ZARR_SHARD_VERSION, 2, 4, 3}, local);
  REQUIRE(words.ok());
  for (std::size_t count = 0; count < words->size(); ++count) {
    CHECK(!ParseLocalWords({words->data(), count}).ok());
  }
}

TEST_CASE("words that make no sense are refused") {
  const std::vector<uint64_t> chunk = {8};
  for (const Words& words :
       {Words{}, Words{1}, Words{2, 1, 4}, Words{1, 2, 4}, Words{1, 1}, Words{1, 1, 0}, Words{1, 1, 3},
        Words{1, 1, 4, 99}, Words{0x201, 1, 4}, Words{1, 1, 4, H5ZARR_SHARD_CODEC(H5ZARR_SHARD_GZIP, 10)},
        Words{1, 1, 4, H5ZARR_SHARD_CODEC(H5ZARR_SHARD_BLOSC, 5 + 16 * 9)}, Words{1 | (9u << 16), 0xffffffff}}) {
    const Result<Sharding> sharding = ShardingFromWords(words, DType::Int(4), chunk);
    REQUIRE(!sharding.ok());
    CHECK(sharding.status().code() == StatusCode::kInvalidArgument);
  }
}

TEST_CASE("what words cannot say has none") {
  Sharding sharding;
  sharding.inner_shape = {4};
  CHECK(WordsFromSharding(sharding, 1));
  sharding.plain_index = false;
  CHECK(!WordsFromSharding(sharding, 1));
  sharding.plain_index = true;
  sharding.inner_codecs = {{"sharding_indexed", Json::object()}};
  CHECK(!WordsFromSharding(sharding, 1));
  sharding.inner_codecs = {{"blosc", Json{{"cname", "snappy"}}}};
  CHECK(!WordsFromSharding(sharding, 1));
}

}  // namespace
}  // namespace h5zarr::filter
