#include "filter/shard_words.h"

#include <h5zarr/filters.h>

#include <algorithm>
#include <string>
#include <utility>

#include "zarr/codec_specs.h"
#include "zarr/json.h"

namespace h5zarr::filter {
namespace {

using zarr::AsUnsigned;
using zarr::BareName;
using zarr::BloscOptions;
using zarr::BloscShuffle;
using zarr::BloscSpec;
using zarr::ChecksumSpec;
using zarr::CodecSpec;
using zarr::DeflateSpec;
using zarr::Json;
using zarr::LevelOf;
using zarr::ParseBlosc;
using zarr::StringMember;
using zarr::WithShuffle;
using zarr::ZstdSpec;

constexpr unsigned kVersionMask = 0xff;
constexpr unsigned kCodecCountShift = 16;
constexpr std::size_t kMaxInnerCodecs = 8;
constexpr std::size_t kShortFillBytes = 8;    // always there
constexpr std::size_t kMostFillBytes = 1024;  // longer ones must be zero
// Compressors by their number in a blosc word.
constexpr std::string_view kBloscNames[] = {"blosclz", "lz4", "lz4hc", "zlib", "zstd"};

std::string Bad(std::size_t word, unsigned value, std::string_view expected) {
  return "filter 480: word " + std::to_string(word) + " is " + std::to_string(value) + "; expected " +
         std::string(expected);
}

Result<CodecSpec> CodecFromWord(std::size_t index, unsigned word, const DType& dtype) {
  const int64_t parameter = static_cast<int32_t>(word) >> 8;  // keeps the sign
  switch (word & 0xff) {
    case H5ZARR_SHARD_CRC32C: return ChecksumSpec(3);
    case H5ZARR_SHARD_ZSTD: return ZstdSpec(parameter, 3);
    case H5ZARR_SHARD_GZIP:
      if (parameter < 0 || parameter > 9) break;
      return DeflateSpec(parameter, 3);
    case H5ZARR_SHARD_BLOSC: {
      const int64_t level = parameter & 0xf;
      const int64_t compressor = (parameter >> 4) & 0xf;
      const int64_t shuffle = parameter >> 8;
      if (parameter < 0 || level > 9 || compressor > 4 || shuffle > 2) break;
      return BloscSpec({std::string(kBloscNames[compressor]), level, static_cast<BloscShuffle>(shuffle)}, dtype, 3);
    }
    default: break;
  }
  return InvalidArgumentError(Bad(index, word, "a codec of H5ZARR_SHARD_CODEC"));
}

std::optional<unsigned> WordFromCodec(const CodecSpec& codec) {
  const std::string_view name = BareName(codec);
  if (name == "shuffle") return H5ZARR_SHARD_CODEC(H5ZARR_SHARD_SHUFFLE, 0);
  if (name == "crc32c") return H5ZARR_SHARD_CODEC(H5ZARR_SHARD_CRC32C, 0);
  if (name == "gzip") {
    const int64_t level = std::clamp<int64_t>(LevelOf(codec, "level", 6), 0, 9);
    return H5ZARR_SHARD_CODEC(H5ZARR_SHARD_GZIP, level);
  }
  if (name == "zstd") {
    const int64_t level = std::clamp<int64_t>(LevelOf(codec, "level", 3), -(1 << 17), 22);
    return H5ZARR_SHARD_CODEC(H5ZARR_SHARD_ZSTD, static_cast<int32_t>(level));
  }
  if (name == "blosc") {
    const std::optional<BloscOptions> options = ParseBlosc(codec, DType::Uint(1));
    if (!options) return std::nullopt;
    const auto found = std::find(std::begin(kBloscNames), std::end(kBloscNames), options->cname);
    if (found == std::end(kBloscNames)) return std::nullopt;
    const int64_t parameter =
        options->clevel + 16 * (found - std::begin(kBloscNames)) + 256 * static_cast<int>(options->shuffle);
    return H5ZARR_SHARD_CODEC(H5ZARR_SHARD_BLOSC, parameter);
  }
  return std::nullopt;
}

Json NamedJson(const CodecSpec& codec) {
  Json json = Json::object();
  json["name"] = codec.name;
  if (!codec.configuration.is_null()) json["configuration"] = codec.configuration;
  return json;
}

std::optional<CodecSpec> CodecFromJson(const Json& json) {
  if (json.is_string()) return CodecSpec{json.get<std::string>(), nullptr};
  const std::optional<std::string> name = StringMember(json, "name");
  if (!name) return std::nullopt;
  const Json* configuration = zarr::FindMember(json, "configuration");
  return CodecSpec{*name, configuration != nullptr ? *configuration : Json()};
}

bool IsArrayToBytes(std::string_view name) { return name == "bytes" || name == "vlen-utf8" || name == "vlen-bytes"; }

bool IsPlainIndex(const Json* codecs) {
  if (codecs == nullptr || !codecs->is_array() || codecs->size() != 2) return false;
  const std::optional<CodecSpec> first = CodecFromJson((*codecs)[0]);
  const std::optional<CodecSpec> second = CodecFromJson((*codecs)[1]);
  return first && second && first->name == "bytes" && second->name == "crc32c" &&
         StringMember(first->configuration, "endian") != "big";
}

}  // namespace

std::vector<unsigned> UserWords(std::span<const unsigned> words) {
  if (words.size() < 2) return {words.begin(), words.end()};
  const unsigned marker = (words[0] >> kCodecCountShift) & 0xff;
  std::vector<unsigned> user(words.begin(), words.end());
  if (marker == 0) return user;
  const std::size_t count = std::min<std::size_t>(words.size(), 2 + words[1] + (marker - 1));
  user.resize(std::max<std::size_t>(count, 2));
  user[0] &= (1u << kCodecCountShift) - 1;
  return user;
}

Result<std::vector<unsigned>> WithLocalWords(std::span<const unsigned> words, const LocalWords& local) {
  std::vector<unsigned> all = UserWords(words);
  if (all.size() < 2 + local.chunk_shape.size()) {
    return InvalidArgumentError("filter 480: " + std::to_string(all.size()) + " words for rank " +
                                std::to_string(local.chunk_shape.size()));
  }
  const std::size_t codecs = all.size() - 2 - local.chunk_shape.size();
  all[0] |= static_cast<unsigned>(1 + codecs) << kCodecCountShift;
  std::vector<uint64_t> numbers = local.chunk_shape;
  numbers.push_back(local.elem_bytes);
  for (const uint64_t number : numbers) {
    if (number > UINT32_MAX) {
      return InvalidArgumentError("filter 480: " + std::to_string(number) +
                                  " as an extent or size; expected less than 2^32");
    }
    all.push_back(static_cast<unsigned>(number));
  }
  std::size_t fill_bytes = kShortFillBytes;
  const bool zero =
      std::all_of(local.fill.begin(), local.fill.end(), [](std::byte byte) { return byte == std::byte{}; });
  if (!zero) fill_bytes = std::max(fill_bytes, local.fill.size());
  if (fill_bytes > kMostFillBytes) {
    return InvalidArgumentError("filter 480: a fill value of " + std::to_string(fill_bytes) +
                                " bytes; expected zero, or 1024 bytes at most");
  }
  for (std::size_t first = 0; first < fill_bytes; first += sizeof(unsigned)) {
    unsigned word = 0;
    for (std::size_t i = first; i < std::min(first + sizeof word, local.fill.size()); ++i) {
      word |= static_cast<unsigned>(local.fill[i]) << (8 * (i - first));
    }
    all.push_back(word);
  }
  return all;
}

Result<LocalWords> ParseLocalWords(std::span<const unsigned> words) {
  const std::size_t user = UserWords(words).size();
  const std::size_t rank = words.size() < 2 ? 0 : words[1];
  const bool marked = words.size() >= 2 && ((words[0] >> kCodecCountShift) & 0xff) != 0;
  if (!marked || words.size() < user || words.size() - user < rank + 1 + kShortFillBytes / 4) {
    return InvalidArgumentError("filter 480: " + std::to_string(words.size()) +
                                " words; the chunk's shape, the element's size and the fill value "
                                "are missing behind the user's");
  }
  LocalWords local;
  const std::span<const unsigned> appended = words.subspan(user);
  local.chunk_shape.assign(appended.begin(), appended.begin() + rank);
  local.elem_bytes = appended[rank];
  const std::span<const unsigned> fill = appended.subspan(rank + 1);
  local.fill.resize(local.elem_bytes);
  for (std::size_t i = 0; i < std::min(local.fill.size(), 4 * fill.size()); ++i) {
    local.fill[i] = static_cast<std::byte>(fill[i / 4] >> (8 * (i % 4)));
  }
  return local;
}

Result<Sharding> ShardingFromWords(std::span<const unsigned> words, const DType& dtype,
                                   std::span<const uint64_t> chunk_shape) {
  const std::vector<unsigned> user = UserWords(words);
  if (user.size() < 2) return InvalidArgumentError("filter 480: fewer than two words");
  if ((user[0] & kVersionMask) != H5ZARR_SHARD_VERSION ||
      (user[0] & ~(kVersionMask | H5ZARR_SHARD_INDEX_AT_START)) != 0) {
    return InvalidArgumentError(Bad(0, user[0], "version 1 and no unknown bit"));
  }
  if (user[1] != chunk_shape.size()) {
    return InvalidArgumentError(Bad(1, user[1], "the rank, " + std::to_string(chunk_shape.size())));
  }
  const std::size_t codecs_at = 2 + chunk_shape.size();
  if (user.size() < codecs_at || user.size() > codecs_at + kMaxInnerCodecs) {
    return InvalidArgumentError("filter 480: " + std::to_string(user.size()) + " words for rank " +
                                std::to_string(chunk_shape.size()));
  }
  Sharding sharding;
  sharding.index_at_start = (user[0] & H5ZARR_SHARD_INDEX_AT_START) != 0;
  for (std::size_t d = 0; d < chunk_shape.size(); ++d) {
    const unsigned inner = user[2 + d];
    if (inner == 0 || chunk_shape[d] % inner != 0) {
      return InvalidArgumentError(Bad(2 + d, inner, "a divisor of the chunk's " + std::to_string(chunk_shape[d])));
    }
    sharding.inner_shape.push_back(inner);
  }
  // A shuffle joins the compressor behind it, as blosc: few readers have one of its own.
  bool shuffled = false;
  for (std::size_t i = codecs_at; i < user.size(); ++i) {
    if (user[i] == H5ZARR_SHARD_SHUFFLE) shuffled = true;
    if (user[i] == H5ZARR_SHARD_SHUFFLE || (user[i] & 0xff) == H5ZARR_SHARD_NONE) continue;
    H5ZARR_ASSIGN_OR_RETURN(CodecSpec codec, CodecFromWord(i, user[i], dtype));
    if (std::exchange(shuffled, false)) codec = WithShuffle(std::move(codec), dtype);
    sharding.inner_codecs.push_back(std::move(codec));
  }
  return sharding;
}

std::optional<std::vector<unsigned>> WordsFromSharding(const Sharding& sharding, std::size_t rank) {
  if (!sharding.plain_index || rank == 0 || sharding.inner_shape.size() < rank ||
      sharding.inner_codecs.size() > kMaxInnerCodecs) {
    return std::nullopt;
  }
  std::vector<unsigned> words;
  words.push_back(H5ZARR_SHARD_VERSION | (sharding.index_at_start ? H5ZARR_SHARD_INDEX_AT_START : 0));
  words.push_back(static_cast<unsigned>(rank));
  for (std::size_t d = 0; d < rank; ++d) {
    if (sharding.inner_shape[d] > UINT32_MAX) return std::nullopt;
    words.push_back(static_cast<unsigned>(sharding.inner_shape[d]));
  }
  for (const CodecSpec& codec : sharding.inner_codecs) {
    const std::optional<unsigned> word = WordFromCodec(codec);
    if (!word) return std::nullopt;
    words.push_back(*word);
  }
  return words;
}

CodecSpec ShardingToCodec(const Sharding& sharding, const CodecSpec& array_to_bytes) {
  CodecSpec spec{"sharding_indexed", Json::object()};
  Json codecs = Json::array({NamedJson(array_to_bytes)});
  for (const CodecSpec& codec : sharding.inner_codecs) codecs.push_back(NamedJson(codec));
  const CodecSpec index_bytes{"bytes", Json{{"endian", "little"}}};
  spec.configuration["chunk_shape"] = sharding.inner_shape;
  spec.configuration["codecs"] = std::move(codecs);
  spec.configuration["index_codecs"] = Json::array({NamedJson(index_bytes), NamedJson(CodecSpec{"crc32c", nullptr})});
  spec.configuration["index_location"] = sharding.index_at_start ? "start" : "end";
  return spec;
}

std::optional<Sharding> ShardingFromCodec(const CodecSpec& codec) {
  const Json* shape = zarr::FindMember(codec.configuration, "chunk_shape");
  const Json* codecs = zarr::FindMember(codec.configuration, "codecs");
  if (codec.name != "sharding_indexed" || shape == nullptr || !shape->is_array() || codecs == nullptr ||
      !codecs->is_array()) {
    return std::nullopt;
  }
  Sharding sharding;
  for (const Json& extent : *shape) {
    sharding.inner_shape.push_back(AsUnsigned(extent).value_or(0));
    if (sharding.inner_shape.back() == 0) return std::nullopt;
  }
  for (const Json& json : *codecs) {
    std::optional<CodecSpec> inner = CodecFromJson(json);
    if (!inner) return std::nullopt;
    if (!IsArrayToBytes(inner->name)) sharding.inner_codecs.push_back(std::move(*inner));
  }
  sharding.index_at_start = StringMember(codec.configuration, "index_location") == "start";
  sharding.plain_index = IsPlainIndex(zarr::FindMember(codec.configuration, "index_codecs"));
  return sharding;
}

}  // namespace h5zarr::filter
