// shard_words: the cd_values of filter 480 (filters.h) ↔ the codec `sharding_indexed`. Pure values;
// no HDF5 calls.
#ifndef H5ZARR_FILTER_SHARD_WORDS_H_
#define H5ZARR_FILTER_SHARD_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "zarr/metadata.h"

namespace h5zarr::filter {

// A sharding codec: inner chunks, what is done to each, and how the index is kept.
struct Sharding {
  std::vector<uint64_t> inner_shape;          // by Zarr dimension
  std::vector<zarr::CodecSpec> inner_codecs;  // without the array → bytes codec
  bool index_at_start = false;
  bool plain_index = true;  // little endian with a crc32c: the only index that words can say
};

// The sharding that `words` ask for, for an array of `dtype` whose chunks are `chunk_shape`.
// kInvalidArgument says which word is wrong: a version of the future, another rank, an inner extent
// that does not divide the chunk's, an unknown codec.
Result<Sharding> ShardingFromWords(std::span<const unsigned> words, const DType& dtype,
                                   std::span<const uint64_t> chunk_shape);

// The words a user would give for `sharding`, for the first `rank` dimensions; nothing where words
// cannot say it (another index, other codecs, nested shards).
std::optional<std::vector<unsigned>> WordsFromSharding(const Sharding& sharding, std::size_t rank);

// What the library knows when a dataset is created, and appends to the user's words: all that
// running the filter on a chunk takes.
struct LocalWords {
  std::vector<uint64_t> chunk_shape;
  uint64_t elem_bytes = 0;
  std::vector<std::byte> fill;  // elem_bytes: an element of inner chunks that are not stored
};

// The user's part of `words` with `local` appended. kInvalidArgument where it does not fit (an extent
// or element of 4 GiB and more, a fill value of more than 1 KiB that is not zero).
Result<std::vector<unsigned>> WithLocalWords(std::span<const unsigned> words, const LocalWords& local);
// kInvalidArgument where `words` have no such part, or an incomplete one.
Result<LocalWords> ParseLocalWords(std::span<const unsigned> words);

// The part of `words` that comes from the user (the library appends to it).
std::vector<unsigned> UserWords(std::span<const unsigned> words);

// To the codec and back. `array_to_bytes`: the first inner codec ("bytes", "vlen-utf8", …).
zarr::CodecSpec ShardingToCodec(const Sharding& sharding, const zarr::CodecSpec& array_to_bytes);
// Nothing where `codec` is no sharding or not understood.
std::optional<Sharding> ShardingFromCodec(const zarr::CodecSpec& codec);

}  // namespace h5zarr::filter

#endif  // H5ZARR_FILTER_SHARD_WORDS_H_
